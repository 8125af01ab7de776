"""When to look: as often as wanted, and never for more than a share of one core."""

from __future__ import annotations

from typing import Literal

Lane = Literal["slow", "fast"]

#: Of the whole share; what the fast lane leaves is the slow lane's.
_FAST_SHARE = 0.3


class Pace:
    """Give two lanes their times. What a sweep has cost is waited for before the next one of its lane.

    Parameters
    ----------
    slow_s, fast_s : float
        Wanted periods, s.
    duty : float
        Largest CPU time, as a share of one core, of both together.

    Examples
    --------
    >>> pace = Pace(slow_s=1.0, fast_s=0.1, duty=0.05)
    >>> pace.next()
    ('slow', 0.0)
    >>> pace.done("slow", began=0.0, cpu_s=0.2)  # dear: the next one only after 4 s
    >>> pace.next(), pace.due("slow")
    (('fast', 0.1), 4.0)
    """

    def __init__(self, *, slow_s: float, fast_s: float, duty: float) -> None:
        self._wanted: dict[Lane, float] = {"slow": slow_s, "fast": fast_s}
        self._duty = duty
        self._due: dict[Lane, float] = {"slow": 0.0, "fast": 0.0}
        self._fast_load = 0.0
        self._fast_period = fast_s

    def due(self, lane: Lane) -> float:
        """Return when a lane is next due, s."""
        return self._due[lane]

    def next(self) -> tuple[Lane, float]:
        """Return the lane whose turn is next, and when, s; a slow sweep is a fast one too."""
        lane: Lane = "slow" if self._due["slow"] <= self._due["fast"] else "fast"
        return lane, self._due[lane]

    def idle(self, *, began: float) -> None:
        """Note a look that found nothing: the next one, and the first slow sweep, come soon.

        Parameters
        ----------
        began : float
            When it began, s.
        """
        self._due = {"slow": began + self._wanted["fast"], "fast": began + self._wanted["fast"]}

    def done(self, lane: Lane, *, began: float, cpu_s: float) -> None:
        """Note what a sweep has cost.

        Parameters
        ----------
        lane : {"slow", "fast"}
            Which it was.
        began : float
            When it began, s.
        cpu_s : float
            CPU time of all it did, s.
        """
        if lane == "fast":
            self._fast_period = max(self._wanted["fast"], cpu_s / (self._duty * _FAST_SHARE))
            self._fast_load = cpu_s / self._fast_period
        else:
            period = max(self._wanted["slow"], cpu_s / (self._duty - self._fast_load))
            self._due["slow"] = began + period
        self._due["fast"] = began + self._fast_period
