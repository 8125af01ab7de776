"""The driver on the real OpenCode, with a scripted model that fails on demand; one server for all tests."""

import asyncio
import dataclasses
import json
import signal

import pytest
import pytest_asyncio

from agentlab import Gateway, OpenCode, Scenario, ScriptedModel, StartupError, Step, Timeouts
from agentlab.drivers.opencode.server import open_arm, running_server
from agentlab.engine.runlog import RunLog
from agentlab.engine.slots import Slot
from agentlab.errors import AgentExited, ConfigError, DriverError, DriverTimeout
from agentlab.gateway import Fault
from agentlab.redact import Redactor

pytestmark = pytest.mark.asyncio(loop_scope="module")


def on(word, last_role="user", **step):
    return Step(when={"last_user_contains": word, "last_role": last_role}, **step)


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


STEPS = [
    on("[plain]", text="the answer is 4", reasoning="let me think"),
    on("[400]", fault=Fault("status", code=400, times=None)),
    on("[500]", text="after a retry", fault=Fault("status", code=500)),
    on("[cut]", text="cut and redone", fault=Fault("cut")),
    on("[reset]", text="reset and redone", fault=Fault("reset")),
    on("[error]", text="error frame", fault=Fault("error")),
    on("[garbage]", text="never whole", fault=Fault("garbage")),
    on("[hang]", text="never ends", fault=Fault("hang", times=None)),
    on("[nousage]", text="no usage", usage=None),
    on("[length]", text="cut at the limit", finish="length"),
    on("[blank]", text=["\n", "  "]),
    on("[read]", tools=[call("read", filePath="package.json")]),
    on("[read]", "tool", text="read it"),
    on("[outside]", tools=[call("read", filePath="/etc/hostname")]),
    on("[outside]", "tool", text="denied"),
    on("[unknown]", tools=[call("no_such_tool", x=1)]),
    on("[unknown]", "tool", text="noticed"),
    on("[write]", tools=[call("write", filePath="new.txt", content="left behind")]),
    on("[write]", "tool", text="written"),
    on("[list]", tools=[call("bash", command="ls", description="list")]),
    on("[list]", "tool", text="listed"),
    on("[task]", tools=[call("task", description="sub", prompt="[plain] sub", subagent_type="general")]),
    on("[task]", "tool", text="the child is done"),
    on(
        "[compact]",
        text="long",
        usage={"prompt_tokens": 199_000, "completion_tokens": 5, "total_tokens": 199_005},
    ),
    Step(text="anything else"),
]


@dataclasses.dataclass
class LabArm:
    """What the engine gives to a driver's open()."""

    name: str
    scenario: Scenario
    scratch: object
    gateway: object
    hurry: bool = False

    def own(self, pid: int) -> None:
        """Nothing samples its memory here."""


@pytest.fixture(scope="module")
def driver():
    return OpenCode("lab/scripted")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(driver, opencode_executable, tmp_path_factory):
    """A server that is up and warm, and the arm it belongs to."""
    scenario = Scenario("live", turns=["x"], timeouts=Timeouts(start=60, prompt=60, stall=3, cleanup=8))
    async with Gateway(ScriptedModel(STEPS, match="rule")) as gateway:
        arm = LabArm("a", scenario, tmp_path_factory.mktemp("arm"), gateway)
        async with running_server(driver, arm) as server:
            await server.warm_up()
            assert server.version == driver.version and server.warmup_problem is None
            yield server, arm


@pytest.fixture
def log(tmp_path, driver, lab):
    _, arm = lab
    log = RunLog(
        tmp_path / "run",
        Slot("a", 0, 0),
        sequence=0,
        scenario=arm.scenario,
        identity=driver.identify(),
        keep="numbers",
        redactor=Redactor(),
    )
    yield log
    log.finish("complete")


def events(log, kind=None):
    lines = [json.loads(line) for line in (log.folder / "events.jsonl").read_text().splitlines()]
    return [line for line in lines if kind is None or line["kind"] == kind]


def codes(log):
    return {issue["code"]: issue["discard"] for issue in log.state["issues"]}


async def prompt(lab, log, *texts):
    server, _ = lab
    async with server.session(log) as session:
        for text in texts:
            await session.prompt(text)


async def sessions_left(lab):
    found, _ = await lab[0].api.call("GET", "/session")
    status, _ = await lab[0].api.call("GET", "/session/status")
    return found, status


