"""Read a trace in one pass."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ImportFormatError
from .collect import Collector
from .events import Event, decode, decode_each
from .kinds import AnimationFrame, Counter, EventTiming, Frame, LayoutShift, Mark
from .parts import BLOCK, Part, Parts
from .report import TraceReport
from .slices import SLICES, TASK, Slices, SliceStore, other_clock
from .source import Source, opened
from .tasklines import task_rows
from .threads import NAMES, OWN_MARK, Thread, Threads, find_page

if TYPE_CHECKING:
    from ..cpuprofile import CpuProfile

#: Asked for as the page: a thread, or the name of a mark set on it.
Page = tuple[int, int] | str | None
#: Beginning of a name that is the same in every JSON: what follows may be escaped.
_PLAIN = re.compile(r"[\w :.,/-]*", re.ASCII)


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    """Hold what a trace says.

    Parameters
    ----------
    report : TraceReport
        What was lost.
    threads : tuple of Thread
        All threads; the numbers in rows and slices are places in it.
    page : int or None
        The page's main thread.
    page_from : str or None
        How it is known: "asked", "mark", "browser", "thread_name" or "only_thread".
    slices : Slices
        All stretches of work in the order of time, tasks (``"RunTask"``) and what they consist of.
    marks, frames, animation_frames, event_timings, layout_shifts, counters : tuple
        Rows of :mod:`agentlab.frames.chrometrace.kinds`, each kind in the order of time.
    n_screenshots : int
        Pictures in it.
    profiles : tuple of CpuProfile
        CPU profiles inside the trace.
    """

    report: TraceReport
    threads: tuple[Thread, ...]
    page: int | None
    page_from: str | None
    slices: Slices
    marks: tuple[Mark, ...] = ()
    frames: tuple[Frame, ...] = ()
    animation_frames: tuple[AnimationFrame, ...] = ()
    event_timings: tuple[EventTiming, ...] = ()
    layout_shifts: tuple[LayoutShift, ...] = ()
    counters: tuple[Counter, ...] = ()
    n_screenshots: int = 0
    profiles: tuple[CpuProfile, ...] = ()

    @property
    def tasks(self) -> Slices:
        """The tasks of all threads."""
        return self.slices.named(TASK)


def read_trace(path: str | PathLike[str], *, page: Page = None, block: int = BLOCK) -> Trace:
    """Read everything that tables are built of.

    Parameters
    ----------
    path : path
        Trace of Chrome: JSON object or array, plain or gzip, whole or cut.
    page : tuple of int or str, optional
        The page's main thread, as (pid, tid) or as the name of a ``performance.mark`` set there. Without it
        a mark of agentlab tells it, else the browser's own word, else the threads' names.
    block : int
        Bytes to read at once; the result does not depend on it.

    Returns
    -------
    Trace

    Raises
    ------
    RecordingError
        It cannot be read.
    ImportFormatError
        It is no trace of Chrome, or has no such page.
    """
    with opened(Path(path)) as source:
        return _Reading(Path(path), source, block).everything(page)


def read_task_slices(path: str | PathLike[str], *, page: Page = None, block: int = BLOCK) -> Trace:
    """Read tasks, threads and marks only, as fast as can be.

    Parameters
    ----------
    path, page, block
        As of :func:`read_trace`.

    Returns
    -------
    Trace
        Its slices are tasks, in no order; it has no other rows.

    Raises
    ------
    RecordingError, ImportFormatError
        As of :func:`read_trace`.
    """
    with opened(Path(path)) as source:
        reading = _Reading(Path(path), source, block)
        found = reading.tasks(page)
    return found if found is not None else read_trace(path, page=page, block=block)


class _Reading:
    """One pass over one file."""

    def __init__(self, path: Path, source: Source, block: int) -> None:
        self._path = path
        self._source = source
        self._parts = Parts(source, block=block)
        self._threads = Threads()
        self._store = SliceStore(self._threads)
        self._collector = Collector(self._threads)
        self._n_events = self._n_empty = self._n_unparsable = 0

    def everything(self, page: Page) -> Trace:
        """Decode all events."""
        for part in self._each():
            for event in self._decoded(decode(part)):
                if event.ph in SLICES:
                    self._store.add(event)
                elif not self._threads.add(event):
                    self._collector.add(event)
        return self._trace(page, ordered=True)

    def tasks(self, page: Page) -> Trace | None:
        """Decode what tells of tasks; None when that takes all other events too."""
        mark = page if isinstance(page, str) else OWN_MARK
        wanted = (*NAMES, _PLAIN.match(mark)[0][:8].encode())  # pyright: ignore[reportOptionalSubscript]
        for part in self._each():
            if part.lines:
                rows = task_rows(part, wanted)
                self._store.add_tasks(rows)
                events = self._decoded(decode_each(rows.others))
            else:
                events = self._decoded(decode(part))
            for event in events:
                if event.ph in SLICES:
                    if event.name == TASK or (event.ph == "E" and not event.name):
                        self._store.add(event)
                elif not self._threads.add(event):
                    self._collector.add_mark(event)
        return None if self._store.nameless_ends else self._trace(page, ordered=False)

    def _each(self) -> Iterator[Part]:
        """Go through the file, and say so when it is no trace."""
        for part in self._parts:
            self._n_events += len(part.ends)
            yield part
        splitter = self._parts.splitter
        nothing = self._n_events == self._n_empty + self._n_unparsable
        if not splitter.listed or (nothing and (self._n_events or splitter.form == "array")):
            raise ImportFormatError(f"{self._path} is no trace of Chrome: {self._why_not()}")

    def _why_not(self) -> str:
        if self._source.damaged is not None:
            return self._source.damaged
        if self._parts.splitter.form is None:
            return "it is empty" if not self._parts.n_bytes else "it is no JSON object or array"
        if self._parts.splitter.listed:
            return "its list holds no events (objects with ph)"
        return "it has no list traceEvents, or is cut before it"

    def _decoded(self, found: tuple[list[Event], int]) -> list[Event]:
        events, lost = found
        self._n_unparsable += lost
        usable = [event for event in events if event.ph]
        self._n_empty += len(events) - len(usable)
        return usable

    def _trace(self, page: Page, *, ordered: bool) -> Trace:
        import numpy as np

        threads, places = self._threads.table()
        slices = self._store.finish(places)
        if ordered:
            slices = slices.ordered()
        rows = self._collector.finish(places)
        tasks = slices.named(TASK)
        spent = np.bincount(tasks.thread, np.maximum(tasks.duration_ns, 0), minlength=len(threads))
        busy = {place: int(spent[place]) for place in np.unique(tasks.thread).tolist()}
        marks = {mark.name: mark.thread for mark in reversed(rows.marks)}
        try:
            found, known = find_page(threads, self._threads.pages, busy, marks, page)
        except ImportFormatError as error:
            raise ImportFormatError(f"{self._path}: {error}") from None
        return Trace(
            self._report(slices),
            tuple(threads),
            found,
            known,
            slices,
            **rows._asdict(),
            profiles=tuple(self._collector.profiles.finish()),
        )

    def _report(self, slices: Slices) -> TraceReport:
        splitter = self._parts.splitter
        return TraceReport(
            n_bytes=self._parts.n_bytes,
            n_events=self._n_events,
            form=splitter.form or "array",
            compressed=self._source.compressed,
            n_empty=self._n_empty,
            n_unparsable=self._n_unparsable + self._collector.n_unparsable,
            n_negative=int(slices.negative.sum()),
            n_open=int(slices.open.sum()),
            n_other_clock=other_clock(slices),
            truncated=not splitter.closed,
            truncated_at=None if splitter.closed else self._parts.last,
            damaged=self._source.damaged,
        )
