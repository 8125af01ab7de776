"""A study is carried out whatever its driver does; drivers here are toys that only show the engine's part."""

import asyncio
import contextlib
import dataclasses
import json
import os
import subprocess
import time

import pytest

from agentlab import Scenario, Timeouts, load
from agentlab.drivers.base import Identity
from agentlab.engine import waiting
from agentlab.engine.conduct import Stop, conduct
from agentlab.engine.slots import recorded
from agentlab.engine.study import Study, prepare
from agentlab.engine.waiting import Quiet
from agentlab.errors import (
    AgentExited,
    CleanupError,
    ConfigError,
    DriverTimeout,
    GatewayError,
    RecordingError,
    StartupError,
)
from agentlab.host.state import StudyState
from agentlab.host.worker import carry_out
from agentlab.wire.children import Children
from agentlab.wire.pressure import Pressure

SCENARIO = Scenario("toy", turns=["one {nonce}", "two {nonce}"], timeouts=Timeouts(cleanup=1))


class Toy:
    """A driver whose turn is a function; it logs what the engine asks of it."""

    def __init__(self, turn=None, *, start=None, name="toy"):
        self.turn, self.start, self.name, self.log = turn, start, name, []

    def identify(self):
        return Identity(driver=self.name, version="1")

    @contextlib.asynccontextmanager
    async def open(self, arm):
        if self.start is not None:
            self.start()
        self.log.append("open")
        self.arm = arm
        try:
            yield self
        finally:
            self.log.append("close")

    @contextlib.asynccontextmanager
    async def session(self, run):
        self.run = run
        try:
            yield self
        finally:
            await asyncio.sleep(0.01)  # clean-up may await, also after a cancellation
            self.log.append("hurry" if self.arm.hurry else "tidy")

    async def prompt(self, text):
        self.run.emit("turn.send", turn=1, content={"text": text})
        if self.turn is not None:
            result = self.turn(self.run, text)
            if asyncio.iscoroutine(result):
                await result


def make(folder, arms, **changes):
    settings = {"runs": 2, "order": "interleaved", "seed": 1, "quiet": None, "scenario": SCENARIO}
    return prepare(Study(folder=folder / "s", arms=arms, **{**settings, **changes}), "resume")


async def run_study(study):
    stop = Stop()
    return await carry_out(lambda: study, stop)


def codes(study):
    return [[issue["code"] for issue in run["issues"]] for run in recorded(study.folder)]


async def test_a_study_runs_in_blocks_and_opens_each_arm_once(tmp_path):
    arms = {"a": Toy(), "b": Toy()}
    study = make(tmp_path, arms, runs=3)
    assert (await run_study(study))["status"] == "done"
    runs = recorded(study.folder)
    assert [run["status"] for run in runs] == ["complete"] * 6
    assert [(run["arm"], run["run_index"]) for run in runs] == [(s.arm, s.index) for s in study.slots()]
    assert all(arm.log == ["open", "tidy", "tidy", "tidy", "close"] for arm in arms.values())
    assert study.missing() == []


async def test_a_wait_for_a_quiet_machine_is_told_while_it_lasts(tmp_path, monkeypatch):
    monkeypatch.setattr(waiting, "read_pressure", lambda: Pressure(cpu_some_avg10=81, memory_some_avg10=0))
    study = make(tmp_path, {"a": Toy()}, runs=1, quiet=Quiet(wait_s=0.3))
    seen = StudyState(study, time.time_ns())
    task = asyncio.create_task(run_study(study))
    while (said := seen.read()["waiting"]) is None:
        assert not task.done()
        await asyncio.sleep(0.01)
    assert said.pop("waited_s") < 0.3
    why = "CPU pressure 81 %, limit 25 %"
    assert said == {"arm": "a", "run_index": 0, "why": why, "longest_s": 0.3}
    assert (await task)["status"] == "done"
    assert codes(study) == [["not_quiet"]]
    assert not (study.folder / "waiting.json").exists()


