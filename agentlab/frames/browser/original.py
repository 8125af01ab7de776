"""What the original script would have said of a run, by its own definitions, to compare with old numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from .cpu import counters_of
from .samples import Samples

if TYPE_CHECKING:
    from .evidence import PageEvidence


def original_columns(page: PageEvidence, samples: Samples) -> dict[str, Any]:
    """Return the readings of the original, column by column.

    Parameters
    ----------
    page : PageEvidence
        The page.
    samples : Samples
        What the browser counted.

    Returns
    -------
    dict
        By column name.
    """
    window = page.window
    elapsed_s = None if window is None else window.recorded_s
    return {
        **_tasks(page, elapsed_s),
        "original_busy_pct": _per(samples.grown("task_ms"), elapsed_s, 0.1),
        "original_recalcs_per_second": _per(samples.grown("n_recalcs"), elapsed_s),
        "original_layouts_per_second": _per(samples.grown("n_layouts"), elapsed_s),
        "original_raf_per_second": _per(counters_of(page).get("rafScheduled"), elapsed_s),
        "original_stream_s": None if window is None or window.source != "marks" else window.stream_s,
        "original_node_growth": samples.grown("nodes"),
        "original_listener_growth": samples.grown("listeners"),
        "original_heap_bytes_per_second": _heap_rate(samples),
        "original_heap_max_bytes": max(samples.running("heap_bytes"), default=None),
    }


def _tasks(page: PageEvidence, elapsed_s: float | None) -> dict[str, Any]:
    """Count the tasks of all threads of all processes, over the whole trace."""
    trace = page.trace
    if trace is None or page.trace_reason in ("trace_data_loss", "trace_incomplete"):
        return {}
    tasks = trace.tasks
    lengths = sorted((tasks.duration_ns[tasks.duration_ns > 0] / 1e6).tolist())
    if not lengths:
        return {}
    long = [length for length in lengths if length >= 50]
    return {
        "original_tasks": len(lengths),
        "original_long_tasks": len(long),
        "original_long_total_ms": sum(long),
        "original_longest_ms": lengths[-1],
        "original_task_p95_ms": nearest_rank(lengths, 0.95),
        "original_task_p99_ms": nearest_rank(lengths, 0.99),
        "original_blocked_pct": _per(sum(long), elapsed_s, 0.1),
    }


def nearest_rank(ordered: Sequence[float], p: float) -> float | None:
    """Return an observed quantile.

    Parameters
    ----------
    ordered : sequence of float
        In order.
    p : float
        0 < p < 1.

    Returns
    -------
    float or None
        None when there is nothing.

    Examples
    --------
    >>> nearest_rank([10.0, 20.0], 0.5)
    10.0
    """
    return ordered[min(len(ordered) - 1, ceil(p * len(ordered)) - 1)] if ordered else None


def _per(part: float | None, whole: float | None, scale: float = 1.0) -> float | None:
    return None if part is None or not whole else scale * part / whole


def _heap_rate(samples: Samples) -> float | None:
    """Return the slope of the heap over time by least squares, bytes per second."""
    points = [(at / 1e9, float(heap)) for at, heap in samples.points("heap_bytes")]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else None
