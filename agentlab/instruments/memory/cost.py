"""What a sampler has cost."""

from __future__ import annotations

import time
from typing import Any

from .pace import Lane


class Cost:
    """Count sweeps and their CPU time.

    Attributes
    ----------
    began, ended : float
        Clock readings, s.
    reason : str or None
        Why nothing more is sampled.
    cgroup_left : bool
        Whether the control group could not be removed.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.ended: float | None = None
        self.reason: str | None = None
        self.cgroup_left = False
        self._cpu_s = 0.0
        self._sweeps: dict[Lane, list[float]] = {"slow": [], "fast": []}
        self._between: dict[Lane, tuple[float, float]] = {}

    def add(self, lane: Lane, cpu_s: float, *, began: float, counted: bool) -> None:
        """Add one look.

        Parameters
        ----------
        lane : {"slow", "fast"}
            Which.
        cpu_s : float
            CPU time of the thread, s.
        began : float
            When it began, s.
        counted : bool
            Whether it wrote a sample.
        """
        self._cpu_s += cpu_s
        if counted:
            self._sweeps[lane].append(cpu_s)
            self._between[lane] = (self._between.get(lane, (began,))[0], began)

    def told(self) -> dict[str, Any]:
        """Return what a ``memory.end`` record says."""
        wall = (self.ended or time.monotonic()) - self.began
        told: dict[str, Any] = {f"n_{lane}": len(sweeps) for lane, sweeps in self._sweeps.items()}
        told |= {"wall_s": round(wall, 3), "cpu_s": round(self._cpu_s, 4)}
        if wall > 0:
            told["duty"] = round(self._cpu_s / wall, 5)
        for lane, (first, last) in self._between.items():
            if (n := len(self._sweeps[lane])) > 1:
                told[f"{lane}_period_s"] = round((last - first) / (n - 1), 4)
        if slow := sorted(self._sweeps["slow"]):
            told["slow_p50_ms"] = round(slow[len(slow) // 2] * 1e3, 3)
            told["slow_max_ms"] = round(slow[-1] * 1e3, 3)
        if self.reason is not None:
            told["reason"] = self.reason
        if self.cgroup_left:
            told["cgroup_left"] = True
        return told
