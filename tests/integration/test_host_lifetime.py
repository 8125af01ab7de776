"""Whatever ends a study, nothing of it lives on, and what was measured is kept.

The driver is a toy whose process forks twice and calls ``setsid``; tests/live does it with a real agent.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator

import psutil
import pytest

import agentlab as al
from agentlab.testing.drivers import Toy

from ..waiting import lives, wait_until
from .conftest import Notebook

STUDY = """
import agentlab as al
from pathlib import Path
from agentlab.testing.drivers import Toy
about = dict(words=2, pids=Path("{name}.pids").resolve())
slow = Toy(**about, hold=Path("{name}.hold").resolve(), cleanup_s={cleanup_s})
running = al.record(al.Scenario("toy", turns=["hi"]), {{"quick": Toy(**about), "slow": slow}}, runs=1,
                    order="sequential", to="{name}", host={host!r}, quiet=None, progress="none")
"""
HOSTS = ("kernel", "process", "inline")
_names = (f"study-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """One notebook for all tests that leave it alive."""
    made = Notebook(tmp_path_factory.mktemp("lasting"))
    yield made
    made.close()


class UnderWay:
    """A study that a notebook records, run 1 done and run 2 in its turn, which does not end by itself."""

    def __init__(self, notebook: Notebook, host: str, cleanup_s: float = 0.0) -> None:
        self.notebook = notebook
        self.name = next(_names)
        self.study = notebook.folder / self.name
        self.pids, self.hold = (notebook.folder / f"{self.name}.{what}" for what in ("pids", "hold"))
        self.hold.touch()
        self.code = STUDY.format(name=self.name, host=host, cleanup_s=cleanup_s)
        notebook.run(self.code)
        wait_until(self._in_second_turn, 20, "the second run is in its turn")
        self.processes = notebook.descendants()
        self.daemons = [psutil.Process(int(pid)) for pid in self.pids.read_text().split()]
        assert len(self.daemons) == 2 and self.daemons[1] in self.processes
        # worker, the watchdogs of study and arms, the toy's process and its daemon
        assert len(self.processes) >= (4 if host == "inline" else 5)

    def _in_second_turn(self) -> bool:
        events = list(self.study.glob("runs/0001-*/events.jsonl"))
        in_turn = bool(events) and '"chunk"' in events[0].read_text()
        return in_turn and self.pids.exists() and len(self.pids.read_text().split()) == 2

    def worker(self) -> psutil.Process:
        return next(p for p in self.processes if p.ppid() == self.notebook.process.pid)

    def alive(self) -> list[psutil.Process]:
        return [p for p in (*self.processes, *self.daemons) if lives(p)]

    def check_gone(self, seconds: float = 3.0) -> None:
        wait_until(lambda: not self.alive(), seconds, f"nothing lives, but {self.alive()}")
        left = [*self.notebook.temporary.iterdir(), *self.notebook.runtime.glob("agentlab-*")]
        assert not left, f"left behind: {left}"

    def check_kept(self, status: str, *codes: str) -> al.Recordings:
        recordings = al.load(self.study)
        assert [r.arm for r in recordings] == ["quick", "slow"]
        assert recordings[0].eligible
        assert not recordings[1].eligible
        state = json.loads((self.study / "runs" / recordings[1].run_id / "run.json").read_text())
        assert state["status"] == status
        assert {i.code for i in recordings[1].issues} & set(codes), recordings[1].issues
        assert len(recordings[1].events) > 2
        return recordings


@pytest.mark.parametrize("host", HOSTS)
def test_cancel_returns_what_there_is(lasting: Notebook, host: str) -> None:
    study = UnderWay(lasting, host)
    began = time.monotonic()
    lasting.run("running.cancel(); running.cancel(); recs = await running; running.cancel()")
    assert time.monotonic() - began < 2
    assert lasting.value("[r.info.status for r in recs]") == "['complete', 'cancelled']"
    assert lasting.value("running.state()['status']") == "'cancelled'"
    study.check_gone()
    study.check_kept("cancelled", "cancelled")


@pytest.mark.parametrize("host", HOSTS)
def test_interrupts_clean_up_and_stop_the_notebook(lasting: Notebook, host: str) -> None:
    study = UnderWay(lasting, host, cleanup_s=0.5)
    waiting = lasting.start("recs = await running")
    after = lasting.start("paid = True")
    time.sleep(0.3)
    began = time.monotonic()
    for _ in range(3):  # the second and third come during clean-up
        lasting.interrupt()
        time.sleep(0.1)
    content = lasting.reply(waiting)
    assert 0.5 < time.monotonic() - began < 2
    assert content["ename"] == "Interrupted"
    assert f"1 of 2 runs are kept: agentlab.load({study.name!r})" in content["evalue"]
    assert lasting.reply(after)["status"] == "aborted"
    study.check_gone(0.5)
    study.check_kept("cancelled", "interrupted")


@pytest.mark.parametrize("host", HOSTS)
def test_interrupt_of_a_blocking_wait(lasting: Notebook, host: str) -> None:
    study = UnderWay(lasting, host, cleanup_s=0.5)
    waiting = lasting.start("running.result()")
    time.sleep(0.3)
    for _ in range(3):
        lasting.interrupt()
        time.sleep(0.1)
    content = lasting.reply(waiting)
    assert content["ename"] == "InterruptedByUser"
    assert lasting.value("running.state()['status']") == "'interrupted'"
    study.check_gone(0.5)
    study.check_kept("cancelled", "interrupted")


@pytest.mark.parametrize(
    ("host", "how"),
    [
        *[("kernel", how) for how in ("restart", "restart now", "shutdown", "kill")],
        *[("process", how) for how in ("restart", "kill")],
        *[("inline", how) for how in ("restart", "kill")],
    ],
)
def test_the_notebooks_kernel_ends(notebook: Notebook, host: str, how: str) -> None:
    study = UnderWay(notebook, host)
    began = time.monotonic()
    notebook.end(how)
    study.check_gone(3 - (time.monotonic() - began))
    if host == "inline" and how == "kill":
        study.check_kept("running", "unfinished")
    else:
        study.check_kept("cancelled", "owner_lost")


@pytest.mark.parametrize("how", ["restart", "shutdown"])
def test_the_notebooks_kernel_ends_during_its_wait(notebook: Notebook, how: str) -> None:
    study = UnderWay(notebook, "kernel")
    notebook.start("recs = await running")
    time.sleep(0.2)
    notebook.end(how)  # Jupyter interrupts first
    study.check_gone()
    study.check_kept("cancelled", "interrupted", "owner_lost")


@pytest.mark.parametrize("host", ["kernel", "process"])
def test_the_measuring_process_is_killed(lasting: Notebook, host: str) -> None:
    study = UnderWay(lasting, host)
    began = time.monotonic()
    os.kill(study.worker().pid, signal.SIGKILL)
    content = lasting.reply(lasting.start("recs = await running"))
    assert content["ename"] == "AgentlabError"
    assert "ended" in content["evalue"] and "1 of 2 runs are kept" in content["evalue"]
    study.check_gone(5 - (time.monotonic() - began))
    recordings = study.check_kept("running", "unfinished")
    events = (study.study / "runs" / recordings[1].run_id / "events.jsonl").read_bytes()
    assert all(json.loads(line) for line in events.splitlines())
    study.hold.unlink()
    lasting.run(f"{study.code}recs = await running")  # the same cell again
    assert lasting.value("[r.info.status for r in recs]") == "['complete', 'running', 'complete']"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("host", ["kernel", "process"])
def test_the_measuring_process_gets_a_signal(lasting: Notebook, host: str, number: int) -> None:
    study = UnderWay(lasting, host)
    os.kill(study.worker().pid, number)
    content = lasting.reply(lasting.start("recs = await running"))
    assert content["ename"] == "Interrupted"
    study.check_gone(0.5)
    study.check_kept("cancelled", "interrupted")


@pytest.mark.parametrize("host", ["kernel", "process"])
def test_clean_up_that_hangs_is_cut_off(lasting: Notebook, host: str) -> None:
    study = UnderWay(lasting, host, cleanup_s=60)
    began = time.monotonic()
    lasting.run("running.cancel(); recs = await running")
    assert time.monotonic() - began < 4
    study.check_gone(5 - (time.monotonic() - began))
    study.check_kept("running", "unfinished")


@pytest.mark.parametrize("host", ["kernel", "process"])
def test_a_fork_of_the_owner_does_not_keep_the_study_alive(notebook: Notebook, host: str) -> None:
    """It holds a copy of the lifeline, as the workers of a multiprocessing pool do."""
    study = UnderWay(notebook, host)
    notebook.run(
        "import os, signal, warnings; warnings.simplefilter('ignore')\nfork = os.fork() or signal.pause()"
    )
    fork = psutil.Process(int(notebook.value("fork")))
    notebook.end("kill")
    try:
        study.check_gone()
        assert fork.is_running()
    finally:
        fork.kill()
    study.check_kept("cancelled", "owner_lost")


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended, or its parent has not noticed yet
        return ""


def test_the_owner_goes_while_clean_up_hangs(notebook: Notebook) -> None:
    study = UnderWay(notebook, "kernel", cleanup_s=60)
    notebook.end("kill")
    study.check_gone(5)
    study.check_kept("running", "unfinished")


@pytest.mark.parametrize("how", ["", ", detach=60"])
def test_the_owner_goes_while_the_measuring_kernel_starts(notebook: Notebook, how: str) -> None:
    """It has no job yet; nobody would ever end it."""
    notebook.start(
        "import agentlab as al\nfrom agentlab.testing.drivers import Toy\n"
        "al.record(al.Scenario('toy', turns=['hi']), Toy(), runs=1, to='early', host='kernel', "
        f"progress='none'{how})"
    )
    wait_until(
        lambda: any(lives(p) and "ipykernel" in command(p) for p in notebook.descendants()), 20, "a kernel"
    )
    started = notebook.descendants()
    notebook.end("kill")
    wait_until(lambda: not any(map(lives, started)), 5, "it has gone")
    assert not [*notebook.runtime.glob("agentlab-*")]


def test_what_is_left_when_owner_and_kernel_are_killed_together_goes_at_the_next_start(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection file holds a key; the folders of kernels that live stay."""
    study = UnderWay(notebook, "kernel")
    worker = study.worker()
    notebook.process.suspend()  # it shall not clean up between the two
    worker.kill()
    notebook.end("kill")
    wait_until(lambda: not study.alive(), 5, "nothing lives")
    (left,) = notebook.runtime.glob("agentlab-*/kernel.json")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(notebook.runtime))
    here = notebook.folder / "here"
    here.touch()

    def record(name: str, arm: Toy) -> al.Running:
        scenario, to = al.Scenario("toy", turns=["hi"]), notebook.folder / name
        return al.record(scenario, arm, runs=1, to=to, host="kernel", quiet=None, progress="none")

    running = record("next", Toy(hold=here))
    wait_until(lambda: running.state()["current"], 20, "it is in its run")
    assert not left.parent.exists()
    (mine,) = notebook.runtime.glob("agentlab-*")
    record("third", Toy()).result()
    assert list(notebook.runtime.glob("agentlab-*")) == [mine]
    here.unlink()
    assert running.result()[0].eligible
    assert not [*notebook.runtime.glob("agentlab-*")]


