"""Intervals of pooled quantiles over whole units, without a density."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from .bootstrap import Floats, Ints
from .distributions import t_ppf
from .intervals import two_sided
from .linear import correction
from .metrics import Metric
from .outcome import Outcome
from .units import Sample


def level(bare: Outcome, sample: Sample, metric: Metric, level: float) -> Outcome:
    """Return the interval of a pooled quantile: a median by score inversion."""
    p = metric.quantile or 0.5
    if p != 0.5:
        reason = (
            f'no tested interval of the pooled {p} quantile; ask for interval="percentile" or per_run=True'
        )
        return bare.refused("unsupported", reason)
    lower, upper = score_inversion(sample, p, level)
    outcome = dataclasses.replace(bare, lower=lower, upper=upper, interval="score")
    return outcome if math.isfinite(lower) and math.isfinite(upper) else outcome.flagged("open")


def is_tail(p: float, sample: Sample) -> bool:
    """Say whether so few runs or observations reach a tail quantile that no interval can be relied on."""
    outside = min(p, 1 - p)
    if outside > 0.1:
        return False
    needed = 50 if outside <= 0.02 else 10
    return bool(sample.n < needed or sample.b.sum() * outside < 5 - 1e-9)


def score_inversion(sample: Sample, p: float, level: float) -> tuple[float, float]:
    """Keep every value whose share of observations at or below it is compatible with p.

    Francisco and Fuller (1991): F(v) is a share over units; v stays while abs(F(v) - p) <= t SE(v). The ends
    are observed values, and equal ones when many observations are tied.

    Parameters
    ----------
    sample : Sample
        Pooled observations.
    p : float
        Which quantile.
    level : float
        Nominal coverage.

    Returns
    -------
    tuple of float
        Lower and upper end.
    """
    score = _Score(sample, p, level)
    values = score.values
    # F at a value counts what is tied with it; for the upper end F just below the value counts
    lower = _bisect(len(values), lambda k: score.signed(_at_or_below(values, k)) >= -1)
    upper = _bisect(len(values), lambda k: score.signed(_below(values, k)) > 1)
    return float(values[min(lower, len(values) - 1)]), float(values[max(upper - 1, 0)])


class _Score:
    """(F - p) / (t SE) at any number of sorted observations."""

    def __init__(self, sample: Sample, p: float, level: float) -> None:
        assert sample.values is not None
        order = np.argsort(sample.values, kind="stable")
        self.values: Floats = sample.values[order]
        self._owner: Ints = sample.owner[order]
        self._p = p
        self._sizes = sample.b
        self._total = float(sample.b.sum())
        self._k, df = correction(sample.b / self._total, g=1.5)
        self._t = t_ppf(two_sided(level), df)

    def signed(self, rank: int) -> float:
        """Return the score of the first `rank` observations."""
        n = len(self._sizes)
        inside = np.bincount(self._owner[:rank], minlength=n)
        share = inside.sum() / self._total
        e = inside - share * self._sizes
        z = inside - self._p * self._sizes
        variances = (
            float((self._k * e * e).sum()) / self._total**2,
            n / (n - 1) * float((z * z).sum() - z.sum() ** 2 / n) / self._total**2,
            self._p * (1 - self._p) / self._total,
        )
        return float(share - self._p) / (self._t * math.sqrt(max(variances)))


def _at_or_below(values: Floats, k: int) -> int:
    return int(np.searchsorted(values, values[k], side="right"))


def _below(values: Floats, k: int) -> int:
    return int(np.searchsorted(values, values[k], side="left"))


def _bisect(size: int, reached: Callable[[int], bool]) -> int:
    """Return the first k for which `reached(k)` holds, or `size`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if reached(middle):
            high = middle
        else:
            low = middle + 1
    return low


def bootstrap_se(replicates: Floats, n: int) -> float:
    """Return the standard deviation of replicates over n units, made larger by sqrt(n / (n - 1)).

    Infinite when a replicate is.
    """
    valid = replicates[~np.isnan(replicates)]
    if len(valid) < 2 or np.isinf(valid).any():
        return math.inf
    return float(np.std(valid, ddof=1)) * math.sqrt(n / (n - 1))
