"""Which processes belong to a run: by descent, group, marker and control group, whichever finds them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ...wire import watchdog
from ...wire.marked import MARKER
from ...wire.procfs import TICKS, Procfs, Stat

_MOST_TAGS = 4096
_YOUNG_TICKS = TICKS  # a process that has just been forked may still become another program


class Member(NamedTuple):
    """One process of a run and how it was found.

    Parameters
    ----------
    stat : Stat
        As the kernel shows it.
    root : bool
        Whether the driver started it.
    in_tree : bool
        Whether it or a parent of it, by the parents of now, was started by the driver.
    in_group : bool
        Whether it is in the process group or session of what the driver started.
    tagged : bool or None
        Whether its environment has the marker; None: it may not be read.
    in_cgroup : bool or None
        Whether it is in the run's own control group; None: there is none.
    """

    stat: Stat
    root: bool
    in_tree: bool
    in_group: bool
    tagged: bool | None
    in_cgroup: bool | None

    @property
    def facts(self) -> tuple[object, ...]:
        """What its ``memory.process`` record says, to see whether it has changed."""
        return (*self.stat[:5], self.stat.start, *self[1:])

    def told(self) -> dict[str, Any]:
        """Return what a ``memory.process`` record says of it."""
        stat = self.stat
        flags = {"root": self.root, "in_tree": self.in_tree, "in_group": self.in_group, "tagged": self.tagged}
        known = {} if self.in_cgroup is None else {"in_cgroup": self.in_cgroup}
        place = {"ppid": stat.ppid, "pgid": stat.pgid, "sid": stat.sid, "name": stat.name}
        return {"pid": stat.pid, "start": stat.start, **place, **flags, **known}


class Members:
    """Find the processes of a run again and again.

    What a driver owns is a watchdog, which adopts what loses its parent and is not counted itself, or a
    process that it started. Where it owns a watchdog only, a child of it that leads a session and was never
    seen below another process is taken for one that it started.

    Parameters
    ----------
    proc : Procfs
        Where processes are read.

    Attributes
    ----------
    n_reused : int
        Process ids that were another process's in an earlier look.
    """

    def __init__(self, proc: Procfs) -> None:
        self.n_reused = 0
        self._proc = proc
        self._watchdogs: dict[int, bool] = {}  # what is owned now -> whether it is one
        self._markers: set[bytes] = set()
        self._tags: dict[tuple[int, int, str], bool | None] = {}  # an exec may change the environment
        self._started: dict[int, int] = {}  # pid -> start of what the driver started, also when it has ended
        self._groups: set[int] = set()
        self._told = False  # the driver names what it starts
        self._known: dict[int, int] = {}  # pid -> start
        self._elsewhere: set[tuple[int, int]] = set()  # seen below another process than a watchdog
        self._now = 0  # clock ticks since boot

    def find(
        self, table: Mapping[int, Stat], owned: Iterable[int], cgroup: Collection[int] | None = None
    ) -> list[Member]:
        """Find all processes of the run in one look at the machine.

        Parameters
        ----------
        table : mapping of int to Stat
            All processes of the machine, or at least those of the run and what the driver owns.
        owned : iterable of int
            Process ids that the driver owns now.
        cgroup : collection of int, optional
            Process ids in the run's own control group.

        Returns
        -------
        list of Member
            By process id; without watchdogs, zombies and threads of the kernel.
        """
        children: dict[int, list[int]] = {}
        for stat in table.values():
            children.setdefault(stat.ppid, []).append(stat.pid)
        self._now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS)
        self._learn(table, [pid for pid in owned if pid in table], children)
        roots = [pid for pid in self._started if self._is_started(table.get(pid))]
        in_tree = _below(roots, children)
        watchdogs = {pid for pid, watches in self._watchdogs.items() if watches}
        descent = in_tree | _below(watchdogs, children)
        found: list[Member] = []
        for pid in sorted(table):
            stat = table[pid]
            if pid in watchdogs:
                continue
            in_group = stat.pgid in self._groups or stat.sid in self._groups
            in_cgroup = None if cgroup is None else pid in cgroup
            tagged = self._tagged(stat)
            if pid in descent or in_group or tagged or in_cgroup:
                root = self._is_started(stat)
                found.append(Member(stat, root, pid in in_tree, in_group, tagged, in_cgroup))
        self._remember(found, watchdogs)
        return found

    def young(self, table: Mapping[int, Stat]) -> set[int]:
        """Return the processes that were younger than a second in the last look.

        Parameters
        ----------
        table : mapping of int to Stat
            What was looked at.

        Returns
        -------
        set of int
            Process ids.
        """
        return {stat.pid for stat in table.values() if self._now - stat.start <= _YOUNG_TICKS}

    def _learn(
        self, table: Mapping[int, Stat], owned: Iterable[int], children: Mapping[int, list[int]]
    ) -> None:
        """Note the watchdogs and their markers, and what the driver started."""
        self._watchdogs = {pid: self._is_watchdog(pid) for pid in owned}
        started = [pid for pid, watches in self._watchdogs.items() if not watches]
        self._told = self._told or bool(started)
        if not self._told:
            below = (c for pid, watches in self._watchdogs.items() if watches for c in children.get(pid, ()))
            started = [pid for pid in below if table[pid].sid == pid and not self._was_adopted(table[pid])]
        for pid in started:
            if self._started.get(pid) != table[pid].start:
                self._started[pid] = table[pid].start
                self._groups |= {table[pid].pgid, table[pid].sid}

    def _is_watchdog(self, pid: int) -> bool:
        known = self._watchdogs.get(pid)
        if known is None and (known := is_watchdog(self._proc, pid)):
            if marker := _marker(self._proc.environ(pid) or b""):
                self._markers.add(marker)
            self._tags.clear()
        return known

    def _was_adopted(self, stat: Stat) -> bool:
        return (stat.pid, stat.start) in self._elsewhere

    def _is_started(self, stat: Stat | None) -> bool:
        return stat is not None and self._started.get(stat.pid) == stat.start

    def _tagged(self, stat: Stat) -> bool | None:
        key = (stat.pid, stat.start, stat.name)
        if key in self._tags:
            return self._tags[key]
        environ = self._proc.environ(stat.pid)
        pairs = b"\0" + (environ or b"")
        tagged = None if environ is None else any(marker in pairs for marker in self._markers)
        if self._now - stat.start > _YOUNG_TICKS:
            if len(self._tags) > _MOST_TAGS:
                self._tags.clear()
            self._tags[key] = tagged
        return tagged

    def _remember(self, found: Iterable[Member], watchdogs: Collection[int]) -> None:
        for stat in (member.stat for member in found):
            self.n_reused += self._known.get(stat.pid, stat.start) != stat.start
            self._known[stat.pid] = stat.start
            if stat.ppid not in watchdogs:
                self._elsewhere.add((stat.pid, stat.start))


def is_watchdog(proc: Procfs, pid: int) -> bool:
    """Say whether a process is the watchdog of some :class:`~agentlab.wire.children.Children`.

    Parameters
    ----------
    proc : Procfs
        Where processes are read.
    pid : int
        Process id.

    Returns
    -------
    bool
    """
    return watchdog.__file__.encode() in proc.command(pid)


def _marker(environ: bytes) -> bytes:
    needle = f"{MARKER}=".encode()
    return next((b"\0" + pair + b"\0" for pair in environ.split(b"\0") if pair.startswith(needle)), b"")


def _below(pids: Iterable[int], children: Mapping[int, list[int]]) -> set[int]:
    """Return processes with all their descendants."""
    queue = list(pids)
    found = set(queue)
    while queue:
        below = [child for child in children.get(queue.pop(), ()) if child not in found]
        found.update(below)
        queue += below
    return found
