"""A virtual terminal: a real pseudo-terminal with somebody in front of it who sees, types and keeps time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from pathlib import Path

from .emulator import Emulator
from .pty import Pty, PtyReader
from .ptyfile import PtyWriter
from .screen import Screen

_TAIL = 8192

#: What can be awaited: a moment, or a condition that the screen will fulfil.
Moment = Future[int]
Test = Callable[[Screen], bool]


class VirtualTerminal:
    """One terminal: start a program on its ``path``, call :meth:`started`, and watch.

    Its moments are :class:`concurrent.futures.Future` with the stamp of the read in which something first was
    so, in ns of CLOCK_MONOTONIC; they are cancelled when the program ends before. They are set in the
    reader's thread, so that ``add_done_callback`` is the place to take other readings of that moment (CPU
    time), whatever the event loop does.

    Parameters
    ----------
    reader : PtyReader
        The thread that reads it.
    cols, rows : int
        Size in characters.
    record : Path, optional
        File (0600, made anew) for all that the program prints, with its stamps; it holds content. See
        :func:`agentlab.wire.ptyfile.read_pty`.

    Attributes
    ----------
    path : str
        Device file for ``Children.spawn(tty=...)``.
    painted : Future of int
        The first character other than white space stands on the rendered screen.
    raw : Future of int
        The line discipline neither echoes nor edits; looked at with each read and every 20 ms.
    ended : Future of int
        Nobody has the program's end open any more. It holds an exception when looking at the output failed.
    n_bytes, n_reads : int
        What was read so far.
    tail : bytes
        The last 8 KiB of it.

    Examples
    --------
    >>> from agentlab.wire.children import Children
    >>> async def look():
    ...     with PtyReader() as reader, VirtualTerminal(reader, cols=40, rows=5) as terminal:
    ...         async with Children() as children:
    ...             await children.spawn(["/bin/echo", "hello"], env={}, tty=terminal.path)
    ...             terminal.started()
    ...             seen = await terminal.wait(lambda screen: screen.shows("hello"), timeout_s=5)
    ...             return seen is not None, terminal.text()
    >>> asyncio.run(look())
    (True, 'hello')
    """

    def __init__(
        self, reader: PtyReader, *, cols: int = 120, rows: int = 40, record: Path | None = None
    ) -> None:
        self.painted, self.raw, self.ended = Moment(), Moment(), Moment()
        self.n_bytes = self.n_reads = 0
        self._emulator = Emulator(cols=cols, rows=rows)
        self._lock = threading.Lock()  # the emulator is fed in one thread and looked at in others
        self._watched: list[tuple[Test, Moment]] = []
        self._last = time.monotonic_ns()
        self._tail = bytearray()
        self._writer = None if record is None else PtyWriter(record, cols=cols, rows=rows)
        self._pty = Pty(cols=cols, rows=rows)
        self.path = self._pty.path
        self._reader = reader
        reader.add(self._pty.master, self)

    def __enter__(self) -> VirtualTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- for whoever sits in front of it

    def started(self) -> None:
        """Say that a program runs on it: from now on the end of the last one shows."""
        self._pty.release()

    def type(self, data: str | bytes) -> int:
        r"""Type; never waits.

        Parameters
        ----------
        data : str or bytes
            What the keys send: ``"\r"`` for Enter, ``"\x7f"`` for Backspace, ``"\x03"`` for Control-C.

        Returns
        -------
        int
            Stamp directly before, ns.
        """
        t = time.monotonic_ns()
        self._reader.write(self._pty.master, data.encode() if isinstance(data, str) else data)
        return t

    def is_raw(self) -> bool:
        """Tell whether what is typed now reaches the program unechoed; see :attr:`raw` for when first."""
        return self._pty.is_raw()

    def when(self, test: Test) -> Moment:
        """Have a condition looked at after each read, from now on.

        Parameters
        ----------
        test : callable
            Gets the :class:`~agentlab.wire.screen.Screen`; called in the reader's thread, so keep it short.

        Returns
        -------
        Future of int
            Stamp of the read after which it held; of the last read when it holds already. Cancelled at the
            end of the program.
        """
        moment = Moment()
        with self._lock:
            if test(self._emulator.screen):
                moment.set_result(self._last)
            elif self.ended.done():
                moment.cancel()
            else:
                self._watched.append((test, moment))
        return moment

    async def wait(self, what: Moment | Test, *, timeout_s: float | None = None) -> int | None:
        """Wait for a moment or a condition, or for the end of the program.

        Parameters
        ----------
        what : Future of int or callable
            ``terminal.painted``, ``terminal.when(...)``, or a condition as for :meth:`when`.
        timeout_s : float, optional
            Longest wait in seconds.

        Returns
        -------
        int or None
            Its stamp in ns; None when the time was up or the program ended before.
        """
        own = not isinstance(what, Future)
        moment = self.when(what) if not isinstance(what, Future) else what
        loop, rung = asyncio.get_running_loop(), asyncio.Event()

        def ring(_: Moment) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed since
                loop.call_soon_threadsafe(rung.set)

        moment.add_done_callback(ring)
        try:
            await asyncio.wait_for(rung.wait(), timeout_s)
        except TimeoutError:
            return None
        finally:
            if own:
                moment.cancel()
        return stamp(moment)

    def text(self) -> str:
        """Return the rendered screen, without white space at the ends of rows and of the screen."""
        with self._lock:
            return "\n".join(self._emulator.screen.lines()).strip("\n")

    def shows(self, text: str) -> bool:
        """Tell whether a text stands on the rendered screen now, within one row."""
        return self.count(text) > 0

    def count(self, text: str) -> int:
        """Count how often a text stands on the rendered screen now."""
        with self._lock:
            return self._emulator.screen.count(text)

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 1."""
        with self._lock:
            return self._emulator.screen.cursor

    def queries(self) -> dict[str, dict[str, int]]:
        """Return what the program asked: ``seen`` and ``unanswered``, each name to count."""
        with self._lock:
            asked = self._emulator.queries
            return {"seen": dict(asked.seen), "unanswered": dict(asked.unanswered)}

    @property
    def tail(self) -> bytes:
        """The last 8 KiB that were read."""
        with self._lock:
            return bytes(self._tail)

    def resize(self, cols: int, rows: int) -> None:
        """Change the size of the window; the program is told.

        Parameters
        ----------
        cols, rows : int
            Size in characters.
        """
        with self._lock:
            self._emulator.screen.resize(cols, rows)
        self._pty.resize(cols, rows)

    def close(self) -> None:
        """Hang up, once everything that was read has been looked at. Do it when its programs have ended."""
        if self._pty.master >= 0:
            self._reader.remove(self._pty.master)
            self._pty.close()
            self.end(time.monotonic_ns(), None)

    # -- what the reader calls

    def take(self, data: bytes, t: int) -> None:
        """Take one read."""
        with self._lock:
            self._last = t
            self.n_reads += 1
            self.n_bytes += len(data)
            self._tail += data
            del self._tail[:-_TAIL]
            answers = self._emulator.feed(data)
            screen = self._emulator.screen
            met = self._met(screen)
        if answers:
            self._reader.write(self._pty.master, answers)
        if not self.painted.done() and screen.inked:
            # Only what is still there at the end of the read was ever shown.
            if screen.blank():
                screen.inked = False
            else:
                _settle(self.painted, t)
        for moment in met:
            _settle(moment, t)
        if self._writer is not None:
            self._writer.write(data, t)

    def tick(self, t: int) -> bool:
        """Look at the line discipline until it is raw."""
        if not self.raw.done() and self._pty.is_raw():
            _settle(self.raw, t)
        return not self.raw.done()

    def end(self, t: int, error: Exception | None) -> None:
        """Hear of the end."""
        with self._lock:
            watched, self._watched = self._watched, []
            writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close()
        except OSError as fault:  # a full disk shows when the buffer is written
            error = error or fault
        if not self.ended.done():
            if error is None:
                self.ended.set_result(t)
            else:
                self.ended.set_exception(error)
        for moment in (self.painted, self.raw, *(moment for _, moment in watched)):
            moment.cancel()

    def _met(self, screen: Screen) -> list[Moment]:
        met = [moment for test, moment in self._watched if not moment.cancelled() and test(screen)]
        if met or any(moment.cancelled() for _, moment in self._watched):
            self._watched = [(test, m) for test, m in self._watched if m not in met and not m.cancelled()]
        return met


def _settle(moment: Moment, t: int) -> None:
    with contextlib.suppress(InvalidStateError):  # cancelled just now, elsewhere
        moment.set_result(t)


def stamp(moment: Moment) -> int | None:
    """Return the stamp of a moment.

    Parameters
    ----------
    moment : Future of int
        Of a :class:`VirtualTerminal`.

    Returns
    -------
    int or None
        None when it has not come, or never will.
    """
    return moment.result() if moment.done() and not moment.cancelled() else None