async def test_a_plain_turn(lab, log):
    await prompt(lab, log, "[plain]", "[plain]")
    assert codes(log) == {}
    sends, replies, ends = (events(log, f"turn.{x}") for x in ("send", "reply", "end"))
    assert [e["turn"] for e in sends] == [1, 2] and [e["reason"] for e in ends] == ["complete"] * 2
    assert all(
        r["parent"] == s["message"] and r["finish"] == "stop" for s, r in zip(sends, replies, strict=True)
    )
    chunks = events(log, "chunk")
    assert {c["chunk"] for c in chunks} == {"reasoning", "text"}
    text = sum(c["n_chars"] for c in chunks if c["chunk"] == "text")
    assert text == 2 * len("the answer is 4") and replies[0]["text_chars"] == len("theansweris4")
    assert all(c["server_unix_ms"] for c in chunks)
    assert len(events(log, "idle")) == 2
    assert {e["role"] for e in events(log, "message")} == {"user", "assistant"}
    assert {e["source"] for e in events(log, "message")} == {"stream", "history"}
    [info] = events(log, "session.info")
    assert (info["agent"], info["provider"], info["model"]) == ("build", "lab", "scripted")
    assert events(log, "session.close")[0]["deleted"] is True
    assert await sessions_left(lab) == ([], {})


async def test_nothing_private_is_written(lab, log):
    await prompt(lab, log, "[plain] my private question")
    stored = (log.folder / "events.jsonl").read_text() + (log.folder / "run.json").read_text()
    assert not any(
        word in stored for word in ("private question", "the answer is 4", "let me think", "/tmp/")
    )


async def test_errors_of_the_model_are_no_success_though_http_says_200(lab, log):
    await prompt(lab, log, "[400]")
    assert codes(log) == {"turn_error": True}
    assert log.state["issues"][0]["detail"] == "APIError 400"
    assert events(log, "turn.reply")[0]["http_status"] == 200
    assert events(log, "turn.end")[0]["reason"] == "error"


@pytest.mark.parametrize("word", ["[500]", "[reset]", "[error]"])
async def test_retries_are_seen_and_discard(lab, log, word):
    await prompt(lab, log, word)
    assert codes(log) == {"retry": True}
    assert next(e for e in events(log, "status") if e["state"] == "retry")["attempt"] == 1


async def test_a_stream_that_ends_cleanly_but_unfinished_is_not_taken_for_an_answer(lab, log):
    await prompt(lab, log, "[cut]")
    assert codes(log) == {"step_unfinished": True}
    assert [e["finish"] for e in events(log, "message") if e.get("finish") and e["source"] == "history"] == [
        "unknown",
        "stop",
    ]


async def test_a_malformed_frame_of_the_model_discards(lab, log):
    await prompt(lab, log, "[garbage]")
    # Which of the two depends on the text of the frame: OpenCode looks for words in its parser's message.
    assert codes(log) in ({"retry": True}, {"turn_error": True})


async def test_a_model_that_hangs_is_stalled_aborted_and_cleaned_up(lab, log):
    with pytest.raises(DriverTimeout, match="nothing happened in turn 1 for 3 s") as caught:
        await prompt(lab, log, "[hang]")
    assert caught.value.code == "turn_stalled"
    assert events(log, "turn.end")[0]["reason"] == "stall"
    assert events(log, "session.close")[0]["deleted"] is True
    assert await sessions_left(lab) == ([], {})


async def test_missing_usage_is_unknown(lab, log):
    await prompt(lab, log, "[nousage]")
    ended = events(log, "step.end")
    assert ended and not any("input_uncached_tokens" in e or "output_tokens" in e for e in ended)


async def test_an_answer_cut_at_the_limit_is_kept_and_flagged(lab, log):
    await prompt(lab, log, "[length]")
    assert codes(log) == {"turn_length": False}


async def test_blank_text_is_not_visible(lab, log):
    await prompt(lab, log, "[blank]")
    assert events(log, "turn.reply")[0]["text_chars"] == 0
    assert not any(c["visible"] for c in events(log, "chunk"))


async def test_tools_are_followed_to_their_end(lab, log):
    await prompt(lab, log, "[read]")
    states = [e["status"] for e in events(log, "tool") if e["source"] == "stream"]
    assert states[0] in ("pending", "running") and states[-1] == "completed"
    assert log.tools_completed == {"read"} and codes(log) == {}


async def test_reads_outside_the_workspace_are_denied_without_a_question(lab, log):
    await prompt(lab, log, "[outside]")
    assert [e["status"] for e in events(log, "tool")][-1] == "error" and codes(log) == {}


