"""Exec sessions by the rules of an older module, to compare ours with: other waits, other ends.

Terminals, pipes, spools and the processes that start commands are ours: nothing but the rules differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time

from ...wire.procid import ProcessId
from .launcher import Ended
from .result import ExecResult
from .session import Outcome, Session
from .sessions import ExecSessions
from .spool import Spool
from .streams import PipeStream, TerminalStream

#: After the end output is awaited until it was silent for so long, and at most so long in all, in seconds.
QUIET_S, MOST_S = 0.1, 1.0
_LOOK_S = 0.005
_TERM_S = 0.2


class OriginalSessions(ExecSessions):
    """Exec sessions that wait for silence after the end, and then forget.

    - After a command's end its output is awaited until 100 ms were silent, at most 1 s in all.
    - The call that reports the end closes the session: its number is unknown afterwards, and what a process
      in the background prints later goes nowhere. Such a process is left alone, also by :meth:`close`.
    - A time-out and a close send SIGTERM, and SIGKILL 200 ms later, to the command's process group.
    - What is typed goes to the terminal as it is; a cooked line keeps 4,095 bytes of it.

    A pseudo-terminal is kept open until the owner's end here as well: where it was closed with its session,
    the kernel hung up what the command had left running.
    """

    def _result(self, session: Session) -> ExecResult:
        result = super()._result(session)
        if result.state != "running":
            self._sessions.pop(session.number, None)
        return result

    def _make(self, number: int, command: str, spool: Spool, tty: bool) -> Session:
        stream = _Terminal(spool, **self._size) if tty else PipeStream(spool, folder=self._launcher.folder)
        return _Session(number, command, spool, stream, self._launcher)


class _Terminal(TerminalStream):
    def type(self, data: bytes) -> bool:
        """Type all of it as it is."""
        self._typist.type(data)
        return False


class _Session(Session):
    async def wait(self, seconds: float) -> None:
        """Wait for the end, and then for silence."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
            await self._silence()

    async def _silence(self) -> None:
        now = time.monotonic()
        latest, size, end = now, self.unread_bytes, now + MOST_S
        while now < min(latest + QUIET_S, end):
            await asyncio.sleep(_LOOK_S)
            now = time.monotonic()
            if self.unread_bytes != size:
                latest, size = now, self.unread_bytes

    def _end(self, ended: Ended) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._exit = Outcome(ended.exit_code, self._ended_by(ended.exit_code), ended.t)
        self._tell()

    async def _end_all(self, leader: ProcessId) -> None:
        """End the group of the command."""
        assert self._started is not None
        group = self._started.pid
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
            if number == signal.SIGTERM:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), _TERM_S)
        await self._ended.wait()
