"""What came of a scenario's output: frames found in it, held against the processes' own lists."""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...wire.procid import ProcessId
from .printer import body

_HEAD = re.compile(rb"#([a-z]{1,20}) (\d{1,9}) (\d{1,20}) (\d{1,9}):")
_LONGEST_HEAD = 80


class Print(NamedTuple):
    """One frame: stamps in ns (``read_ns`` None: not known), bytes as they were printed."""

    print_ns: int
    read_ns: int | None
    n_bytes: int


class Frames:
    """Find frames in output that comes piece by piece, cut anywhere, from a terminal or a pipe.

    Attributes
    ----------
    seen : dict
        (process's name, number of the frame) to nothing: what was seen whole.

    Examples
    --------
    >>> frames = Frames()
    >>> frames.feed(b"noise #a 0 7 3:ab")
    []
    >>> frames.feed(b"c")
    [Print(print_ns=7, read_ns=None, n_bytes=3)]
    """

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()
        self._rest = b""
        self._reads: list[tuple[int, int]] = []

    def feed(self, data: bytes, reads: Sequence[tuple[int, int]] = ()) -> list[Print]:
        """Take the next piece.

        Parameters
        ----------
        data : bytes
            What follows on the piece before.
        reads : sequence of (int, int)
            Of each read in it: offset of its end in `data`, and its stamp in ns.

        Returns
        -------
        list of Print
            The frames that are whole now.
        """
        shift = len(self._rest)
        data = self._rest + data
        ends = [end + shift for end, _ in reads]
        found: list[Print] = []
        at = 0
        while (head := _HEAD.search(data, at)) is not None:
            name, seq, stamp, n = head[1].decode(), int(head[2]), int(head[3]), int(head[4])
            begin, end = head.end(), head.end() + n
            if data[begin:end] == body(seq, n):
                self.seen.add((name, seq))
                read = bisect.bisect_left(ends, end)
                found.append(Print(stamp, reads[read][1] if read < len(ends) else None, n))
                at = end
            elif end > len(data) and body(seq, n).startswith(data[begin:]):
                self._rest = data[head.start() :]
                return found
            else:  # another process wrote into it
                at = begin
        cut = data.rfind(b"#", max(at, len(data) - _LONGEST_HEAD))
        self._rest = data[cut:] if cut >= 0 else b""
        return found


@dataclasses.dataclass(frozen=True)
class Listed:
    """What the processes of a scenario say that they did.

    Parameters
    ----------
    prints : mapping
        (name, number of the frame) to its bytes, newline inside, head inside.
    processes : mapping
        Name to process.
    ended : mapping
        Name to the stamp that it took directly before it ended, in ns.
    n_read : int or None
        Bytes that they read; None: none of them got to the end of its reading.
    """

    prints: dict[tuple[str, int], int]
    processes: dict[str, ProcessId]
    ended: dict[str, int]
    n_read: int | None

    @classmethod
    def of(cls, path: Path) -> Listed:
        """Read the list.

        Parameters
        ----------
        path : Path
            Where it lies; absent: nothing was started.

        Returns
        -------
        Listed
        """
        made = cls({}, {}, {}, None)
        here = ProcessId.of(os.getpid())  # of this boot, as all of them
        n_read: int | None = None
        text = ""
        with contextlib.suppress(FileNotFoundError):
            text = path.read_text()
        for line in text.splitlines():
            what, name, *fields = line.split()
            if what == "pid":
                made.processes[name] = dataclasses.replace(here, pid=int(fields[0]), started=int(fields[1]))
            elif what == "print":
                made.prints[name, int(fields[0])] = int(fields[1])
            elif what == "end":
                made.ended[name] = int(fields[0])
            elif what == "read":
                n_read = (n_read or 0) + int(fields[0])
        return dataclasses.replace(made, n_read=n_read)

    def alive(self) -> dict[str, ProcessId]:
        """Return the processes that still run."""
        return {name: process for name, process in self.processes.items() if process.alive()}
