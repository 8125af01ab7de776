"""Which interval method serves which metric, and when none does."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from . import differences, intervals, original, quantile_intervals, resampling
from .bootstrap import Draws, Floats
from .linear import fit, is_dominated
from .metrics import Interval, Metric
from .outcome import Outcome
from .units import Sample

Contrast = Literal["difference", "ratio"]


@dataclasses.dataclass(frozen=True)
class Method:
    """How intervals are made in one comparison.

    Parameters
    ----------
    interval : str
        What was asked for.
    level : float
        Nominal coverage.
    draws : Draws
        Resampling counts, shared by all metrics.
    """

    interval: Interval
    level: float
    draws: Draws

    @property
    def parity(self) -> bool:
        """Whether the old report is reproduced, faults included."""
        return self.interval == "original"

    def level_of(self, sample: Sample, metric: Metric, stream: int) -> Outcome:
        """Compute the level of one arm.

        Parameters
        ----------
        sample : Sample
            Its runs.
        metric : Metric
            The metric.
        stream : int
            Which draws to use.
        """
        if self.parity:
            return original.interval(sample, metric)
        bare = Outcome(estimate=resampling.estimate(sample, metric))
        outcome = _too_few(bare, [sample]) or self._level(bare, sample, metric, stream)
        return self._flagged(outcome, [sample], metric)

    def contrast_of(
        self, kind: Contrast, first: Sample, second: Sample, metric: Metric, streams: tuple[int, int]
    ) -> Outcome:
        """Compute the difference or ratio of two arms, first against second.

        Parameters
        ----------
        kind : str
            ``"difference"`` or ``"ratio"``.
        first, second : Sample
            The arms' runs, or with equal streams their common blocks.
        metric : Metric
            The metric.
        streams : tuple of int
            Which draws to use; equal ones pair the arms.
        """
        one, two = (resampling.estimate(sample, metric) for sample in (first, second))
        if kind == "ratio" and not (one > 0 and two > 0):
            return Outcome(status="unsupported", reason="a ratio needs two levels above 0")
        if math.isinf(one) or math.isinf(two):
            return Outcome(status="unsupported", reason="an infinite level has no difference and no ratio")
        bare = Outcome(estimate=one - two if kind == "difference" else one / two)
        if self.parity:
            return bare.refused("unsupported", 'interval="original" is defined for levels only')
        samples = [first, second]
        outcome = _too_few(bare, samples)
        if outcome is None:
            contrast = self._difference if kind == "difference" else self._ratio
            outcome = contrast(bare, samples, metric, streams)
        return self._flagged(outcome, samples, metric)

    def _level(self, bare: Outcome, sample: Sample, metric: Metric, stream: int) -> Outcome:
        if metric.aggregate == "share" and self.interval == "auto" and _at_bound(sample):
            return intervals.share(fit(sample.a, sample.b), sample.a, sample.b, self.level)
        if _is_constant(sample):
            return _constant(bare)
        if self.interval != "auto":
            return self._resampled("level", bare, [sample], metric, (stream,))
        if sample.values is not None:
            return quantile_intervals.level(bare, sample, metric, self.level)
        fitted = fit(sample.a, sample.b)
        if metric.aggregate == "share":
            return intervals.share(fitted, sample.a, sample.b, self.level)
        counts = self.draws.counts(stream, sample.n)
        signed = metric.aggregate == "slope"
        return intervals.united(fitted, sample.a, sample.b, counts, self.level, signed=signed)

    def _difference(
        self, bare: Outcome, samples: list[Sample], metric: Metric, streams: tuple[int, int]
    ) -> Outcome:
        paired = streams[0] == streams[1]
        bounded = metric.aggregate == "share" and any(_at_bound(sample) for sample in samples)
        if all(_is_constant(sample) for sample in samples) and not (bounded and self.interval == "auto"):
            return _constant(bare)
        if samples[0].values is not None:
            if self.interval == "auto":
                return self._quantile_difference(bare, samples, metric, streams)
            return self._resampled("difference", bare, samples, metric, streams)
        one, two = differences.fits(samples[0], samples[1])
        if paired and not bounded and differences.paired_se(one, two) == 0:
            return _constant(bare)
        if self.interval != "auto":
            return self._resampled("difference", bare, samples, metric, streams)
        if metric.aggregate == "share":
            return differences.share_difference(samples, (one, two), self.level, paired=paired)
        return (differences.paired_t if paired else differences.welch_t)(one, two, self.level)

    def _quantile_difference(
        self, bare: Outcome, samples: list[Sample], metric: Metric, streams: tuple[int, int]
    ) -> Outcome:
        stars = [
            resampling.replicate(sample, metric, self.draws.counts(stream, sample.n))
            for sample, stream in zip(samples, streams, strict=True)
        ]
        with np.errstate(invalid="ignore"):  # infinite minus infinite is unknown
            parts = [stars[0] - stars[1]] if streams[0] == streams[1] else stars
        ses = [
            (quantile_intervals.bootstrap_se(part, sample.n), sample.n)
            for part, sample in zip(parts, samples, strict=False)
        ]
        return differences.t_with_bootstrap_se(bare, ses, self.level, n_resamples=len(stars[0]))

    def _ratio(
        self, bare: Outcome, samples: list[Sample], metric: Metric, streams: tuple[int, int]
    ) -> Outcome:
        if self.interval == "auto":
            reason = (
                'no tested interval of a ratio of arms; the difference has one, or ask for interval="bca"'
            )
            return bare.refused("unsupported", reason)
        return self._resampled("ratio", bare, samples, metric, streams)

    def _resampled(
        self,
        kind: Literal["level", "difference", "ratio"],
        bare: Outcome,
        samples: list[Sample],
        metric: Metric,
        streams: Sequence[int],
    ) -> Outcome:
        if self.interval == "studentized" and (kind == "ratio" or samples[0].values is not None):
            what = "a ratio of arms" if kind == "ratio" else "a pooled quantile"
            return bare.refused(
                "unsupported", f"{what} has no cheap standard error for a studentized interval"
            )
        resampled = resampling.resample(
            samples, metric, self.draws, streams, _COMBINE[kind], jackknife=self.interval == "bca"
        )
        if self.interval == "studentized":
            counts = [self.draws.counts(stream, s.n) for s, stream in zip(samples, streams, strict=True)]
            paired = len(set(streams)) < len(samples)
            se, stars = resampling.linearised_se(samples, counts, paired=paired)
            return resampling.studentized(resampled, self.level, se=se, se_replicates=stars)
        method = {
            "percentile": resampling.percentile,
            "basic": resampling.basic,
            "bca": resampling.bca,
        }[self.interval]
        return method(resampled, self.level)

    def _flagged(self, outcome: Outcome, samples: list[Sample], metric: Metric) -> Outcome:
        flags: list[str] = []
        if min(_informative(sample) for sample in samples) in (3, 4):
            flags.append("few_runs")
        if any(sample.n > 1 and is_dominated(sample.b / sample.b.sum()) for sample in samples):
            flags.append("dominated")
        if metric.aggregate == "share" and not metric.per_run:
            flags += [flag for sample in samples for flag in intervals.share_flags(sample.a, sample.b)]
        p = metric.quantile
        if p is not None and not metric.per_run:
            flags += ["tail" for sample in samples if quantile_intervals.is_tail(p, sample)]
        if outcome.lower is not None and self.level != 0.95:
            flags.append("level_untested")
        return outcome.flagged(*flags)


def _identity(x: Floats) -> Floats:
    return x


_COMBINE: dict[str, resampling.Combine] = {
    "level": _identity,
    "difference": np.subtract,
    "ratio": np.divide,
}


def _at_bound(sample: Sample) -> bool:
    return intervals.at_bound(sample.a, sample.b) is not None


def _is_constant(sample: Sample) -> bool:
    """Say whether no unit differs from another, so that the data are silent about variation."""
    if sample.values is not None:
        return bool(sample.values.min() == sample.values.max())
    return fit(sample.a, sample.b).se == 0


def _informative(sample: Sample) -> int:
    """Count the units that carry weight."""
    return int((sample.b > 0).sum())


def _too_few(bare: Outcome, samples: list[Sample]) -> Outcome | None:
    n = min(_informative(sample) for sample in samples)
    if n > 2:
        return None
    return bare.refused("too_few_runs", "one run" if n == 1 else "two runs")


def _constant(bare: Outcome) -> Outcome:
    reason = "all runs are equal, so nothing shows how much they vary"
    return bare.refused("degenerate", reason).flagged("constant")
