"""The tested choice of a method for every kind of metric."""

from __future__ import annotations

from . import differences, doubts, intervals, quantile_intervals, ratio_intervals
from .bootstrap import Draws
from .linear import fit
from .metrics import Metric
from .outcome import Outcome
from .twoarms import TwoArms
from .units import Sample


def level(
    bare: Outcome, sample: Sample, metric: Metric, draws: Draws, stream: int, nominal: float
) -> Outcome:
    """Return the interval of one arm.

    Parameters
    ----------
    bare : Outcome
        The estimate.
    sample : Sample
        At least 3 runs.
    metric : Metric
        The metric.
    draws : Draws
        Shared draws.
    stream : int
        Which of them.
    nominal : float
        Nominal coverage.
    """
    a, b = sample.a, sample.b
    if metric.aggregate == "share" and doubts.is_at_bound(sample):
        return intervals.share(fit(a, b), a, b, nominal)
    if doubts.is_constant(sample):
        return doubts.constant(bare)
    if sample.values is not None:
        return quantile_intervals.level(bare, sample, metric, draws.counts(stream, sample.n), nominal)
    if metric.aggregate == "share":
        return intervals.share(fit(a, b), a, b, nominal)
    signed = metric.aggregate == "slope"
    return intervals.united(fit(a, b), a, b, draws.counts(stream, sample.n), nominal, signed=signed)


def difference(bare: Outcome, pair: TwoArms, draws: Draws, nominal: float) -> Outcome:
    """Return the interval of first minus second."""
    bounded = pair.is_share and any(doubts.is_at_bound(sample) for sample in pair.samples)
    if not bounded and is_constant(pair):
        return doubts.constant(bare)
    if pair.is_quantile:
        return differences.quantiles(bare, pair.replicates(draws), pair, nominal)
    one, two = differences.fits(*pair.samples)
    if pair.is_share:
        return differences.shares(pair.samples, (one, two), nominal, paired=pair.paired)
    return (differences.paired_t if pair.paired else differences.welch_t)(one, two, nominal)


def ratio(bare: Outcome, pair: TwoArms, draws: Draws, nominal: float) -> Outcome:
    """Return the interval of first over second."""
    if pair.metric.aggregate == "slope":
        return bare.refused("unsupported", "slopes may change sign, so their ratio has no interval")
    bounded = pair.is_share and any(doubts.is_at_bound(sample) for sample in pair.samples)
    if not bounded and all(doubts.is_constant(sample) for sample in pair.samples):
        return doubts.constant(bare)
    if pair.is_quantile:
        return ratio_intervals.quantiles(bare, pair, draws, nominal)
    if pair.is_share and (bounded or not pair.paired):
        return ratio_intervals.shares(bare, pair, nominal)
    return ratio_intervals.sums(bare, pair, draws, nominal)


def is_constant(pair: TwoArms) -> bool:
    """Say whether nothing shows how much a difference varies."""
    if all(doubts.is_constant(sample) for sample in pair.samples):
        return True
    return (
        pair.paired and not pair.is_quantile and differences.paired_se(*differences.fits(*pair.samples)) == 0
    )
