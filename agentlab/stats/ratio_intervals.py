"""Intervals of the ratio of two arms, on the log scale."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from . import differences, resampling
from .bootstrap import Draws, Floats
from .distributions import t_ppf
from .intervals import Limits, mover, share_limits, two_sided
from .linear import Fit, fit, welch_df
from .outcome import Outcome, finite
from .twoarms import TwoArms

#: Large runs are taken to vary more here: the logarithm of a ratio is more sensitive to them.
_G = 1.5


def sums(bare: Outcome, pair: TwoArms, draws: Draws, level: float) -> Outcome:
    """Unite log t with a bootstrap-t: all metrics made of sums whose values are >= 0.

    Independent arms: CR2 standard errors, Welch's degrees of freedom. Common blocks: jackknife over them.
    """
    if any((sample.a < 0).any() for sample in pair.samples):
        return bare.refused("unsupported", "a ratio of arms needs values of one sign")
    se, df = _jackknife(pair) if pair.paired else _welch([fit(s.a, s.b, g=_G) for s in pair.samples])
    if not math.isfinite(se):
        return bare.refused("degenerate", "without one of its runs an arm is 0: the ratio has no upper end")
    weights = [draws.weights(stream, s.n) for s, stream in zip(pair.samples, pair.streams, strict=True)]
    boot = resampling.studentized(pair.samples, weights, level, paired=pair.paired, log=True)
    lower, upper = _log_t(bare, se, df, level)
    if boot.lower is None or boot.upper is None:
        return bare.refused("degenerate", boot.reason or "")
    return dataclasses.replace(
        bare,
        lower=min(lower, boot.lower),
        upper=max(upper, boot.upper),
        interval="log t, studentized",
        n_resamples=boot.n_resamples,
    )


def shares(bare: Outcome, pair: TwoArms, level: float) -> Outcome:
    """Combine the limits of two shares on the log scale (MOVER)."""
    fits = [fit(s.a, s.b) for s in pair.samples]
    df = None if pair.paired else _welch(fits)[1]
    limits: list[Limits] = []
    for sample, fitted in zip(pair.samples, fits, strict=True):
        low, high, _ = share_limits(fitted, sample.a, sample.b, level, df=df)
        if low <= 0:
            return bare.refused("degenerate", "a share may be 0: the ratio has no end on one side")
        limits.append(Limits(math.log(fitted.estimate), math.log(low), math.log(high)))
    r = differences.correlation(fits[0], fits[1]) if pair.paired else 0.0
    lower, upper = mover(limits[0], limits[1], r)
    return dataclasses.replace(bare, lower=math.exp(lower), upper=math.exp(upper), interval="log mover")


def quantiles(bare: Outcome, pair: TwoArms, draws: Draws, level: float) -> Outcome:
    """Return exp(log ratio -+ t SE) with the bootstrap's standard error of the log quantiles."""
    stars = pair.replicates(draws)
    if any((star <= 0).any() for star in stars):
        return bare.refused("unsupported", "the ratio of quantiles needs values above 0")
    logs = [np.log(star) for star in stars]
    log_bare = Outcome(estimate=math.log(bare.estimate or 1.0))
    outcome = differences.quantiles(log_bare, logs, pair, level)
    if outcome.lower is None or outcome.upper is None:
        return bare.refused("degenerate", outcome.reason or "")
    ends = (math.exp(outcome.lower), math.exp(outcome.upper))
    return finite(dataclasses.replace(outcome, estimate=bare.estimate, lower=ends[0], upper=ends[1]))


def _log_t(bare: Outcome, se: float, df: float, level: float) -> tuple[float, float]:
    ratio, reach = bare.estimate or 0.0, min(t_ppf(two_sided(level), df) * se, 700.0)
    return ratio * math.exp(-reach), ratio * math.exp(reach)


def _welch(fits: list[Fit]) -> tuple[float, float]:
    one, two = ((f.se / f.estimate, f.df) for f in fits)
    return math.hypot(one[0], two[0]), welch_df(one, two)


def _jackknife(pair: TwoArms) -> tuple[float, float]:
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (np.log(_without_each(s.a) / _without_each(s.b)) for s in pair.samples)
        apart: Floats = one - two
        n = len(apart)
        return float(np.sqrt((n - 1) / n * ((apart - apart.mean()) ** 2).sum())), float(n - 1)


def _without_each(x: Floats) -> Floats:
    return x.sum() - x
