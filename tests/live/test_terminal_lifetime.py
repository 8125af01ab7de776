"""Whatever ends a run of Codex: sessions, both daemons and their home are gone within 5 s.

All ways in which a host can end are tested with the toy driver; here are those that differ in what has to
find Codex.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from agentlab import load
from agentlab.agents.cache import cache_home
from agentlab.wire.procid import ProcessId
from agentlab.wire.watchdog import descendants

SETUP = """
import agentlab as al
def start(host, **how):
    driver = al.Terminal("codex", sessions=2, settle=0, hold_s=120)
    return al.record(al.Scenario("life"), {{"a": driver}}, runs=1, to={study!r}, host=host,
                     progress="none", quiet=None, **how)
"""
DAEMONS = ("app-server --listen", "pid-update-loop")


class Lab:
    """A study that holds two sessions, and what it started."""

    def __init__(self, folder: Path) -> None:
        self.study = folder / "study"
        self.code = SETUP.format(study=str(self.study))
        self.started: list[ProcessId] = []
        self.home = Path()
        self.watchdog = 0

    def wait_for_daemons(self, owner: int) -> None:
        """Wait until both daemons have left their sessions."""
        end = time.monotonic() + 60
        while not all(any(word in command for command in commands(owner).values()) for word in DAEMONS):
            assert time.monotonic() < end, commands(owner)
            time.sleep(0.1)
        time.sleep(0.5)
        pids = commands(owner)
        self.started = [ProcessId.of(pid) for pid in pids]
        daemons = [pid for pid, command in pids.items() if any(word in command for word in DAEMONS)]
        assert all(os.getsid(pid) == pid for pid in daemons)
        [self.watchdog] = {parent(pid) for pid in daemons}
        environment = Path(f"/proc/{daemons[0]}/environ").read_text().split("\0")
        [home] = [entry[5:] for entry in environment if entry.startswith("HOME=")]
        self.home = Path(home)
        assert self.home.parent.parent == cache_home() / "runs" and self.home.is_dir()

    def left(self, within: float = 5.0) -> list[str]:
        end = time.monotonic() + within
        while (alive := [process.pid for process in self.started if process.alive()]) and (
            time.monotonic() < end
        ):
            time.sleep(0.05)
        return [f"{pid} {state_of(pid)}" for pid in alive]

    def check(self, *causes: str) -> None:
        assert self.left() == []
        assert not self.home.parent.exists()
        recs = load(self.study)
        assert len(recs.runs) == 1 and not recs.runs["eligible"].any()
        assert set(causes) & set(recs.issues["code"]), recs.issues


def state_of(pid: int) -> str:
    """Return state, parent and command of a process, for the message."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return " ".join(state) + Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[-200:]
    except OSError:
        return "gone"


def commands(owner: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for pid in descendants(owner):
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.fixture
def lab(tmp_path, real_agents):
    lab = Lab(tmp_path)
    yield lab
    for process in lab.started:  # a failing test leaves nothing either
        process.signal(signal.SIGKILL)


def test_cancel(lab):
    names: dict = {}
    exec(lab.code, names)
    running = names["start"]("process")
    lab.wait_for_daemons(os.getpid())
    asked = time.monotonic()
    running.cancel()
    recs = running.result(timeout=10)
    assert time.monotonic() - asked < 2.0
    assert list(recs.runs["status"]) == ["cancelled"]
    lab.check("cancelled")


@pytest.mark.parametrize(
    ("host", "end", "code"),
    [
        ("process", signal.SIGINT, "interrupted"),
        ("process", signal.SIGKILL, "owner_lost"),
        ("inline", signal.SIGKILL, "unfinished"),
    ],
)
def test_a_script_that_ends(lab, tmp_path, host, end, code):
    script = f"import agentlab\n{lab.code}\ntry:\n    start({host!r}).result()\n"
    (tmp_path / "owner.py").write_text(f"{script}except agentlab.InterruptedByUser:\n    pass\n")
    owner = subprocess.Popen([sys.executable, tmp_path / "owner.py"])
    lab.wait_for_daemons(owner.pid)
    owner.send_signal(end)
    owner.wait(timeout=10)
    lab.check(code)


def test_the_measuring_process_is_killed(lab):
    names: dict = {}
    exec(lab.code, names)
    running = names["start"]("process")
    lab.wait_for_daemons(os.getpid())
    [worker] = [process.pid for process in lab.started if parent(process.pid) == os.getpid()]
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(Exception, match="load"):
        running.result(timeout=10)
    lab.check("unfinished")


def test_the_watchdog_is_killed(lab):
    """What it watched passes to the system; it is found by the run's marker."""
    names: dict = {}
    exec(lab.code, names)
    running = names["start"]("process")
    lab.wait_for_daemons(os.getpid())
    os.kill(lab.watchdog, signal.SIGKILL)
    lab.started = [process for process in lab.started if parent(process.pid) != os.getpid()]
    recs = running.result(timeout=15)
    assert list(recs.runs["status"]) == ["failed"]
    lab.check("agent_exited")


def test_the_notebooks_kernel_is_killed(lab):
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute(f"{lab.code}\nrunning = start('kernel')\nrecs = await running")
        kernel = manager.provisioner.process.pid
        lab.wait_for_daemons(kernel)
        os.kill(kernel, signal.SIGKILL)
        lab.check("owner_lost")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
