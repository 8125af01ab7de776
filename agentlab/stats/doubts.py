"""When an interval is withheld, and what is flagged beside one that stands."""

from __future__ import annotations

from collections.abc import Sequence

from .intervals import at_bound, share_flags
from .linear import fit, is_dominated
from .metrics import Metric
from .outcome import Outcome
from .units import Sample


def too_few(bare: Outcome, samples: Sequence[Sample], metric: Metric) -> Outcome | None:
    """Refuse an interval on one or two units; None when there are more."""
    n = min(_informative(sample) for sample in samples)
    if n > 2:
        return None
    unit = "run" if metric.across is None else "block"
    return bare.refused("too_few_runs", f"one {unit}" if n == 1 else f"two {unit}s")


def constant(bare: Outcome) -> Outcome:
    """Refuse an interval of zero width."""
    reason = "all runs are equal, so nothing shows how much they vary"
    return bare.refused("degenerate", reason).flagged("constant")


def is_constant(sample: Sample) -> bool:
    """Say whether no unit differs from another."""
    if sample.values is not None:
        return bool(sample.values.min() == sample.values.max())
    return fit(sample.a, sample.b).se == 0


def is_at_bound(sample: Sample) -> bool:
    """Say whether a share is 0 or 1 in every unit."""
    return at_bound(sample.a, sample.b) is not None


def is_tail(p: float, sample: Sample) -> bool:
    """Say whether so few runs or observations reach a tail quantile that no interval can be relied on."""
    outside = min(p, 1 - p)
    if outside > 0.1:
        return False
    needed = 50 if outside <= 0.02 else 10
    return bool(sample.n < needed or sample.b.sum() * outside < 5 - 1e-9)


def flags(outcome: Outcome, samples: Sequence[Sample], metric: Metric, level: float) -> Outcome:
    """Add the flags that follow from the data and the level."""
    found: set[str] = set()
    if min(_informative(sample) for sample in samples) in (3, 4):
        found.add("few_runs" if metric.across is None else "few_blocks")
    if any(sample.n > 1 and is_dominated(sample.b / sample.b.sum()) for sample in samples):
        found.add("dominated")
    if metric.aggregate == "share" and not metric.per_run:
        found.update(flag for sample in samples for flag in share_flags(sample.a, sample.b))
    p = metric.quantile
    if p is not None and not metric.per_run and any(is_tail(p, sample) for sample in samples):
        found.add("tail")
    if outcome.lower is not None and level != 0.95:
        found.add("level_untested")
    return outcome.flagged(*found)


def _informative(sample: Sample) -> int:
    """Count the units that carry weight."""
    return int((sample.b > 0).sum())
