"""Stretches of work on threads: complete events, and begins matched with their ends."""

from __future__ import annotations

import dataclasses
from array import array
from typing import TYPE_CHECKING

from .events import UNKNOWN, Event, as_ns
from .tasklines import TaskRows
from .threads import Threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

TASK = "RunTask"
#: Phases of complete events, begins and ends.
SLICES = frozenset("XBE")
_DAY_NS = 86_400_000_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Slices:
    """Hold stretches of work as columns of equal length.

    Parameters
    ----------
    start_ns, duration_ns, cpu_ns : ndarray of int64
        CLOCK_MONOTONIC; `UNKNOWN` where the end or the CPU time is not known. A negative duration is a fault
        of the file, and kept.
    thread, name : ndarray of int32
        Places in the trace's threads, and in `names`.
    names : tuple of str
        Names of events.
    """

    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    thread: NDArray[np.int32]
    name: NDArray[np.int32]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which have no end: they were running when the trace ended."""
        return self.duration_ns == UNKNOWN

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Which have a negative duration."""
        return (self.duration_ns < 0) & ~self.open

    def named(self, name: str) -> Slices:
        """Return those of one name.

        Parameters
        ----------
        name : str
            E.g. ``"RunTask"``.

        Returns
        -------
        Slices
        """
        if self.names == (name,):
            return self
        place = self.names.index(name) if name in self.names else -1
        return self.where(self.name == place)

    def on(self, thread: int) -> Slices:
        """Return those of one thread.

        Parameters
        ----------
        thread : int
            Its place in the trace's threads.

        Returns
        -------
        Slices
        """
        return self.where(self.thread == thread)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Slices:
        """Return some of them.

        Parameters
        ----------
        chosen : ndarray
            A mask, or places in the order wanted.

        Returns
        -------
        Slices
        """
        return Slices(
            self.start_ns[chosen],
            self.duration_ns[chosen],
            self.cpu_ns[chosen],
            self.thread[chosen],
            self.name[chosen],
            self.names,
        )

    def ordered(self) -> Slices:
        """Return them in the order of their starts, the longer of two first.

        Returns
        -------
        Slices
        """
        import numpy as np

        order = np.argsort(self.start_ns, kind="stable")  # mostly sorted as it is, which takes no time
        starts = self.start_ns[order]
        same = starts[1:] == starts[:-1]
        tied = np.zeros(len(order), bool)
        tied[1:] |= same
        tied[:-1] |= same
        some = order[tied]
        keys = (self.name, self.thread, -self.duration_ns, self.start_ns)
        order[tied] = some[np.lexsort([key[some] for key in keys])]
        return self.where(order)


