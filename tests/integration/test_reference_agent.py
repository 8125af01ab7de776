"""The reference agent behind the real gateway: its evidence, its result, what ends it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentlab import Fault, Gateway, Price, Recordings, Scenario, ScriptedModel, Step, Timeouts, record
from agentlab.drivers.reference import Reference
from agentlab.errors import ConfigError

SECRET = "the-hidden-colour"
STEPS = [
    Step(reasoning="First.", actions=[{"do": "read", "path": "notes.txt"}]),
    Step(actions=[{"do": "edit", "path": "notes.txt", "old": "red", "new": "blue"}]),
    Step(
        tools=[
            {"name": "grep", "arguments": {"pattern": "colour"}},
            {"name": "read", "arguments": "{bad"},
            {"name": "read", "arguments": {"path": "../../events.jsonl"}},
        ]
    ),
    Step(text="It is blue now."),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text(f"colour = red\n# {SECRET}\n" + "line\n" * 400)
    return folder


async def run(
    to: Path,
    steps: list[Step],
    arms: Any,  # noqa: ANN401
    *,
    timeouts: Timeouts | None = None,
    **more: Any,  # noqa: ANN401
) -> Recordings:
    settings = {key: more.pop(key) for key in ("price", "budget_usd", "max_requests") if key in more}
    scenario = Scenario("task", turns=["Make it blue."], timeouts=timeouts or Timeouts())
    gateway = Gateway(ScriptedModel(steps), **settings)
    return await record(
        scenario, arms, runs=1, to=to, gateway=gateway, quiet=None, host="inline", progress="none", **more
    )


def events(recs: Recordings, kind: str) -> list[dict[str, Any]]:
    lines = [path.read_text() for path in sorted(Path(recs.path).glob("runs/*/events.jsonl"))]
    found = [json.loads(line) for text in lines for line in text.splitlines()]
    return [event for event in found if event["kind"] == kind]


async def test_all_wires_do_the_task_and_join_the_gateways_rows(tmp_path: Path, work: Path) -> None:
    arms = {
        name: Reference("lab/scripted", workspace=work, dialect=name)
        for name in ("chat", "responses", "messages", "gemini")
    }
    recs = await run(tmp_path / "study", STEPS, arms)
    assert recs.runs["eligible"].all()
    assert len(recs.issues) == 0
    for result in events(recs, "result"):
        assert result["status"] == "answered"
        assert "reason" not in result
        assert (result["requests"], result["tool_calls"], result["tool_failures"]) == (4, 5, 2)
        assert result["answer_chars"] == len("It is blue now.")
    requests = recs.requests
    assert len(requests) == 16
    assert set(requests["source"]) == {"both"}
    assert requests["reason"].isna().all()
    assert (requests["cache_read_tokens"] == requests["agent_cache_read_tokens"]).all()
    assert (requests["output_tokens"] == requests["agent_output_tokens"]).all()
    assert requests.loc[requests["position"] > 1, "append_only"].all()
    assert sorted(set(requests["dialect"])) == ["chat", "gemini", "messages", "responses"]
    tools = recs.tools
    assert list(tools[tools["arm"] == "chat"]["status"]) == ["completed"] * 3 + ["error"] * 2
    assert (recs.turns["n_requests"] == 4).all()
    assert recs.turns["ttft_ms"].notna().all()
    assert (work / "notes.txt").read_text().startswith("colour = red")


async def test_nothing_said_is_kept_in_numbers_mode(tmp_path: Path, work: Path) -> None:
    recs = await run(tmp_path / "study", STEPS, Reference("lab/scripted", workspace=work))
    kept = b"".join(path.read_bytes() for path in Path(recs.path).rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert b"It is blue" not in kept
    assert b"Make it" not in kept
    assert b'"name":"grep"' in kept  # the search would find
    tool = next(event for event in events(recs, "tool") if event["status"] == "completed")
    assert (tool["n_chars"], tool["cut"]) == (len((work / "notes.txt").read_text()), False)
    assert re.fullmatch("[0-9a-f]{16}", tool["hash"])


async def test_whole_observations_are_kept_with_content(tmp_path: Path, work: Path) -> None:
    driver = Reference("lab/scripted", workspace=work, max_observation_chars=100)
    recs = await run(tmp_path / "study", STEPS, driver, keep="content")
    tool = next(event for event in events(recs, "tool") if event["status"] == "completed")
    assert tool["cut"]
    assert tool["content"]["output"] == (work / "notes.txt").read_text()
    assert not list(Path(recs.path).rglob("archive"))


async def test_a_window_cuts_and_counts(tmp_path: Path, work: Path) -> None:
    reads = [Step(tools=[{"name": "read", "arguments": {"path": "notes.txt"}}]) for _ in range(6)]
    arms = {
        "continuous": Reference("lab/scripted", workspace=work),
        "windowed": Reference("lab/scripted", workspace=work, policy="windowed", window_tokens=2500),
    }
    recs = await run(tmp_path / "study", [*reads, Step(text="Done.")], arms)
    cuts = {e["session"].split("-")[1]: e["context_cuts"] for e in events(recs, "result")}
    assert cuts["continuous"] == 0
    assert cuts["windowed"] == len(events(recs, "context.cut")) >= 1
    requests = recs.requests.set_index("arm")
    assert requests.loc["continuous"].query("position > 1")["append_only"].all()
    assert (~requests.loc["windowed"].query("position > 1")["append_only"]).sum() == cuts["windowed"]
    assert all(e["after_tokens"] <= 2500 < e["before_tokens"] for e in events(recs, "context.cut"))


@pytest.mark.parametrize(
    ("steps", "reason", "code"),
    [
        ([Step(text="Half", fault=Fault("cut", after=1))], "cut_stream", "turn_error"),
        ([Step(text="Half", fault=Fault("reset", after=1))], "connection_lost", "turn_error"),
        ([Step(text="Half", fault=Fault("garbage", after=1))], "malformed_stream", "turn_error"),
        ([Step(text="Half", fault=Fault("error", after=1))], "error_event", "turn_error"),
        ([Step(text="", fault=Fault("status", code=429))], "http_429", "turn_error"),
        ([Step(text="Half", finish="length")], "length", "turn_length"),
    ],
)
async def test_a_broken_reply_ends_the_turn_once(
    tmp_path: Path, work: Path, steps: list[Step], reason: str, code: str
) -> None:
    recs = await run(
        tmp_path / "study", [*steps, Step(text="again")], Reference("lab/scripted", workspace=work)
    )
    (result,) = events(recs, "result")
    assert (result["status"], result["reason"], result["requests"]) == ("error", reason, 1)
    assert code in set(recs.issues["code"])
    assert not recs.runs["eligible"].any()


async def test_a_call_that_was_cut_is_not_carried_out(tmp_path: Path, work: Path) -> None:
    call = {"name": "write", "arguments": {"path": "made.txt", "content": "x" * 400}}
    steps = [Step(tools=[call], fault=Fault("cut", after=3)), Step(text="again")]
    recs = await run(tmp_path / "study", steps, Reference("lab/scripted", workspace=work))
    assert events(recs, "tool") == []
    assert events(recs, "result")[0]["reason"] == "cut_stream"


async def test_the_gateways_limit_and_its_own(tmp_path: Path, work: Path) -> None:
    endless = [Step(tools=[{"name": "ls", "arguments": {}}]) for _ in range(9)]
    recs = await run(tmp_path / "a", endless, Reference("lab/scripted", workspace=work), max_requests=3)
    (result,) = events(recs, "result")
    assert (result["status"], result["requests"]) == ("limit", 4)
    recs = await run(tmp_path / "b", endless, Reference("lab/scripted", workspace=work, max_steps=2))
    (result,) = events(recs, "result")
    assert (result["status"], result["reason"], result["requests"]) == ("stopped", "max_steps", 2)


async def test_a_turn_has_a_deadline(tmp_path: Path, work: Path) -> None:
    slow = [Step(text="slow", ttft_s=30)]
    recs = await run(
        tmp_path / "study", slow, Reference("lab/scripted", workspace=work), timeouts=Timeouts(prompt=0.5)
    )
    assert events(recs, "result")[0]["status"] == "timeout"
    assert events(recs, "turn.end")[0]["reason"] == "timeout"
    assert "turn_timeout" in set(recs.issues["code"])


async def test_without_a_gateway_it_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give gateway="):
        await record(
            Scenario("t", turns=["x"]),
            Reference("lab/m"),
            runs=1,
            to=tmp_path / "s",
            quiet=None,
            host="inline",
        )


async def test_money_is_counted(tmp_path: Path, work: Path) -> None:
    recs = await run(
        tmp_path / "study", STEPS, Reference("lab/scripted", workspace=work), price=Price(3, 15), budget_usd=1
    )
    assert events(recs, "result")[0]["status"] == "answered"
    assert recs.requests["charged_usd"].gt(0).all()


async def test_the_shipped_task_drives_it_though_it_has_no_shell(tmp_path: Path, work: Path) -> None:
    (work / "data.csv").write_text("id,v\n1,1\n")
    recs = await record(
        Scenario("task", turns=["Go."]),
        Reference("lab/scripted", workspace=work),
        runs=1,
        to=tmp_path / "study",
        gateway=Gateway(ScriptedModel.load("task")),
        quiet=None,
        host="inline",
        progress="none",
    )
    assert list(recs.tools["name"]) == ["read", "edit", "read"]
    assert set(recs.tools["status"]) == {"completed"}
    assert (events(recs, "result")[0]["status"], len(recs.requests)) == ("answered", 4)


async def test_cancel_is_told_and_leaves_nothing(tmp_path: Path, work: Path) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    steps = [Step(tools=[{"name": "ls", "arguments": {}}]), Step(text="slow", ttft_s=30)]
    running = record(
        Scenario("task", turns=["Go."]),
        Reference("lab/scripted", workspace=work),
        runs=1,
        to=tmp_path / "study",
        gateway=Gateway(ScriptedModel(steps)),
        quiet=None,
        host="process",
        progress="none",
    )
    while not [path for path in tmp_path.glob("study/runs/*/events.jsonl") if b'"tool"' in path.read_bytes()]:
        await asyncio.sleep(0.05)
    running.cancel()
    recs = await running
    (result,) = events(recs, "result")
    assert (result["status"], result["reason"], result["tool_calls"]) == ("stopped", "cancelled", 1)
    assert list(recs.runs["status"]) == ["cancelled"]
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert not [child for child in left if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
