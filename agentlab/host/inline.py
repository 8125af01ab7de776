"""Measure on a loop thread of this process: for tests, and for drivers defined in the notebook."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..engine.conduct import Stop
from ..engine.study import Study

_UNSTUCK_S = 0.5


class InlineHost:
    """Carry out a study on a thread with its own event loop; see :class:`agentlab.host.base.Host`.

    Parameters
    ----------
    study : Study
        A prepared study.
    """

    def __init__(self, study: Study) -> None:
        self.done = threading.Event()
        self.outcome: dict[str, Any] | None = None
        self.failure: str | None = None
        self._study = study
        self._stop = Stop()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._early: str | None = None
        # Not a daemon: the interpreter waits at its end for the clean-up.
        self._thread = threading.Thread(target=self._run, name="agentlab-inline")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ask(self, reason: str) -> None:
        """Ask to stop."""
        self._early = reason
        self._call(lambda: self._stop.ask(reason))

    def kill(self) -> None:
        """Cancel the clean-up too; give up a thread that is stuck (watchdogs end with this process)."""
        self.failure = "its clean-up did not end in time and was cut off"
        self._call(lambda: [task.cancel() for task in asyncio.all_tasks(self._loop)])
        if not self.done.wait(_UNSTUCK_S):
            self.failure = "its thread is stuck; restart this Python to end what it started"
            self.done.set()

    def _call(self, function: Callable[[], object]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self.failure = self.failure or f"{type(error).__name__}: {error}"
        finally:
            self.done.set()

    async def _main(self) -> None:
        from .worker import carry_out

        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(_Threads())
        if self._early is not None:
            self._stop.ask(self._early)
        watch = asyncio.create_task(self._watch_owner())
        try:
            self.outcome = await carry_out(lambda: self._study, self._stop)
        finally:
            watch.cancel()

    async def _watch_owner(self) -> None:
        """A script or kernel that ends, or a kernel that is restarted, takes its study with it."""
        while threading.main_thread().is_alive():  # noqa: ASYNC110 (nothing tells)
            await asyncio.sleep(0.05)
        self._stop.ask("owner_lost")


class _Threads(ThreadPoolExecutor):
    """Run each call on a thread of its own: a pool takes none while the interpreter ends."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        return future
