"""One process of an agent: its output as it comes, what it costs, and when it has to end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ...scenario import Timeouts
from ...wire.children import Child
from ...wire.jsonl import JSONLines, Record
from ...wire.proctree import Connections, Remote, cpu_s, tree
from .verdict import Cut

#: How long output is awaited that others of its process group may still hold open.
_DRAIN_S = 1.0
_FASTEST_S = 0.05
_FARTHEST_NS = 500_000_000


class Watch:
    """Sample a process and its descendants until it ends.

    Samples are taken each 50 ms at first, and later each 2 % of the time since its start, so that a stamp
    lies between two of them that are close in proportion.

    Attributes
    ----------
    samples : list of (int, float)
        Stamp (ns) and CPU time (s) of the tree.
    seen : dict
        Connections that left this machine, and when they were first seen.
    n_processes : int
        Most processes at once.
    """

    def __init__(self, child: Child, *, outward: bool) -> None:
        self.samples: list[tuple[int, float]] = [(time.monotonic_ns(), 0.0)]
        self.seen: dict[Remote, int] = {}
        self.n_processes = 0
        self._child = child
        self._connections = Connections() if outward else None
        self._began = time.monotonic_ns()

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            self._sample()
            elapsed = (time.monotonic_ns() - self._began) / 1e9
            await asyncio.sleep(max(_FASTEST_S, 0.02 * elapsed))

    def _sample(self) -> None:
        now, pids = time.monotonic_ns(), tree(self._child.pid)
        spent = cpu_s(pids)
        self.n_processes = max(self.n_processes, len(pids))
        if spent is not None:
            self.samples.append((now, spent))
        if self._connections is not None:
            for remote in self._connections.look(pids):
                self.seen.setdefault(remote, now)

    @property
    def readable(self) -> bool:
        """Whether connections could be read at all."""
        return self._connections is not None and self._connections.readable

    def end(self, t: int, cpu_s: float | None) -> None:
        """Take the exact CPU time at the end for the last sample."""
        if cpu_s is not None:
            self.samples = [*((at, min(spent, cpu_s)) for at, spent in self.samples if at < t), (t, cpu_s)]

    def cpu_at(self, t: int) -> tuple[float, float] | None:
        """Return the CPU time at a stamp.

        Parameters
        ----------
        t : int
            Stamp, ns.

        Returns
        -------
        tuple of float or None
            Seconds, linearly between the two samples around it, and the time between those, ms. None: it
            lies outside of them, or they are too far apart (0.5 s, and a fifth of the time until then).
        """
        for (t0, a), (t1, b) in zip(self.samples, self.samples[1:], strict=False):
            if t0 <= t <= t1:
                if t1 - t0 > max(_FARTHEST_NS, (t1 - self._began) // 5):
                    return None
                return a + (b - a) * (t - t0) / max(1, t1 - t0), (t1 - t0) / 1e6
        return None


async def follow(
    child: Child,
    lines: JSONLines,
    on_record: Callable[[Record], None],
    *,
    keep: Callable[[bytes], None],
    timeouts: Timeouts,
    busy_since: Callable[[], float],
) -> Cut | None:
    """Read a process to its end, or until it has to end.

    Parameters
    ----------
    child : Child
        With a pipe for its stdout.
    lines : JSONLines
        Reads its output.
    on_record : callable
        Gets each object.
    keep : callable
        Gets all bytes as they come, before they are read.
    timeouts : Timeouts
        ``prompt`` and ``stall`` hold.
    busy_since : callable
        Seconds since something else than output showed that it is at work. What it raises ends the reading.

    Returns
    -------
    {"timeout", "stall"} or None
        Why it was killed; None: it ended by itself.
    """
    heard = [time.monotonic()]
    reading = asyncio.create_task(_read(child, lines, on_record, keep, heard))
    waiting = asyncio.create_task(child.wait())
    began = time.monotonic()
    cut: Cut | None = None
    try:
        while not waiting.done():
            await asyncio.wait([waiting], timeout=0.2)
            now = time.monotonic()
            if waiting.done():
                break
            if reading.done():
                reading.result()  # the disk is full: it would wait for ever to be read
            busy_s = busy_since()  # raises once the gateway is gone
            if now - began > timeouts.prompt:
                cut = "timeout"
            elif now - heard[0] > timeouts.stall and busy_s > timeouts.stall:
                cut = "stall"
            if cut is not None:
                await child.terminate()
                break
        await asyncio.wait([reading], timeout=_DRAIN_S)
        if reading.done():
            reading.result()
    finally:
        reading.cancel()
        waiting.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        if child.pipe is not None:
            child.pipe.close()
    for record in lines.close():
        on_record(record)
    return cut


async def _read(
    child: Child,
    lines: JSONLines,
    on_record: Callable[[Record], None],
    keep: Callable[[bytes], None],
    heard: list[float],
) -> None:
    assert child.stdout is not None
    while data := await child.stdout.read(1 << 18):
        stamp = time.monotonic_ns()
        heard[0] = stamp / 1e9
        keep(data)
        for record in lines.feed(data, t=stamp):
            on_record(record)