async def test_an_unknown_tool_is_flagged(lab, log):
    await prompt(lab, log, "[unknown]")
    assert codes(log) == {"tool_invalid": False}


async def test_a_child_session_is_followed(lab, log):
    await prompt(lab, log, "[task]")
    assert codes(log) == {"child_session": False}
    opened = events(log, "session.open")
    assert [e["role"] for e in opened] == ["main", "child"] and opened[1]["parent"] == opened[0]["session"]
    child = opened[1]["session"]
    assert [c for c in events(log, "chunk") if c["session"] == child]
    assert {e["session"] for e in events(log, "session.info")} == {e["session"] for e in opened}
    assert await sessions_left(lab) == ([], {})


async def test_compaction_is_seen(lab, log):
    await prompt(lab, log, "[compact]", "[plain]")
    assert codes(log).get("compaction") is True
    assert events(log, "compacted")


async def test_each_run_finds_a_fresh_workspace(lab, log):
    await prompt(lab, log, "[write]")
    assert (lab[1].scratch / "workspace" / "new.txt").read_text() == "left behind"
    await prompt(lab, log, "[plain]")
    assert not (lab[1].scratch / "workspace" / "new.txt").exists()


async def test_cancelling_in_mid_turn_aborts_and_deletes(lab, log):
    task = asyncio.create_task(prompt(lab, log, "[hang]"))
    while not events(log, "chunk"):
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events(log, "turn.end")[0]["reason"] == "cancelled"
    assert events(log, "session.close")[0]["deleted"] is True
    assert await sessions_left(lab) == ([], {})


async def test_a_session_whose_creation_is_not_answered_is_found_and_deleted(lab, log, monkeypatch):
    api = lab[0].api
    real = api.call

    async def slow(method, route, body=None, *, timeout_s=10.0):
        answer = await real(method, route, body, timeout_s=timeout_s)
        if (method, route) == ("POST", "/session"):
            raise DriverTimeout("POST /session: no answer within 60 s")
        return answer

    monkeypatch.setattr(api, "call", slow)
    with pytest.raises(DriverTimeout) as caught:
        await prompt(lab, log, "[plain]")
    assert caught.value.code == "orphan_session"
    monkeypatch.undo()
    assert await sessions_left(lab) == ([], {})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "orchestra"}, "has no agent 'orchestra'; it has: .*build"),
        ({"model": "elsewhere/m"}, "has no provider 'elsewhere'"),
    ],
)
async def test_a_wrong_agent_or_model_is_named_before_anything_is_measured(lab, driver, settings, message):
    server, arm = lab
    wrong = dataclasses.replace(driver, **settings, url=server.api.url, auth=server.api.auth)
    with pytest.raises(StartupError, match=message):
        async with running_server(wrong, dataclasses.replace(arm, gateway=None)):
            pass


async def test_a_server_of_ones_own_is_used_and_left_running(lab, log, driver):
    server, arm = lab
    attached = dataclasses.replace(driver, url=server.api.url, auth=server.api.auth)
    with pytest.raises(ConfigError, match="asks its own provider"):
        async with running_server(attached, arm):
            pass
    alone = dataclasses.replace(arm, gateway=None)
    async with running_server(attached, alone) as other, other.session(log) as session:
        await session.prompt("[plain]")
    assert codes(log) == {"foreign_server": False}
    await server.check()


async def test_a_server_that_does_not_start_is_named_with_its_output(driver, lab, tmp_path):
    arm = dataclasses.replace(lab[1], scratch=tmp_path)
    broken = dataclasses.replace(driver, config={"agent": 7})
    with pytest.raises(StartupError):
        async with running_server(broken, arm):
            pass


async def test_a_server_that_dies_in_mid_turn_is_told_from_a_lost_stream(driver, lab, log, tmp_path):
    arm = dataclasses.replace(lab[1], scratch=tmp_path)
    with pytest.raises((AgentExited, DriverError)) as caught:
        async with open_arm(driver, arm) as server, server.session(log) as session:
            task = asyncio.create_task(session.prompt("[hang]"))
            while not events(log, "chunk"):
                await asyncio.sleep(0.05)
            await server.child.signal(signal.SIGKILL)
            await task
    assert isinstance(caught.value, AgentExited) and caught.value.code == "agent_exited"
    assert events(log, "stream.end")[0]["reason"] in ("failed", "clean")
    assert "session_not_deleted" in codes(log)
