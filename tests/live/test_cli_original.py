"""`record opencode --server ... --report` beside a literal reading of the original cache script.

Both measure the same OpenCode server, which asks a scripted model through our gateway. The original itself is
not at hand: what it did is written down here once more, plainly and with its faults, on nothing of agentlab.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import importlib.util
import json
import secrets
import statistics
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

import agentlab as al
from agentlab.cli.scenarios import CACHE_REPORT
from agentlab.drivers.opencode.server import running_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

DATA = Path(__file__).resolve().parents[2] / "data"
SESSIONS = 4
ROUTING = "observed session/assistant routing does not match orchestrator/provider/model"
AGENT = {"mode": "primary", "description": "Orchestrates", "prompt": "You are the orchestrator of this lab."}
TODO = {"todos": [{"content": "Review package.json", "status": "completed", "priority": "low"}]}
#: Slow enough that the model's time stands out from the server's, with the same answer in every session.
PACE = {"ttft_s": 0.15, "tokens_per_s": 60.0}
STEPS = [
    al.Step(when={"tool_result_of": "read"}, tools=[("todowrite", TODO)], **PACE),
    al.Step(when={"tool_result_of": "todowrite"}, text="first task complete, as it was asked for.", **PACE),
    al.Step(
        when={"last_user_contains": "Use no tools"}, text="follow-up complete, as it was asked for.", **PACE
    ),
    al.Step(
        when={"last_role": "user", "last_user_contains": "package.json"},
        reasoning="First I read the file.",
        tools=[("read", {"filePath": "package.json"})],
        **PACE,
    ),
    al.Step(when={"last_user_contains": "[500]", "has_tools": True}, text="answered after a retry",
            fault=al.Fault("status", code=500)),
    al.Step(when={"last_user_contains": "[400]", "has_tools": True},
            fault=al.Fault("status", code=400, times=None)),
    al.Step(text="Ready."),
]  # fmt: skip
#: Everything of which the original had a word for in one session: no tool, a retry, an error, no last answer.
BROKEN = al.Scenario(
    "broken",
    turns=["Session marker: {nonce}. [500] Say hello.", "Session marker: {nonce}. [400] Say hello."],
    require=CACHE_REPORT.require,
    warmup="original",
)


@dataclasses.dataclass
class LabArm:
    """What the engine gives to a driver's open()."""

    name: str
    scenario: al.Scenario
    scratch: Path
    gateway: object
    hurry: bool = False

    def own(self, pid: int) -> None:
        """Nothing samples its memory here."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(opencode_executable, tmp_path_factory):
    driver = al.OpenCode("lab/scripted", agent="orchestrator", config={"agent": {"orchestrator": AGENT}})
    scenario = al.Scenario("live", turns=["x"], timeouts=al.Timeouts(start=60, prompt=60))
    async with al.Gateway(al.ScriptedModel(STEPS, match="rule")) as gateway:
        arm = LabArm("a", scenario, tmp_path_factory.mktemp("arm"), gateway)
        async with running_server(driver, arm) as running:
            yield running
    await asyncio.sleep(0.2)  # the loop still closes pipes of what has ended


class Original:
    """The sessions of the original, one after another; every rule as it was."""

    def __init__(self, url, headers, agent, provider, model, timeout_s=120.0, turns=CACHE_REPORT.turns):
        self.client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout_s, trust_env=False)
        self.timeout_s = timeout_s
        self.agent, self.provider, self.model, self.turns = agent, provider, model, turns

    async def run(self, sessions):
        async with self.client:
            return [await self.session() for _ in range(sessions)]

    async def session(self):
        self.events, self.trouble, self.ready = [], None, asyncio.Event()
        reader = asyncio.create_task(self.read())
        try:
            try:
                await asyncio.wait_for(self.ready.wait(), min(self.timeout_s, 10))
            except TimeoutError:
                self.trouble = "SSE subscription readiness timed out"
            made = await self.client.post("/session", json={})
            session = made.raise_for_status().json()["id"]
            try:
                return await self.observe(session)
            finally:
                await self.client.delete(f"/session/{quote(session, safe='')}")
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def read(self):
        """Frames end at an empty line; of a frame only the first data line counts."""
        rest = ""
        try:
            async with self.client.stream("GET", "/event", timeout=None) as reply:
                async for text in reply.aiter_text():
                    *frames, rest = (rest + text.replace("\r\n", "\n")).split("\n\n")
                    for frame in frames:
                        data = next((x[5:] for x in frame.split("\n") if x.startswith("data:")), None)
                        if data is not None:
                            self.keep(json.loads(data), time.time() * 1000)
            self.trouble = self.trouble or "SSE stream closed before collection completed"
        except ValueError:
            self.trouble = self.trouble or "SSE delivered a malformed frame"
        except httpx.HTTPError:
            self.trouble = self.trouble or "SSE stream connection failed"

    def keep(self, event, at):
        if event["type"] == "server.connected":
            self.ready.set()
        self.events.append((at, event["type"], event.get("properties", {})))

    async def observe(self, session):
        route = f"/session/{quote(session, safe='')}"
        nonce, prompts = secrets.token_hex(8), []
        for text in self.turns:
            body = {
                "agent": self.agent,
                "model": {"providerID": self.provider, "modelID": self.model},
                "parts": [{"type": "text", "text": text.replace("{nonce}", nonce)}],
            }
            sent = time.time() * 1000
            reply = await self.client.post(f"{route}/message", json=body)
            completed = time.time() * 1000
            reply.raise_for_status()
            prompts.append((sent, completed))
        history = (await self.client.get(f"{route}/message")).raise_for_status().json()
        about = (await self.client.get(route)).raise_for_status().json()
        return self.report(session, history, about, prompts)

    def report(self, session, history, about, prompts):
        users = [m["info"]["id"] for m in history if m["info"]["role"] == "user"]
        requests, loops = [], []
        for turn, (user, (sent, completed)) in enumerate(zip(users, prompts, strict=False), 1):
            answers = [m for m in history if m["info"].get("parentID") == user]
            ids = {m["info"]["id"] for m in answers}
            firsts = [
                at
                for at, kind, p in self.events
                if kind == "message.part.delta" and p.get("sessionID") == session
                and p.get("messageID") in ids and p.get("field") in ("text", "reasoning")
                and sent <= at <= completed
            ]  # fmt: skip
            loops.append(
                {"turn": turn, "ttft": min(firsts) - sent if firsts else None, "latency": completed - sent}
            )
            for message in answers:
                ends = [p["tokens"] for p in message["parts"] if p["type"] == "step-finish"]
                for tokens in ends or [message["info"]["tokens"]]:
                    requests.append(self.row(len(requests) + 1, tokens))
        return {
            "reasons": self.reasons(session, history, about, users),
            "requests": requests,
            "loops": loops,
            "tools": [
                {"tool": p["tool"], "status": p["state"]["status"]}
                for m in history for p in m["parts"] if p["type"] == "tool"
            ],
            "assistantCount": sum(m["info"]["role"] == "assistant" for m in history),
        }  # fmt: skip

    @staticmethod
    def row(position, tokens):
        read, write = tokens["cache"]["read"], tokens["cache"]["write"]
        return {
            "position": position,
            "warmup": position == 1,
            "input": tokens["input"],
            "output": tokens["output"],
            "cacheRead": read,
            "cacheWrite": write,
            "totalInput": tokens["input"] + read + write,
        }

    @staticmethod
    def error(error):
        name = error.get("name")
        known = ("APIError", "ProviderAuthError", "MessageAbortedError", "StructuredOutputError",
                 "ContextOverflowError", "MessageOutputLengthError", "Unknown")  # fmt: skip
        side = "provider" if name in known[:2] else "assistant"
        return f"{side}_error:{name if name in known else 'unknown'}"

    def reasons(self, session, history, about, users):
        parts = [p for m in history for p in m["parts"]]
        done = [p["tool"] for p in parts if p["type"] == "tool" and p["state"]["status"] == "completed"]
        answers = [m["info"] for m in history if m["info"]["role"] == "assistant"]
        model = about.get("model") or {}
        wanted = (self.agent, self.provider, self.model)
        routes = {(about.get("agent"), model.get("providerID"), model.get("id"))}
        routes |= {(a["agent"], a["providerID"], a["modelID"]) for a in answers}
        own = [(kind, p) for _, kind, p in self.events if p.get("sessionID") == session]
        checks = [
            ("missing completed Read tool", "read" not in done),
            ("missing completed harmless TodoWrite tool", "todowrite" not in done),
            ("missing assistant final response", not any(p["type"] == "text" for p in history[-1]["parts"])),
            ("missing second user follow-up", len(users) < 2),
            (ROUTING, routes != {wanted}),
            *((self.error(a["error"]), True) for a in answers if a.get("error")),
            (self.trouble, self.trouble is not None),
            ("session entered retry state",
             any(k == "session.status" and p["status"]["type"] == "retry" for k, p in own)),
            ("session compaction observed",
             any("compaction" in k.lower() for k, _ in own) or any(p["type"] == "compaction" for p in parts)),
        ]  # fmt: skip
        return [text for text, holds in checks if holds]


async def agentlab(folder, *arguments):
    """Run the command line as a shell would."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "agentlab", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def command(server, runs, output, *more):
    login = base64.b64encode(":".join(server.api.auth).encode()).decode()
    return [
        "record", "opencode", "--server", f"{server.api.url}/", "--header", f"Authorization:  Basic {login} ",
        "--provider", "lab", "--model", "scripted", "--runs", str(runs), "--arm", "config-agent",
        "--plugin-build", "none", "--output", str(output), "--to", "study", "--quiet-wait", "0", *more,
    ]  # fmt: skip