class SliceStore:
    """Collect slices while a trace is read."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._times = tuple(array("q") for _ in range(3))
        self._codes = tuple(array("i") for _ in range(2))
        self._names: dict[str, int] = {TASK: 0}
        self._edges: list[tuple[int, int, int, int | None, bool, str]] = []

    @property
    def nameless_ends(self) -> bool:
        """Some end has no name: which begin is meant depends on all others of its thread."""
        return any(not begins and not name for *_, begins, name in self._edges)

    def add_tasks(self, rows: TaskRows) -> None:
        """Take tasks as columns."""
        import numpy as np

        cpu = np.where(rows.cpu_us < 0, UNKNOWN, rows.cpu_us * 1000)
        columns = (rows.start_us * 1000, rows.duration_us * 1000, cpu)
        for target, values in zip(self._times, columns, strict=True):
            target.frombytes(values.tobytes())
        threads = self._threads.codes(rows.pid, rows.tid)
        for target, codes in zip(self._codes, (threads, np.zeros_like(threads)), strict=True):
            target.frombytes(codes.tobytes())

    def add(self, event: Event) -> None:
        """Take an event of one of the phases `SLICES`; one without a time is passed over."""
        start = as_ns(event.ts)
        if start is None:
            return
        thread = self._threads.code(event.pid, event.tid)
        if event.ph == "X":
            self._append(start, as_ns(event.dur), as_ns(event.tdur), thread, event.name)
        else:
            edge = (thread, start, len(self._edges), as_ns(event.tts), event.ph == "B", event.name)
            self._edges.append(edge)

    def finish(self, places: Sequence[int]) -> Slices:
        """Match begins with ends and return everything.

        Parameters
        ----------
        places : sequence of int
            Place of each thread's number.

        Returns
        -------
        Slices
        """
        import numpy as np

        self._match()
        start, duration, cpu = (np.frombuffer(column, np.int64) for column in self._times)
        threads, names = (np.frombuffer(column, np.int32) for column in self._codes)
        # names are numbered as they came, which depends on how the file was cut
        ordered = sorted(self._names)
        if len(ordered) > 1:
            names = np.array([ordered.index(name) for name in self._names], np.int32)[names]
        threads = np.array([*places, 0], np.int32)[threads]
        return Slices(start, duration, cpu, threads, names, tuple(ordered))

    def _append(self, start: int, duration: int | None, cpu: int | None, thread: int, name: str) -> None:
        for target, value in zip(self._times, (start, duration, cpu), strict=True):
            target.append(UNKNOWN if value is None else value)
        self._codes[0].append(thread)
        self._codes[1].append(self._names.setdefault(name, len(self._names)))

    def _match(self) -> None:
        """Match the ends of each thread with its begins, in the order of time."""
        waiting: dict[int, list[tuple[int, int | None, str]]] = {}
        for thread, at, _, cpu_at, begins, name in sorted(self._edges, key=lambda edge: edge[:3]):
            stack = waiting.setdefault(thread, [])
            if begins:
                stack.append((at, cpu_at, name))
                continue
            found = next((i for i in reversed(range(len(stack))) if name in ("", stack[i][2])), None)
            if found is None:
                continue  # its begin was before the trace
            start, cpu_start, begun = stack.pop(found)
            cpu = None if cpu_at is None or cpu_start is None else cpu_at - cpu_start
            self._append(start, at - start, cpu, thread, begun)
        for thread, stack in waiting.items():
            for start, _, name in stack:
                self._append(start, None, None, thread, name)


def self_time(slices: Slices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how long each slice of one thread ran itself, and how deep inside others it is.

    Parameters
    ----------
    slices : Slices
        Of one thread, in any order.

    Returns
    -------
    self_ns : ndarray of int64
        Duration without that of the slices directly inside; `UNKNOWN` for those that are open or negative.
    depth : ndarray of int64
        0 for the outermost.
    """
    import numpy as np

    own = slices.duration_ns.copy()
    own[slices.negative] = UNKNOWN
    depth = np.zeros(len(slices), np.int64)
    usable = np.flatnonzero(own != UNKNOWN)
    order = usable[np.lexsort((-own[usable], slices.start_ns[usable]))].tolist()
    starts, durations = slices.start_ns.tolist(), slices.duration_ns.tolist()
    inside: list[tuple[int, int]] = []  # end and place of what is around
    taken = [0] * len(slices)
    for place in order:
        start, end = starts[place], starts[place] + durations[place]
        while inside and inside[-1][0] <= start:
            inside.pop()
        if inside:
            taken[inside[-1][1]] += min(end, inside[-1][0]) - start
        depth[place] = len(inside)
        inside.append((end, place))
    own[usable] -= np.array(taken, np.int64)[usable]
    return own, depth


def other_clock(slices: Slices) -> int:
    """Count slices that began more than a day from most: they were stamped by another clock.

    Parameters
    ----------
    slices : Slices
        Any.

    Returns
    -------
    int
    """
    import numpy as np

    starts = slices.start_ns
    if not len(starts) or float(starts.max()) - float(starts.min()) <= _DAY_NS:
        return 0
    middle = np.partition(starts, len(starts) // 2)[len(starts) // 2]
    return int((np.abs(starts.astype(float) - float(middle)) > _DAY_NS).sum())
