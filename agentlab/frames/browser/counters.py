"""Rows of the table ``counters``: what the page held and had done over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..evidence import Event
from ..reading import Reading
from ..values import as_count, as_float, as_text

if TYPE_CHECKING:
    from .evidence import PageEvidence

_HELD = ("heap_bytes", "nodes", "documents", "listeners")
#: Field of a sample in seconds -> column in ms.
_TIMES = {
    "task_s": "task_ms",
    "script_s": "script_ms",
    "layout_s": "layout_ms",
    "style_s": "style_ms",
    "thread_s": "thread_cpu_ms",
    "process_s": "process_cpu_ms",
    "command_s": "command_ms",
}
#: Why a look got no answer, as the driver says it -> its code.
_GAPS = {"busy": "page_busy", "gone": "page_gone"}
_COUNTS = {"recalc_count": "n_recalcs", "layout_count": "n_layouts"}


def build_counters(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in order of time.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    page, key = read.page, read.run.key()
    rows = [*_traced(page), *_sampled(page)]
    rows.sort(key=lambda row: row["t_ns"])
    return [{**key, "seq": seq, **row} for seq, row in enumerate(rows, 1)]


def sample_columns(event: Event) -> dict[str, Any]:
    """Return the columns of a sample; times and counts since the page began.

    Parameters
    ----------
    event : Event
        ``page.sample`` or ``page.gc``; an empty one gives unknown values.

    Returns
    -------
    dict
        By column name.
    """
    return {
        **{name: as_count(event.get(name)) for name in _HELD},
        **{column: _in_ms(event.get(field)) for field, column in _TIMES.items()},
        **{column: as_count(event.get(field)) for field, column in _COUNTS.items()},
    }


def _in_ms(seconds: object) -> float | None:
    value = as_float(seconds)
    return None if value is None else value * 1000


def _traced(page: PageEvidence) -> list[dict[str, Any]]:
    trace = page.trace
    if trace is None or trace.page is None:
        return []
    return [
        {
            "source": "trace",
            "t_ns": counter.t_ns,
            **page.place(counter.t_ns),
            **{name: getattr(counter, name) for name in _HELD},
        }
        for counter in trace.counters
        if counter.thread == trace.page
    ]


def _sampled(page: PageEvidence) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for source in ("sample", "gc", "gap"):
        for event in page.all(source):
            row = {"source": source, "t_ns": event["t"], **page.place(event["t"])}
            if source == "gap":
                row["reason"] = _GAPS.get(as_text(event.get("reason")) or "")
            rows.append(row | sample_columns(event))
    return rows
