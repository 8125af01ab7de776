"""A detached study outlives its notebook, is found again, and ends by Cancel, its deadline or a kill.

With real kernels; the driver is a toy whose process forks twice and calls ``setsid``, tests/live does it with
a real agent.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import agentlab as al
from agentlab.errors import AgentlabError, ConfigError, StudyBusy
from agentlab.host.lease import Lease
from agentlab.testing.drivers import Toy

from ..waiting import lives, wait_until
from .conftest import Notebook

STUDY = """
import agentlab as al
from pathlib import Path
from agentlab.testing.drivers import Toy
here = Path({here!r})
about = dict(words=2, pids=here / "{name}.pids")
slow = Toy(**about, hold=here / "{name}.hold", cleanup_s={cleanup_s})
running = al.record(al.Scenario("toy", turns=["hi"]), {{"quick": Toy(**about), "slow": slow}}, runs=1,
                    order="sequential", to=here / "{name}", quiet=None, progress="none", {how})
"""
_names = (f"study-{n}" for n in itertools.count())
_made: list[Detached] = []


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """A failing test ends its study too."""
    yield
    while _made:
        left = _made.pop()
        if lives(left.measuring):
            left.measuring.kill()
            left.check_gone()


class Detached:
    """A study, run 1 done and run 2 in its turn, which does not end by itself."""

    def __init__(
        self,
        folder: Path,
        run: Callable[[str], Any],
        detach: float = 60,
        *,
        how: str = "",
        cleanup_s: float = 0,
    ) -> None:
        self.name = next(_names)
        self.folder = folder / self.name
        self.pids, self.hold = (folder / f"{self.name}.{what}" for what in ("pids", "hold"))
        self.hold.touch()
        self.code = STUDY.format(
            here=str(folder), name=self.name, cleanup_s=cleanup_s, how=how or f"detach={detach}"
        )
        run(self.code)
        wait_until(self._in_second_turn, 20, "the second run is in its turn")
        lease = Lease.read(self.folder)
        assert lease is not None and lease.outcome is None
        self.lease = lease
        self.measuring = psutil.Process(lease.process.pid)
        daemons = [psutil.Process(int(pid)) for pid in self.pids.read_text().split()]
        # worker, the watchdogs of study and arms, the toy's process and its daemon
        self.processes = {self.measuring, *self.measuring.children(recursive=True)}
        assert len(self.processes) >= 5 and daemons[1] in self.processes
        self.lasting = (self.measuring, daemons[1])
        _made.append(self)

    def _in_second_turn(self) -> bool:
        in_turn = '"chunk"' in self._events()
        return in_turn and self.pids.exists() and len(self.pids.read_text().split()) == 2

    def _events(self) -> str:
        files = list(self.folder.glob("runs/0001-*/events.jsonl"))
        return files[0].read_text() if files else ""

    def alive(self) -> list[psutil.Process]:
        return [p for p in self.processes if lives(p)]

    def check_going_on(self) -> None:
        """All of it lives, and it goes on measuring."""
        written = len(self._events())
        wait_until(lambda: len(self._events()) > written, 2, "it goes on")
        assert all(map(lives, self.lasting))

    def check_gone(self, seconds: float = 5.0) -> None:
        wait_until(lambda: not self.alive(), seconds, f"nothing lives, but {self.alive()}")

    def check_kept(self, status: str, *codes: str) -> None:
        recordings = al.load(self.folder)
        assert [r.info.status for r in recordings] == ["complete", status]
        assert [r.eligible for r in recordings] == [True, False]
        assert {i.code for i in recordings[1].issues} & set(codes), recordings[1].issues


@pytest.fixture
def runtime(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Attach here as the notebook's user; at the end nothing is left in its folders."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(notebook.runtime))
    yield notebook.runtime
    left = [*notebook.temporary.iterdir(), *notebook.runtime.glob("agentlab-*")]
    assert not left, f"left behind: {left}"


@pytest.fixture
def owner(notebook: Notebook, runtime: Path) -> Notebook:
    return notebook


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """One notebook for all tests that leave it alive."""
    made = Notebook(tmp_path_factory.mktemp("lasting"))
    yield made
    left = [*made.temporary.iterdir(), *made.runtime.glob("agentlab-*")]
    made.close()
    assert not left, f"left behind: {left}"


@pytest.fixture
def waiting_owner(lasting: Notebook, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(lasting.runtime))
    return lasting


@pytest.mark.parametrize("how", ["restart", "restart now", "shutdown", "kill"])
def test_the_study_survives_its_notebook_and_is_cancelled_from_elsewhere(owner: Notebook, how: str) -> None:
    study = Detached(owner.folder, owner.run)
    if how in ("restart", "shutdown"):
        owner.start("recs = await running")
        time.sleep(0.2)
    owner.end(how)
    time.sleep(1)
    study.check_going_on()

    if how.startswith("restart"):  # from the new kernel
        owner.run(f"import agentlab as al; running = al.attach({study.name!r}, progress='none')")
        assert owner.value("running.state()['status'], running.state()['finished']") == "('running', 1)"
        began = time.monotonic()
        owner.run("running.cancel(); recs = await running")
        assert owner.value("[r.info.status for r in recs]") == "['complete', 'cancelled']"
        assert owner.value("running.state()['status']") == "'cancelled'"
    else:  # from a script
        running = al.attach(study.folder, progress="none")
        state = running.state()
        assert (state["status"], state["finished"], state["planned"]) == ("running", 1, 2)
        assert state["current"]["arm"] == "slow" and state["elapsed_s"] > 1
        assert 0 < state["until_unix_ns"] - time.time_ns() < 60e9
        began = time.monotonic()
        running.cancel()
        running.cancel()
        assert [r.info.status for r in running.result()] == ["complete", "cancelled"]
    assert time.monotonic() - began < 2
    study.check_gone(0.5)
    study.check_kept("cancelled", "cancelled")
    assert Lease.read(study.folder).outcome == {"status": "cancelled"}  # type: ignore[union-attr]


def test_it_ends_by_itself_when_it_is_done(owner: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    study = Detached(owner.folder, owner.run)
    owner.end("kill")
    running = al.attach(study.folder)
    study.hold.unlink()
    assert [r.eligible for r in running.result()] == [True, True]
    study.check_gone(0.5)
    assert "done: 2 of 2 runs" in capsys.readouterr().err
    later = al.attach(study.folder)
    assert later.done() and later.state()["status"] == "done"
    assert len(later.result()) == 2
    assert "done: 2 of 2 runs" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["alive", "kill"])
def test_its_deadline_ends_it(owner: Notebook, how: str) -> None:
    study = Detached(owner.folder, owner.run, detach=3)
    if how == "kill":
        owner.end("kill")
    study.check_going_on()
    time.sleep(max(0.0, study.lease.left_s()))
    study.check_gone(2)
    study.check_kept("cancelled", "deadline")
    if how == "kill":
        running = al.attach(study.folder, progress="none")
        assert len(running.result()) == 2
        assert running.state()["status"] == "deadline"
    else:
        owner.run("recs = await running")
        assert owner.value("len(recs), running.state()['status']") == "(2, 'deadline')"


def test_its_deadline_cuts_off_clean_up_that_hangs(owner: Notebook) -> None:
    study = Detached(owner.folder, owner.run, detach=3, cleanup_s=60)
    owner.end("kill")
    time.sleep(max(0.0, study.lease.left_s()))
    study.check_gone(5)
    study.check_kept("running", "unfinished")


def test_cancel_cuts_off_clean_up_that_hangs(owner: Notebook) -> None:
    study = Detached(owner.folder, owner.run, cleanup_s=60)
    owner.end("kill")
    running = al.attach(study.folder, progress="none")
    running.cancel()
    assert len(running.result()) == 2
    study.check_gone(0.5)
    study.check_kept("running", "unfinished")


@pytest.mark.parametrize("when", ["before", "while"])
def test_the_measuring_kernel_is_killed(owner: Notebook, when: str) -> None:
    study = Detached(owner.folder, owner.run)
    owner.end("kill")
    running = al.attach(study.folder, progress="none") if when == "while" else None
    study.measuring.kill()
    study.check_gone()
    assert when == "while" or [*owner.runtime.glob("agentlab-*/kernel.json")]
    running = running or al.attach(study.folder, progress="none")
    with pytest.raises(AgentlabError, match="was lost: it was killed") as caught:
        running.result()
    assert "1 of 2 runs are kept" in str(caught.value) and "resumes it" in str(caught.value)
    study.check_kept("running", "unfinished")
    study.hold.unlink()
    names: dict[str, Any] = {}
    exec(study.code, names)  # the same call again, in another process
    assert [r.info.status for r in names["running"].result()] == ["complete", "running", "complete"]


def test_recording_again_clears_what_a_dead_kernel_left(owner: Notebook) -> None:
    study = Detached(owner.folder, owner.run)
    owner.end("kill")
    study.measuring.kill()
    study.check_gone()
    study.hold.unlink()
    names: dict[str, Any] = {}
    exec(study.code.replace("detach=60", "host='process'"), names)
    assert len(names["running"].result()) == 3
    assert not (study.folder / "host.json").exists()


def test_an_interrupt_only_ends_the_waiting(waiting_owner: Notebook) -> None:
    owner = waiting_owner
    study = Detached(owner.folder, owner.run)
    for wait, error in (("await running", "Interrupted"), ("running.result()", "InterruptedByUser")) * 2:
        waiting = owner.start(f"recs = {wait}")
        after = owner.start("paid = True")
        time.sleep(0.3)
        began = time.monotonic()
        owner.interrupt()
        content = owner.reply(waiting)
        assert time.monotonic() - began < 1
        assert content["ename"] == error
        assert "the study, which goes on by itself, until" in content["evalue"]
        assert f"{study.name}') shows it again" in content["evalue"]
        assert owner.reply(after)["status"] == "aborted"
        study.check_going_on()
        if error == "InterruptedByUser":  # the same with a handle that is not the owner's
            owner.run(f"running = al.attach({study.name!r}, progress='none')")
    owner.run("running.cancel(); recs = await running")
    study.check_gone(1)
    study.check_kept("cancelled", "cancelled")


def test_several_at_once(waiting_owner: Notebook) -> None:
    owner = waiting_owner
    study = Detached(owner.folder, owner.run)
    handles = [al.attach(study.folder, progress="none") for _ in range(3)]
    with pytest.raises(TimeoutError, match="the study goes on"):
        handles[0].result(timeout=0.2)
    waiting = owner.start("recs = await running")
    threading.Timer(0.2, handles[1].cancel).start()
    assert [len(handle.result()) for handle in handles] == [2, 2, 2]
    assert [handle.state()["status"] for handle in handles] == ["cancelled"] * 3
    assert owner.reply(waiting)["status"] == "ok"
    assert owner.value("len(recs), running.state()['status']") == "(2, 'cancelled')"
    study.check_gone(1)


def test_the_owners_own_cancel(waiting_owner: Notebook) -> None:
    owner = waiting_owner
    study = Detached(owner.folder, owner.run)
    began = time.monotonic()
    owner.run("running.cancel(); recs = await running")
    assert time.monotonic() - began < 2
    study.check_gone(0.5)
    study.check_kept("cancelled", "cancelled")


def test_without_the_key_the_system_carries_the_cancel(
    owner: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Detached(owner.folder, owner.run)
    owner.end("kill")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("JUPYTER_RUNTIME_DIR", str(owner.folder / "other"))
        running = al.attach(study.folder, progress="none")
        running.cancel()
        assert len(running.result()) == 2
    study.check_kept("cancelled", "cancelled")


def test_a_process_serves_too(tmp_path: Path) -> None:
    """Where no kernel is wanted; it is found and cancelled all the same."""

    def script(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, timeout=30)

    study = Detached(tmp_path, script, how="detach=60, host='process'")
    assert study.lease.connection is None
    study.check_going_on()
    running = al.attach(study.folder, progress="none")
    running.cancel()
    assert len(running.result()) == 2
    study.check_gone(0.5)
    study.check_kept("cancelled", "cancelled")


KEYED = """
import dataclasses, sys
import agentlab as al
from agentlab.testing.drivers import Toy

