"""OpenCode's real page in a real Chromium: what a recording holds, and each gate failing when provoked."""

import asyncio
import contextlib
import dataclasses
import gzip
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio

from agentlab import ConfigError, Gateway, Scenario, ScriptedModel, Step, Timeouts, WebChat
from agentlab.drivers.opencode.server import running_server
from agentlab.drivers.webchat.page import OPENCODE, AppCounters
from agentlab.drivers.webchat.webchatarm import WebChatArm
from agentlab.engine.runlog import RunLog
from agentlab.engine.slots import Slot
from agentlab.errors import BrowserGone, DriverError, DriverTimeout
from agentlab.gateway import Fault
from agentlab.redact import Redactor
from agentlab.wire.cdp.connection import Connection
from tests.live.second_client import browser_processes, devtools, page_of, targets

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]

FOXES = "# Foxes\n\nA **fox** has `four` legs, see [more](http://x.y/z).\n\n" + "It jumps over the dog. " * 60
STEPS = [
    Step(when={"last_user_contains": "[hang]"}, text=FOXES, tokens_per_s=200, fault=Fault("hang", after=20)),
    Step(when={"last_user_contains": "[short]"}, text="Yes."),
    Step(
        when={"last_user_contains": "[code]"},
        text="Look:\n\n```python\ndef f(x):\n    return x\n```\n\n" + FOXES,
        tokens_per_s=100,
    ),
    Step(text=FOXES, tokens_per_s=200),
]
#: All that the page's scripts fetch comes late, and so does what they build.
SLOW = (
    "window.fetch = new Proxy(window.fetch, {apply: (f, t, a) =>"
    " new Promise(go => setTimeout(go, 6000)).then(() => Reflect.apply(f, t, a))})"
)
#: Once the answer is whole, most of it becomes something else.
ALTERED = (
    "setInterval(() => document.querySelectorAll('[data-component=markdown]').forEach(e => {"
    " if (e.textContent.length > 1300) e.textContent = 'Cats.' + 'It sleeps all day. '.repeat(80); }), 200)"
)


