"""The owner's handle of a study that is being recorded: await it, cancel it, read what is there."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import errors
from ..errors import AgentlabError, InterruptedByUser
from ..progress import clock
from .base import Host
from .lease import Lease
from .state import Plan, StudyState

if TYPE_CHECKING:
    from ..recording import Recordings

_TICK_S = 0.05
_HANDOVER_S = 0.02
#: Clean-up has this long after Cancel or an interrupt; then the measuring process is killed.
GRACE_S = 3.0

Watch = Callable[["Running"], Callable[[], None]]


class Running:
    """A study under way; made by :func:`agentlab.record` and :func:`agentlab.attach`.

    ``await running`` (notebooks) or ``running.result()`` (scripts, papermill) gives the recordings.
    ``running.cancel()`` ends it; what was measured is kept and returned. An interrupt while it is waited for
    ends it too, unless it is detached: then only the waiting ends.

    Parameters
    ----------
    study : Plan
        A prepared study.
    host : Host or None
        Where it is measured; None: nothing was missing, so nothing was started.
    watch : callable, optional
        Called with this handle once it runs; shows progress. What it returns is called at the end.
    lease : callable, optional
        For a detached study: gives its lease, or None while it does not have one yet. The handle is made when
        it has: from then on the study goes on without this process.
    since_unix_ns : int, optional
        When its recording began; now when absent.
    took : callable, optional
        For a study that may have ended before: gives, once it is over, the seconds that it took, or None.

    Attributes
    ----------
    study : Plan
        What is recorded.
    lease : Lease or None
        Of a detached study: its deadline.
    cancelled : bool
        Cancel was asked for.
    blocking : bool
        ``result()`` waits on the main thread: no widget's click can arrive.

    Examples
    --------
    >>> import agentlab as al
    >>> from agentlab.testing.drivers import Toy
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     hello = al.Scenario("hello", turns=["Say hello."])
    ...     how = {"host": "inline", "quiet": None, "progress": "none"}
    ...     running = al.record(hello, Toy(), runs=2, to=f"{folder}/study", **how)
    ...     recs = running.result()  # in a notebook: await running
    >>> running.state()["status"], len(recs)
    ('done', 2)
    """

    def __init__(
        self,
        study: Plan,
        host: Host | None,
        watch: Watch | None = None,
        *,
        lease: Callable[[], Lease | None] | None = None,
        since_unix_ns: int | None = None,
        took: Callable[[], float | None] | None = None,
    ) -> None:
        now = time.time_ns()
        since = now if since_unix_ns is None else since_unix_ns
        self.study = study
        self.lease: Lease | None = None
        self.cancelled = False
        self.blocking = False
        self._host = host
        self._began = time.monotonic() - (now - since) / 1e9
        self._ended: float | None = None
        self._took = took
        self._state = StudyState(study, since)
        self._stopping = threading.Lock()
        if host is not None:
            host.start()
        try:
            while lease is not None and self.lease is None and not self.done():
                time.sleep(_HANDOVER_S)
                self.lease = lease()
            self._unwatch = watch(self) if watch is not None else None
        except BaseException:  # an interrupt, while the panel is made: nobody would hold this handle
            self._stop("interrupted")
            raise

    def done(self) -> bool:
        """Say whether nothing of the study runs any more.

        Returns
        -------
        bool
        """
        return self._host is None or self._host.done.is_set()

    def cancel(self) -> None:
        """End the study; safe on any thread, more than once, and from a button.

        The run under way gets the status ``cancelled``; ``await`` and ``result`` then return what there is.
        """
        if not self.done():
            self.cancelled = True
            self._stop("cancelled")

    def state(self) -> dict[str, Any]:
        """Return how far it is, read from the study's files.

        Returns
        -------
        dict
            ``folder``, ``status`` (``running``, ``done``, ``cancelled``, ``interrupted``, ``deadline``,
            ``failed``), ``elapsed_s`` (None: not known), ``until_unix_ns`` (deadline of a detached study,
            else None), and the keys of :meth:`agentlab.host.state.StudyState.read`: ``planned``,
            ``finished``, ``current``, ``waiting``, ``arms``.
        """
        over = self.done()  # asked first: what is read afterwards is then the last state
        state = self._state.read()
        if over:
            state["current"] = state["waiting"] = None
            for counts in state["arms"].values():
                counts["running"] = 0
            self._ended = self._ended or time.monotonic()
        elapsed_s = (self._ended or time.monotonic()) - self._began
        return {
            "folder": str(self.study.folder),
            "status": self._status() if over else "running",
            "elapsed_s": self._took() if over and self._took is not None else elapsed_s,
            "until_unix_ns": None if self.lease is None else self.lease.until_unix_ns,
            **state,
        }

    def __await__(self) -> Generator[Any, None, Recordings]:
        return self._wait().__await__()

    async def _wait(self) -> Recordings:
        # The tick: a signal handler does not wake an idle loop, so an interrupt would come only at the end.
        try:
            while not self.done():  # noqa: ASYNC110
                await asyncio.sleep(_TICK_S)
        except asyncio.CancelledError:
            if self._goes_on():
                raise self._let_go(errors.Interrupted) from None
            self._stop("interrupted")
            while not self.done():
                with contextlib.suppress(asyncio.CancelledError):  # a second one does not cut clean-up off
                    await asyncio.sleep(_TICK_S)
            # A CancelledError: `except Exception` round several paid arms must not swallow it, and a
            # KeyboardInterrupt raised inside a task would end the kernel.
            raise self._interrupted(errors.Interrupted) from None
        return self._finish(errors.Interrupted)

    def result(self, timeout: float | None = None) -> Recordings:
        """Wait for the end and return the recordings; blocks.

        Parameters
        ----------
        timeout : float, optional
            Longest wait in seconds; the study goes on when they have passed.

        Returns
        -------
        Recordings

        Raises
        ------
        TimeoutError
            Not done in time.
        InterruptedByUser
            Interrupted; everything is cleaned up, or a detached study goes on. ``.recordings`` holds what
            there is.
        ConfigError, StartupError, RecordingError, GatewayError
            The study could not go on.
        """
        end = None if timeout is None else time.monotonic() + timeout
        interrupted = threading.Event()
        self.blocking = threading.current_thread() is threading.main_thread()
        try:
            with _interrupts(interrupted.set):
                while self._host is not None and not self._host.done.wait(_TICK_S):
                    if interrupted.is_set():
                        if self._goes_on():
                            raise self._let_go(InterruptedByUser)
                        self._stop("interrupted")
                    elif end is not None and time.monotonic() >= end:
                        raise TimeoutError(
                            f"not done after {timeout} s; the study goes on (cancel() ends it)"
                        )
        finally:
            self.blocking = False
        if interrupted.is_set():
            raise self._interrupted(InterruptedByUser)
        return self._finish(InterruptedByUser)

    def _goes_on(self) -> bool:
        """Say whether an interrupt leaves the study alone: it is detached, and was not cancelled here."""
        return self.lease is not None and not self.cancelled and not self.done()

    def _let_go(self, kind: Callable[..., BaseException]) -> BaseException:
        """Stop waiting for a detached study and showing it."""
        self._close_progress()
        state, lease = self.state(), self.lease
        assert lease is not None
        return kind(
            "No longer waiting for the study, which goes on by itself, until "
            f"{clock(lease.until_unix_ns)} at the latest; {state['finished']} of {state['planned']} runs "
            f"are there. agentlab.attach({state['folder']!r}) shows it again; Cancel or .cancel() ends it.",
            self._recordings_if_any(),
        )

    def _stop(self, reason: str) -> None:
        if self._host is None:
            return
        self._host.ask(reason)
        if self._stopping.acquire(blocking=False):  # never released: one watch over the clean-up is enough
            threading.Thread(target=self._kill_when_late, args=(self._host,), daemon=True).start()

    @staticmethod
    def _kill_when_late(host: Host) -> None:
        end = time.monotonic() + GRACE_S
        for name in ("recording", "widgets.cards", "frames.accessor"):  # what shows the result, meanwhile
            import_module(f"agentlab.{name}")
        if not host.done.wait(max(0.0, end - time.monotonic())):
            host.kill()

    def _status(self) -> str:
        if self._host is None:
            return "done"
        if self._host.outcome is not None:
            return self._host.outcome["status"]
        return "cancelled" if self.cancelled else "failed"

    def _finish(self, interrupted: Callable[..., BaseException]) -> Recordings:
        self._close_progress()
        if self._host is not None:
            outcome = self._host.outcome or {}
            if (error := outcome.get("error")) is not None:
                raise self._error(error)
            if outcome.get("status") == "interrupted":  # by a signal to the measuring process itself
                raise self._interrupted(interrupted)
            if not outcome and not self.cancelled:
                failure = self._host.failure or "the measuring process ended"
                raise AgentlabError(f"{failure}\n{self._kept('ended')}")
        return self._recordings()

    def _interrupted(self, kind: Callable[..., BaseException]) -> BaseException:
        self._close_progress()
        return kind(self._kept("was interrupted"), self._recordings_if_any())

    def _error(self, error: dict[str, Any]) -> AgentlabError:
        known = getattr(errors, error["type"], None)
        kind = known if isinstance(known, type) and issubclass(known, AgentlabError) else AgentlabError
        text = error["message"] if kind is known else f"{error['type']}: {error['message']}"
        # The study of another recorder has not ended, and what is kept is not for this call to say.
        made = kind(text if kind is errors.StudyBusy else f"{text}\n{self._kept('ended')}")
        if "trace" in error:
            made.add_note(f"Where it was measured:\n{error['trace']}")
        return made

    def _close_progress(self) -> None:
        unwatch, self._unwatch = self._unwatch, None
        if unwatch is not None:
            unwatch()

    def _recordings(self) -> Recordings:
        from ..recording import load

        return load(self.study.folder)

    def _recordings_if_any(self) -> Recordings | None:
        with contextlib.suppress(AgentlabError):  # the interrupt is what matters
            return self._recordings()
        return None

    def _kept(self, how: str) -> str:
        state = self.state()
        begun = any((self.study.folder / "runs").glob("*"))  # a run that was cut is on disk too
        read = f": agentlab.load({state['folder']!r})" if begun else ""
        return (
            f"The study {how}; {state['finished']} of {state['planned']} runs are kept{read}. "
            "The same record(...) call resumes it."
        )

    if not TYPE_CHECKING:  # type checkers name what is not there themselves

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            raise AttributeError(
                f"a study under way has no {name!r}: await it first, recs = await record(...); "
                "in a script recs = record(...).result()"
            )

    def __repr__(self) -> str:
        state = self.state()
        arms = ", ".join(f"{name} {a['finished']}/{a['planned']}" for name, a in state["arms"].items())
        # asyncio.run(al.record(...)) is refused by Python with this text in its message.
        use = "; in a script .result() waits for it, in a notebook await" * (state["status"] == "running")
        return f"<Running {state['folder']}: {state['status']}, {arms}{use}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ANN401
        try:
            from ..widgets.cards import running_card

            return running_card(self.state())
        except Exception as error:  # a card never breaks a cell
            return {"text/plain": f"<Running {self.study.folder}: {type(error).__name__}>"}


@contextlib.contextmanager
def _interrupts(note: Callable[[], None]) -> Generator[None]:
    """Note interrupts instead of raising them, however many come: none may cut clean-up off."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    if before is None:  # another thread gets no signals; a handler that is not Python's cannot be restored
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: note())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
