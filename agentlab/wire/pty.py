"""Pseudo-terminals, and the thread that reads all of them.

A terminal that nobody reads stalls its program after 20,480 bytes, and an event loop that is busy with a
notebook cell reads nothing: so one thread reads all terminals, always, and stamps each read before anything
else is done with it.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import os
import selectors
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from ..errors import StartupError

#: Pixels of a character cell: width, height. Told by the kernel and by the terminal's answers alike.
CELL = (8, 16)
_READ = 1 << 16
_TICK_S = 0.02
_BACKLOG = 1 << 20  # bytes read and not yet taken above which taking goes first


class Pty:
    """One pseudo-terminal of a given size.

    Give ``path`` to :meth:`agentlab.wire.children.Children.spawn` as ``tty=``; then call :meth:`release`.
    Keep it open until everything that runs on it has ended: closing it hangs up on them.

    Parameters
    ----------
    cols, rows : int
        Size in characters.

    Attributes
    ----------
    master : int
        Our end, non-blocking.
    path : str
        The other end, as a device file.

    Raises
    ------
    StartupError
        The system has none left, or this process no descriptor.
    """

    def __init__(self, *, cols: int = 120, rows: int = 40) -> None:
        try:
            self.master, self._slave = os.openpty()
        except OSError as error:
            raise StartupError(f"no pseudo-terminal can be opened: {error}", phase="startup") from error
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self._slave)
        self.resize(cols, rows)

    def resize(self, cols: int, rows: int) -> None:
        """Set the window size; the foreground program gets SIGWINCH.

        Parameters
        ----------
        cols, rows : int
            Size in characters.
        """
        size = struct.pack("HHHH", rows, cols, cols * CELL[0], rows * CELL[1])
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def release(self) -> None:
        """Close our copy of the program's end, so that the end of the last program shows."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def is_raw(self) -> bool:
        """Tell whether the line discipline neither echoes nor edits what is typed now."""
        try:
            return not termios.tcgetattr(self.master)[3] & (termios.ICANON | termios.ECHO)
        except (termios.error, OSError, ValueError):  # it was closed
            return False

    def close(self) -> None:
        """Hang up."""
        self.release()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


class Taker(Protocol):
    """Who gets what is read; called in the reader's thread, never at the same time."""

    def take(self, data: bytes, t: int) -> None:
        """Take one read; ``t`` is its stamp in ns of CLOCK_MONOTONIC."""

    def tick(self, t: int) -> bool:
        """Look at something every 20 ms, and with each read; False: no more."""
        ...

    def end(self, t: int, error: Exception | None) -> None:
        """Hear that the last program has closed its end, or that taking failed. It is the last call."""


class _Channel:
    """One terminal in the reader."""

    def __init__(self, fd: int, taker: Taker) -> None:
        self.fd, self.taker = fd, taker
        self.ticking = True
        self.open = True
        self.lock = threading.Lock()
        self.pending = bytearray()  # to be written


