"""One exec session as the reading thread sees it: from the start of its command to its last process's end."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Literal, NamedTuple

from ...wire.procid import ProcessId
from . import ladder
from .launcher import Ended, Launcher, Started, Watch
from .result import ExecInfo
from .spool import Spool, Taken
from .streams import PipeStream, TerminalStream

#: A shell says with 128 + n that its command was ended by signal n; programs use other codes above 128.
_SAID_BY_SHELL = {128 + number: number for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)}

_LEAVE_S = 1.0

Ender = Literal["timeout", "close"]


class Outcome(NamedTuple):
    """How the command ended.

    Parameters
    ----------
    exit_code : int or None
        Negative: the signal; None: nobody knows, its leader was killed.
    ended_by : str or None
        ``"self"``, ``"signal N"``, ``"timeout"``, ``"close"``; None as above.
    t : int
        When, ns.
    cpu_s : float or None
        CPU seconds of it and of what it waited for; None: not known.
    """

    exit_code: int | None
    ended_by: str | None
    t: int
    cpu_s: float | None = None


class Session:
    """A command with its streams; made and changed in one loop, and looked at from elsewhere.

    Parameters
    ----------
    number : int
        Its number.
    command : str
        What it runs.
    spool : Spool
        Where its output goes.
    stream : TerminalStream or PipeStream
        How it is connected.
    launcher : Launcher
        Who starts it.
    """

    def __init__(
        self, number: int, command: str, spool: Spool, stream: TerminalStream | PipeStream, launcher: Launcher
    ) -> None:
        self.number = number
        self.command = command
        self._spool: Spool | None = spool
        self._returned = 0
        self._lost = 0
        self.tty = isinstance(stream, TerminalStream)
        self.outcome: Outcome | None = None
        self.gone = False
        self.reported = False
        self.survivors: tuple[str, ...] = ()
        self.unsent_bytes = 0
        self.t = time.monotonic_ns()
        self._stream = stream
        self._launcher = launcher
        self._started: Started | None = None
        self._ended, self._left = asyncio.Event(), asyncio.Event()
        self._exit: Outcome | None = None  # before it is told
        self._ender: Ender | None = None
        self._ending: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def start(self, argv: list[str], env: dict[str, str], cwd: Path, timeout_s: float | None) -> None:
        """Start the command.

        Parameters
        ----------
        argv, env, cwd
            Command, whole environment, folder.
        timeout_s : float or None
            Seconds after which all of it is ended.

        Raises
        ------
        StartupError
            It cannot be started.
        """
        self._timeout_s = timeout_s
        order = {"argv": argv, "env": env, "cwd": str(cwd), **self._stream.order}
        try:
            await self._launcher.start(order, Watch(self._begin, self._end, self._leave))
        except BaseException:
            self._hang_up()
            raise

    async def wait(self, seconds: float) -> None:
        """Wait for the command's end.

        Parameters
        ----------
        seconds : float
            At most.
        """
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            if not self.gone:
                self._stream.drain()
                self.unsent_bytes = self._stream.unsent_bytes

    def type(self, data: bytes) -> None:
        """Type into the command.

        Parameters
        ----------
        data : bytes
            Keys; ^C and ^D mean what they mean on a terminal also where there is none.

        Raises
        ------
        DriverError
            ``line_too_long`` or ``stdin_closed``; nothing of it was typed.
        """
        assert self._started is not None
        if self._stream.type(data):
            group = self._stream.foreground if isinstance(self._stream, TerminalStream) else self._started.pid
            ladder.interrupt(group, leader=self._started.leader, watchdog=self._launcher.children.pid)

    async def type_and_wait(self, data: bytes, seconds: float) -> None:
        """Type, if it still runs, then wait for its end.

        Parameters
        ----------
        data, seconds
            As for :meth:`type` and :meth:`wait`.
        """
        if data and self.outcome is None:
            self.type(data)
        await self.wait(seconds)

    async def close(self) -> None:
        """End all of it, also what the command left running."""
        self._begin_to_end("close")
        if self._ending is not None:
            await asyncio.shield(self._ending)

    @property
    def alive(self) -> bool:
        """Whether anything of it runs, or its end is still to be reported."""
        return not (self.gone and self.reported)

    @property
    def state(self) -> Literal["running", "background", "exited"]:
        """What it is doing."""
        return "running" if self.outcome is None else "exited" if self.gone else "background"

    @property
    def info(self) -> ExecInfo:
        """What a list of sessions tells of it."""
        return ExecInfo(
            session=self.number,
            command=self.command,
            state=self.state,
            tty=self.tty,
            wall_ms=self.wall_ms,
            unread_bytes=self.unread_bytes,
        )

    @property
    def wall_ms(self) -> float:
        """Time from the command's start to its end, or to now, ms."""
        return ((self.outcome.t if self.outcome else time.monotonic_ns()) - self.t) / 1e6

    @property
    def unread_bytes(self) -> int:
        """Output that was not taken yet."""
        return 0 if self._spool is None else self._spool.untaken_bytes

    def take(self) -> tuple[Taken, Spool | None]:
        """Give out what is new, each byte once; may be called in any thread.

        Returns
        -------
        Taken
        Spool or None
            Where it is; None: nothing is left, and nothing will come.
        """
        spool, over = self._spool, self.gone
        if spool is None:
            lost, self._lost = self._lost, 0
            return Taken(self._returned, 0, lost, ()), None
        taken = spool.take()
        self._returned = taken.offset + taken.n_bytes
        if over:
            self._spool = None
        return taken, spool

    def forget(self) -> None:
        """Drop what was not taken: it counts as lost."""
        if self._spool is not None:
            taken, self._spool = self._spool.take(), None
            self._lost = taken.n_bytes + taken.lost_bytes

    def processes(self) -> int:
        """Count its live processes.

        Returns
        -------
        int
            Without the leader.
        """
        if self.gone or self._started is None:
            return 0
        return len(ladder.members(self._started.leader, watchdog=self._launcher.children.pid))

    def _begin(self, started: Started) -> None:
        self._started, self.t = started, started.t
        self._stream.begin()
        if self._timeout_s is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._timeout_s, self._begin_to_end, "timeout")

    def _begin_to_end(self, ender: Ender) -> None:
        ending = self._ending is not None and not self._ending.done()  # a survivor may be asked to end again
        if not self.gone and not ending and self._started is not None:
            self._ender = self._ender or ender
            self._ending = asyncio.create_task(self._end_all(self._started.leader))

    async def _end_all(self, leader: ProcessId) -> None:
        """End it; only then is its end told, so that whoever hears of it finds nothing alive."""
        self.survivors = await ladder.end(leader, watchdog=self._launcher.children.pid)
        if not self.survivors:
            try:
                await asyncio.wait_for(self._left.wait(), _LEAVE_S)
            except TimeoutError:  # whoever would tell was killed
                self._hang_up()
        elif self._exit is not None:
            self._tell()

    def _end(self, ended: Ended) -> None:
        """Hear that the command has ended: what it wrote before is there, and is read to its last byte."""
        if self.gone:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._stream.drain()
        self._exit = Outcome(ended.exit_code, self._ended_by(ended.exit_code), ended.t, ended.cpu_s)
        if not ended.left:
            self._hang_up()
        elif self._ending is None:
            self._tell()

    def _tell(self) -> None:
        self.unsent_bytes = self._stream.unsent_bytes
        self.outcome = self.outcome or self._exit
        self._ended.set()

    def _ended_by(self, exit_code: int) -> str:
        if self._ender is not None:
            return self._ender
        number = -exit_code if exit_code < 0 else _SAID_BY_SHELL.get(exit_code)
        return "self" if number is None else f"signal {int(number)}"

    def _leave(self) -> None:
        """Hear that nothing of it is left; or that its leader is, killed by somebody."""
        if self._exit is None and self._ender is None and self._started is not None:
            self._ending = asyncio.create_task(self._after_the_leader(self._started.leader))
        else:
            self._hang_up()

    async def _after_the_leader(self, leader: ProcessId) -> None:
        self.survivors = await ladder.end(leader, watchdog=self._launcher.children.pid, term_s=0.0)
        self._hang_up()

    def _hang_up(self) -> None:
        if self.gone:
            return
        self._stream.drain()
        self._exit = self._exit or Outcome(None, self._ender, time.monotonic_ns())
        self._tell()
        self._stream.close()
        del self._stream  # it holds the spool, which is to be gone once the last result is
        self.gone = True
        self._left.set()
