"""Let clicks in from any thread, and draw on the notebook's loop: in order, together, at most 10 a second.

Drawing stays on the loop, and not in a thread of its own, because a figure changes matplotlib's settings
while it is drawn: a thread would do that under the user's own plots. Numbers come first; the figures, which
take longer, once nothing has changed for a moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

#: Least time between two draws, and how long nothing must change before figures are drawn, s.
APART_S = 0.1
PAUSE_S = 0.15
#: How much longer nothing must change before the rest is done, s.
REST_S = 1.0

Do = Callable[[], None]


class Loop(Protocol):
    """The part of an asyncio loop that is used."""

    def call_soon_threadsafe(self, callback: Callable[..., object], /) -> Any:  # noqa: ANN401
        """Call on the loop's thread."""
        ...

    def call_later(self, delay: float, callback: Callable[..., object], /) -> Any:  # noqa: ANN401
        """Call on the loop's thread, after some seconds."""
        ...

    def time(self) -> float:
        """Clock of `call_later`, s."""
        ...


class Pump:
    """Collect what handlers ask for and do it on the loop.

    Parameters
    ----------
    loop : Loop
        The notebook's.
    numbers : callable
        Draw what is quick; called after the changes that came together.
    figures : callable
        Draw what is slow.
    rest : callable
        Do what nobody waits for.
    failed : callable
        Gets what a change or a draw raised, or None when all went well.
    """

    def __init__(
        self,
        loop: Loop,
        *,
        numbers: Do,
        figures: Do,
        rest: Do,
        failed: Callable[[Exception | None], None],
    ) -> None:
        self._loop, self._numbers, self._failed = loop, numbers, failed
        self._slow = ((PAUSE_S, figures), (REST_S, rest))
        self._asked: deque[Do] = deque()
        self._timer: Any = None
        self._later: Any = None
        self._next = 0.0
        self._closed = False

    def put(self, change: Do) -> None:
        """Ask for a change; returns at once, on whatever thread.

        Parameters
        ----------
        change : callable
            Changes what is drawn.
        """
        self._asked.append(change)
        self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        """Do nothing more."""
        self._closed = True
        for timer in (self._timer, self._later):
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._timer is None and self._asked and not self._closed:
            self._timer = self._loop.call_later(max(0.0, self._next - self._loop.time()), self._turn)

    def _turn(self) -> None:
        self._timer = None
        if self._later is not None:
            self._later.cancel()
            self._later = None
        failed: Exception | None = None
        for _ in range(len(self._asked)):  # what is asked meanwhile waits: a flood must not keep the loop
            if self._closed:
                return
            failed = self._try(self._asked.popleft()) or failed
        if self._closed:
            return
        failed = self._try(self._numbers) or failed
        self._failed(failed)
        self._next = self._loop.time() + APART_S
        self._go_on(0)
        self._wake()

    def _go_on(self, step: int) -> None:
        if step < len(self._slow) and not self._closed:
            self._later = self._loop.call_later(self._slow[step][0], partial(self._finish, step))

    def _finish(self, step: int) -> None:
        self._later = None
        if not self._asked and not self._closed:
            failed = self._try(self._slow[step][1])
            if failed is not None:
                self._failed(failed)
            self._go_on(step + 1)

    def _try(self, do: Do) -> Exception | None:
        try:
            do()
        except Exception as error:
            return error
        return None
