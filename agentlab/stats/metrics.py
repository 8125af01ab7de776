"""The named metrics; those of a page in a browser are defined in :mod:`agentlab.stats.metrics_page`.

Importing this module loads neither numpy nor pandas.
"""

from __future__ import annotations

import dataclasses

from ..errors import ConfigError, did_you_mean
from . import metrics_page
from .metric import Interval as Interval
from .metric import Metric
from .metrics_page import (
    BLOCKED,
    BUSY,
    DOM_LAG,
    DROPPED_FRAMES,
    FRAME_RATE,
    HEAP_GROWTH,
    INP,
    LAYOUT_SHIFT,
    LONG_TASKS,
    LONG_TASKS_CPU,
    LONGEST_TASK,
    MAIN_CPU,
    MAIN_CPU_PER_TOKEN,
    NODE_GROWTH,
    PAGE_REPORT,
    PAINT_LAG,
    RENDERER_CPU,
    RENDERER_CPU_PER_TOKEN,
    TBT,
)

__all__ = [
    "ANON_TOTAL",
    "ANSWERED",
    "BLOCKED",
    "BUSY",
    "CACHE_HIT_RATE",
    "CACHE_REPORT",
    "CHARGED",
    "COST",
    "DOM_LAG",
    "DROPPED_FRAMES",
    "EXEC_DELAY",
    "EXEC_LOST",
    "EXEC_REPORT",
    "EXEC_SURVIVORS",
    "FILE_TOTAL",
    "FIRST_INPUT",
    "FIRST_INPUT_CPU",
    "FIRST_REQUEST",
    "FRAME_RATE",
    "HEAP_GROWTH",
    "INP",
    "INPUT_TOKENS",
    "ITL",
    "LAYOUT_SHIFT",
    "LONGEST_TASK",
    "LONG_TASKS",
    "LONG_TASKS_CPU",
    "MAIN_CPU",
    "MAIN_CPU_PER_TOKEN",
    "MEM_INTERCEPT",
    "MEM_PEAK",
    "MEM_SLOPE",
    "NODE_GROWTH",
    "OUTPUT_TOKENS",
    "PAGE_REPORT",
    "PAINT",
    "PAINT_CPU",
    "PAINT_LAG",
    "PREFIX_LOST",
    "PREFIX_REUSE",
    "PSS_TOTAL",
    "RENDERER_CPU",
    "RENDERER_CPU_PER_TOKEN",
    "REQUESTS",
    "REQUEST_BYTES",
    "START_CPU",
    "TBT",
    "TOOL_FAILURES",
    "TTFT",
    "TURN_LATENCY",
    "ZERO_CACHE_RATE",
    "Metric",
    "named",
]

_MIB = 2.0**20