async def test_the_nonce_is_fresh_for_each_run_the_same_in_its_turns_and_never_stored(tmp_path):
    seen = []
    study = make(tmp_path, {"a": Toy(lambda run, text: seen.append(text.split()[1]))})
    await run_study(study)
    assert seen[0] == seen[1] != seen[2] == seen[3]
    stored = b"".join(p.read_bytes() for p in study.folder.rglob("*") if p.is_file())
    assert not any(nonce.encode() in stored for nonce in seen)


async def test_a_failing_run_becomes_an_issue_and_the_study_goes_on(tmp_path):
    calls = []

    def turn(run, text):
        calls.append(text)
        if len(calls) == 1:
            raise DriverTimeout("nothing happened for 60 s", code="turn_stalled")
        if len(calls) == 2:
            raise ValueError("a bug of the driver with sk-ant-abcdefghijklmnopqrstuvwxyz0123456789 in it")

    study = make(tmp_path, {"a": Toy(turn)}, runs=3)
    assert (await run_study(study))["status"] == "done"
    assert [run["status"] for run in recorded(study.folder)] == ["failed", "failed", "complete"]
    assert codes(study) == [["turn_stalled"], ["driver_error"], []]
    assert all(issue["discard"] for run in recorded(study.folder) for issue in run["issues"])
    assert "sk-ant-abc" not in (study.folder / "runs" / "0001-a" / "run.json").read_text()


async def test_a_server_that_died_is_opened_again_for_the_next_run(tmp_path):
    calls = []

    def turn(run, text):
        calls.append(text)
        if len(calls) == 1:
            raise AgentExited("the connection broke", code="agent_exited")

    toy = Toy(turn)
    study = make(tmp_path, {"a": toy})
    await run_study(study)
    assert toy.log == ["open", "tidy", "close", "open", "tidy", "close"]
    assert codes(study) == [["agent_exited"], []]


async def test_an_arm_that_cannot_start_ends_the_study_before_any_run(tmp_path):
    def broken():
        raise StartupError("no such agent; run: agentlab install opencode")

    good = Toy()
    study = make(tmp_path, {"good": good, "bad": Toy(start=broken)})
    outcome = await run_study(study)
    assert outcome["error"] == {
        "type": "StartupError",
        "message": "no such agent; run: agentlab install opencode",
    }
    assert recorded(study.folder) == [] and good.log[-1] == "close"
    assert len(study.missing()) == 4


async def test_an_arm_that_does_not_start_in_its_first_run_ends_the_study_there(tmp_path):
    def turn(run, text):
        raise StartupError("the app's command was not found")

    study = make(tmp_path, {"good": Toy(), "bad": Toy(turn)}, runs=3, order="sequential")
    outcome = await run_study(study)
    assert outcome["error"] == {"type": "StartupError", "message": "the app's command was not found"}
    assert codes(study) == [[], [], [], ["startup_failed"]]
    assert [run["status"] for run in recorded(study.folder)] == ["complete"] * 3 + ["cancelled"]
    assert len(study.missing()) == 3  # mended, the same call goes on


async def test_a_later_start_failure_is_an_issue(tmp_path):
    starts = []

    def start():
        starts.append(1)
        if len(starts) == 2:
            raise StartupError("port taken")

    def turn(run, text):
        if len(starts) == 1:
            raise AgentExited("gone", code="agent_exited")

    study = make(tmp_path, {"a": Toy(turn, start=start)}, runs=3)
    assert (await run_study(study))["status"] == "done"
    assert codes(study) == [["agent_exited"], ["startup_failed"], []]


