"""The named metrics of a page in a browser, and those of the original script under its own names.

They stand on the table ``page``: a run whose number is unknown there is counted as missing, never as 0.
"""

from __future__ import annotations

from typing import Literal

from .metric import Metric

_MIB = 2.0**20


def _of_runs(
    name: str,
    column: str,
    label: str,
    *,
    unit: str = "",
    scale: float = 1.0,
    better: Literal["lower", "higher"] | None = "lower",
) -> Metric:
    """Define the mean over runs of what the table ``page`` says of each."""
    return Metric(
        name=name, table="page", column=column, aggregate="mean", unit=unit, scale=scale, better=better,
        label=label,
    )  # fmt: skip


LONG_TASKS = _of_runs("LONG_TASKS", "n_long_tasks", "long tasks (50 ms) of a stream", unit="tasks")
LONG_TASKS_CPU = _of_runs(
    "LONG_TASKS_CPU", "n_long_tasks_cpu", "tasks with 50 ms of CPU time, of a stream", unit="tasks"
)
LONGEST_TASK = _of_runs("LONGEST_TASK", "longest_ms", "longest task of a stream", unit="ms")
TBT = _of_runs("TBT", "tbt_ms", "total blocking time of a stream", unit="ms")
BLOCKED = Metric(
    name="BLOCKED", table="page", column="blocked_s", of="stream_s", aggregate="share", better="lower",
    label="share of the stream in long tasks",
)  # fmt: skip
BUSY = Metric(
    name="BUSY", table="page", column="busy_s", of="stream_s", aggregate="share", better="lower",
    label="share of the stream in tasks",
)  # fmt: skip
FRAME_RATE = _of_runs(
    "FRAME_RATE", "frames_per_second", "frames shown while streaming", unit="1/s", better="higher"
)
INP = _of_runs("INP", "inp_ms", "interaction to next paint while streaming", unit="ms")
LAYOUT_SHIFT = _of_runs("LAYOUT_SHIFT", "layout_shift_score", "layout shift of a stream")
HEAP_GROWTH = _of_runs(
    "HEAP_GROWTH", "heap_growth_kept_bytes", "heap kept after a collection", unit="MiB", scale=_MIB
)
NODE_GROWTH = _of_runs("NODE_GROWTH", "node_growth_kept", "nodes kept after a collection", unit="nodes")
MAIN_CPU = _of_runs("MAIN_CPU", "main_cpu_ms", "CPU time of the page's main thread", unit="ms")
RENDERER_CPU = _of_runs("RENDERER_CPU", "renderer_cpu_ms", "CPU time of the page's renderer", unit="ms")
DROPPED_FRAMES = Metric(
    name="DROPPED_FRAMES", table="page", column="n_dropped", of="n_frames", aggregate="share",
    better="lower", label="share of frames that were dropped",
)  # fmt: skip
MAIN_CPU_PER_TOKEN = Metric(
    name="MAIN_CPU_PER_TOKEN", table="page", column="main_cpu_ms", of="output_tokens", aggregate="ratio",
    unit="ms", better="lower", label="main thread's CPU time for each token",
)  # fmt: skip
RENDERER_CPU_PER_TOKEN = Metric(
    name="RENDERER_CPU_PER_TOKEN", table="page", column="renderer_cpu_ms", of="output_tokens",
    aggregate="ratio", unit="ms", better="lower", label="renderer's CPU time for each token",
)  # fmt: skip
DOM_LAG = Metric(
    name="DOM_LAG", table="chunks", column="dom_lag_ms", where={"shown": True}, aggregate="median",
    unit="ms", better="lower", label="arrival of a piece to the page's document, median",
)  # fmt: skip
PAINT_LAG = Metric(
    name="PAINT_LAG", table="chunks", column="paint_lag_ms", where={"shown": True}, aggregate="median",
    unit="ms", better="lower", label="arrival of a piece to its paint, median",
)  # fmt: skip

#: The fourteen rows of the original's report, defined, named and ordered as there.
PAGE_REPORT = (
    _of_runs("longTaskCount", "original_long_tasks", "long tasks of all threads", unit="tasks"),
    _of_runs("longestTaskMs", "original_longest_ms", "longest task of all threads", unit="ms"),
    _of_runs("taskP95Ms", "original_task_p95_ms", "95th percentile of tasks of all threads", unit="ms"),
    _of_runs("taskP99Ms", "original_task_p99_ms", "99th percentile of tasks of all threads", unit="ms"),
    _of_runs("blockedPercent", "original_blocked_pct", "long tasks of all threads in the window", unit="%"),
    _of_runs("mainThreadBusyPercent", "original_busy_pct", "main thread in tasks", unit="%"),
    _of_runs("recalcStylePerSecond", "original_recalcs_per_second", "style recalculations", unit="1/s"),
    _of_runs("layoutsPerSecond", "original_layouts_per_second", "layouts", unit="1/s"),
    _of_runs(
        "framesPerSecond", "original_raf_per_second", "animation frames asked for", unit="1/s",
        better="higher",
    ),
    _of_runs("streamSeconds", "original_stream_s", "length of the stream", unit="s"),
    _of_runs("nodeGrowth", "original_node_growth", "growth of nodes, garbage too", unit="nodes"),
    _of_runs("listenerGrowth", "original_listener_growth", "growth of event listeners", unit="listeners"),
    _of_runs(
        "heapGrowthMbPerSecond", "original_heap_bytes_per_second", "slope of the heap", unit="MiB/s",
        scale=_MIB,
    ),
    _of_runs("heapMaxMb", "original_heap_max_bytes", "largest heap", unit="MiB", scale=_MIB),
)  # fmt: skip