def test_what_is_left_when_the_watchdogs_are_killed_too_is_ended_at_the_next_start(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What carries no marker is named, not killed: it may be somebody's."""
    study = UnderWay(notebook, "process")
    guards = [p for p in study.processes if lives(p) and "watchdog.py" in command(p)]
    killed = [notebook.process, study.worker(), *guards]
    assert len(guards) >= 3  # of the study and of both arms
    for process in killed:
        process.suspend()
    for process in killed:
        process.kill()
    wait_until(lambda: not any(map(lives, killed)), 5, "they are gone")
    daemon = study.daemons[1]
    (folder,) = notebook.temporary.glob("agentlab-*")
    assert lives(daemon)
    monkeypatch.setattr(tempfile, "tempdir", str(notebook.temporary))

    def record(name: str) -> None:
        scenario, to = al.Scenario("toy", turns=["hi"]), notebook.folder / name
        al.record(scenario, Toy(), runs=1, to=to, host="inline", quiet=None, progress="none").result()

    with subprocess.Popen(["sleep", "60"], cwd=folder) as editor:
        record("next")
        said = capsys.readouterr().err.splitlines()
        assert not lives(daemon) and editor.poll() is None and folder.exists()
        assert said[0].startswith("agentlab: an earlier study was killed together with its watchdogs")
        assert f"{daemon.pid} python" in said[0]
        assert said[1].endswith(f"may have left: {editor.pid} sleep; to end them: kill {editor.pid}")
        editor.kill()
    record("third")
    assert capsys.readouterr().err == "" and not [*notebook.temporary.glob("agentlab-*")]
