"""Look at a trace's events while they pass to the disk: for our marks, and tasks of the page's thread."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...wire.traceline import MARK

_MARK = f'"name":"{MARK}'.encode()
_TASK = b'"name":"RunTask"'
_THREAD = re.compile(rb'"pid":(\d+).*?"tid":(\d+)')
_NAME = re.compile(rb'"name":"(' + MARK.encode() + rb'\w+)"')


class TraceEye:
    """Look at each line, and hand it on.

    Parameters
    ----------
    reduce : callable, optional
        What is made of a line; None: it stays.

    Attributes
    ----------
    marks : dict of str to (int, int)
        Our marks, with process and thread.
    """

    def __init__(self, reduce: Callable[[bytes], bytes | None] | None = None) -> None:
        self.marks: dict[str, tuple[int, int]] = {}
        self._reduce = reduce
        self._tasks: dict[tuple[bytes, bytes], int] = {}

    def __call__(self, line: bytes) -> bytes | None:
        """Look at one event; a ``reduce`` of :func:`agentlab.wire.cdp.end_trace`.

        Parameters
        ----------
        line : bytes
            As JSON.

        Returns
        -------
        bytes or None
        """
        if _TASK in line:
            if (found := _THREAD.search(line)) is not None:
                key = found[1], found[2]
                self._tasks[key] = self._tasks.get(key, 0) + 1
        elif _MARK in line and (name := _NAME.search(line)) and (found := _THREAD.search(line)):
            self.marks[name[1].decode()] = int(found[1]), int(found[2])
        return line if self._reduce is None else self._reduce(line)

    def tasks_of(self, thread: tuple[int, int]) -> int:
        """Count the tasks of a thread.

        Parameters
        ----------
        thread : (int, int)
            Process and thread.

        Returns
        -------
        int
        """
        pid, tid = (str(number).encode() for number in thread)
        return self._tasks.get((pid, tid), 0)
