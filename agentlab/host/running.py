"""The owner's handle of a study that is being recorded: await it, cancel it, read what is there."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from .. import errors
from ..engine.files import read_json
from ..engine.study import FINISHED, Study, recorded
from ..errors import AgentlabError, InterruptedByUser, RecordingError
from .base import Host

if TYPE_CHECKING:
    from ..recording import Recordings

_TICK_S = 0.05
#: Clean-up has this long after Cancel or an interrupt; then the measuring process is killed.
GRACE_S = 3.0


class Running:
    """A study under way; made by :func:`agentlab.record`.

    ``await running`` (notebooks) or ``running.result()`` (scripts, papermill) gives the recordings.
    ``running.cancel()`` ends it; what was measured is kept and returned.

    Parameters
    ----------
    study : Study
        A prepared study.
    host : Host or None
        Where it is measured; None: nothing was missing, so nothing was started.
    watch : callable, optional
        Called with this handle once it runs; shows progress until ``done()``.
    """

    def __init__(
        self, study: Study, host: Host | None, watch: Callable[[Running], None] | None = None
    ) -> None:
        self.study = study
        self._host = host
        self._cancelled = threading.Event()
        if host is not None:
            with contextlib.suppress(OSError):
                (study.folder / "outcome.json").unlink()
            host.start()
        if watch is not None:
            watch(self)

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
        self._cancelled.set()
        if self._host is not None:
            self._host.ask("cancelled")
            threading.Thread(target=self._kill_when_late, daemon=True).start()

    def state(self) -> dict[str, Any]:
        """Return how far it is, read from the study's files.

        Returns
        -------
        dict
            ``folder``, ``status`` (``running``, ``done``, ``cancelled``, ``interrupted``, ``owner_lost``,
            ``failed``), ``planned`` and, for each arm, ``finished``, ``eligible``, ``discarded``, ``running``
            (counts of runs).
        """
        arms = {
            name: {"planned": self.study.runs, "finished": 0, "eligible": 0, "discarded": 0, "running": 0}
            for name in self.study.arms
        }
        for run in recorded(self.study.folder):
            counts = arms.get(run["arm"])
            if counts is None or run["run_index"] >= self.study.runs:
                continue
            if run["status"] in FINISHED:
                usable = run["status"] == "complete" and not any(i["discard"] for i in run["issues"])
                counts["finished"] += 1
                counts["eligible" if usable else "discarded"] += 1
            elif run["status"] == "running" and not self.done():
                counts["running"] += 1
        status = "running" if not self.done() else self._outcome().get("status", "failed")
        return {
            "folder": str(self.study.folder),
            "status": status,
            "planned": self.study.runs * len(arms),
            "finished": sum(a["finished"] for a in arms.values()),
            "arms": arms,
        }

    def __await__(self) -> Generator[Any, None, Recordings]:
        return self._wait().__await__()

    async def _wait(self) -> Recordings:
        # The tick: a signal handler does not wake an idle loop, so an interrupt would come only at the end.
        try:
            while not self.done():
                await asyncio.sleep(_TICK_S)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            self._interrupt()
            while not self.done():
                with contextlib.suppress(
                    asyncio.CancelledError
                ):  # a second interrupt does not cut clean-up off
                    await asyncio.sleep(_TICK_S)
            # A CancelledError: `except Exception` round several paid arms must not swallow it, and a
            # KeyboardInterrupt raised inside a task would end the kernel.
            raise errors.Interrupted(self._kept("interrupted"), self._recordings()) from None
        return self._finish()

    def result(self, timeout: float | None = None) -> Recordings:
        """Wait for the end and return the recordings; blocks.

        Parameters
        ----------
        timeout : float, optional
            Seconds; the study goes on when they pass.

        Returns
        -------
        Recordings

        Raises
        ------
        TimeoutError
            Not done in time.
        InterruptedByUser
            Interrupted; everything is cleaned up, ``.recordings`` holds what there is.
        ConfigError, StartupError, RecordingError, GatewayError
            The study could not go on.
        """
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while not self.done():
                if end is not None and time.monotonic() >= end:
                    raise TimeoutError(f"not done after {timeout} s; the study goes on (cancel() ends it)")
                self._pause()
        except KeyboardInterrupt:
            self._interrupt()
            while not self.done():
                with contextlib.suppress(KeyboardInterrupt):
                    self._pause()
            raise InterruptedByUser(self._kept("interrupted"), self._recordings()) from None
        return self._finish()

    def _pause(self) -> None:
        if self._host is not None:
            self._host.done.wait(_TICK_S)

    def _interrupt(self) -> None:
        if self._host is not None:
            self._host.ask("interrupted")
            threading.Thread(target=self._kill_when_late, daemon=True).start()

    def _kill_when_late(self) -> None:
        if self._host is not None and not self._host.done.wait(GRACE_S):
            self._host.kill()

    def _outcome(self) -> dict[str, Any]:
        try:
            return read_json(self.study.folder / "outcome.json")
        except RecordingError:
            return {} if self._host is not None else {"status": "done"}

    def _finish(self) -> Recordings:
        outcome = self._outcome()
        error = outcome.get("error")
        if error is not None:
            known = getattr(errors, error["type"], None)
            kind = known if isinstance(known, type) and issubclass(known, AgentlabError) else AgentlabError
            text = error["message"] if kind is known else f"{error['type']}: {error['message']}"
            raise kind(f"{text}\n{self._kept('ended')}")
        if not outcome and not self._cancelled.is_set():
            failure = self._host.failure if self._host is not None else None
            raise AgentlabError(f"{failure or 'the measuring process ended'}\n{self._kept('ended')}")
        return self._recordings()

    def _recordings(self) -> Recordings:
        from ..recording import load

        return load(self.study.folder)

    def _kept(self, how: str) -> str:
        made = [run for run in recorded(self.study.folder) if run["status"] in FINISHED]
        return (
            f"The study {how}; {len(made)} of {self.study.runs * len(self.study.arms)} runs are kept: "
            f"agentlab.load({str(self.study.folder)!r}). The same record(...) call resumes it."
        )

    def __repr__(self) -> str:
        state = self.state()
        arms = ", ".join(f"{name} {a['finished']}/{a['planned']}" for name, a in state["arms"].items())
        return f"<Running {state['folder']}: {state['status']}, {arms}>"
