"""One execution at a time, which can be cancelled and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Literal

from ...errors import DriverError

Refusal = Literal["active", "cancelled"]


class Execution:
    """Leave to execute something, or the refusal of it.

    Used as a context manager it is finished at the end; a refused one cannot be entered.

    Given as ``until=`` to a call of :class:`ExecSessions`, its cancellation ends the wait.

    Attributes
    ----------
    refused : {"active", "cancelled"} or None
        None: granted. ``"active"``: another one is; ``"cancelled"``: its parent was cancelled before.
    """

    def __init__(self, refused: Refusal | None, finished: Callable[[Execution], None]) -> None:
        self.refused: Refusal | None = refused
        self._finished = finished
        self._cancelled = asyncio.Event()
        self._idle = asyncio.Event()
        self._controls: list[ExecutionControl] = []
        if refused is not None:
            self._idle.set()

    def __enter__(self) -> Execution:
        if self.refused is not None:
            why = "another execution is active" if self.refused == "active" else "its parent was cancelled"
            raise DriverError(f"the execution is refused: {why}", driver="exec", code="execution_refused")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled; one that was refused never is."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Cancel it, and what is executed below it; nothing happens once it is finished, or was refused."""
        if not self._idle.is_set():
            self._cancelled.set()
            for control in self._controls:
                control.cancel()

    def finish(self) -> None:
        """Say that it is over and cleaned up; a second time does nothing."""
        if not self._idle.is_set():
            self._idle.set()
            self._finished(self)

    async def when_cancelled(self) -> None:
        """Wait until it is cancelled."""
        await self._cancelled.wait()

    async def guard(self, work: Coroutine[Any, Any, object]) -> bool:
        """Wait for something, but not beyond the cancellation.

        Parameters
        ----------
        work : coroutine
            What is waited for; it is cancelled with this.

        Returns
        -------
        bool
            Whether it came to its end.
        """
        working, cancelled = asyncio.ensure_future(work), asyncio.ensure_future(self.when_cancelled())
        try:
            await asyncio.wait({working, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await working  # with its error
                return True
            return False
        finally:
            working.cancel()
            cancelled.cancel()

    async def when_idle(self) -> None:
        """Wait until it is finished, its clean-up included; a refused one has nothing to wait for."""
        await self._idle.wait()


class ExecutionControl:
    """Grant one execution at a time; belongs to one event loop.

    Parameters
    ----------
    parent : Execution, optional
        Cancelling it cancels what is active here, and nothing is granted any more.

    Examples
    --------
    >>> control = ExecutionControl()
    >>> with control.admit() as execution:
    ...     refused = control.admit().refused
    ...     control.cancel()
    >>> refused, execution.cancelled, control.active
    ('active', True, None)
    """

    def __init__(self, parent: Execution | None = None) -> None:
        self.active: Execution | None = None
        self._parent = parent
        if parent is not None:
            parent._controls.append(self)  # pyright: ignore[reportPrivateUsage]

    def admit(self) -> Execution:
        """Ask for leave to execute.

        Returns
        -------
        Execution
            Granted or refused.
        """
        if self._parent is not None and self._parent.cancelled:
            return Execution("cancelled", self._forget)
        if self.active is not None:
            return Execution("active", self._forget)
        self.active = Execution(None, self._forget)
        return self.active

    def cancel(self) -> None:
        """Cancel what is active."""
        if self.active is not None:
            self.active.cancel()

    async def when_idle(self) -> None:
        """Wait until nothing is active, clean-up included."""
        while self.active is not None:
            await self.active.when_idle()

    def _forget(self, execution: Execution) -> None:
        if self.active is execution:
            self.active = None