@dataclasses.dataclass
class LabArm:
    name: str
    scenario: Scenario
    scratch: Path
    gateway: object
    hurry: bool = False

    def own(self, pid: int) -> None:
        """Nothing samples its memory here."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(opencode_executable, chromium_executable, tmp_path_factory):
    timeouts = Timeouts(start=60, prompt=60, stall=30, cleanup=8)
    scenario = Scenario("live", turns=["x"], timeouts=timeouts)
    async with Gateway(ScriptedModel(STEPS, match="rule")) as gateway:
        arm = LabArm("a", scenario, tmp_path_factory.mktemp("arm"), gateway)
        async with running_server(WebChat("lab/m").chat, arm) as server:
            await server.warm_up()
            yield server, arm


class Recorded:
    """One run of a web chat in the laboratory."""

    def __init__(self, lab, folder: Path, keep: str = "numbers", **timeouts: float) -> None:
        server, self.arm = lab
        self.opened = server
        scenario = self.arm.scenario
        times = dataclasses.replace(scenario.timeouts, **timeouts)
        folder.mkdir(exist_ok=True)
        self.log = RunLog(
            folder / "run",
            Slot("a", 0, 0),
            sequence=0,
            scenario=dataclasses.replace(scenario, timeouts=times),
            identity=WebChat("lab/m").identify(),
            keep=keep,
            redactor=Redactor(),
        )

    async def make(self, driver: WebChat, *prompts: str, meanwhile=None) -> None:
        async with WebChatArm(driver, self.arm, self.opened).session(self.log) as session:
            task = None if meanwhile is None else asyncio.create_task(meanwhile())
            try:
                for prompt in prompts:
                    await session.prompt(prompt)
            finally:
                if task is not None:
                    await task

    def events(self, kind: str) -> list[dict]:
        lines = (self.log.folder / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["kind"] == kind]

    def one(self, kind: str) -> dict:
        [event] = self.events(kind)
        return event

    @property
    def gates(self) -> dict[str, object]:
        return {event["name"]: event["passed"] for event in self.events("page.gate")}

    @property
    def discards(self) -> set[str]:
        return {issue["code"] for issue in self.log.state["issues"] if issue["discard"]}

    def trace(self) -> list[dict]:
        return json.loads(gzip.decompress((self.log.folder / "trace.json.gz").read_bytes()))["traceEvents"]


async def test_a_recording_holds_all_of_it_and_passes_its_gates(lab, tmp_path):
    run = Recorded(lab, tmp_path)
    driver = WebChat("lab/m", preset="cpu", typing=True)
    before = time.monotonic_ns()
    await run.make(driver, "Tell me of foxes.")
    assert run.log.state["issues"] == []
    expected = {
        "page_no_composer", "page_stream_closed", "page_wrong_address", "page_crashed", "page_not_idle",
        "page_text_not_growing", "page_text_mismatch", "page_hidden", "page_frames_dead", "trace_incomplete",
        "trace_data_loss", "page_no_mark", "page_no_tasks",
    }  # fmt: skip
    assert run.gates == dict.fromkeys(expected, True)

    window, send, idle = run.one("page.window"), run.one("turn.send"), run.one("idle")
    assert before < window["begin_ns"] < send["t"] < idle["t"] == window["stream_end_ns"] < window["end_ns"]
    samples = run.events("page.sample")
    assert [s["at"] for s in samples[:1] + samples[-1:]] == ["begin", "end"] and len(samples) > 2
    assert samples[-1]["thread_s"] > samples[0]["thread_s"] and samples[-1]["heap_bytes"] > 1e6
    kept_before, kept_after = run.events("page.gc")
    assert kept_before["t"] < window["begin_ns"] < window["end_ns"] < kept_after["t"]
    assert kept_after["nodes"] < samples[-1]["nodes"]

    rows = [row for event in run.events("page.dom") for row in event["rows"]]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert all(send["t"] < t < window["end_ns"] for t, _, _ in rows)
    assert all(paint is None or paint > t for t, _, paint in rows)
    text = run.one("page.text")
    assert rows[-1][1] == text["n_chars"] > 1300 and text["shown_ratio"] == 1 and text["n_growths"] > 5
    chunks = run.events("chunk")
    assert chunks[0]["t"] < rows[0][0] and rows[-1][0] > chunks[-1]["t"] - 1e9

    keys, inputs = run.one("page.input")["n_keys"], run.one("page.input")["interactions"]
    assert keys >= 3 and all(send["t"] - 1e9 < row[0] < window["end_ns"] for row in inputs)
    probe = run.one("page.probe")
    assert probe["counters"]["rafScheduled"] > 0 and probe["sites"]
    assert all(calls > 0 and most <= total + 0.01 for _, calls, total, most in probe["sites"])

    files = {event["name"]: event for event in run.events("page.file")}
    assert {"trace.json.gz", "cpu.cpuprofile.gz", "cpu-worker-1.cpuprofile.gz"} <= files.keys()
    for name, event in files.items():
        file = run.log.folder / name
        assert event["complete"] and event["n_bytes"] == file.stat().st_size
        assert file.stat().st_mode & 0o777 == 0o600
    marks = [e for e in run.trace() if e["name"].startswith("agentlab:") and e["ph"] == "I"]
    told = [event["t"] for event in run.events("page.mark")]
    assert len(marks) == len(told) == 2
    assert all(abs(mark["ts"] * 1000 - t) < 1e6 for mark, t in zip(marks, told, strict=True))

    assert await lab[0].api.call("GET", "/session") and not browser_processes()
    stored = b"".join(
        gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for file in run.log.folder.iterdir()
    )
    for private in (b"foxes", b"jumps over", b"the next", b"Authorization", b"127.0.0.1", b"/session/"):
        assert private not in stored, private


async def test_content_keeps_pictures_and_a_short_answer_ends_at_once(lab, tmp_path):
    run = Recorded(lab, tmp_path, keep="content")
    began = time.monotonic()
    await run.make(WebChat("lab/m", preset="film"), "[short]")
    assert run.log.state["issues"] == [] and time.monotonic() - began < 60
    assert run.one("page.text")["content"]["text"].strip() == "Yes."
    events = run.trace()
    assert any(e["name"] == "Screenshot" for e in events)
    with pytest.raises(ConfigError, match="keep='content'"):
        await Recorded(lab, tmp_path / "b").make(WebChat("lab/m", preset="film"), "[short]")


async def test_workers_of_a_page_behind_a_password_work(lab, tmp_path):
    coloured = "document.querySelectorAll('pre.shiki span[style*=syntax]').length"
    read = f"[{{metric: 'coloured', total: 0, max: 0, count: {coloured}}}]"
    page = dataclasses.replace(OPENCODE, name="code", counters=AppCounters(begin="0", read=read))
    run = Recorded(lab, tmp_path, keep="content")
    await run.make(WebChat(WebChat("lab/m").chat, page=page), "[code]")
    assert run.log.state["issues"] == [] and lab[0].api.auth[1] not in json.dumps(run.trace())
    assert run.one("page.app_counters")["entries"][0]["count"] > 0  # its worker has got the colours' rules


async def test_altered_answer_hidden_page_and_a_missing_category(lab, tmp_path):
    async def hide() -> None:
        browser = await Connection.open(await devtools())
        while not await targets(browser):
            await asyncio.sleep(0.05)
        while not run.events("turn.send"):
            await asyncio.sleep(0.02)
        await browser.call("Target.createTarget", {"url": "about:blank"})
        await browser.close()

    run = Recorded(lab, tmp_path)
    page = dataclasses.replace(OPENCODE, name="altered", prepare=ALTERED)
    driver = WebChat(WebChat("lab/m").chat, page=page, categories=["devtools.timeline", "blink.user_timing"])
    await run.make(driver, "Tell me of foxes.", meanwhile=hide)
    assert {"page_text_mismatch", "page_hidden", "page_no_tasks"} <= run.discards
    assert run.gates["page_frames_dead"] is None and run.gates["page_no_mark"] is True


async def test_another_session_than_the_prompted_one(lab, tmp_path):
    class Elsewhere:
        """Shows another session than it prompts."""

        @contextlib.asynccontextmanager
        async def session(self, run):
            async with lab[0].session(run) as chat, lab[0].session(run) as other:
                yield SimpleNamespace(id=other.id, web=other.web, prompt=chat.prompt)

    run = Recorded(lab, tmp_path / "a")
    run.opened = Elsewhere()
    await run.make(WebChat("lab/m", preset="off"), "[short]")
    assert {"page_text_not_growing", "page_text_mismatch"} <= run.discards

    leaving = (
        "setInterval(() => document.querySelector('[role=textbox]') && history.pushState({}, '', '/'), 50)"
    )
    run = Recorded(lab, tmp_path / "b")
    page = dataclasses.replace(OPENCODE, name="leaving", prepare=leaving)
    with pytest.raises(DriverError, match="another address") as refused:
        await run.make(WebChat(WebChat("lab/m").chat, page=page), "[short]")
    assert refused.value.code == "page_wrong_address" and not run.events("turn.send")


async def test_a_prompt_before_the_composer(lab, tmp_path):
    slow = dataclasses.replace(OPENCODE, name="slow", prepare=SLOW)
    waiting = Recorded(lab, tmp_path / "a", start=3)
    with pytest.raises(DriverError, match="field for the prompt") as refused:
        await waiting.make(WebChat(WebChat("lab/m").chat, page=slow), "[short]")
    assert refused.value.code == "page_no_composer" and not waiting.events("turn.send")

    run = Recorded(lab, tmp_path / "b")
    hasty = dataclasses.replace(slow, composer="body", stream=None)
    await run.make(WebChat(WebChat("lab/m").chat, page=hasty, preset="off"), "[short]")
    assert {"page_text_not_growing", "page_text_mismatch"} <= run.discards


async def test_a_crash_keeps_what_there_is(lab, tmp_path):
    async def crash() -> None:
        browser = await Connection.open(await devtools())
        while not (found := await targets(browser)):
            await asyncio.sleep(0.05)
        while len(run.events("chunk")) < 20:
            await asyncio.sleep(0.02)
        page = await page_of(found[0])
        with contextlib.suppress(DriverTimeout):
            await page.call("Page.crash", timeout_s=1)
        await page.close()
        await browser.close()

    run = Recorded(lab, tmp_path)
    with pytest.raises(BrowserGone, match="crashed") as gone:
        await run.make(WebChat("lab/m"), "Tell me of foxes.", meanwhile=crash)
    assert gone.value.code == "page_crashed" and run.gates["page_crashed"] is False
    assert run.one("page.file")["complete"] and run.one("page.window")["end_ns"]
    assert any(e["name"] == "agentlab:begin" for e in run.trace())
    assert {e["reason"] for e in run.events("page.gap")} <= {"gone", "busy"}
    assert run.one("turn.end")["reason"] == "cancelled" and not browser_processes()


async def test_a_hung_model_and_a_small_buffer(lab, tmp_path):
    run = Recorded(lab, tmp_path, stall=4)
    with pytest.raises(DriverTimeout) as late:
        await run.make(WebChat("lab/m", trace_buffer_kb=64), "[hang]")
    assert late.value.code == "turn_stalled"
    assert {"page_not_idle", "trace_data_loss"} <= run.discards
    assert "stream_end_ns" not in run.one("page.window") and run.one("page.file")["n_events"] > 0
    assert run.one("page.text")["n_chars"] > 0
