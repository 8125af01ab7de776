"""An event loop on a thread of its own, which other loops ask to do something."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
_JOIN_S = 2.0


class LoopThread:
    """Run coroutines on a thread that nothing else keeps busy.

    Parameters
    ----------
    name : str
        Name of the thread.

    Examples
    --------
    >>> thread = LoopThread("example")
    >>> asyncio.run(thread.call(asyncio.sleep(0, "done")))
    'done'
    >>> thread.stop()
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.SelectorEventLoop()
        # A daemon: whoever forgets to close is not held up at its end, and the watchdog ends the processes.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Carry out a coroutine on the thread; cancelling this cancels it there.

        Parameters
        ----------
        work : coroutine
            What is to be done.

        Returns
        -------
        object
            What it returns.
        """
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def stop(self) -> None:
        """End the thread; what still runs on it is cancelled."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left))
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
