"""The threads of a trace, and which of them is the page's main thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...errors import ImportFormatError
from .events import Event

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: How the names of the events begin that this module reads.
NAMES = (b"thread_n", b"process_", b"TracingS", b"FrameCom")
#: Marks of ours begin so.
OWN_MARK = "agentlab:"
_MAIN = "CrRendererMain"
_NUMBER = re.compile(r"-?[0-9]{1,20}")
_INT = 2**63
_Raw = int | float | str | None


class Thread(NamedTuple):
    """A thread of a trace.

    Parameters
    ----------
    pid, tid : int or None
        Its ids; None when the file has none, or words instead.
    name, process : str or None
        As the trace calls them.
    """

    pid: int | None
    tid: int | None
    name: str | None
    process: str | None


class _Frame(msgspec.Struct):
    processId: int | None = None
    parent: str | None = None
    isOutermostMainFrame: bool | None = None
    isInPrimaryMainFrame: bool | None = None

    @property
    def main(self) -> bool:
        if self.isOutermostMainFrame is None:
            return self.parent is None
        return self.isOutermostMainFrame and self.isInPrimaryMainFrame is not False


class _Data(_Frame):
    frames: list[_Frame] = []


class _Args(msgspec.Struct):
    name: str | None = None
    data: _Data | None = None


_decode = msgspec.json.Decoder(_Args).decode


class Threads:
    """Give threads numbers while a trace is read.

    Attributes
    ----------
    pages : list of int
        Processes of the outermost main frame, as the browser tells them.
    """

    def __init__(self) -> None:
        self.pages: list[int] = []
        self._codes: dict[tuple[_Raw, _Raw], int] = {}
        self._names: dict[tuple[_Raw, _Raw], str] = {}
        self._processes: dict[_Raw, str] = {}
        self._known: NDArray[np.int64] | None = None
        self._known_codes: NDArray[np.int32] | None = None

    def code(self, pid: _Raw, tid: _Raw) -> int:
        """Return a thread's number; a new one for a thread not seen before."""
        key = _id(pid), _id(tid)
        return self._codes.setdefault(key, len(self._codes))

    def codes(self, pid: NDArray[np.int64], tid: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return many threads' numbers; ids below 2**24."""
        import numpy as np

        keys = (pid << 24) | tid
        if self._known is None or self._known_codes is None:
            self._known, self._known_codes = np.empty(0, np.int64), np.empty(0, np.int32)
        at = np.searchsorted(self._known, keys)
        fits = len(self._known) > 0 and bool(
            (self._known[np.minimum(at, len(self._known) - 1)] == keys).all()
        )
        if not fits:
            self._known = np.union1d(self._known, keys)
            each = [self.code(key >> 24, key & 0xFFFFFF) for key in self._known.tolist()]
            self._known_codes = np.array(each, np.int32)
            at = np.searchsorted(self._known, keys)
        return self._known_codes[at]

    def add(self, event: Event) -> bool:
        """Take an event that tells of threads.

        Parameters
        ----------
        event : Event
            Any.

        Returns
        -------
        bool
            It was one, and could be read.
        """
        if event.name not in (
            "thread_name",
            "process_name",
            "TracingStartedInBrowser",
            "FrameCommittedInBrowser",
        ):
            return False
        try:
            args = _decode(event.args)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return False
        if event.name == "thread_name" and args.name is not None:
            self.code(event.pid, event.tid)
            self._names[_id(event.pid), _id(event.tid)] = args.name
        elif event.name == "process_name" and args.name is not None:
            self._processes[_id(event.pid)] = args.name
        elif args.data is not None:
            frames = args.data.frames or [args.data]
            self.pages += [f.processId for f in frames if f.main and f.processId is not None]
        return True

    def table(self) -> tuple[list[Thread], list[int]]:
        """Return all threads in the order of their ids, and for each number its place.

        Returns
        -------
        list of Thread
        list of int
            However a file was cut, the places are the same.
        """
        keys = sorted(
            self._codes, key=lambda key: tuple((isinstance(k, str), k is None, k or 0) for k in key)
        )
        place = {self._codes[key]: i for i, key in enumerate(keys)}
        found = [
            Thread(
                pid if isinstance(pid, int) and -_INT <= pid < _INT else None,
                tid if isinstance(tid, int) and -_INT <= tid < _INT else None,
                self._names.get((pid, tid)) or (tid if isinstance(tid, str) else None),
                self._processes.get(pid) or (pid if isinstance(pid, str) else None),
            )
            for pid, tid in keys
        ]
        return found, [place[code] for code in range(len(keys))]


def find_page(
    threads: Sequence[Thread],
    pages: Sequence[int],
    busy: Mapping[int, int],
    marks: Mapping[str, int],
    page: tuple[int, int] | str | None,
) -> tuple[int | None, str | None]:
    """Find the page's main thread.

    Parameters
    ----------
    threads : sequence of Thread
        All threads.
    pages : sequence of int
        Processes of the outermost main frame.
    busy : mapping of int to int
        Time in tasks by a thread's place, for threads that have tasks, ns.
    marks : mapping of str to int
        Threads by the names of marks set there.
    page : tuple of int, str or None
        Asked for: (pid, tid), or the name of a mark.

    Returns
    -------
    int or None
        Its place.
    str or None
        How it is known: "asked", "mark", "browser", "thread_name" or "only_thread".

    Raises
    ------
    ImportFormatError
        The trace has no such thread, or no such mark.
    """
    if isinstance(page, tuple):
        for place, thread in enumerate(threads):
            if (thread.pid, thread.tid) == page:
                return place, "asked"
        raise ImportFormatError(f"the trace has no thread {page[1]} in a process {page[0]}")
    if page is not None:
        if page not in marks:
            known = ", ".join(sorted(marks)[:5]) or "none"
            raise ImportFormatError(f"the trace has no mark {page!r} (performance.mark); it has {known}")
        return marks[page], "mark"
    ours = [place for name, place in marks.items() if name.startswith(OWN_MARK)]
    if ours:
        return ours[0], "mark"
    mains = [place for place, thread in enumerate(threads) if thread.name == _MAIN]
    told = [place for place in mains if threads[place].pid in pages]
    if told:
        return max(told, key=lambda place: busy.get(place, -1)), "browser"
    working = [place for place in mains if place in busy]
    if len(working) == 1:
        return working[0], "thread_name"
    if not mains and len(busy) == 1:
        return next(iter(busy)), "only_thread"
    return None, None


def _id(value: _Raw) -> int | str | None:
    if isinstance(value, str):
        return int(value) if _NUMBER.fullmatch(value) else value
    return None if value is None else int(value)
