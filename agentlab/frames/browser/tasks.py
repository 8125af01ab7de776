"""Rows of the table ``tasks``: what the page's main thread did, piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reading import Reading

if TYPE_CHECKING:
    from ..chrometrace import Slices, Trace
    from .evidence import PageEvidence

LONG_MS = 50.0


def build_tasks(read: Reading) -> list[dict[str, Any]]:
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
    page = read.page
    if page.trace is None:
        return []
    key = read.run.key()
    rows = _rows(page, page.trace, tasks_of(page.trace))
    return [{**key, "seq": seq, **row} for seq, row in enumerate(rows, 1)]


def tasks_of(trace: Trace) -> Slices:
    """Return the tasks of the page's main thread; of all threads where that one is unknown.

    Parameters
    ----------
    trace : Trace
        Any.

    Returns
    -------
    Slices
        In order of time.
    """
    tasks = trace.tasks if trace.page is None else trace.tasks.on(trace.page)
    return tasks.ordered()


def _rows(page: PageEvidence, trace: Trace, tasks: Slices) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    columns = (tasks.start_ns, tasks.duration_ns, tasks.cpu_ns, tasks.thread, tasks.open)
    for start, duration, cpu, place, is_open in zip(*(column.tolist() for column in columns), strict=True):
        thread = trace.threads[place]
        known = duration >= 0
        row = {
            "start_ns": start,
            **page.place(start),
            "duration_ms": duration / 1e6 if known else None,
            "cpu_ms": cpu / 1e6 if cpu >= 0 else None,
            "pid": thread.pid,
            "tid": thread.tid,
            "thread": thread.name,
            "is_page_main": None if trace.page is None else place == trace.page,
            "is_long": duration >= LONG_MS * 1e6 if known else None,
            "open": is_open,
            "reason": None if known else "task_open" if is_open else "negative_duration",
        }
        rows.append(row | _top(page, start, start + duration) if row["is_long"] else row)
    return rows


def _top(page: PageEvidence, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Say what a long task was mostly spent on."""
    profile = page.page_profile
    found = None if profile is None else profile.top(begin_ns, end_ns)
    return {} if found is None else {"top_function": found[0], "top_ms": found[1]}
