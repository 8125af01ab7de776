"""The two ways a command is connected: a pseudo-terminal, or pipes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import termios
import time
from array import array
from pathlib import Path

from ...errors import DriverError
from ...wire.pty import Pty
from .spool import Spool
from .typist import Lines, Typist, end_of_file_of

_TTY_BUFFER_BYTES = 1 << 16  # more than a terminal holds unread (20,480 bytes)
_PIPE_BYTES = 1 << 20
_READS = 16  # of one terminal before the others have their turn

INTERRUPT, END = b"\x03", b"\x04"


class TerminalStream:
    """The owner's side of a pseudo-terminal; belongs to the loop it was made in.

    Parameters
    ----------
    spool : Spool
        Where the output goes.
    cols, rows : int
        Size of the window in characters.
    """

    def __init__(self, spool: Spool, *, cols: int, rows: int) -> None:
        self._spool = spool
        self._loop = asyncio.get_running_loop()
        self._pty = Pty(cols=cols, rows=rows)
        self._fd = self._pty.master
        self.order = {"tty": self._pty.path, "input": None, "output": None}
        self._buffer = memoryview(bytearray(_TTY_BUFFER_BYTES))
        self._lines = Lines()
        self._typist = Typist(self._fd)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that were typed and not taken yet."""
        return self._typist.unsent_bytes

    def begin(self) -> None:
        """Read from now on: the command has its side."""
        self._pty.release()
        self._loop.add_reader(self._fd, self._read)

    def drain(self) -> None:
        """Read what is there now, and no more than a terminal can hold."""
        end = self._spool.seen + _TTY_BUFFER_BYTES
        while self._fd >= 0 and self._read() and self._spool.seen < end:
            pass

    def type(self, data: bytes) -> bool:
        """Type.

        Parameters
        ----------
        data : bytes
            Keys.

        Returns
        -------
        bool
            Whether the foreground group is to be interrupted by a signal: the terminal is stuck, so that it
            would not see the key.

        Raises
        ------
        DriverError
            ``line_too_long``.
        """
        stuck = self.unsent_bytes > 0 and data == INTERRUPT
        if stuck and termios.tcgetattr(self._fd)[3] & termios.ISIG:
            self._typist.forget()  # as the terminal does with what it holds
            return True
        end_of_file = end_of_file_of(self._fd)
        if end_of_file is None:
            self._lines = Lines()
        else:
            data = self._lines.cut(data, end_of_file)
        self._typist.type(data)
        return False

    @property
    def foreground(self) -> int:
        """Process group in the foreground."""
        return os.tcgetpgrp(self._fd)

    def close(self) -> None:
        """Hang up."""
        if self._fd >= 0:
            self._typist.forget()
            self._loop.remove_reader(self._fd)
            self._pty.close()
            self._fd = -1
            self._buffer = memoryview(b"")

    def _read(self) -> bool:
        """Read up to a buffer full; False: nothing more is there now."""
        at, reads = 0, []
        more = True
        try:
            while at < _TTY_BUFFER_BYTES and len(reads) < _READS:
                at += os.readv(self._fd, [self._buffer[at:]])
                reads.append((at, time.monotonic_ns()))
        except BlockingIOError:
            more = False
        except OSError:  # nobody has the other side any more
            more = False
            self._loop.remove_reader(self._fd)
        if at:
            self._spool.append(self._buffer[:at], tuple(reads))
        return more


class PipeStream:
    """The owner's ends of two pipes, output and errors in one; belongs to the loop it was made in.

    Parameters
    ----------
    spool : Spool
        Where the output goes.
    folder : pathlib.Path
        Private folder in which the pipes have names until the command has opened them.
    """

    def __init__(self, spool: Spool, *, folder: Path) -> None:
        self._spool = spool
        self._loop = asyncio.get_running_loop()
        name = secrets.token_hex(4)
        self._paths = [folder / f"{name}.in", folder / f"{name}.out"]
        for path in self._paths:
            os.mkfifo(path, 0o600)
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        self._held = os.open(self._paths[0], os.O_RDONLY | flags)  # so that the other end can be opened
        self._in = os.open(self._paths[0], os.O_WRONLY | flags)
        self._out = os.open(self._paths[1], os.O_RDONLY | flags)
        with contextlib.suppress(OSError):  # the user's share of large pipes is used up
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.order = {"tty": None, "input": str(self._paths[0]), "output": str(self._paths[1])}
        self._typist = Typist(self._in)
        self._splices = hasattr(os, "splice")
        self._input_ends = False

    @property
    def unsent_bytes(self) -> int:
        """Bytes that were typed and not taken yet."""
        return self._typist.unsent_bytes

    def begin(self) -> None:
        """Read from now on: the command has its ends."""
        self._unname()
        self._loop.add_reader(self._out, self._read)

    def drain(self) -> None:
        """Read what is there now; whoever else writes into the pipe is not waited for."""
        if self._out < 0:
            return
        there = array("i", [0])
        fcntl.ioctl(self._out, termios.FIONREAD, there)
        wanted = self._spool.seen + there[0]
        while self._out >= 0 and self._spool.seen < wanted:
            self._read()

    def type(self, data: bytes) -> bool:
        """Type; ^D closes the input once all before it is taken.

        Parameters
        ----------
        data : bytes
            Keys.

        Returns
        -------
        bool
            Whether there is a ^C in it: the group is to be interrupted.

        Raises
        ------
        DriverError
            ``stdin_closed``: something is typed after a ^D.
        """
        text, end, rest = data.replace(INTERRUPT, b"").partition(END)
        if rest.strip(END) or (text and self._input_ends):
            raise DriverError(
                "a ^D has closed the input of the session; nothing can be typed after it, and of this write"
                " nothing was",
                driver="exec",
                code="stdin_closed",
            )
        if not self._input_ends:
            self._typist.type(text)
            if end:
                self._input_ends = True
                self._typist.then(self._close_input)
        return INTERRUPT in data

    def close(self) -> None:
        """Close both ends."""
        self._unname()
        self._close_input()
        if self._out >= 0:
            self._loop.remove_reader(self._out)
            os.close(self._out)
            self._out = -1

    def _unname(self) -> None:
        for path in self._paths:
            path.unlink(missing_ok=True)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def _close_input(self) -> None:
        if self._in >= 0:
            self._typist.forget()
            os.close(self._in)
            self._in = -1

    def _read(self) -> None:
        room = self._spool.room(_PIPE_BYTES)
        with contextlib.suppress(BlockingIOError):
            if not (self._splices and room and self._splice(room)):
                self._copy()

    def _splice(self, room: int) -> bool:
        """Move what is there; False where that cannot be done."""
        try:
            n = self._spool.splice(self._out, room)
        except BlockingIOError:
            raise
        except OSError:  # a file system without splice, or a full disk
            self._splices = False
            return False
        if n:
            self._spool.moved(n, time.monotonic_ns())
        else:
            self._end()
        return True

    def _copy(self) -> None:
        data = os.read(self._out, _PIPE_BYTES)
        if data:
            self._spool.append(data, ((len(data), time.monotonic_ns()),))
        else:
            self._end()

    def _end(self) -> None:
        self._loop.remove_reader(self._out)
        os.close(self._out)
        self._out = -1