@dataclasses.dataclass(frozen=True, kw_only=True)
class Keyed(Toy):
    env_names = ("LAB_TOKEN",)

    async def session(self, run):
        import os
        assert os.environ["LAB_TOKEN"] == "planted-4711"
        return await super().session(run)
"""


def test_a_script_ends_and_leaves_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its last act it records: when that call returns, the study needs it no more."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("LAB_TOKEN", "planted-4711")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "keyed.py").write_text(KEYED)

    def script(code: str) -> None:
        code = code.replace("slow = Toy(", "from keyed import Keyed; slow = Keyed(")
        (tmp_path / "owner.py").write_text(code)
        subprocess.run([sys.executable, tmp_path / "owner.py"], check=True, timeout=30)

    study = Detached(tmp_path, script)
    study.check_going_on()
    files = [
        *study.folder.rglob("*"),
        *(tmp_path / "run").rglob("*"),
        Path(f"/proc/{study.measuring.pid}/environ"),
    ]
    held = [file for file in files if file.is_file() and b"planted-4711" in file.read_bytes()]
    assert not held and len(files) > 10
    running = al.attach(study.folder, progress="none")
    running.cancel()
    running.result()
    study.check_gone(0.5)
    assert not [*(tmp_path / "run").iterdir()]


class TestRefusals:
    def test_a_second_recorder_is_told_of_attach(self, waiting_owner: Notebook) -> None:
        owner = waiting_owner
        study = Detached(owner.folder, owner.run)
        for change in ("", "exists='replace', "):
            names: dict[str, Any] = {}
            with pytest.raises(StudyBusy, match=rf"detached: agentlab\.attach\('{study.folder}'\) shows it"):
                exec(study.code.replace("progress=", f"{change}progress="), names)
                names["running"].result()
            study.check_going_on()
        owner.run("running.cancel(); recs = await running")

    def test_one_that_is_not_detached(self, tmp_path: Path) -> None:
        (tmp_path / "hold").touch()
        arm = Toy(words=2, hold=tmp_path / "hold")
        running = al.record(
            al.Scenario("toy", turns=["hi"]), arm, runs=1, to=tmp_path / "s", host="inline", quiet=None,
            progress="none",
        )  # fmt: skip
        try:
            while running.state()["current"] is None:
                time.sleep(0.02)
            with pytest.raises(StudyBusy, match="not detached"):
                al.attach(tmp_path / "s")
        finally:
            (tmp_path / "hold").unlink()
            running.result()
        again = al.attach(tmp_path / "s")
        assert len(again.result()) == 1

    def test_one_that_nobody_records(self, tmp_path: Path) -> None:
        (tmp_path / "hold").touch()
        arm = Toy(words=2, hold=tmp_path / "hold")
        running = al.record(
            al.Scenario("toy", turns=["hi"]), arm, runs=1, to=tmp_path / "s", host="inline", quiet=None,
            progress="none",
        )  # fmt: skip
        running.cancel()
        running.result()
        with pytest.raises(ConfigError, match="nobody records it; 0 of 1 runs are kept"):
            al.attach(tmp_path / "s")

    def test_no_study(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="there is no study"):
            al.attach(tmp_path)

    def test_wrong_options(self, tmp_path: Path) -> None:
        def record(**how: Any) -> None:  # noqa: ANN401
            al.record(al.Scenario("toy", turns=["hi"]), Toy(), runs=1, to=tmp_path / "s", **how)

        for wrong in (True, 0, 0.5, -3, float("nan"), float("inf"), "60", None, 10**9):
            with pytest.raises(ConfigError, match=r"detach=.*give the seconds, 1 to 2,592,000"):
                record(detach=wrong)
        with pytest.raises(ConfigError, match="a study inside this process ends with it"):
            record(detach=5, host="inline")
        with pytest.raises(ConfigError, match="choose one of"):
            al.attach(tmp_path, progress="loud")  # type: ignore[arg-type]
        assert not (tmp_path / "s").exists()
