"""A page in a browser in a report: the numbers of each arm in both readings, and the figures."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..plots import words
from .blocks import Block, heading, never_fails, sentences, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..recording import Recordings
    from ..stats.metrics import Metric

_UNKNOWN = "-"
#: A share of CPU time below this says that tasks waited.
_WAITING = 0.7

#: row of the original's report -> column of `page` in which the page's own reading stands, and its scale
_OWN: dict[str, tuple[str, float]] = {
    "longTaskCount": ("n_long_tasks", 1.0),
    "longestTaskMs": ("longest_ms", 1.0),
    "taskP95Ms": ("task_p95_ms", 1.0),
    "taskP99Ms": ("task_p99_ms", 1.0),
    "blockedPercent": ("blocked_share", 0.01),
    "mainThreadBusyPercent": ("busy_share", 0.01),
    "recalcStylePerSecond": ("recalcs_per_second", 1.0),
    "layoutsPerSecond": ("layouts_per_second", 1.0),
    "framesPerSecond": ("frames_per_second", 1.0),
    "streamSeconds": ("stream_s", 1.0),
    "nodeGrowth": ("node_growth_kept", 1.0),
    "listenerGrowth": ("listener_growth_kept", 1.0),
    "heapMaxMb": ("heap_max_bytes", float(1 << 20)),
}


def shows_page(recs: Recordings) -> bool:
    """Say whether a page in a browser was recorded in any run.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    bool
    """
    return len(recs.table("page")) > 0


def page_readings(recordings: Recordings) -> list[list[str]]:
    """Return the rows of the original's report in both readings, means of the runs of each arm.

    Parameters
    ----------
    recordings : Recordings
        What was recorded.

    Returns
    -------
    list of list of str
        With a head; ``-`` where nothing is known.
    """
    from ..stats.metrics import PAGE_REPORT

    own = {metric.name: made for metric in PAGE_REPORT if (made := _own(metric)) is not None}
    levels = _levels(recordings, [*PAGE_REPORT, *own.values()])
    heads = ["metric", "unit", *(f"{arm}: page" for arm in recordings.arms)]
    rows = [[*heads, *(f"{arm}: original" for arm in recordings.arms)]]
    for metric in PAGE_REPORT:
        names = [own[metric.name].name if metric.name in own else None, metric.name]
        values = [levels.get((arm, name)) for name in names for arm in recordings.arms]
        shown = [_UNKNOWN if value is None else words.value(value) for value in values]
        rows.append([metric.name, metric.unit, *shown])
    return rows


def _own(metric: Metric) -> Metric | None:
    if metric.name not in _OWN:
        return None
    column, scale = _OWN[metric.name]
    return dataclasses.replace(metric, name=f"{metric.name} of the page", column=column, scale=scale)


def _levels(recordings: Recordings, chosen: list[Metric]) -> dict[Any, float]:
    from ..errors import UnstableWarning
    from ..stats.compare import compare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # of intervals, which are not shown
        found = compare(recordings, *chosen, n_resamples=100)
    levels = found[found["kind"] == "level"].set_index(["arm", "metric"])["estimate"].dropna()
    return {key: float(value) for key, value in levels.to_dict().items()}


@never_fails
def page(recs: Recordings) -> Block:
    """Show what the page did in both readings, under a heading; nothing without a page.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    if not shows_page(recs):
        return sentences([])
    head, *rows = page_readings(recs)
    notes = [
        "Means of the runs. page: the page's main thread while the answer streams, frames that were shown, "
        "what a forced collection left. original: the older script's definitions, all threads of all "
        "processes and the whole trace, for comparison with its numbers.",
        *_waiting(recs),
    ]
    shown = table(head, rows, right=tuple(range(2, len(head))), notes=notes)
    return heading("The page", level=2) + shown


def _waiting(recs: Recordings) -> list[str]:
    """Say where tasks waited for a processor: their wall time then measures the neighbours too."""
    pages = recs.table("page")
    used = pages[pages["eligible"].fillna(value=False) & pages["cpu_share"].notna()]
    shares = {str(arm): float(own.median()) for arm, own in used.groupby("arm", sort=False)["cpu_share"]}
    low = [f"{arm} {share:.2f}" for arm, share in shares.items() if share < _WAITING]
    if not low:
        return []
    return [
        f"CPU time in the time of tasks, median of the runs: {', '.join(low)}. The rest was waiting for a "
        "processor, so that wall times of tasks are those of a busy machine."
    ]


def page_figures(recs: Recordings) -> Iterator[Axes]:
    """Draw long tasks, frames, and where a sampler ran the CPU time by function.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Yields
    ------
    matplotlib.axes.Axes
    """
    from ..plots.cpu import plot_cpu
    from ..plots.frames import plot_frames
    from ..plots.long_tasks import plot_long_tasks

    for name, draw in (("tasks", plot_long_tasks), ("frames", plot_frames), ("cpu", plot_cpu)):
        if len(recs.table(name)):
            yield draw(recs)
