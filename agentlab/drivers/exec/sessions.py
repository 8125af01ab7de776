"""Exec sessions: commands that outlive the call that started them, for use in any program."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ...errors import ConfigError, StartupError
from . import refusals
from .control import Execution
from .environment import filtered
from .launcher import Launcher
from .loopthread import LoopThread
from .report import reported
from .result import ExecInfo, ExecResult
from .session import Session
from .spool import Spool
from .streams import PipeStream, TerminalStream

_T = TypeVar("_T")
_END_S = 5.0


class ExecSessions:
    r"""Run shell commands that may outlive the call that started them.

    :meth:`run` starts ``bash -lc COMMAND`` and waits for a while; what still runs then is a session, to be
    polled, typed into and closed. Each call returns exactly the bytes since the last one.

    One thread with an event loop of its own reads all sessions: a notebook cell that computes only slows it
    (to about 1 MB/s from a terminal), and it may be used from any event loop, also from several one after
    another. All of it ends with this, and also when this process is killed. Over several cells of a notebook:
    ``sessions = await ExecSessions().open()``, at the end ``await sessions.aclose()``. Linux only.

    Commands get an environment built from nothing: ``PATH``, ``HOME``, ``USER``, ``LOGNAME``, ``SHELL``,
    ``TMPDIR``, ``TZ``, ``LANG``, ``LC_*`` of this process, ``TERM``, and `env`. No key crosses.

    On a terminal (120x40) the line discipline turns ^C into an interrupt, and ^D at the start of a line ends
    the input; lines longer than it can hold are given out in pieces, so that nothing is lost. Over pipes ^C
    interrupts the command's process group and ^D closes its input; output and errors share one pipe.

    Parameters
    ----------
    folder : path, optional
        Where output is spooled; the system's temporary folder, which may be in memory, when absent.
    archive : bool, default False
        Keep each session's whole output in `folder`, as ``exec-N.out`` (0600). Without it the spool has no
        name, and is gone once all that holds it is.
    env : mapping, optional
        Variables for all commands, added to what is passed on.
    limit : int, default 16
        Most sessions alive at once, those counted too whose command has ended and left processes running.
    tty : bool, default True
        Whether commands are on a terminal.
    cols, rows : int, default 120, 40
        Its size in characters.
    preview_bytes : int, default 16384
        Most bytes of output in :attr:`ExecResult.preview`.
    max_bytes : int, optional
        Most bytes of output that are kept of one session; what comes after is read and counted as lost.

    Attributes
    ----------
    survivors : tuple of str
        After the end: what is still alive, as ``"pid name"``.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> async def example():
    ...     async with ExecSessions(tty=False) as sessions:
    ...         first = await sessions.run("echo ready; read name; echo hello $name", yield_s=0.5)
    ...         last = await sessions.write(first.session, "world\n")
    ...     return first.state, last.preview, last.state, last.exit_code
    >>> asyncio.run(example())
    ('running', b'hello world\n', 'exited', 0)
    """

    def __init__(
        self,
        *,
        folder: str | Path | None = None,
        archive: bool = False,
        env: Mapping[str, str] | None = None,
        limit: int = 16,
        tty: bool = True,
        cols: int = 120,
        rows: int = 40,
        preview_bytes: int = 16_384,
        max_bytes: int | None = None,
    ) -> None:
        if archive and folder is None:
            raise ConfigError("ExecSessions(archive=True): name the folder: ExecSessions(folder=...)")
        refusals.check_numbers(
            limit=limit, preview_bytes=preview_bytes, cols=cols, rows=rows, max_bytes=max_bytes
        )
        self.survivors: tuple[str, ...] = ()
        self._folder = None if folder is None else Path(folder)
        self._archive = archive
        self._env = refusals.checked_env(env)
        self._limit = limit
        self._tty = tty
        self._size = {"cols": cols, "rows": rows}
        self._preview_bytes = preview_bytes
        self._max_bytes = max_bytes
        self._sessions: dict[int, Session] = {}
        self._last = 0
        self._opened = False
        self._thread: LoopThread | None = None
        self._launcher = Launcher()

    async def __aenter__(self) -> ExecSessions:
        return await self.open()

    async def open(self) -> ExecSessions:
        """Make ready to run commands, once; ``async with`` does it too, and :meth:`aclose` ends it.

        Returns
        -------
        ExecSessions
            This.

        Raises
        ------
        ConfigError, StartupError, DriverError
            No folder can be made; nothing can be started; (``.code`` ``"closed"``) they were opened before.
        """
        if not hasattr(os, "splice"):
            raise StartupError("exec sessions need Linux", driver="exec", phase="startup")
        if self._opened:
            raise refusals.closed()
        if self._folder is not None:
            refusals.make_folder(self._folder)
        self._opened = True
        self._thread = LoopThread("agentlab-exec")
        try:
            await self._thread.call(self._launcher.open())
        except BaseException:
            self._thread.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def pid(self) -> int:
        """Process id of the watchdog: every command, and all that it starts, descends from it."""
        return self._launcher.children.pid

    async def run(
        self,
        command: str,
        *,
        cwd: str | Path | None = None,
        yield_s: float = 10.0,
        timeout_s: float | None = None,
        tty: bool | None = None,
        until: Execution | None = None,
    ) -> ExecResult:
        """Start a command and wait for its end, but not for long.

        Parameters
        ----------
        command : str
            For ``bash -lc``.
        cwd : path, optional
            Its folder; this process's when absent.
        yield_s : float, default 10.0
            Seconds after which it is left running, 0.1 to 30. Cancelling ends the wait, not the command:
            :meth:`list` tells its number.
        timeout_s : float, optional
            Seconds after which all of it is ended: SIGTERM, SIGKILL 0.2 s later, to its group and to whatever
            else it started. Once the command has ended, what it left running is left alone.
        tty : bool, optional
            On a terminal, or over pipes; as set for all when absent.
        until : Execution, optional
            Its cancellation ends the wait, too.

        Returns
        -------
        ExecResult

        Raises
        ------
        ConfigError
            `yield_s` or `timeout_s` is out of range, or `command` or `cwd` cannot be given to a program.
        DriverError
            ``.code`` is ``"session_limit"``: too many are alive; the message lists them.
        StartupError
            The folder does not exist, the command is longer than the system takes, or there is no place for
            its output.
        """
        refusals.check_seconds(yield_s, timeout_s)
        on_terminal = self._tty if tty is None else tty
        folder = refusals.checked_folder(cwd)
        session = await self._call(
            self._start_whole(refusals.checked(command), folder, timeout_s, on_terminal)
        )
        await self._wait(session.wait(yield_s), until)
        return self._result(session)

    async def poll(
        self, session: int, *, yield_s: float = 10.0, until: Execution | None = None
    ) -> ExecResult:
        """Wait for a session's end, but not for long, and return what it has printed since the last call.

        Parameters
        ----------
        session : int
            Its number.
        yield_s : float, default 10.0
            Seconds, 0.1 to 30. When its end was reported before, there is no wait.
        until : Execution, optional
            As for :meth:`run`.

        Returns
        -------
        ExecResult
            Of a session that has ended also what processes in the background printed since.

        Raises
        ------
        ConfigError
            `yield_s` is out of range.
        DriverError
            ``.code`` is ``"unknown_session"``: the number was never given out.
        """
        return await self.write(session, b"", yield_s=yield_s, until=until)

    async def write(
        self, session: int, chars: str | bytes, *, yield_s: float = 10.0, until: Execution | None = None
    ) -> ExecResult:
        r"""Type into a session, then wait as :meth:`poll` does.

        Parameters
        ----------
        session : int
            Its number.
        chars : str or bytes
            Keys; ``"\x03"`` interrupts, ``"\x04"`` ends the input. Typing into a session that has ended does
            nothing: the result says ``"already_exited"``, or ``"exited"`` when that is news.
        yield_s : float, default 10.0
            Seconds, 0.1 to 30.
        until : Execution, optional
            As for :meth:`run`.

        Returns
        -------
        ExecResult

        Raises
        ------
        ConfigError
            `yield_s` is out of range, or `chars` cannot be typed.
        DriverError
            ``.code`` is ``"unknown_session"``; ``"line_too_long"``: a terminal could not hold the line and it
            cannot be cut; ``"stdin_closed"``: the input of a command over pipes was ended before.
        """
        refusals.check_seconds(yield_s)
        data = refusals.checked_keys(chars)
        found = self._find(session)
        if found.outcome is None:
            await self._wait(found.type_and_wait(data, yield_s), until)
        return self._result(found)

    async def close(self, session: int) -> ExecResult:
        """End all of a session, also what it left running in the background.

        Parameters
        ----------
        session : int
            Its number.

        Returns
        -------
        ExecResult
            With the last of its output; ``survivors`` names what could not be ended.

        Raises
        ------
        DriverError
            ``.code`` is ``"unknown_session"``.
        """
        found = self._find(session)
        await self._call(found.close())
        return self._result(found)

    def list(self) -> tuple[ExecInfo, ...]:
        """List the sessions that are alive.

        Returns
        -------
        tuple of ExecInfo
            In the order of their start; also those whose command has ended, as long as something of it runs
            or no call has reported its end.
        """
        return tuple(session.info for session in self._alive())

    async def aclose(self) -> tuple[str, ...]:
        """End all sessions, and what starts them.

        Returns
        -------
        tuple of str
            What is still alive, as ``"pid name"``.
        """
        thread = self._thread
        if thread is not None:
            self._thread = None
            closing = asyncio.ensure_future(thread.call(self._end_all()))
            try:
                self.survivors = await asyncio.shield(closing)
            except asyncio.CancelledError:
                await asyncio.wait({closing})
                raise
            finally:
                thread.stop()
        return self.survivors

    # -- in the caller's thread

    async def _call(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._thread is None:
            work.close()
            raise refusals.closed()
        return await self._thread.call(work)

    async def _wait(self, work: Coroutine[Any, Any, None], until: Execution | None) -> None:
        await (self._call(work) if until is None else until.guard(self._call(work)))

    def _find(self, number: int) -> Session:
        found = self._sessions.get(number) if type(number) is int else None
        if found is None:
            raise refusals.unknown(number, self._last)
        return found

    def _result(self, session: Session) -> ExecResult:
        """Take what is new: in the caller's thread, without a wait: a cancelled call takes nothing."""
        return reported(session, preview_bytes=self._preview_bytes)

    def _alive(self) -> list[Session]:
        return [session for session in list(self._sessions.values()) if session.alive]

    # -- in the reading thread

    async def _end_all(self) -> tuple[str, ...]:
        """End each session as a close does: by whom is then known, and no watchdog is needed."""
        ending = asyncio.gather(*(session.close() for session in self._alive()), return_exceptions=True)
        with contextlib.suppress(TimeoutError):  # what could not be ended so is swept with all the rest
            await asyncio.wait_for(ending, _END_S)
        return await self._launcher.close()

    async def _start_whole(self, *what: *tuple[str, Path, float | None, bool]) -> Session:
        """Start to the end also when nobody waits for it any more: what has begun to run has to be known."""
        return await asyncio.shield(asyncio.ensure_future(self._start(*what)))

    async def _start(self, command: str, cwd: Path, timeout_s: float | None, tty: bool) -> Session:
        if len(alive := self._alive()) >= self._limit:
            raise refusals.too_many(alive)
        if (shell := shutil.which("bash")) is None:
            raise StartupError("bash: command not found", driver="exec", phase="startup")
        number = self._last = self._last + 1
        kept = f"exec-{number}.out" if self._archive else None
        try:
            spool = Spool(self._folder, kept, max_bytes=self._max_bytes)
            session = self._sessions[number] = self._make(number, command, spool, tty)
        except OSError as error:
            raise refusals.not_prepared(error) from None
        try:
            env = filtered(os.environ, self._env, tty=tty)
            await session.start([shell, "-lc", command], env, cwd, timeout_s)
        except BaseException:
            del self._sessions[number]
            raise
        self._forget_oldest()
        return session

    def _make(self, number: int, command: str, spool: Spool, tty: bool) -> Session:
        folder = self._launcher.folder
        stream = TerminalStream(spool, **self._size) if tty else PipeStream(spool, folder=folder)
        return Session(number, command, spool, stream, self._launcher)

    def _forget_oldest(self) -> None:
        """Bound what is kept for nobody: late output of sessions whose end was reported long ago."""
        unread = [s for s in self._sessions.values() if not s.alive and s.unread_bytes]
        for session in unread[: -self._limit]:
            session.forget()
