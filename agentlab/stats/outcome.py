"""What an interval method gives back."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

Status = Literal["ok", "no_data", "too_few_runs", "degenerate", "unsupported", "mixed_setup", "invalid"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """An estimate with its interval, or the reason why there is none.

    Parameters
    ----------
    estimate, lower, upper : float or None
        None is unknown.
    interval : str or None
        Method that was really used.
    n_resamples : int or None
        Resamples that had a value; None for a method without resampling.
    status : str
        ``"ok"``; ``"no_data"``; ``"too_few_runs"`` (1 or 2: no interval); ``"degenerate"`` (all runs equal,
        or the method has no finite end); ``"unsupported"`` (no method for it); ``"mixed_setup"`` (an arm
        holds runs of several versions or models, or of several numbers of sessions: then there is no estimate
        either); ``"invalid"`` (values that cannot be right).
    flags : frozenset of str
        Doubts that leave the interval standing.
    reason : str or None
        Words for the reader.
    """

    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    interval: str | None = None
    n_resamples: int | None = None
    status: Status = "ok"
    flags: frozenset[str] = frozenset()
    reason: str | None = None

    def flagged(self, *flags: str) -> Outcome:
        """Return the same with more flags."""
        return dataclasses.replace(self, flags=self.flags.union(flags))

    def clipped(self, low: float, high: float) -> Outcome:
        """Return the same with ends inside the bounds of the metric."""
        if self.lower is None or self.upper is None:
            return self
        return dataclasses.replace(
            self, lower=min(max(self.lower, low), high), upper=max(min(self.upper, high), low)
        )

    def refused(self, status: Status, reason: str) -> Outcome:
        """Return the estimate without its interval."""
        return dataclasses.replace(
            self, lower=None, upper=None, interval=None, n_resamples=None, status=status, reason=reason
        )


def finite(outcome: Outcome) -> Outcome:
    """Refuse an interval with an end that is not a finite number."""
    ends = (outcome.lower, outcome.upper)
    if all(end is None or math.isfinite(end) for end in ends):
        return outcome
    return outcome.refused("degenerate", f"the {outcome.interval} interval has no finite end for these runs")
