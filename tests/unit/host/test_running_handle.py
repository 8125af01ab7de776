from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentlab import errors
from agentlab.errors import AgentlabError, ConfigError, InterruptedByUser, StartupError
from agentlab.host import running as module
from agentlab.host.lease import Lease
from agentlab.host.running import Running


class FakeHost:
    """A host that ends when it is told to; cannot show what any host does."""

    def __init__(
        self, outcome: dict[str, Any] | None = None, failure: str | None = None, over: bool = True
    ) -> None:
        self.done = threading.Event()
        self.outcome, self.failure, self.over = outcome, failure, over
        self.asked: list[str] = []
        self.killed = threading.Event()

    def start(self) -> None:
        if self.over:
            self.done.set()

    def ask(self, reason: str) -> None:
        self.asked.append(reason)
        if self.outcome is None and self.failure is None:
            self.outcome = {"status": reason}
        self.done.set()

    def kill(self) -> None:
        self.killed.set()
        self.done.set()


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentlab.recording.load", lambda folder: f"recordings of {folder.name}")


@pytest.fixture
def study(tmp_path: Path) -> SimpleNamespace:
    (tmp_path / "runs").mkdir()
    return SimpleNamespace(folder=tmp_path, planned={"a": 2})


def both_ways(running: Running) -> list[BaseException | str]:
    """What awaiting gives, and what blocking gives."""

    async def wait() -> object:
        return await running

    found: list[Any] = []
    for get in (lambda: asyncio.run(wait()), running.result):
        try:
            found.append(get())
        except BaseException as error:
            found.append(error)
    return found


def test_nothing_to_do(study: SimpleNamespace) -> None:
    running = Running(study, None)
    assert running.done()
    assert both_ways(running) == [f"recordings of {study.folder.name}"] * 2
    assert running.state()["status"] == "done"


def test_done(study: SimpleNamespace) -> None:
    running = Running(study, FakeHost({"status": "done"}))
    assert both_ways(running) == [f"recordings of {study.folder.name}"] * 2


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("ConfigError", ConfigError, "no\n"),
        ("StartupError", StartupError, "no\n"),
        ("KeyError", AgentlabError, "KeyError: no\n"),
        ("Interrupted", AgentlabError, "Interrupted: no\n"),
        ("annotations", AgentlabError, "annotations: no\n"),
    ],
)
def test_an_error_arrives_as_what_it_was(study: SimpleNamespace, name: str, kind: type, said: str) -> None:
    outcome = {"status": "failed", "error": {"type": name, "message": "no"}}
    for error in both_ways(Running(study, FakeHost(outcome))):
        assert type(error) is kind
        assert str(error).startswith(said)
        assert "0 of 2 runs are kept. The same record(...) call resumes it." in str(error)
        assert not hasattr(error, "__notes__")


def test_a_trace_becomes_a_note(study: SimpleNamespace) -> None:
    error = {"type": "KeyError", "message": "no", "trace": "in line 5"}
    for found in both_ways(Running(study, FakeHost({"status": "failed", "error": error}))):
        assert "in line 5" in found.__notes__[0]


def test_a_place_that_failed(study: SimpleNamespace) -> None:
    for error in both_ways(Running(study, FakeHost(None, "the measuring process was ended by signal 9"))):
        assert type(error) is AgentlabError
        assert str(error).startswith("the measuring process was ended by signal 9\nThe study ended; 0 of 2")


def test_the_measuring_process_was_interrupted(study: SimpleNamespace) -> None:
    awaited, blocked = both_ways(Running(study, FakeHost({"status": "interrupted"})))
    assert type(awaited) is errors.Interrupted
    assert type(blocked) is InterruptedByUser
    assert blocked.recordings == f"recordings of {study.folder.name}"


def test_cancel_gives_what_there_is(study: SimpleNamespace) -> None:
    host = FakeHost(over=False)
    running = Running(study, host)
    running.cancel()
    running.cancel()
    assert host.asked == ["cancelled"]
    assert running.cancelled
    assert both_ways(running) == [f"recordings of {study.folder.name}"] * 2


def test_cancel_after_the_end_changes_nothing(study: SimpleNamespace) -> None:
    outcome = {"status": "failed", "error": {"type": "ConfigError", "message": "no"}}
    running = Running(study, FakeHost(outcome))
    running.cancel()
    assert not running.cancelled
    assert [type(found) for found in both_ways(running)] == [ConfigError] * 2


def test_clean_up_that_is_late_is_killed(study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.0)
    host = FakeHost(over=False, failure="was ended by signal 9")
    host.ask = host.asked.append  # type: ignore[method-assign]
    running = Running(study, host)
    running.cancel()
    assert host.killed.wait(5)
    assert both_ways(running) == [f"recordings of {study.folder.name}"] * 2
    assert running.state()["status"] == "cancelled"


def test_a_cancelled_await_stops_the_study(study: SimpleNamespace) -> None:
    host = FakeHost(over=False)
    running = Running(study, host)

    async def main() -> None:
        async def wait() -> object:
            return await running

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(errors.Interrupted, match="was interrupted; 0 of 2") as caught:
        asyncio.run(main())
    assert host.asked == ["interrupted"]
    assert caught.value.recordings == f"recordings of {study.folder.name}"