def rule_of_make_schema2():
    spec = importlib.util.spec_from_file_location("make_schema2", DATA / "make_schema2.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclasses.dataclass
class Measured:
    theirs: list
    report: dict
    folder: Path
    said: str
    login: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def measured(server, tmp_path_factory):
    """The original's sessions before and after those of the command line, so that both meet the same load."""
    folder = tmp_path_factory.mktemp("measured")
    login = httpx.BasicAuth(*server.api.auth)._auth_header

    async def original(sessions):
        one = Original(server.api.url, {"authorization": login}, "orchestrator", "lab", "scripted")
        return await one.run(sessions)

    await original(1)  # fills the prompt cache with what all sessions share
    theirs = await original(SESSIONS // 2)
    code, out, err = await agentlab(folder, *command(server, SESSIONS, folder / "report.json"))
    assert (code, "4 of 4 used" in out) == (0, True), err
    theirs += await original(SESSIONS // 2)
    return Measured(theirs, json.loads((folder / "report.json").read_text()), folder, out + err, login)


async def test_agrees_with_the_original_on_the_same_server(measured):
    metrics, theirs = measured.report["metrics"], measured.theirs
    ours = [run["observation"] for run in measured.report["runs"]]
    assert [one["reasons"] for one in theirs] == [[]] * SESSIONS
    assert (metrics["sessionsRequested"], metrics["sessionsEligible"]) == (SESSIONS, SESSIONS)
    assert metrics["requestObservationsRaw"] == sum(len(one["requests"]) for one in theirs)
    assert [one["requests"] for one in ours] == [one["requests"] for one in theirs]
    assert [one["tools"] for one in ours] == [one["tools"] for one in theirs]
    assert [one["routing"]["assistantCount"] for one in ours] == [one["assistantCount"] for one in theirs]
    assert {one["routing"]["sessionAgent"] for one in ours} == {"orchestrator"}

    # The same quantities, so medians of the same turn lie together (on a busy machine).
    for turn in (1, 2):
        for name, key in (("latency", "promptLoopLatencyMs"), ("ttft", "promptLoopTtftMs")):
            their = [
                v for one in theirs for loop in one["loops"] if loop["turn"] == turn and (v := loop[name])
            ]
            our = [loop[key] for one in ours for loop in one["promptLoops"] if loop["turn"] == turn]
            assert None not in our, "a first token that was seen late is still one"
            assert their, "the model is slow enough for the original to see it, too"
            ratio = statistics.median(our) / statistics.median(their)
            assert 0.5 < ratio < 2, (turn, name, our, their)


async def test_the_report_says_what_the_original_computes_from_its_rows(measured):
    rule = rule_of_make_schema2()
    ours = [run["observation"] for run in measured.report["runs"]]
    stated = measured.report["metrics"]["primaryMetricsSessionBootstrap95CI"]
    assert {name: rule.bootstrap(ours, statistic) for name, statistic in rule.STATISTICS.items()} == stated


async def test_credentials_are_nowhere_and_sessions_are_gone(measured, server):
    secrets_ = [server.api.auth[1], measured.login.removeprefix("Basic ")]
    files = [path for path in measured.folder.rglob("*") if path.is_file()]
    assert len(files) > SESSIONS
    for secret in secrets_:
        assert secret not in measured.said
        assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert (await server.api.call("GET", "/session"))[0] == []


async def test_the_study_and_the_report_hold_the_same(measured):
    code, out, err = await agentlab(
        measured.folder, "export", "study", "--format", "schema2", "--to", "again"
    )
    assert code == 0, err
    again = json.loads((measured.folder / "again" / "config-agent.json").read_text())
    assert out.strip() == "again/config-agent.json"
    assert again["controls"]["retries"] is None  # only the command line knew
    again["controls"] |= {"retries": 2, "retryDelayMs": 500}
    assert again == measured.report
    assert again["comparison"]["pluginBuild"] == "none"
    ours, theirs = al.load(measured.folder / "study"), al.load(measured.folder / "report.json")
    for table, columns in {
        "requests": [
            "position",
            "warmup",
            "input_uncached_tokens",
            "cache_read_tokens",
            "input_total_tokens",
        ],
        "turns": ["turn", "warmup", "ttft_ms", "latency_ms"],
        "tools": ["name", "status"],
        "runs": ["arm", "run_index", "eligible", "reason"],
    }.items():
        rows = ours.table(table)
        rows = rows[rows["chain"] == "main"] if table == "requests" else rows
        assert rows[columns].reset_index(drop=True).equals(theirs.table(table)[columns]), table


async def test_discards_for_the_same_reasons(server, tmp_path):
    login = httpx.BasicAuth(*server.api.auth)._auth_header
    one = Original(
        server.api.url, {"authorization": login}, "orchestrator", "lab", "scripted", turns=BROKEN.turns
    )
    (theirs,) = await one.run(1)
    (tmp_path / "broken.json").write_text(json.dumps(BROKEN.to_dict()))
    more = ["--scenario", "broken.json"]
    code, out, err = await agentlab(tmp_path, *command(server, 1, tmp_path / "report.json", *more))
    assert (code, "0 of 1 used" in out) == (3, True), err
    (ours,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    assert ours["discardReasons"] == theirs["reasons"]
    assert len(theirs["reasons"]) == 5
    assert ours["observation"]["assistantErrorCodes"] == ["APIError"] and ours["observation"]["retries"]
    assert len(ours["observation"]["requests"]) == len(theirs["requests"])


async def test_an_agent_that_is_not_there_costs_no_run(server, tmp_path):
    code, out, err = await agentlab(tmp_path, *command(server, 1, tmp_path / "r.json", "--agent", "nobody"))
    assert (code, out) == (1, "")
    assert "no agent 'nobody'" in err and "orchestrator" in err
    assert not (tmp_path / "r.json").exists() and not list(tmp_path.glob("study/runs/*"))
