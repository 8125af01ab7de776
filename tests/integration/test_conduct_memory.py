"""What the engine does when memory is sampled: whose processes, where samples go, which runs are believed."""

import asyncio
import contextlib
import dataclasses
import json
import sys

import pytest

from agentlab import Quiet, Scenario
from agentlab.drivers.base import Identity
from agentlab.engine import conduct
from agentlab.engine.slots import recorded
from agentlab.engine.study import Study, prepare
from agentlab.wire.children import Children
from agentlab.wire.pressure import Pressure

HOLD = "import os, time; held = os.urandom(20_000_000); time.sleep(60)"


@dataclasses.dataclass(frozen=True)
class Holder:
    """Keep processes of 20 MB, one a session; ``owns``: whose they are said to be."""

    sessions: tuple[int, ...] = (1, 2)
    owns: str = "run"
    measures_memory: bool = True

    def identify(self):
        return Identity(driver="holder", version="1", settings={"owns": self.owns})

    @contextlib.asynccontextmanager
    async def open(self, arm):
        async with Children() as children:
            if self.owns == "arm":
                arm.own(children.pid)
            yield _Opened(self, children)


@dataclasses.dataclass
class _Opened:
    driver: Holder
    children: Children

    @contextlib.asynccontextmanager
    async def session(self, run):
        if self.driver.owns == "run":
            run.own(self.children.pid)
        held = [
            await self.children.spawn([sys.executable, "-c", HOLD], env={}) for _ in range(run.n_sessions)
        ]
        if run.memory is not None and self.driver.owns != "nothing":
            run.memory.mark("settle")
            assert await run.memory.settled(window_s=0.5, cap_s=20)
            run.memory.mark("settled")
            await asyncio.sleep(0.6)
        yield self
        for child in held:
            await child.terminate()


async def carry_out(folder, driver, **changes):
    settings = {"runs": 1, "order": "interleaved", "seed": 1, "quiet": None, "scenario": Scenario("hold")}
    study = prepare(Study(folder=folder / "s", arms={"a": driver}, **{**settings, **changes}), "resume")
    await conduct.conduct(study, conduct.Stop())
    return study


def samples(study, run):
    lines = (study.folder / "runs" / run["run_id"] / "memory.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("owns", ["arm", "run"])
async def test_a_runs_own_processes_are_sampled(tmp_path, owns):
    study = await carry_out(tmp_path, Holder(owns=owns))
    runs = {run["n_sessions"]: run for run in recorded(study.folder)}
    assert set(runs) == {1, 2}
    for n, run in runs.items():
        assert run["status"] == "complete" and run["issues"] == []
        assert run["memory"]["n_slow"] >= 1 and {"before", "after"} <= run["pressure"].keys()
        slow = [r for r in samples(study, run) if r["kind"] == "memory.sample" and r["lane"] == "slow"]
        most = max(slow, key=lambda record: sum(process[2] for process in record["processes"]))
        assert len(most["processes"]) == n
        assert all(process[2] > 20_000_000 for process in most["processes"])  # PSS, bytes


async def test_nothing_is_sampled_unasked(tmp_path):
    study = await carry_out(tmp_path, Holder(sessions=(1,), measures_memory=False))
    assert recorded(study.folder)[0]["issues"] == []
    assert not list(study.folder.glob("runs/*/memory.jsonl"))


async def test_a_driver_that_names_no_process_has_no_memory(tmp_path):
    driver = Holder(sessions=(1,), owns="nothing", measures_memory=False)
    study = await carry_out(tmp_path, driver, memory=True)
    issue = recorded(study.folder)[0]["issues"][0]
    assert issue["code"] == "memory_unknown" and not issue["discard"]


async def test_memory_pressure_discards_a_run_and_has_it_made_again(tmp_path, monkeypatch):
    shares = iter([0.0, 7.0, 0.0, 0.0])  # before and after two attempts
    monkeypatch.setattr(conduct, "read_pressure", lambda: Pressure(memory_some_avg10=next(shares)))
    study = await carry_out(tmp_path, Holder(sessions=(1,)), quiet=Quiet(wait_s=0, attempts=3))
    first, second = recorded(study.folder)
    assert (first["run_index"], second["run_index"]) == (0, 0)
    issue = next(i for i in first["issues"] if i["code"] == "memory_pressure")
    assert issue["discard"] and issue["detail"] == "before 0.0 %, after 7.0 %"
    assert not any(i["code"] == "memory_pressure" for i in second["issues"])
    assert study.missing() == []


async def test_the_last_attempt_stays_and_is_discarded(tmp_path, monkeypatch):
    monkeypatch.setattr(conduct, "read_pressure", lambda: Pressure(memory_some_avg10=50.0))
    study = await carry_out(tmp_path, Holder(sessions=(1,)), quiet=Quiet(wait_s=0, attempts=2))
    runs = recorded(study.folder)
    assert len(runs) == 2 and study.missing() == []
    assert all(any(i["code"] == "memory_pressure" and i["discard"] for i in run["issues"]) for run in runs)
