"""What a session has printed, in a private file as it came, and when each piece of it was read."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: How many stamps are kept of what was not taken yet; more are thinned out.
MAX_STAMPS = 16_384
_COPY_BYTES = 1 << 20


class Stamps:
    """When each byte was read: one stamp for each read, thinned out when they are many.

    Parameters
    ----------
    limit : int, default 16384
        Most stamps that are kept; with more each second one is dropped, and the bytes it stood for get the
        stamp of the next read: never an earlier one.

    Examples
    --------
    >>> stamps = Stamps(limit=3)
    >>> for end, t in [(10, 1), (20, 2), (30, 3), (40, 4)]:
    ...     stamps.add(end, t)
    >>> stamps.take(0)
    ((20, 2), (40, 4))
    """

    def __init__(self, limit: int = MAX_STAMPS) -> None:
        self._limit = limit
        self._ends = array("q")
        self._times = array("q")

    def add(self, end: int, t: int) -> None:
        """Add a read.

        Parameters
        ----------
        end : int
            Position in the output directly after it, bytes.
        t : int
            CLOCK_MONOTONIC directly after it, ns.
        """
        self._ends.append(end)
        self._times.append(t)
        if len(self._ends) > self._limit:
            first = (len(self._ends) - 1) % 2  # the last read is always kept
            self._ends, self._times = self._ends[first::2], self._times[first::2]

    def take(self, start: int) -> tuple[tuple[int, int], ...]:
        """Give the stamps out, and forget them.

        Parameters
        ----------
        start : int
            Position from which ends are counted, bytes.

        Returns
        -------
        tuple of (int, int)
            End of a read after `start` in bytes, its stamp in ns.
        """
        taken = tuple((end - start, t) for end, t in zip(self._ends, self._times, strict=True))
        self._ends, self._times = array("q"), array("q")
        return taken


class Taken(NamedTuple):
    """A piece of the output that is given out once: where it begins, its length, what was lost in it."""

    offset: int
    n_bytes: int
    lost_bytes: int
    reads: tuple[tuple[int, int], ...]


class Spool:
    """A private file (0600) that output is appended to; it may be written and taken from in two threads.

    Without a name the file is gone from its folder at once, so that nothing of it can be left behind.

    Parameters
    ----------
    folder : pathlib.Path or None
        Where the file is; None: the system's temporary folder.
    name : str, optional
        Keep it under this name.
    max_bytes : int, optional
        Most bytes that are kept; what comes after is read and counted as lost.

    Examples
    --------
    >>> spool = Spool(None)
    >>> spool.append(b"hello")
    >>> taken = spool.take()
    >>> spool.read(taken.offset, taken.n_bytes)
    b'hello'
    >>> spool.take().n_bytes
    0
    """

    def __init__(self, folder: Path | None, name: str | None = None, *, max_bytes: int | None = None) -> None:
        if name is None or folder is None:
            fd, path = tempfile.mkstemp(prefix="agentlab-exec-", dir=folder)
            Path(path).unlink()
        else:
            fd = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._fd = fd
        weakref.finalize(self, os.close, fd)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._stamps = Stamps()
        self._size = self._taken = 0
        self._lost = self._lost_taken = 0

    @property
    def seen(self) -> int:
        """Bytes that were read: kept or lost."""
        return self._size + self._lost

    @property
    def untaken_bytes(self) -> int:
        """Bytes that :meth:`take` would give out."""
        return self._size - self._taken

    def room(self, wanted: int) -> int:
        """Say how much of the next bytes may be kept.

        Parameters
        ----------
        wanted : int
            Bytes.

        Returns
        -------
        int
            Bytes, at most `wanted`.
        """
        return wanted if self._max_bytes is None else min(wanted, self._max_bytes - self._size)

    def append(self, data: bytes | memoryview, reads: tuple[tuple[int, int], ...] = ()) -> None:
        """Append what was read; what the file cannot hold is counted as lost.

        Parameters
        ----------
        data : bytes-like
            Output.
        reads : tuple of (int, int)
            Of each read in it: its end in `data` in bytes, its stamp in ns.
        """
        written = 0
        view = memoryview(data)[: self.room(len(data))]
        with contextlib.suppress(OSError):  # the disk is full
            while written < len(view):
                written += os.pwrite(self._fd, view[written:], self._size + written)
        with self._lock:
            for end, t in reads:
                self._stamps.add(self._size + min(end, written), t)
            self._size += written
            self._lost += len(data) - written

    def splice(self, pipe: int, n_bytes: int) -> int:
        """Move output from a pipe into the file, without copying it through this process.

        Parameters
        ----------
        pipe : int
            Read end.
        n_bytes : int
            Most bytes to move.

        Returns
        -------
        int
            Bytes that were moved; 0: the pipe's end. They count only once :meth:`moved` is told.

        Raises
        ------
        BlockingIOError
            Nothing is there now.
        OSError
            The file's system cannot do it, or is full.
        """
        return os.splice(pipe, self._fd, n_bytes, offset_dst=self._size)

    def moved(self, n_bytes: int, t: int) -> None:
        """Count what :meth:`splice` has moved.

        Parameters
        ----------
        n_bytes : int
            Bytes.
        t : int
            Stamp directly after it, ns.
        """
        with self._lock:
            self._size += n_bytes
            self._stamps.add(self._size, t)

    def take(self) -> Taken:
        """Give out what came since the last call: each byte once.

        Returns
        -------
        Taken
        """
        with self._lock:
            taken = Taken(
                self._taken,
                self._size - self._taken,
                self._lost - self._lost_taken,
                self._stamps.take(self._taken),
            )
            self._taken, self._lost_taken = self._size, self._lost
        return taken

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Read a piece of the file.

        Parameters
        ----------
        offset, n_bytes : int
            Where it begins and its length, bytes.

        Returns
        -------
        bytes
        """
        return b"".join(self.pieces(offset, n_bytes))

    def pieces(self, offset: int, n_bytes: int) -> Iterator[bytes]:
        """Read a piece of the file in blocks of at most 1 MiB.

        Parameters
        ----------
        offset, n_bytes : int
            Where it begins and its length, bytes.

        Yields
        ------
        bytes
        """
        end = offset + n_bytes
        while offset < end:
            block = os.pread(self._fd, min(_COPY_BYTES, end - offset), offset)
            if not block:
                return
            yield block
            offset += len(block)
