"""How intervals are made in one comparison."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from . import auto, doubts, original, resampling
from .bootstrap import Draws, Floats
from .metrics import Interval, Metric
from .outcome import Outcome
from .twoarms import TwoArms
from .units import Sample

Contrast = Literal["difference", "ratio"]


@dataclasses.dataclass(frozen=True)
class Method:
    """Make intervals of one kind.

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
        outcome = doubts.too_few(bare, [sample], metric) or self._level(bare, sample, metric, stream)
        return doubts.flags(outcome, [sample], metric, self.level)

    def contrast_of(self, kind: Contrast, pair: TwoArms) -> Outcome:
        """Compute the difference or ratio of two arms, first against second.

        Parameters
        ----------
        kind : str
            ``"difference"`` or ``"ratio"``.
        pair : TwoArms
            The arms.
        """
        one, two = (resampling.estimate(sample, pair.metric) for sample in pair.samples)
        if kind == "ratio" and not (one > 0 and two > 0):
            return Outcome(status="unsupported", reason="a ratio needs two levels above 0")
        if math.isinf(one) or math.isinf(two):
            return Outcome(status="unsupported", reason="an infinite level has no difference and no ratio")
        bare = Outcome(estimate=one - two if kind == "difference" else one / two)
        if self.parity:
            return bare.refused("unsupported", 'interval="original" is defined for levels only')
        outcome = doubts.too_few(bare, pair.samples, pair.metric) or self._contrast(kind, bare, pair)
        return doubts.flags(outcome, pair.samples, pair.metric, self.level)

    def _level(self, bare: Outcome, sample: Sample, metric: Metric, stream: int) -> Outcome:
        if self.interval == "auto":
            return auto.level(bare, sample, metric, self.draws, stream, self.level)
        if doubts.is_constant(sample):
            return doubts.constant(bare)
        return self._resampled(bare, [sample], metric, [stream], _identity)

    def _contrast(self, kind: Contrast, bare: Outcome, pair: TwoArms) -> Outcome:
        if self.interval == "auto":
            chosen = auto.difference if kind == "difference" else auto.ratio
            return chosen(bare, pair, self.draws, self.level)
        if auto.is_constant(pair):
            return doubts.constant(bare)
        combine = np.subtract if kind == "difference" else np.divide
        return self._resampled(bare, pair.samples, pair.metric, pair.streams, combine)

    def _resampled(
        self,
        bare: Outcome,
        samples: Sequence[Sample],
        metric: Metric,
        streams: Sequence[int],
        combine: resampling.Combine,
    ) -> Outcome:
        if self.interval == "studentized":
            if samples[0].values is not None:
                reason = "a pooled quantile has no cheap standard error for a studentized interval"
                return bare.refused("unsupported", reason)
            counts = [self.draws.counts(stream, s.n) for s, stream in zip(samples, streams, strict=True)]
            paired, log = len(set(streams)) < len(samples), combine is np.divide
            return resampling.studentized(samples, counts, self.level, paired=paired, log=log)
        resampled = resampling.resample(
            samples, metric, self.draws, streams, combine, jackknife=self.interval == "bca"
        )
        return _READ[self.interval](resampled, self.level)


def _identity(x: Floats) -> Floats:
    return x


_READ: dict[str, Callable[[resampling.Resampled, float], Outcome]] = {
    "percentile": resampling.percentile,
    "basic": resampling.basic,
    "bca": resampling.bca,
}