def test_an_interrupt_of_a_blocking_wait(study: SimpleNamespace) -> None:
    host = FakeHost(over=False)
    running = Running(study, host, lambda _: lambda: None)
    before = signal.getsignal(signal.SIGINT)
    threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(InterruptedByUser):
        running.result()
    assert host.asked == ["interrupted"]
    assert signal.getsignal(signal.SIGINT) is before
    assert not running.blocking


def test_an_interrupt_while_the_panel_is_made_leaves_nothing_running(study: SimpleNamespace) -> None:
    host = FakeHost(over=False)

    def watch(running: Running) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Running(study, host, watch)
    assert host.asked == ["interrupted"]


def test_progress_is_closed_once_before_the_result(study: SimpleNamespace) -> None:
    closed: list[str] = []
    running = Running(study, FakeHost({"status": "done"}), lambda _: lambda: closed.append("closed"))
    both_ways(running)
    assert closed == ["closed"]


def test_time_stops_at_the_end(study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    running = Running(study, FakeHost({"status": "done"}))
    clock[0] = 105.0
    assert running.state()["elapsed_s"] == 5
    clock[0] = 200.0
    assert running.state()["elapsed_s"] == 5


def test_cards_never_raise(study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running(study, FakeHost({"status": "done"}))
    assert {"text/plain", "text/html"} <= set(running._repr_mimebundle_())
    assert repr(running) == f"<Running {study.folder}: done, a 0/2>"
    monkeypatch.setattr(running, "state", lambda: 1 / 0)
    assert "ZeroDivisionError" in running._repr_mimebundle_()["text/plain"]


class TestDetached:
    """A study that goes on without this process."""

    @pytest.fixture
    def lease(self) -> Lease:
        return Lease.begin(60, None, None)

    def test_the_handle_is_made_when_the_study_goes_on_alone(
        self, study: SimpleNamespace, lease: Lease
    ) -> None:
        given = [None, None, lease]
        running = Running(study, FakeHost(over=False), lease=lambda: given.pop(0))
        assert running.lease == lease and not given
        assert running.state()["until_unix_ns"] == lease.until_unix_ns

    def test_it_is_also_made_when_the_start_fails(self, study: SimpleNamespace) -> None:
        running = Running(study, FakeHost(failure="no"), lease=lambda: None)
        assert running.lease is None and running.done()

    @pytest.mark.parametrize("times", [1, 2])
    def test_an_interrupt_ends_the_waiting_only(
        self, study: SimpleNamespace, lease: Lease, times: int
    ) -> None:
        host = FakeHost({"status": "done"}, over=False)
        closed: list[str] = []
        running = Running(study, host, lambda _: lambda: closed.append("closed"), lease=lambda: lease)

        async def main() -> None:
            async def wait() -> object:
                return await running

            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            task.cancel()
            await task

        for _ in range(times):
            with pytest.raises(errors.Interrupted, match=r"which goes on by itself.*; 0 of 2 runs") as caught:
                asyncio.run(main())
            threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
            with pytest.raises(InterruptedByUser, match=r"agentlab\.attach\(.* shows it again"):
                running.result()
        assert caught.value.recordings == f"recordings of {study.folder.name}"
        assert host.asked == [] and not running.done()
        assert closed == ["closed"]
        host.done.set()
        assert both_ways(running) == [f"recordings of {study.folder.name}"] * 2

    def test_an_interrupt_after_cancel_does_not_cut_clean_up_off(
        self, study: SimpleNamespace, lease: Lease
    ) -> None:
        host = FakeHost({"status": "cancelled"}, over=False)
        host.ask = host.asked.append  # type: ignore[method-assign]
        running = Running(study, host, lease=lambda: lease)
        running.cancel()
        threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
        threading.Timer(0.2, host.done.set).start()
        with pytest.raises(InterruptedByUser, match="was interrupted; 0 of 2 runs are kept"):
            running.result()
        assert running.done()

    def test_an_interrupt_before_it_goes_on_alone_ends_it(self, study: SimpleNamespace) -> None:
        host = FakeHost(over=False)

        def interrupted() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Running(study, host, lease=interrupted)
        assert host.asked == ["interrupted"]

    def test_the_deadline_gives_what_there_is(self, study: SimpleNamespace, lease: Lease) -> None:
        running = Running(study, FakeHost({"status": "deadline"}), lease=lambda: lease)
        assert both_ways(running) == [f"recordings of {study.folder.name}"] * 2
        assert running.state()["status"] == "deadline"

    def test_time_is_counted_from_its_begin(self, study: SimpleNamespace) -> None:
        began = module.time.time_ns() - 100 * 10**9
        running = Running(study, FakeHost({"status": "done"}), since_unix_ns=began)
        assert 100 <= running.state()["elapsed_s"] < 102


def test_who_hands_it_to_asyncio_run_reads_what_to_do(study: SimpleNamespace) -> None:
    host = FakeHost(None)
    running = Running(study, host)
    host.done.clear()
    with pytest.raises((ValueError, TypeError), match=r"\.result\(\) waits for it"):
        asyncio.run(running)  # type: ignore[arg-type]