@pytest.mark.parametrize("reason", ["cancelled", "interrupted", "owner_lost"])
async def test_stopping_marks_the_run_under_way_and_keeps_the_rest(tmp_path, reason):
    stop, calls = Stop(), []

    async def turn(run, text):
        calls.append(text)
        if len(calls) == 3:
            stop.ask(reason)
            stop.ask("cancelled")  # a second wish changes nothing
            await asyncio.sleep(30)

    toy = Toy(turn)
    study = make(tmp_path, {"a": toy}, runs=3)
    assert (await carry_out(lambda: study, stop))["status"] == reason
    assert [run["status"] for run in recorded(study.folder)] == ["complete", "cancelled"]
    assert codes(study) == [[], [reason]]
    assert toy.log == ["open", "tidy", "hurry", "close"]
    assert (await run_study(prepare(study, "resume")))["status"] == "done"
    assert [run["status"] for run in recorded(study.folder)] == [
        "complete",
        "cancelled",
        "complete",
        "complete",
    ]
    assert [run["run_index"] for run in recorded(study.folder)] == [0, 1, 1, 2]


async def test_cancelling_the_waiter_twice_does_not_cut_clean_up_off(tmp_path):
    async def turn(run, text):
        await asyncio.sleep(30)

    toy = Toy(turn)
    study = make(tmp_path, {"a": toy})
    task = asyncio.create_task(run_study(study))
    while not toy.log:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    assert (await task)["status"] == "interrupted"
    assert toy.log == ["open", "hurry", "close"]


async def test_what_the_scenario_requires_is_checked(tmp_path):
    def turn(run, text):
        run.emit(
            "tool", name="read", call="c", status="completed" if run.run_id.endswith("good") else "error"
        )
        run.emit("turn.reply", text_chars=3 if run.run_id.endswith("good") else 0)

    scenario = Scenario("toy", turns=["x"], require=["tool:read", "text"])
    study = make(tmp_path, {"good": Toy(turn), "bad": Toy(turn)}, runs=1, scenario=scenario)
    await run_study(study)
    found = {run["arm"]: [i["code"] for i in run["issues"]] for run in recorded(study.folder)}
    assert found == {"good": [], "bad": ["missing_tool", "missing_text"]}


async def test_contents_are_written_only_when_asked(tmp_path):
    for keep, there in (("numbers", False), ("content", True)):
        study = make(tmp_path / keep, {"a": Toy()}, keep=keep, runs=1)
        await run_study(study)
        assert (
            b'"content":{"text":"one ' in (study.folder / "runs/0000-a/events.jsonl").read_bytes()
        ) is there


async def test_two_recorders_of_one_study_do_not_meet(tmp_path):
    async def turn(run, text):
        await asyncio.sleep(0.2)

    study = make(tmp_path, {"a": Toy(turn)}, runs=1)
    first = asyncio.create_task(run_study(study))
    await asyncio.sleep(0.1)
    with pytest.raises(ConfigError, match="being recorded by another process"):
        await conduct(study, Stop())
    assert (await first)["status"] == "done"


