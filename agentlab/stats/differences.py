"""Closed-form intervals of the difference of two arms."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from .bootstrap import Floats
from .distributions import t_ppf
from .intervals import Limits, at_bound, mover, share_limits, two_sided
from .linear import Fit, correction, fit, is_dominated, welch_df
from .outcome import Outcome, finite
from .twoarms import TwoArms
from .units import Sample


def fits(first: Sample, second: Sample) -> tuple[Fit, Fit]:
    """Fit both arms; with more than twice as many runs in one, large runs are taken to vary more."""
    g = 1.5 if max(first.n, second.n) > 2 * min(first.n, second.n) else None
    return fit(first.a, first.b, g=g), fit(second.a, second.b, g=g)


def welch_t(one: Fit, two: Fit, level: float) -> Outcome:
    """Return D -+ t sqrt(SE1^2 + SE2^2) with Welch's degrees of freedom: independent arms."""
    df = welch_df((one.se, one.df), (two.se, two.df))
    return _symmetric(one.estimate - two.estimate, math.hypot(one.se, two.se), df, level, "welch t")


def paired_t(one: Fit, two: Fit, level: float) -> Outcome:
    """Return D -+ t SE with the covariance of the arms over their common blocks.

    With one observation a run it is the paired t test.
    """
    weight = (one.weight + two.weight) / 2
    _, df = correction(weight, g=1.5 if is_dominated(weight) else 1.0)
    return _symmetric(one.estimate - two.estimate, paired_se(one, two), df, level, "paired t")


def paired_se(one: Fit, two: Fit) -> float:
    """Return the standard error over common blocks; 0 when the difference is the same in all of them."""
    both = one.se**2 + two.se**2
    variance = both - 2 * correlation(one, two) * one.se * two.se
    return math.sqrt(variance) if variance > 1e-14 * both else 0.0  # below is rounding


def correlation(one: Fit, two: Fit) -> float:
    """Return the correlation of the arms' residuals over blocks; 0 when one arm does not vary."""
    scale = math.sqrt(float((one.residual**2).sum()) * float((two.residual**2).sum()))
    return float((one.residual * two.residual).sum()) / scale if scale else 0.0


def shares(samples: Sequence[Sample], fitted: tuple[Fit, Fit], level: float, *, paired: bool) -> Outcome:
    """Combine the limits of two shares (MOVER), unless blocks are shared and both arms vary.

    Independent arms use the larger of their own and Welch's degrees of freedom for each limit.
    """
    one, two = fitted
    if paired and not any(at_bound(s.a, s.b) for s in samples):
        return paired_t(one, two, level).clipped(-1.0, 1.0)
    df = None if paired else welch_df((one.se, one.df), (two.se, two.df))
    limits = [
        Limits(f.estimate, *share_limits(f, s.a, s.b, level, df=df)[:2])
        for s, f in zip(samples, fitted, strict=True)
    ]
    lower, upper = mover(limits[0], limits[1], correlation(one, two) if paired else 0.0)
    outcome = Outcome(estimate=one.estimate - two.estimate, lower=lower, upper=upper, interval="mover")
    return outcome.clipped(-1.0, 1.0)


def _symmetric(estimate: float, se: float, df: float, level: float, method: str) -> Outcome:
    reach = t_ppf(two_sided(level), df) * se
    return Outcome(estimate=estimate, lower=estimate - reach, upper=estimate + reach, interval=method)


def quantiles(bare: Outcome, stars: Sequence[Floats], pair: TwoArms, level: float) -> Outcome:
    """Return D -+ t SE of two pooled quantiles, SE from the bootstrap (there is no cheap other).

    Parameters
    ----------
    bare : Outcome
        The difference, without an interval.
    stars : sequence of ndarray, shape (resamples,)
        The quantile of each arm in each resample; logarithms when the difference is one of logarithms.
    pair : TwoArms
        The arms.
    level : float
        Nominal coverage.
    """
    first, second = pair.samples
    if pair.paired:
        with np.errstate(invalid="ignore"):  # infinite minus infinite is unknown
            se = bootstrap_se(stars[0] - stars[1], first.n)
        df, method = first.n - 1.0, "paired t, bootstrap se"
    else:
        one, two = bootstrap_se(stars[0], first.n), bootstrap_se(stars[1], second.n)
        se, method = math.hypot(one, two), "welch t, bootstrap se"
        df = welch_df((one, first.n - 1.0), (two, second.n - 1.0)) if math.isfinite(se) else 1.0
    scale = max(float(np.abs(star[np.isfinite(star)]).max(initial=0)) for star in stars)
    if se <= 1e-12 * scale:  # below is rounding
        reason = "no resample changes it: observations are tied, so nothing shows how much it varies"
        return bare.refused("degenerate", reason)
    reach = t_ppf(two_sided(level), df) * se if math.isfinite(se) else math.inf
    middle = bare.estimate or 0.0
    outcome = dataclasses.replace(bare, lower=middle - reach, upper=middle + reach, interval=method)
    return finite(dataclasses.replace(outcome, n_resamples=len(stars[0])))


def bootstrap_se(replicates: Floats, n: int) -> float:
    """Return the standard deviation of replicates over n units, made larger by sqrt(n / (n - 1)).

    Infinite when a replicate is.
    """
    valid = replicates[~np.isnan(replicates)]
    if len(valid) < 2 or np.isinf(valid).any():
        return math.inf
    return float(np.std(valid, ddof=1)) * math.sqrt(n / (n - 1))
