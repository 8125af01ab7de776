"""Intervals read off a bootstrap: percentile, basic, BCa, studentized; for a level, difference or ratio."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from .bootstrap import Counts, Draws, Floats, Weights, ratios, sums
from .distributions import normal_cdf, normal_ppf
from .metrics import Metric
from .outcome import Outcome, finite
from .pooled import quantile, quantiles
from .units import Sample

#: How two arms are combined, e.g. a difference; a level hands its single argument through.
Combine = Callable[..., Floats]


@dataclasses.dataclass(frozen=True)
class Resampled:
    """A statistic of one or two samples, and what resampling its units gives.

    Parameters
    ----------
    estimate : float
        The statistic itself.
    replicates : ndarray of float, shape (resamples,)
        The statistic of each resample; NaN where it has no value.
    jackknife : tuple of ndarray
        The statistic without one unit, for each independent set of units.
    """

    estimate: float
    replicates: Floats
    jackknife: tuple[Floats, ...] = ()


def estimate(sample: Sample, metric: Metric) -> float:
    """Compute the metric of a sample that has data."""
    if sample.values is None:
        return float(sample.a.sum() / sample.b.sum())
    return quantile(np.sort(sample.values), metric.quantile or 0.5, metric.quantile_method)


def replicate(sample: Sample, metric: Metric, counts: Counts) -> Floats:
    """Compute the metric of each resample."""
    if sample.values is None:
        return ratios(counts, sample.a, sample.b)
    return quantiles(counts, sample.values, sample.owner, metric.quantile or 0.5, metric.quantile_method)


def leave_one_out(sample: Sample, metric: Metric) -> Floats:
    """Compute the metric without each unit in turn."""
    if sample.values is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            return (sample.a.sum() - sample.a) / (sample.b.sum() - sample.b)
    return replicate(sample, metric, (1 - np.eye(sample.n, dtype=np.uint8)))


def resample(
    samples: Sequence[Sample],
    metric: Metric,
    draws: Draws,
    streams: Sequence[int],
    combine: Combine,
    *,
    jackknife: bool = False,
) -> Resampled:
    """Resample one arm, or two together.

    Parameters
    ----------
    samples : sequence of Sample
        One or two.
    metric : Metric
        The metric.
    draws : Draws
        Shared draws.
    streams : sequence of int
        Stream of each sample; the same stream for both means that blocks are drawn once for both (paired).
    combine : callable
        Makes the statistic of the samples' values.
    jackknife : bool
        Whether leave-one-out values are needed.
    """
    points = [estimate(sample, metric) for sample in samples]
    stars = [
        replicate(sample, metric, draws.counts(stream, sample.n))
        for sample, stream in zip(samples, streams, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        theta, replicates = float(combine(*points)), np.asarray(combine(*stars))
        if not jackknife:
            return Resampled(theta, replicates)
        left_out = [leave_one_out(sample, metric) for sample in samples]
        if len(set(streams)) < len(samples):
            return Resampled(theta, replicates, (np.asarray(combine(*left_out)),))
        each = [
            np.asarray(combine(*[left_out[k] if k == j else points[k] for k in range(len(samples))]))
            for j in range(len(samples))
        ]
        return Resampled(theta, replicates, tuple(each))


def ends(replicates: Floats, low: float, high: float) -> tuple[float, float, int]:
    """Return two quantiles of the replicates that have a value, and how many those are."""
    valid = replicates[~np.isnan(replicates)]
    if not len(valid):
        return np.nan, np.nan, 0
    with np.errstate(invalid="ignore"):  # between an infinite pair
        lower, upper = np.quantile(valid, [low, high])
    return float(lower), float(upper), len(valid)


def percentile(resampled: Resampled, level: float) -> Outcome:
    """Take the quantiles of the replicates (Efron 1979): too narrow for few runs."""
    lower, upper, n = ends(resampled.replicates, (1 - level) / 2, (1 + level) / 2)
    return _outcome(resampled, lower, upper, "percentile", n)


def basic(resampled: Resampled, level: float) -> Outcome:
    """Reflect the percentile interval at the estimate (Davison and Hinkley 1997, 5.2.1)."""
    lower, upper, n = ends(resampled.replicates, (1 - level) / 2, (1 + level) / 2)
    return _outcome(resampled, 2 * resampled.estimate - upper, 2 * resampled.estimate - lower, "basic", n)


def bca(resampled: Resampled, level: float) -> Outcome:
    """Correct the percentile interval for bias and acceleration (Efron 1987), as scipy does.

    With two independent samples the acceleration sums over both, each centred by itself.
    """
    valid = resampled.replicates[~np.isnan(resampled.replicates)]
    below = (valid < resampled.estimate).mean() + (valid <= resampled.estimate).mean() if len(valid) else 0
    if not 0 < below < 2:
        return _outcome(resampled, np.nan, np.nan, "bca", len(valid))
    bias = normal_ppf(float(below) / 2)
    acceleration = _acceleration(resampled.jackknife)
    targets = (bias + normal_ppf((1 - level) / 2), bias + normal_ppf((1 + level) / 2))
    tails = [normal_cdf(bias + z / (1 - acceleration * z)) for z in targets]
    if not all(0 <= tail <= 1 for tail in tails):
        return _outcome(resampled, np.nan, np.nan, "bca", len(valid))
    lower, upper, n = ends(valid, *tails)
    return _outcome(resampled, lower, upper, "bca", n)


def _acceleration(jackknife: Sequence[Floats]) -> float:
    if not all(np.isfinite(values).all() for values in jackknife):
        return math.nan
    deviations = [(len(values) - 1) / len(values) * (values.mean() - values) for values in jackknife]
    scale = max(np.abs(u).max() for u in deviations)  # cubes of tiny numbers would vanish
    if scale == 0:
        return math.nan
    cubes = sum(float(((u / scale) ** 3).sum()) for u in deviations)
    squares = sum(float(((u / scale) ** 2).sum()) for u in deviations)
    return cubes / (6 * squares**1.5)


def studentized(
    samples: Sequence[Sample], weights: Sequence[Weights], level: float, *, paired: bool, log: bool = False
) -> Outcome:
    """Take the quantiles of (replicate - estimate) / its own linearised standard error (bootstrap-t).

    Parameters
    ----------
    samples : sequence of Sample
        One arm, or two whose difference is meant; metrics made of sums only.
    weights : sequence of ndarray, shape (resamples, n)
        Draws of each, or random weights with mean 1 and variance 1.
    level : float
        Nominal coverage.
    paired : bool
        Whether both arms share their units, so that their covariance counts.
    log : bool
        Work on logarithms: the difference becomes a ratio.
    """
    theta, se = _linearised(samples, weights, paired=paired, log=log)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (theta[1:] - theta[0]) / se[1:]
    t = np.sort(t[~np.isnan(t)])
    if not len(t):
        low = high = math.nan
    else:  # whole replicates: at few runs some are infinite
        low, high = (float(t[round(q * (len(t) - 1))]) for q in ((1 - level) / 2, (1 + level) / 2))
    point, reach = float(theta[0]), float(se[0])
    ends = (point - high * reach, point - low * reach)
    if log:
        point, ends = math.exp(point), (_exp(ends[0]), _exp(ends[1]))
    return finite(
        Outcome(estimate=point, lower=ends[0], upper=ends[1], interval="studentized", n_resamples=len(t))
    )


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _linearised(
    samples: Sequence[Sample], weights: Sequence[Weights], *, paired: bool, log: bool
) -> tuple[Floats, Floats]:
    """Return estimate and plain linearised standard error: of the samples first, then of each resample."""
    parts = [_Products(sample, drawn, log=log) for sample, drawn in zip(samples, weights, strict=True)]
    squared = sum(part.squares / part.scale**2 for part in parts)
    if paired:
        (one, two), (a, b) = parts, samples
        cross = _totals(weights[0], [a.a * b.a, a.a * b.b, a.b * b.a, a.b * b.b])
        product = cross[0] - two.r * cross[1] - one.r * cross[2] + one.r * two.r * cross[3]
        with np.errstate(divide="ignore", invalid="ignore"):
            squared = squared - 2 * product / (one.scale * two.scale)
    # what rounding leaves when all drawn units are equal is 0
    rounding = 1e-12 * sum(part.rounding for part in parts)
    theta = parts[0].theta if len(parts) == 1 else parts[0].theta - parts[1].theta
    return theta, np.sqrt(np.where(squared > rounding, squared, 0))


class _Products:
    """Sums that make up R and sum((a - R b)^2)."""

    def __init__(self, sample: Sample, weights: Weights, *, log: bool) -> None:
        a, b = sample.a, sample.b
        ta, tb, aa, ab, bb = _totals(weights, [a, b, a * a, a * b, b * b])
        with np.errstate(divide="ignore", invalid="ignore"):
            self.r = ta / tb
            self.squares = aa - 2 * self.r * ab + self.r**2 * bb
            self.scale = tb * self.r if log else tb
            self.rounding = aa / self.scale**2
            self.theta = np.log(self.r) if log else self.r


def _totals(weights: Weights, columns: list[Floats]) -> Floats:
    stacked = np.column_stack(columns)
    return np.vstack([stacked.sum(axis=0), sums(weights, stacked)]).T


def _outcome(resampled: Resampled, lower: float, upper: float, method: str, n: int) -> Outcome:
    return finite(
        Outcome(estimate=resampled.estimate, lower=lower, upper=upper, interval=method, n_resamples=n)
    )
