"""Intervals of pooled quantiles over whole units, without a density."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from . import resampling
from .bootstrap import Counts, Floats, Ints
from .differences import bootstrap_se
from .distributions import beta_ppf, normal_ppf, t_ppf
from .intervals import two_sided
from .linear import correction
from .metrics import Metric
from .outcome import Outcome, finite
from .units import Sample

#: Quantiles further out than this need the tail method.
_TAIL = 0.1


def level(bare: Outcome, sample: Sample, metric: Metric, counts: Counts, level: float) -> Outcome:
    """Return the interval of a pooled quantile: score inversion in the middle, Woodruff's in the tails."""
    p = metric.quantile or 0.5
    if _TAIL < p < 1 - _TAIL:
        lower, upper = score_inversion(sample, p, level)
        outcome = dataclasses.replace(bare, lower=lower, upper=upper, interval="score")
        return outcome if math.isfinite(lower) and math.isfinite(upper) else outcome.flagged("open")
    return tail(bare, sample, metric, counts, level)


def tail(bare: Outcome, sample: Sample, metric: Metric, counts: Counts, level: float) -> Outcome:
    """Unite the beta limits of p, mapped back through the observations, with log t x bootstrap SE.

    Woodruff (1952) with the limits of Korn and Graubard (1998). The design effect at p alone is too small,
    since few runs reach the tail, so that at the nearest decile counts too. Flagged ``open`` when the
    observations are too few to hold the outer end; the largest (smallest) stands in its place.
    """
    p = metric.quantile or 0.5
    score = _Score(sample, p, level)
    own = score.design_effect(p)
    n = len(score.values) / math.sqrt(own * max(own, score.design_effect(min(max(p, _TAIL), 1 - _TAIL))))
    lower, upper = score.beta_limits(n, level)
    outer = max(p, 1 - p)
    is_open = len(score.values) / own < math.log((1 - level) / 2) / math.log(outer)
    lower_t, upper_t = _log_t(bare, sample, resampling.replicate(sample, metric, counts), level)
    largest, smallest = float(score.values[-1]), float(score.values[0])
    outcome = dataclasses.replace(
        bare,
        lower=min(lower, lower_t) if p > 0.5 or not is_open else smallest,
        upper=max(upper, upper_t) if p < 0.5 or not is_open else max(largest, upper_t),
        interval="beta, log t",
        n_resamples=len(counts),
    )
    return finite(outcome.flagged("open") if is_open else outcome)


def _log_t(bare: Outcome, sample: Sample, replicates: Floats, level: float) -> tuple[float, float]:
    """Return q exp(-+ t s), or q -+ t s when values are not all above 0; s from the bootstrap."""
    q = bare.estimate or 0.0
    t = t_ppf(two_sided(level), sample.n - 1.0)
    positive = bool((replicates > 0).all()) and q > 0
    se = bootstrap_se(np.log(replicates) if positive else replicates, sample.n)
    if not math.isfinite(se):
        return -math.inf, math.inf
    return (q * math.exp(-t * se), q * math.exp(min(t * se, 700.0))) if positive else (q - t * se, q + t * se)


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
        variance = max(self._variance(rank, self._p), self._p * (1 - self._p) / self._total)
        return (rank / self._total - self._p) / (self._t * math.sqrt(variance))

    def _variance(self, rank: int, p: float) -> float:
        """Return the larger variance of F at `rank`: around itself (CR2), and around p."""
        n = len(self._sizes)
        inside = np.bincount(self._owner[:rank], minlength=n)
        e = inside - rank / self._total * self._sizes
        z = inside - p * self._sizes
        around_p = n / (n - 1) * float((z * z).sum() - z.sum() ** 2 / n)
        return max(float((self._k * e * e).sum()), around_p) / self._total**2

    def design_effect(self, p: float) -> float:
        """Return by how much runs make F at the p quantile vary more than independent observations."""
        rank = min(max(1, math.ceil(p * self._total - 1e-9)), len(self.values) - 1)
        share = rank / self._total
        return max(1.0, self._variance(rank, p) / (share * (1 - share) / self._total))

    def beta_limits(self, n: float, level: float) -> tuple[float, float]:
        """Return the observations at the beta limits of p for n independent observations."""
        n *= (normal_ppf(two_sided(level)) / self._t) ** 2
        low = beta_ppf((1 - level) / 2, self._p * n, (1 - self._p) * n + 1)
        high = beta_ppf((1 + level) / 2, self._p * n + 1, (1 - self._p) * n)
        last = len(self.values) - 1
        first = max(0, math.ceil(low * self._total) - 1)
        return float(self.values[min(first, last)]), float(self.values[min(int(high * self._total), last)])


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
