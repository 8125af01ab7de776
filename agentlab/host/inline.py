"""Measure on a loop thread of this process: for tests, and for drivers defined in the notebook."""

from __future__ import annotations

import asyncio
import threading

from ..engine.conduct import Stop
from ..engine.study import Study


class InlineHost:
    """Carry out a study on a thread with its own event loop; see :class:`agentlab.host.base.Host`.

    Parameters
    ----------
    study : Study
        A prepared study.
    """

    def __init__(self, study: Study) -> None:
        self.done = threading.Event()
        self.failure: str | None = None
        self._study = study
        self._stop = Stop()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._early: str | None = None
        self._thread = threading.Thread(target=self._run, name="agentlab-inline", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ask(self, reason: str) -> None:
        """Ask to stop."""
        self._early = reason
        if self._loop is not None and not self.done.is_set():
            self._loop.call_soon_threadsafe(self._stop.ask, reason)

    def kill(self) -> None:
        """Ask again; a thread cannot be killed, its watchdogs end with this process."""
        self.ask("cancelled")

    def _run(self) -> None:
        from .worker import carry_out

        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            if self._early is not None:
                self._stop.ask(self._early)
            await carry_out(self._study, self._stop)

        try:
            asyncio.run(main())
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self.done.set()
