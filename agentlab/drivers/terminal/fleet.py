"""The sessions of one run, side by side: started at once, awaited, kept, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import AgentExited, DriverError
from ...wire.children import Children
from ...wire.pty import PtyReader
from .homes import Home, service_of
from .owned import daemons
from .session import Emit, TerminalSession

if TYPE_CHECKING:
    from . import Terminal

T = TypeVar("T")
#: Codex starts its daemons 2 to 3 s after its prompt, on a busy machine 10 to 12 s after it.
DAEMON_S = 30.0


class Fleet:
    """Keep some sessions, each on a terminal of its own.

    Parameters
    ----------
    driver : Terminal
        Settings.
    children : Children
        Starts and ends the processes.
    emit : callable
        Takes events, as ``run.emit``.
    keep : Path, optional
        Folder for all that the terminals are sent.
    """

    def __init__(self, driver: Terminal, children: Children, emit: Emit, *, keep: Path | None = None) -> None:
        self._driver, self._children, self._emit, self._keep = driver, children, emit, keep
        self._services = contextlib.AsyncExitStack()
        self._terminals = contextlib.ExitStack()
        self._sessions: list[TerminalSession] = []

    async def launch(self, homes: Sequence[Home], n_sessions: int, *, start_s: float) -> None:
        """Start all sessions at once, and wait until they take input.

        Parameters
        ----------
        homes : sequence of Home
            They are gone through again when they are fewer than the sessions.
        n_sessions : int
            How many.
        start_s : float
            How long each may take, s.

        Raises
        ------
        DriverError
            One ended before its prompt (``failed_to_start``), or took no input in time (``never_ready``).
        StartupError
            A daemon did not come up, or a command cannot be run.
        """
        driver = self._driver
        for home in homes:
            service = service_of(driver.about, home, self._children, start_s=start_s)
            await self._services.enter_async_context(service)
        reader = self._terminals.enter_context(PtyReader())
        for number in range(n_sessions):
            session = TerminalSession(driver, number + 1, self._children, reader, self._emit, self._keep)
            self._sessions.append(session)
            await session.start(homes[number % len(homes)], self._pids)
        await asyncio.gather(*(session.get_ready(start_s) for session in self._sessions))
        self._judge(start_s)

    def _pids(self) -> list[int]:
        return [session.pid for session in self._sessions if session.pid is not None]

    def _judge(self, start_s: float) -> None:
        """Refuse to measure sessions that are not what they are taken for."""
        n = len(self._sessions)
        if failed := [session for session in self._sessions if session.ended]:
            raise DriverError(
                f"{_named(failed, n)} ended before the prompt: {failed[0].account()}",
                driver="terminal",
                phase="startup",
                code="failed_to_start",
            )
        if never := [session for session in self._sessions if not session.ready]:
            raise DriverError(
                f"{_named(never, n)} showed nothing of what was typed within {start_s:g} s: "
                f"{never[0].account()}. Timeouts(start=...) allows more",
                driver="terminal",
                phase="startup",
                code="never_ready",
            )

    async def daemons_up(self, n: int, *, wait_s: float = DAEMON_S) -> bool:
        """Wait for the daemons that the agent is known to start after its prompt.

        Parameters
        ----------
        n : int
            How many homes there are: each has its own.
        wait_s : float, default 30
            Longest wait, s.

        Returns
        -------
        bool
            False: fewer were seen.
        """
        about = self._driver.about
        if about is None or about.daemon is None or self._driver.command is not None:
            return True
        end = time.monotonic() + wait_s
        while len(daemons(self._children.pid, about.daemon_marks)) < n:
            if time.monotonic() > end:
                return False
            await asyncio.sleep(0.2)
        return True

    async def during(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for something, as long as all sessions run.

        Parameters
        ----------
        waiting : coroutine
            What is waited for.

        Returns
        -------
        object
            What it gives.

        Raises
        ------
        AgentExited
            A session has ended.
        """
        ends = [asyncio.create_task(session.wait()) for session in self._sessions]
        wanted = asyncio.create_task(waiting)
        try:
            await asyncio.wait([wanted, *ends], return_when=asyncio.FIRST_COMPLETED)
            if gone := [session for session in self._sessions if session.ended]:
                raise AgentExited(
                    f"{_named(gone, len(self._sessions))} ended while it was measured: {gone[0].account()}",
                    returncode=gone[0].exit_code,
                    driver="terminal",
                    phase="session",
                    code="agent_exited",
                )
            return wanted.result()
        finally:
            for task in (wanted, *ends):
                task.cancel()
            await asyncio.gather(wanted, *ends, return_exceptions=True)

    async def leave(self) -> None:
        """Ask all sessions to end as a user would, and the daemons that were started for them."""
        await asyncio.gather(*(session.leave() for session in self._sessions))
        await self._services.aclose()

    def give_up(self) -> None:
        """Hear that what still runs is ended from here."""
        for session in self._sessions:
            session.give_up()

    def close(self) -> None:
        """Say how each session ended, and give up the terminals: nothing runs any more."""
        for session in self._sessions:
            session.close()
        self._terminals.close()


def _named(some: Sequence[TerminalSession], n: int) -> str:
    names = ", ".join(session.name for session in some)
    return f"{len(some)} of {n} session{'' if n == 1 else 's'} ({names})"