TTFT = Metric(
    name="TTFT", table="turns", column="ttft_ms", aggregate="median", unit="ms", better="lower",
    label="time to first token, median",
)  # fmt: skip
TURN_LATENCY = Metric(
    name="TURN_LATENCY", table="turns", column="latency_ms", aggregate="median", unit="ms", better="lower",
    label="turn latency, median",
)  # fmt: skip
ITL = Metric(
    name="ITL", table="requests", column="itl_ms", where={"chain": "main", "counted": True},
    aggregate="median", unit="ms", better="lower", label="time between output tokens, median",
)  # fmt: skip
CACHE_HIT_RATE = Metric(
    name="CACHE_HIT_RATE", table="requests", column="cache_read_tokens", of="input_total_tokens",
    where={"chain": "main", "counted": True}, aggregate="share", better="higher",
    label="cached share of input tokens",
)  # fmt: skip
ZERO_CACHE_RATE = Metric(
    name="ZERO_CACHE_RATE", table="requests", column="cache_read_tokens", equals=0, aggregate="share",
    where={"chain": "main", "counted": True}, better="lower", label="share of requests without cached tokens",
)  # fmt: skip
COST = Metric(
    name="COST", table="requests", column="cost_usd", where={"counted": True}, aggregate="sum", unit="USD",
    better="lower", label="cost per run",
)  # fmt: skip
CHARGED = Metric(
    name="CHARGED", table="requests", column="charged_usd", where={"counted": True}, aggregate="sum",
    unit="USD", better="lower", label="charged per run, kept reservations included",
)  # fmt: skip
REQUESTS = Metric(
    name="REQUESTS", table="requests", where={"counted": True}, aggregate="count", unit="requests",
    better="lower", label="model requests per run",
)  # fmt: skip
REQUEST_BYTES = Metric(
    name="REQUEST_BYTES", table="requests", column="body_bytes", where={"counted": True},
    aggregate="sum", unit="bytes", better="lower", label="bytes sent per run",
)  # fmt: skip
INPUT_TOKENS = Metric(
    name="INPUT_TOKENS", table="requests", column="input_total_tokens", where={"counted": True},
    aggregate="sum", unit="tokens", better="lower", label="input tokens per run",
)  # fmt: skip
OUTPUT_TOKENS = Metric(
    name="OUTPUT_TOKENS", table="requests", column="output_tokens", where={"counted": True},
    aggregate="sum", unit="tokens", label="output tokens per run",
)  # fmt: skip
PREFIX_REUSE = Metric(
    name="PREFIX_REUSE", table="requests", column="prefix_bytes", of="canonical_bytes", aggregate="share",
    where={"chain": "main", "counted": True, "chain_start": False}, better="higher",
    label="share of request bytes shared with the request before",
)  # fmt: skip
PREFIX_LOST = Metric(
    name="PREFIX_LOST", table="requests", column="lost_tokens",
    where={"chain": "main", "counted": True, "chain_start": False}, aggregate="sum", unit="tokens",
    better="lower",
    label="tokens of broken prefixes per run (estimate)",
)  # fmt: skip
TOOL_FAILURES = Metric(
    name="TOOL_FAILURES", table="tools", column="failed", equals=True, aggregate="share",
    better="lower", label="share of tool calls that failed",
)  # fmt: skip
ANSWERED = Metric(
    name="ANSWERED", table="runs", column="result", equals="answered", aggregate="share", better="higher",
    # budget, balance, stopped: ended from outside, so that what would have become of them is unknown
    among=("answered", "error", "limit", "timeout"), discarded=True,
    label="share of runs that were answered, discarded ones included",
)  # fmt: skip
START_CPU = Metric(
    name="START_CPU", table="runs", column="start_cpu_s", aggregate="mean", unit="s", better="lower",
    label="CPU time before the first request, mean",
)  # fmt: skip
FIRST_REQUEST = Metric(
    name="FIRST_REQUEST", table="runs", column="first_request_ms", aggregate="mean", unit="ms",
    better="lower", label="start to first request, mean",
)  # fmt: skip

