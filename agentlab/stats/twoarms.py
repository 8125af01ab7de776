"""Two arms under comparison."""

from __future__ import annotations

import dataclasses

from .bootstrap import Draws, Floats
from .metrics import Metric
from .resampling import replicate
from .units import Sample


@dataclasses.dataclass(frozen=True)
class TwoArms:
    """Two arms, the first against the second.

    Parameters
    ----------
    samples : tuple of Sample
        Their runs, or when paired their common blocks.
    metric : Metric
        The metric.
    streams : tuple of int
        Which draws to use; equal ones pair the arms.
    """

    samples: tuple[Sample, Sample]
    metric: Metric
    streams: tuple[int, int]

    @property
    def paired(self) -> bool:
        """Whether both arms share their units."""
        return self.streams[0] == self.streams[1]

    @property
    def is_share(self) -> bool:
        """Whether levels lie between 0 and 1."""
        return self.metric.aggregate == "share"

    @property
    def is_quantile(self) -> bool:
        """Whether observations are pooled, so that there are no sums."""
        return self.samples[0].values is not None

    def replicates(self, draws: Draws) -> tuple[Floats, Floats]:
        """Compute the metric of both arms in each resample."""
        one, two = (
            replicate(sample, self.metric, draws.counts(stream, sample.n))
            for sample, stream in zip(self.samples, self.streams, strict=True)
        )
        return one, two
