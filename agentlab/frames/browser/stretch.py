"""What the page's main thread did while the answer streamed: tasks, long ones, time that was blocked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .original import nearest_rank
from .tasks import LONG_MS

if TYPE_CHECKING:
    from ..chrometrace import Slices
    from .evidence import PageEvidence
    from .window import Window


def stretch_columns(page: PageEvidence) -> dict[str, Any]:
    """Return the numbers of tasks, of those that began in the stream.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    dict
        By column name; ``trace_reason`` says why they are unknown.
    """
    trace, window = page.trace, page.window
    reason = page.trace_reason or ("no_window" if window is None else None)
    if reason or trace is None or trace.page is None or window is None:
        return {"trace_reason": reason}
    tasks = trace.tasks.on(trace.page)
    inside = (tasks.start_ns >= window.begin_ns) & (tasks.start_ns < window.stream_end_ns)
    tasks = tasks.where(inside)
    return {
        "n_open_tasks": int(tasks.open.sum()),
        "n_negative_tasks": int(tasks.negative.sum()),
        **_wall(tasks.where(tasks.duration_ns >= 0)),
        **_cpu(tasks),
        **_shares(trace.tasks.on(trace.page).ordered(), window),
    }


def _wall(tasks: Slices) -> dict[str, Any]:
    lengths = sorted((tasks.duration_ns / 1e6).tolist())
    long = [length for length in lengths if length >= LONG_MS]
    return {
        "n_tasks": len(lengths),
        "n_long_tasks": len(long),
        "long_total_ms": float(sum(long)),
        "longest_ms": lengths[-1] if lengths else None,
        "tbt_ms": float(sum(length - LONG_MS for length in long)),
        "task_p95_ms": nearest_rank(lengths, 0.95),
        "task_p99_ms": nearest_rank(lengths, 0.99),
    }


def _cpu(tasks: Slices) -> dict[str, Any]:
    """Return what of it was work: on a busy machine a long task may be one that waits for a processor."""
    known = tasks.where((tasks.cpu_ns >= 0) & (tasks.duration_ns >= 0))
    if not len(known):
        return {}
    wall, cpu = int(known.duration_ns.sum()), known.cpu_ns / 1e6
    return {
        "n_long_tasks_cpu": int((cpu >= LONG_MS).sum()),
        "longest_cpu_ms": float(cpu.max()),
        "task_cpu_ms": float(cpu.sum()),
        "cpu_share": float(cpu.sum()) * 1e6 / wall if wall else None,
    }


def _shares(tasks: Slices, window: Window) -> dict[str, Any]:
    """Return how much of the stream was in tasks, and in long ones; one inside another counts once."""
    usable = tasks.where(tasks.duration_ns >= 0)
    long = usable.where(usable.duration_ns >= LONG_MS * 1e6)
    busy_ns, blocked_ns = _covered_ns(usable, window), _covered_ns(long, window)
    length = window.stream_end_ns - window.begin_ns
    return {
        "busy_s": busy_ns / 1e9,
        "busy_share": busy_ns / length,
        "blocked_s": blocked_ns / 1e9,
        "blocked_share": blocked_ns / length,
    }


def _covered_ns(tasks: Slices, window: Window) -> int:
    covered, reached = 0, window.begin_ns
    for start, duration in zip(tasks.start_ns.tolist(), tasks.duration_ns.tolist(), strict=True):
        end = min(start + duration, window.stream_end_ns)
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered
