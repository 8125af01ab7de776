"""Which interval method serves which metric."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from . import resampling
from .bootstrap import Draws, Floats
from .metrics import Metric
from .outcome import Outcome
from .units import Sample

Interval = Literal["auto", "percentile", "bca", "basic", "studentized", "original"]


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
        Shared draws.
    """

    interval: Interval
    level: float
    draws: Draws

    def level_of(self, sample: Sample, metric: Metric, stream: int) -> Outcome:
        """Compute the level of one arm."""
        resampled = resampling.resample([sample], metric, self.draws, [stream], lambda x: x)
        return resampling.percentile(resampled, self.level)

    def contrast_of(
        self,
        kind: Literal["difference", "ratio"],
        first: Sample,
        second: Sample,
        metric: Metric,
        streams: tuple[int, int],
    ) -> Outcome:
        """Compute the difference or ratio of two arms, first against second."""
        combine = np.subtract if kind == "difference" else _divide
        resampled = resampling.resample([first, second], metric, self.draws, streams, combine)
        return resampling.percentile(resampled, self.level)


def _divide(x: Floats, y: Floats) -> Floats:
    return np.divide(x, y)
