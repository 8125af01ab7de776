"""Which metrics a study is shown with when nobody says which."""

from __future__ import annotations

from .metrics import Metric, named
from .reduce import measure
from .runs import Runs

#: In this order, where they have data.
FIRST = (
    "TTFT", "TURN_LATENCY", "CACHE_HIT_RATE", "COST",
    "LONG_TASKS", "TBT", "DROPPED_FRAMES", "INP",
    "MEM_SLOPE", "MEM_INTERCEPT", "PSS_TOTAL", "FIRST_INPUT", "EXEC_REPORT", "EXEC_LOST",
)  # fmt: skip


def has_data(runs: Runs, metric: Metric) -> bool:
    """Say whether any run that a metric takes has a value; a table that cannot be read has none.

    Parameters
    ----------
    runs : Runs
        The study.
    metric : Metric
        The metric.

    Returns
    -------
    bool
    """
    try:
        measured = measure(runs, metric)
    except Exception:
        return False
    usable = measured.usable
    return bool((measured.has_data & usable).any() and (measured.in_table & usable).any())


def first_metrics(runs: Runs) -> tuple[str, ...]:
    """Name the metrics to begin with: those with data whose runs belong together.

    Parameters
    ----------
    runs : Runs
        The study.

    Returns
    -------
    tuple of str
        Of :data:`FIRST`; over several numbers of sessions only the line through them belongs together.
    """
    chosen = [named(name) for name in FIRST]
    whole = [m for m in chosen if not any(runs.mixed(arm, but=m.across) for arm in runs.arms)]
    with_data = [m.name for m in whole if has_data(runs, m)]
    return tuple(with_data) or tuple(m.name for m in chosen if has_data(runs, m))
