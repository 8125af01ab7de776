"""Rows of the tables ``interactions`` and ``layout_shifts``: what a user would have felt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..reading import Reading
from ..values import as_bool, as_float, as_int, as_text

if TYPE_CHECKING:
    from ..chrometrace import EventTiming
    from .evidence import PageEvidence


def build_interactions(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run: events of one id are one interaction, as long as its longest event.

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
    rows = interactions_of(page)
    return [{**key, "seq": seq, **row} for seq, row in enumerate(rows, 1)]


def interactions_of(page: PageEvidence) -> list[dict[str, Any]]:
    """Return what was typed or clicked: of the trace, else as the page told it.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    list of dict
        By column name, in order of time.
    """
    return _traced(page) or _told(page)


def _traced(page: PageEvidence) -> list[dict[str, Any]]:
    trace = page.trace
    if trace is None or trace.page is None:
        return []
    groups: dict[int, list[EventTiming]] = {}
    for event in trace.event_timings:
        if event.interaction_id and event.thread == trace.page:
            groups.setdefault(event.interaction_id, []).append(event)
    rows = [_interaction(page, number, events) for number, events in groups.items()]
    return sorted(rows, key=lambda row: row["t_ns"])


def _interaction(page: PageEvidence, number: int, events: list[EventTiming]) -> dict[str, Any]:
    longest = max(events, key=lambda event: event.duration_ms or 0.0)
    begin = min(event.begin_ns for event in events)
    delay = _less(longest.processing_start_ms, longest.timestamp_ms)
    processing = _less(longest.processing_end_ms, longest.processing_start_ms)
    rest = None if delay is None or processing is None else _less(longest.duration_ms, delay + processing)
    return {
        "source": "trace",
        "t_ns": begin,
        **page.place(begin),
        "interaction_id": number,
        "type": longest.type,
        "n_events": len(events),
        "duration_ms": longest.duration_ms,
        "input_delay_ms": delay,
        "processing_ms": processing,
        "presentation_ms": rest,
    }


def _less(later: float | None, earlier: float | None) -> float | None:
    return None if later is None or earlier is None else later - earlier


def _told(page: PageEvidence) -> list[dict[str, Any]]:
    groups: dict[int, list[tuple[int, str | None, float | None, float | None]]] = {}
    for event in page.all("input"):
        found = event.get("interactions")
        for row in found if isinstance(found, list) else []:
            values: list[Any] = [*row, *[None] * 5][:5] if isinstance(row, list) else [None] * 5
            t_ns, number = as_int(values[0]), as_int(values[2])
            if t_ns is not None and number:
                told = (t_ns, as_text(values[1]), as_float(values[3]), as_float(values[4]))
                groups.setdefault(number, []).append(told)
    rows: list[dict[str, Any]] = []
    for number, events in groups.items():
        _, kind, duration, processing = max(events, key=lambda one: one[2] or 0.0)
        begin = min(one[0] for one in events)
        rows.append(
            {
                "source": "page",
                "t_ns": begin,
                **page.place(begin),
                "interaction_id": number,
                "type": kind,
                "n_events": len(events),
                "duration_ms": duration,
                "processing_ms": processing,
            }
        )
    return sorted(rows, key=lambda row: row["t_ns"])


def build_layout_shifts(read: Reading) -> list[dict[str, Any]]:
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
    key = read.run.key()
    return [{**key, "seq": seq, **row} for seq, row in enumerate(shifts_of(read.page) or [], 1)]


def shifts_of(page: PageEvidence) -> list[dict[str, Any]] | None:
    """Return the layout shifts: of the trace, else as the page told them.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    list of dict or None
        By column name; None when nobody looked for them.
    """
    trace = page.trace
    rows: list[dict[str, Any]] = []
    if trace is not None and trace.page is not None:
        for shift in trace.layout_shifts:
            if shift.thread == trace.page:
                score = shift.score if shift.weighted is None else shift.weighted
                told = {"score": score, "had_recent_input": shift.had_recent_input}
                rows.append({"source": "trace", "t_ns": shift.t_ns, **page.place(shift.t_ns), **told})
    if rows:
        return rows
    for row in page.rows("shift"):
        t_ns, score, had_input = [*row, None, None, None][:3]
        if (at := as_int(t_ns)) is not None:
            told = {"score": as_float(score), "had_recent_input": as_bool(had_input)}
            rows.append({"source": "page", "t_ns": at, **page.place(at), **told})
    looked = bool(page.all("shift")) or "loading" in str(page.recorder.get("categories", ""))
    return rows if looked or rows else None
