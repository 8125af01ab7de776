"""The control group of a run, where this process may make one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from typing import Any

from ...wire.cgroup import Cgroup
from ...wire.procfs import Procfs
from .members import is_watchdog


class RunGroup:
    """Keep what a run starts in a control group of its own.

    Parameters
    ----------
    cgroup : Cgroup
        The group; removed by :meth:`close`.
    proc : Procfs
        Where processes are read.

    Attributes
    ----------
    complete : bool
        Whether nothing that belongs to the run was started before it was in the group.
    """

    def __init__(self, cgroup: Cgroup, proc: Procfs) -> None:
        self._cgroup = cgroup
        self._proc = proc
        self._adopted: set[int] = set()
        self._before: dict[int, int] = {}  # anonymous memory of a watchdog when it was put in
        self._lock = threading.Lock()  # a driver's mark and the sampler's thread
        self.complete = True

    def adopt(self, owned: Iterable[int]) -> None:
        """Put in what is new; what it starts from now on is in too.

        Parameters
        ----------
        owned : iterable of int
            Process ids that the driver owns.
        """
        with self._lock:
            new = set(owned) - self._adopted
            if not new:
                return
            inside = set(self._cgroup.pids())
            for pid in new - inside:
                alone = is_watchdog(self._proc, pid) and self._proc.children(pid) == []
                self._before[pid] = self._anon(pid)
                self.complete &= self._cgroup.adopt(pid) and alone
            self._adopted |= new

    def pids(self) -> list[int]:
        """List the processes in it."""
        return self._cgroup.pids()

    def told(self, n: int, *, complete: bool, slow: bool) -> dict[str, Any] | None:
        """Return what a ``memory.sample`` record says of it.

        Parameters
        ----------
        n : int
            Processes in it, without watchdogs.
        complete : bool
            Whether all processes of the sample are in it.
        slow : bool
            Whether to look at the watchdogs too.

        Returns
        -------
        dict or None
            None: nothing of the run is in it, or it cannot be read.
        """
        if n == 0 and not complete:
            return None
        counters = self._cgroup.counters()
        told: dict[str, Any] = {
            name: value for name, value in counters._asdict().items() if value is not None
        }
        if not told:
            return None
        if slow:
            grown = (self._anon(pid) - before for pid, before in self._before.items())
            told["watchdog_anon"] = sum(max(0, size) for size in grown)
        return {**told, "n": n, "complete": complete and self.complete}

    def _anon(self, pid: int) -> int:
        with contextlib.suppress(OSError):
            held = self._proc.rollup(pid)
            return (held.anon or 0) if held is not None else 0
        return 0

    def close(self) -> bool:
        """Put back what is left in it and remove it; say whether it is gone."""
        with self._lock:
            return self._cgroup.remove()