PSS_TOTAL = Metric(
    name="PSS_TOTAL", table="memory", column="total_bytes", where={"settled": True}, aggregate="median",
    per_run=True, unit="MiB", scale=_MIB, better="lower", label="settled memory of a run (PSS + SwapPSS)",
)  # fmt: skip
ANON_TOTAL = Metric(
    name="ANON_TOTAL", table="memory", column="anon_bytes", where={"settled": True}, aggregate="median",
    per_run=True, unit="MiB", scale=_MIB, better="lower", label="settled anonymous memory of a run (PSS)",
)  # fmt: skip
FILE_TOTAL = Metric(
    name="FILE_TOTAL", table="memory", column="file_bytes", where={"settled": True}, aggregate="median",
    per_run=True, unit="MiB", scale=_MIB, better="lower", label="settled file memory of a run (PSS)",
)  # fmt: skip
MEM_PEAK = Metric(
    name="MEM_PEAK", table="memory", column="total_bytes", where={"lane": "slow"}, aggregate="max",
    unit="MiB", scale=_MIB, better="lower", label="largest sampled memory of a run (PSS + SwapPSS)",
)  # fmt: skip
MEM_SLOPE = Metric(
    name="MEM_SLOPE", table="memory", column="anon_bytes", of="n_sessions", where={"settled": True},
    aggregate="marginal", unit="MiB", scale=_MIB, better="lower",
    label="anonymous memory of each added session",
)  # fmt: skip
MEM_INTERCEPT = Metric(
    name="MEM_INTERCEPT", table="memory", column="file_bytes", of="n_sessions", where={"settled": True},
    aggregate="intercept", unit="MiB", scale=_MIB, better="lower",
    label="file memory that sessions share (intercept)",
)  # fmt: skip
PAINT = Metric(
    name="PAINT", table="sessions", column="paint_ms", aggregate="median", unit="ms", better="lower",
    label="start to first paint, median",
)  # fmt: skip
PAINT_CPU = Metric(
    name="PAINT_CPU", table="sessions", column="paint_cpu_s", aggregate="median", unit="s", better="lower",
    label="CPU time to first paint, median",
)  # fmt: skip
FIRST_INPUT = Metric(
    name="FIRST_INPUT", table="sessions", column="first_input_ms", aggregate="median", unit="ms",
    better="lower", label="start to first input on the screen, median",
)  # fmt: skip
FIRST_INPUT_CPU = Metric(
    name="FIRST_INPUT_CPU", table="sessions", column="first_input_cpu_s", aggregate="median", unit="s",
    better="lower", label="CPU time to first input on the screen, median",
)  # fmt: skip
EXEC_DELAY = Metric(
    name="EXEC_DELAY", table="exec", column="delay_ms", aggregate="median", unit="ms", better="lower",
    label="print to observation, median",
)  # fmt: skip
EXEC_LOST = Metric(
    name="EXEC_LOST", table="exec", column="lost_bytes", where={"op": "close"}, aggregate="sum",
    unit="bytes", better="lower", label="printed bytes that were lost, per run",
)  # fmt: skip
EXEC_REPORT = Metric(
    name="EXEC_REPORT", table="exec", column="end_delay_ms", where={"state": "exited"}, aggregate="median",
    unit="ms", better="lower", label="end of a command to its report, median",
)  # fmt: skip
EXEC_SURVIVORS = Metric(
    name="EXEC_SURVIVORS", table="exec", column="survivors", where={"op": "close"}, aggregate="sum",
    unit="processes", better="lower", label="processes alive after the close, per run",
)  # fmt: skip

#: The four numbers of a schema-2 cache report, defined and named as there.
CACHE_REPORT = (
    dataclasses.replace(ZERO_CACHE_RATE, name="zeroCacheMissRate"),
    dataclasses.replace(CACHE_HIT_RATE, name="cacheCoverage"),
    dataclasses.replace(TTFT, name="promptLoopTtftMsP50", quantile_method="nearest_rank"),
    dataclasses.replace(TURN_LATENCY, name="promptLoopLatencyMsP50", quantile_method="nearest_rank"),
)


def named(name: str) -> Metric:
    """Find a named metric.

    Parameters
    ----------
    name : str
        E.g. ``"TTFT"``, or one of the names in ``CACHE_REPORT`` and ``PAGE_REPORT``.

    Returns
    -------
    Metric

    Raises
    ------
    ConfigError
        There is none of that name; the message lists those that exist.

    Examples
    --------
    >>> named("TTFT").unit
    'ms'
    """
    if name not in _all():
        near = did_you_mean(name, names())
        raise ConfigError(f"there is no metric {name!r}; there are {', '.join(names())}{near}")
    return _all()[name]


def names() -> list[str]:
    """Return the names of all named metrics."""
    return list(_all())


def _all() -> dict[str, Metric]:
    single = [value for value in globals().values() if isinstance(value, Metric)]
    single.sort(key=lambda metric: hasattr(metrics_page, metric.name))  # those of pages come last
    return {metric.name: metric for metric in (*single, *CACHE_REPORT, *PAGE_REPORT)}