async def test_samples_of_the_machine_and_of_the_instrument_are_in_every_run(tmp_path):
    async def turn(run, text):
        await asyncio.sleep(0.6)

    study = make(tmp_path, {"a": Toy(turn)}, runs=1)
    await run_study(study)
    lines = [json.loads(x) for x in (study.folder / "runs/0000-a/events.jsonl").read_text().splitlines()]
    lag = [x for x in lines if x["kind"] == "lag"]
    assert lag and lag[0]["n"] > 20
    assert [x for x in lines if x["kind"] == "pressure"]
    observer = recorded(study.folder)[0]["observer"]
    assert 0 <= observer["loop_lag_p50_ms"] <= observer["loop_lag_p99_ms"] <= observer["loop_lag_max_ms"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 512 KiB; mounting needs root, as CI is."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


async def test_a_full_disk_ends_the_study_and_keeps_what_was_measured(small_disk):
    def turn(run, text):
        if run.run_id.startswith("0002"):
            for i in range(100_000):
                run.emit("other", type="filler", i=i, text="x" * 100)

    study = make(small_disk, {"a": Toy(turn)}, runs=5)
    outcome = await run_study(study)
    assert outcome["status"] == "failed" and outcome["error"]["type"] == "RecordingError"
    assert "No space left" in outcome["error"]["message"]
    done = [run for run in recorded(study.folder) if run["status"] == "complete"]
    assert len(done) == 2
    lines = (study.folder / "runs" / "0002-a" / "events.jsonl").read_bytes()
    assert lines.endswith(b"}\n") and [json.loads(line) for line in lines.splitlines()]


async def test_a_disk_that_is_full_at_the_end_of_the_last_run_is_told(tmp_path, monkeypatch):
    study = make(tmp_path, {"a": Toy()}, runs=1)

    def full(self, status, **_):
        raise RecordingError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("agentlab.engine.runlog.RunLog.finish", full)
        outcome = await run_study(study)
    assert outcome["status"] == "failed" and outcome["error"]["type"] == "RecordingError"
    assert len(study.missing()) == 1


async def test_a_run_that_the_disk_cut_off_is_made_again_though_its_end_could_be_written(tmp_path):
    def turn(run, text):
        raise RecordingError("No space left on device")

    study = make(tmp_path, {"a": Toy(turn)}, runs=1)
    assert (await run_study(study))["error"]["type"] == "RecordingError"
    assert codes(study) == [["unfinished"]] and len(study.missing()) == 1


async def test_no_room_for_a_new_run_leaves_no_empty_folder(tmp_path, monkeypatch):
    study = make(tmp_path, {"a": Toy()}, runs=1)

    def full(path, data, **how):
        raise RecordingError("No space left on device")

    monkeypatch.setattr("agentlab.engine.runlog.write_json", full)
    assert (await run_study(study))["error"]["type"] == "RecordingError"
    assert list((study.folder / "runs").iterdir()) == []


async def test_a_folder_that_vanishes_is_a_named_error(tmp_path):
    import shutil

    def turn(run, text):
        shutil.rmtree(tmp_path / "s", ignore_errors=True)
        run.issue("retry")

    study = make(tmp_path, {"a": Toy(turn)})
    with pytest.raises(RecordingError, match="cannot be written"):
        await conduct(study, Stop())


async def test_nothing_of_a_driver_survives_the_study(tmp_path):
    pids = []

    class Leaky(Toy):
        @contextlib.asynccontextmanager
        async def open(self, arm):
            async with Children() as children:
                pids.append((await children.spawn(["sleep", "60"], env={"PATH": os.environ["PATH"]})).pid)
                (arm.scratch / "home").mkdir()
                self.scratch = arm.scratch
                async with super().open(arm) as opened:
                    yield opened

    leaky = Leaky()
    await run_study(make(tmp_path, {"a": leaky}))
    assert pids and not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    assert not leaky.scratch.exists()


async def test_arms_are_closed_side_by_side_each_where_it_was_opened(tmp_path):
    everybody = asyncio.Barrier(3)

    class Together(Toy):
        @contextlib.asynccontextmanager
        async def open(self, arm):
            task = asyncio.current_task()
            async with super().open(arm) as opened:
                yield opened
            assert asyncio.current_task() is task
            async with asyncio.timeout(10):
                await everybody.wait()  # one after the other none would pass
            if self.name == "b":
                raise CleanupError("still alive: 4711 node", survivors=("4711 node",))

    arms = {name: Together(name=name) for name in "abc"}
    outcome = await run_study(make(tmp_path, arms, runs=1))
    assert outcome["error"] == {"type": "CleanupError", "message": "still alive: 4711 node"}
    assert all(arm.log == ["open", "tidy", "close"] for arm in arms.values())


async def test_stopping_while_an_arm_opens_ends_its_opening(tmp_path):
    stop = Stop()

    class Slow(Toy):
        @contextlib.asynccontextmanager
        async def open(self, arm):
            try:
                stop.ask("cancelled")
                await asyncio.sleep(30)
                yield self
            finally:
                await asyncio.sleep(0.01)
                self.log.append("cut off")

    good, slow = Toy(), Slow()
    study = make(tmp_path, {"good": good, "slow": slow})
    assert await carry_out(lambda: study, stop) == {"status": "cancelled"}
    assert good.log == ["open", "close"] and slow.log == ["cut off"]


async def test_a_study_that_is_being_recorded_is_not_replaced(tmp_path):
    async def turn(run, text):
        await asyncio.sleep(0.3)

    study = make(tmp_path, {"a": Toy(turn)}, runs=1)
    first = asyncio.create_task(run_study(study))
    await asyncio.sleep(0.1)
    with pytest.raises(ConfigError, match="being recorded by another process"):
        prepare(study, "replace")
    assert (await first)["status"] == "done" and len(recorded(study.folder)) == 1


class FakeGateway:
    """Counts its starts; it cannot show what a gateway does."""

    def __init__(self):
        self.starts, self.token, self.runs, self.gone = 0, "token", [], False

    async def start(self, **_):
        self.starts += 1
        return self

    async def idle(self):
        if self.gone:
            raise GatewayError("the gateway's process is gone")
        return 0

    async def begin(self, run_id, arm, file):
        self.runs.append(arm)

    async def close(self):
        pass


async def test_an_arms_own_gateway_is_its_own_also_when_two_arms_name_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("agentlab.engine.study._described", lambda gateway, keep: None)
    own, shared = FakeGateway(), FakeGateway()
    arms = {name: Toy() for name in "abcd"}
    arms["a"].gateway = arms["b"].gateway = own  # two equal ones once they have crossed to another process
    study = make(tmp_path, arms, runs=1, gateway=shared)
    assert (await run_study(study))["status"] == "done"
    assert (own.starts, shared.starts) == (2, 1)
    assert set(own.runs) == {"a", "b"} and set(shared.runs) == {"c", "d"}


async def test_a_gateway_that_dies_in_a_run_is_not_the_agents_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("agentlab.engine.study._described", lambda gateway, keep: None)
    gateway = FakeGateway()

    def turn(run, text):
        gateway.gone = True
        raise DriverTimeout("nothing happened", code="turn_stalled")

    study = make(tmp_path, {"a": Toy(turn)}, gateway=gateway)
    outcome = await run_study(study)
    assert outcome["error"]["type"] == "GatewayError"
    assert codes(study) == [["turn_stalled", "gateway_gone"]]
    assert len(study.missing()) == 2  # it is made again


@pytest.mark.parametrize(("rows", "said"), [([], ["gateway_bypassed"]), ([{"reason": None}], [])])
async def test_a_run_that_was_answered_around_its_gateway_is_discarded(tmp_path, monkeypatch, rows, said):
    monkeypatch.setattr("agentlab.engine.study._described", lambda gateway, keep: None)
    gateway = FakeGateway()
    gateway.of_run = lambda: rows
    arms = {"a": Toy(lambda run, text: run.emit("turn.reply", text_chars=3))}
    study = make(tmp_path, arms, runs=1, gateway=gateway)
    assert (await run_study(study))["status"] == "done"
    assert codes(study) == [said]
    assert load(study.folder).runs["eligible"].tolist() == [not said]


async def test_a_factory_is_called_once_a_recording(tmp_path, monkeypatch):
    study = make(tmp_path, {"a": Toy()}, runs=1)
    made = []
    monkeypatch.setattr("agentlab.engine.arms.resolve", lambda name: lambda: (made.append(name), Toy())[1])
    named = dataclasses.replace(study, arms={"a": "somewhere:make"})
    assert (await run_study(named))["status"] == "done"
    assert made == ["somewhere:make"]


async def test_runs_are_never_recorded_under_the_name_of_another_study(tmp_path):
    first = make(tmp_path, {"a": Toy()})
    second = make(tmp_path, {"b": Toy()})  # it takes the folder, in which no run is yet
    outcome = await run_study(first)
    assert outcome["error"]["type"] == "StudyBusy"
    assert recorded(first.folder) == []
    assert (await run_study(second))["status"] == "done"