class PtyReader:
    """A thread that reads terminals as long as the context is open.

    Attributes
    ----------
    worst_turn_ns : int
        Longest time between two looks at the terminals: no stamp was later than that.
    """

    def __init__(self) -> None:
        self.worst_turn_ns = 0
        self._selector = selectors.DefaultSelector()
        self._channels: dict[int, _Channel] = {}
        self._backlog: collections.deque[tuple[_Channel, bytes, int]] = collections.deque()
        self._waiting = 0  # bytes in it
        self._orders: collections.deque[Callable[[], None]] = collections.deque()
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self._ring.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="agentlab-pty", daemon=True)
        self._running = False

    def __enter__(self) -> PtyReader:
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._running = True
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._order(self._stop)
        self._thread.join()
        self._selector.close()
        self._bell.close()
        self._ring.close()

    @property
    def cpu_s(self) -> float | None:
        """CPU seconds that reading and looking have cost so far; None when the thread does not run."""
        if not self._running or self._thread.ident is None:
            return None
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))

    def add(self, fd: int, taker: Taker) -> None:
        """Begin to read a terminal.

        Parameters
        ----------
        fd : int
            Its master, non-blocking.
        taker : Taker
            Who gets what is read.
        """
        channel = self._channels[fd] = _Channel(fd, taker)
        self._order(lambda: self._begin(channel))

    def write(self, fd: int, data: bytes) -> None:
        """Write to a terminal; what it does not take at once follows as soon as it can.

        Parameters
        ----------
        fd : int
            Its master.
        data : bytes
            Input of the program. After its end it is dropped.
        """
        channel = self._channels.get(fd)
        if channel is None or not data:
            return
        with channel.lock:
            channel.pending += data
            self._flush(channel)
            rest = bool(channel.pending)
        if rest:
            self._order(lambda: self._watch(channel))

    def remove(self, fd: int) -> None:
        """Stop to read a terminal, once all that was read has been taken; afterwards it may be closed.

        Parameters
        ----------
        fd : int
            Its master.
        """
        channel = self._channels.pop(fd, None)
        if channel is None:
            return
        done = threading.Event()

        def drop() -> None:
            self._detach(channel)
            self._digest(everything=True)
            done.set()

        if self._running:
            self._order(drop)
            done.wait(5.0)

    # -- in the thread

    def _run(self) -> None:
        last = time.monotonic_ns()
        while self._running:
            ticking = any(channel.ticking for channel in list(self._channels.values()))
            events = self._selector.select(0 if self._backlog else _TICK_S if ticking else None)
            begun = time.monotonic_ns()
            for key, mask in events:
                if key.data is None:
                    self._obey()
                    continue
                if mask & selectors.EVENT_WRITE:
                    with key.data.lock:
                        self._flush(key.data)
                    self._watch(key.data)
                if mask & selectors.EVENT_READ:
                    self._read(key.data)
            if begun - last >= _TICK_S * 1e9:
                last = begun
                for channel in list(self._channels.values()):
                    channel.ticking = channel.ticking and channel.open and channel.taker.tick(begun)
            self._digest()
            self.worst_turn_ns = max(self.worst_turn_ns, time.monotonic_ns() - begun)

    def _read(self, channel: _Channel) -> None:
        if not channel.open:
            return
        try:
            data = os.read(channel.fd, _READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # EIO: nobody has the other end open
            data = b""
        t = time.monotonic_ns()
        if not data:
            self._detach(channel)
        elif channel.ticking:
            channel.ticking = channel.taker.tick(t)
        self._backlog.append((channel, data, t))
        self._waiting += len(data)

    def _digest(self, *, everything: bool = False) -> None:
        """Hand on one read, more when many wait: the next look at the terminals should come soon."""
        while self._backlog:
            channel, data, t = self._backlog.popleft()
            self._waiting -= len(data)
            try:
                if data:
                    channel.taker.take(data, t)
                else:
                    channel.taker.end(t, None)
            except Exception as error:
                # A fault in one terminal's handling must not stop the reading of the others.
                self._detach(channel)
                channel.taker.end(t, error)
            if not everything and self._waiting < _BACKLOG:
                return

    def _order(self, order: Callable[[], None]) -> None:
        """Have something done in the thread."""
        self._orders.append(order)
        with contextlib.suppress(BlockingIOError, OSError):
            self._ring.send(b"!")

    def _obey(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.recv(4096)
        while self._orders:
            self._orders.popleft()()

    def _begin(self, channel: _Channel) -> None:
        self._selector.register(channel.fd, selectors.EVENT_READ, channel)

    def _detach(self, channel: _Channel) -> None:
        channel.ticking = False
        if channel.open:
            with channel.lock:
                channel.open = False
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(channel.fd)

    def _watch(self, channel: _Channel) -> None:
        """Wait for room to write while something is to be written."""
        if channel.open:
            more = selectors.EVENT_WRITE if channel.pending else 0
            self._selector.modify(channel.fd, selectors.EVENT_READ | more, channel)

    @staticmethod
    def _flush(channel: _Channel) -> None:
        if not channel.open:
            channel.pending.clear()
        try:
            while channel.pending:
                del channel.pending[: os.write(channel.fd, channel.pending)]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            channel.pending.clear()  # its program is gone

    def _stop(self) -> None:
        self._running = False
        for channel in list(self._channels.values()):
            self._detach(channel)
        self._digest(everything=True)
