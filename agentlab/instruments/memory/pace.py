"""When to look: as often as wanted, and never for more than a share of one core."""

from __future__ import annotations

from typing import Literal

Lane = Literal["slow", "fast"]

#: How the lanes share the whole.
_SHARE: dict[Lane, float] = {"slow": 0.8, "fast": 0.2}


class Pace:
    """Give two lanes their times; what a sweep has cost is paid for before the next one of its lane.

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
    >>> pace.done("slow", began=0.0, cpu_s=0.2)  # dear: the next one only after 5 s
    >>> pace.next(), round(pace.due("slow"), 6)
    (('fast', 0.1), 5.0)
    """

    def __init__(self, *, slow_s: float, fast_s: float, duty: float) -> None:
        self._wanted: dict[Lane, float] = {"slow": slow_s, "fast": fast_s}
        self._duty = duty
        self._due: dict[Lane, float] = {"slow": 0.0, "fast": 0.0}
        self._fast_period = fast_s

    def due(self, lane: Lane) -> float:
        """Return when a lane is next due, s."""
        return self._due[lane]

    def next(self) -> tuple[Lane, float]:
        """Return the lane whose turn is next, and when, s; a slow sweep stands for a fast one about then."""
        soon = self._due["fast"] + self._wanted["fast"] / 2
        lane: Lane = "slow" if self._due["slow"] <= soon else "fast"
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
        period = max(self._wanted[lane], cpu_s / (self._duty * _SHARE[lane]))
        if lane == "slow":
            self._due["slow"] = began + period
        else:
            self._fast_period = period
        self._due["fast"] = began + self._fast_period
