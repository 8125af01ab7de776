"""One look at all processes of a run."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from typing import Any

from ...wire.procfs import TICKS, Procfs, Rollup
from .group import RunGroup
from .members import Member, Members
from .pace import Lane

_UNREADABLE = (None,) * 6


@dataclasses.dataclass(frozen=True, slots=True)
class Sweep:
    """What one look has found.

    Parameters
    ----------
    t : int
        When it began, CLOCK_MONOTONIC ns.
    processes : list of dict
        Fields of a ``memory.process`` record of each process that is new or has changed.
    sample : dict
        Fields of the ``memory.sample`` record.
    total : int or None
        PSS + SwapPSS of what could be read, bytes; None: nothing, or a fast look.
    ids : frozenset of (int, int)
        Process id and start of each process.
    """

    t: int
    processes: list[dict[str, Any]]
    sample: dict[str, Any]
    total: int | None
    ids: frozenset[tuple[int, int]]


class Sweeper:
    """Look at the processes of a run.

    Parameters
    ----------
    proc : Procfs
        Where processes are read.
    roots : callable
        Returns the process ids that the driver owns now.
    group : RunGroup or None
        The run's own control group.
    stopped : callable
        Whether to give up within a look.
    whole_s : float, default 2.0
        How often all processes of the machine are looked at, s.

    Attributes
    ----------
    last : frozenset of (int, int)
        Process id and start of each process of the last look.
    """

    def __init__(
        self,
        proc: Procfs,
        roots: Callable[[], Iterable[int]],
        group: RunGroup | None,
        stopped: Callable[[], bool],
        *,
        whole_s: float = 2.0,
    ) -> None:
        self.last: frozenset[tuple[int, int]] = frozenset()
        self._proc = proc
        self._roots = roots
        self._group = group
        self._stopped = stopped
        self._members = Members(proc)
        self._told: dict[int, tuple[object, ...]] = {}
        self._strangers: set[int] = set()
        self._whole_ns = int(whole_s * 1e9)
        self._whole_at = 0
        self._n_reused = 0
        self._began = False

    def look(self, lane: Lane) -> Sweep | None:
        """Look once.

        Parameters
        ----------
        lane : {"slow", "fast"}
            Whether to read what each process holds.

        Returns
        -------
        Sweep or None
            None: the run has had no process yet, or was stopped meanwhile.
        """
        t, cpu = time.monotonic_ns(), time.thread_time_ns()
        owned = list(self._roots())
        if not owned and not self._began:
            return None
        if self._group is not None:
            self._group.adopt(owned)
        inside = None if self._group is None else self._group.pids()
        pids, whole = self._pids(t, lane, owned, inside)
        table = self._proc.stats(pids)
        members = self._members.find(table, owned, None if inside is None else set(inside))
        if whole:
            mine = {*owned, *(member.stat.pid for member in members)}
            self._strangers = pids - mine - self._members.young(table)
        self._began = self._began or bool(members)
        if not self._began:
            return None
        rows, n_unreadable, n_exited = self._rows(lane, members)
        if self._stopped():
            return None
        sample: dict[str, Any] = {"lane": lane, "processes": rows}
        sample |= {"n_unreadable": n_unreadable, "n_exited": n_exited, "n_reused": self._reused()}
        if self._group is not None:
            n_inside = sum(member.in_cgroup is True for member in members)
            told = self._group.told(n_inside, complete=n_inside == len(members), slow=lane == "slow")
            if told is not None:
                sample["cgroup"] = told
        sample |= {"wall_ns": time.monotonic_ns() - t, "cpu_ns": time.thread_time_ns() - cpu}
        ids = self.last = frozenset((row[0], row[1]) for row in rows)
        return Sweep(t, self._news(members), sample, _total(rows) if lane == "slow" else None, ids)

    def _pids(self, t: int, lane: Lane, owned: list[int], inside: list[int] | None) -> tuple[set[int], bool]:
        """Return which processes may be the run's, and whether these are all of the machine.

        All are looked at now and then. What was a stranger for a second then is one until the next time: only
        its number could become a process of the run, and numbers are not used again that soon.
        """
        if lane == "fast" and inside is not None and self._group is not None and self._group.complete:
            return {*inside, *owned}, False
        pids = self._proc.pids()
        if t >= self._whole_at:
            self._whole_at = t + self._whole_ns
            return pids, True
        return pids - self._strangers.difference(inside or ()), False

    def _rows(self, lane: Lane, members: Iterable[Member]) -> tuple[list[list[Any]], int, int]:
        rows: list[list[Any]] = []
        n_unreadable = n_exited = 0
        for stat in (member.stat for member in members):
            counted = [stat.n_threads, stat.cpu_ticks * 1000 // TICKS]
            if lane == "fast":
                rows.append([stat.pid, stat.start, stat.rss_bytes, *counted])
                continue
            if self._stopped():
                break
            sizes: Rollup | tuple[None, ...] | None
            try:
                sizes = self._proc.rollup(stat.pid)
            except OSError:
                sizes = _UNREADABLE
            if sizes is None:
                n_exited += 1
                continue
            n_unreadable += sizes is _UNREADABLE
            rows.append([stat.pid, stat.start, *sizes, *counted])
        return rows, n_unreadable, n_exited

    def _reused(self) -> int:
        before, self._n_reused = self._n_reused, self._members.n_reused
        return self._n_reused - before

    def _news(self, members: Iterable[Member]) -> list[dict[str, Any]]:
        news: list[dict[str, Any]] = []
        for member in members:
            facts = member.facts
            if self._told.get(member.stat.pid) != facts:
                self._told[member.stat.pid] = facts
                news.append(member.told())
        return news


def _total(rows: Iterable[list[Any]]) -> int | None:
    known = [row[2] + (row[3] or 0) for row in rows if row[2] is not None]
    return sum(known) if known else None
