"""Rows of the tables of frames: ``frames``, ``animation_frames``, ``animation_scripts``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..reading import Reading
from ..values import as_float, as_int, ms
from .tasks import LONG_MS

if TYPE_CHECKING:
    from ..chrometrace import AnimationFrame, Frame, Script
    from .evidence import PageEvidence

#: How the browser tells of a frame in which something was shown.
_SHOWN = ("PRESENTED_ALL", "PRESENTED_PARTIAL")
#: What became of a frame in which something was to be shown; the first three are shown.
WANTED = ("presented", "late", "partial", "dropped")


def build_frames(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in order of time.

    Where the main thread is not ready, the browser reports on a frame twice: on what the compositor showed
    without it, and on what came later. Both are one frame here, else more would be shown than the screen can.

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
    rows = [_frame(page, reports) for reports in _reports(page)]
    rows.sort(key=lambda row: row["begin_ns"])
    return [{**key, "seq": seq, **row} for seq, row in enumerate(rows, 1)]


def _reports(page: PageEvidence) -> Iterable[list[Frame]]:
    """Return what the page's own renderer was asked for, report by report, together for each frame.

    Nothing where its main thread is unknown: frames of the browser's interface are no frames of the page.
    """
    trace = page.trace
    if trace is None or trace.page is None:
        return ()
    pid = trace.threads[trace.page].pid
    frames: dict[tuple[object, ...], list[Frame]] = {}
    for at, report in enumerate(trace.frames):
        if report.pid == pid:
            number = report.frame_sequence
            name = (report.frame_source, number) if number is not None else (None, at)
            frames.setdefault(name, []).append(report)
    return frames.values()


def _frame(page: PageEvidence, reports: Sequence[Frame]) -> dict[str, Any]:
    begin = min(report.begin_ns for report in reports)
    shown = [r.end_ns for r in reports if r.state in _SHOWN and r.end_ns is not None]
    whole = [r.end_ns for r in reports if r.state == "PRESENTED_ALL" and r.end_ns is not None]
    return {
        "begin_ns": begin,
        **page.place(begin),
        "shown_ms": ms(min(shown, default=None), begin),
        "whole_ms": ms(min(whole, default=None), begin),
        **_outcome({report.state for report in reports}, page.frames_reason),
        "affects_smoothness": _any(report.affects_smoothness for report in reports),
        "has_missing_content": _any(report.has_missing_content for report in reports),
        "frame_sequence": reports[0].frame_sequence,
        "n_reports": len(reports),
    }


def _any(values: Iterable[bool | None]) -> bool | None:
    known = [value for value in values if value is not None]
    return any(known) if known else None


def _outcome(states: set[str | None], reason: str | None) -> dict[str, Any]:
    """Return the state of a frame, and whether it counts as shown or as dropped."""
    if "PRESENTED_ALL" in states:
        state = "late" if states & {"PRESENTED_PARTIAL", "DROPPED"} else "presented"
    elif "PRESENTED_PARTIAL" in states:
        state = "partial"
    elif "DROPPED" in states:
        state = "dropped"
    else:
        state = "no_update" if "NO_UPDATE_DESIRED" in states else None
    if reason is None and state not in WANTED:
        reason = state or "state_unknown"
    return {
        "state": state,
        "shown": state != "dropped" if reason is None else None,
        "dropped": state == "dropped" if reason is None else None,
        "reason": reason,
    }


def build_animation_frames(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in order of time: all of the trace, else the long ones that the page told.

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
    return [{**key, "seq": seq, **row} for seq, row in enumerate(animation_rows(read.page), 1)]


def animation_rows(page: PageEvidence) -> list[dict[str, Any]]:
    """Return the animation frames of the trace, else what the page told.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    list of dict
        By column name, in order of time.
    """
    return [_traced(page, frame) for frame in _animation_frames(page)] or told_frames(page)


def build_animation_scripts(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run: every script of every animation frame.

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
    return [
        {**key, "frame": number, "seq": seq, **_script(page, script)}
        for number, frame in enumerate(_animation_frames(page), 1)
        for seq, script in enumerate(frame.scripts, 1)
    ]


def _animation_frames(page: PageEvidence) -> Sequence[AnimationFrame]:
    """Return the animation frames on the page's main thread."""
    trace = page.trace
    if trace is None or trace.page is None:
        return ()
    return [frame for frame in trace.animation_frames if frame.thread == trace.page]


def _traced(page: PageEvidence, frame: AnimationFrame) -> dict[str, Any]:
    spent = [(_length(script), script) for script in frame.scripts]
    top = max(spent, key=lambda one: one[0] or 0.0, default=None)
    lengths = [length for length, _ in spent]
    known = [length for length in lengths if length is not None]
    return {
        "source": "trace",
        "begin_ns": frame.begin_ns,
        **page.place(frame.begin_ns),
        "duration_ms": frame.duration_ms,
        "blocking_ms": frame.blocking_ms,
        "is_long": None if frame.duration_ms is None else frame.duration_ms >= LONG_MS,
        "n_scripts": frame.n_scripts,
        "script_ms": sum(known) if len(known) == len(lengths) else None,
        "render_ms": ms(frame.render_ns, frame.begin_ns),
        "style_layout_ms": ms(frame.style_layout_ns, frame.begin_ns),
        "presentation_ms": ms(frame.presentation_ns, frame.begin_ns),
        "top_script": None if top is None else _label(top[1]),
        "top_script_ms": None if top is None else top[0],
    }


def told_frames(page: PageEvidence) -> list[dict[str, Any]]:
    """Return the long animation frames that the page told.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    list of dict
        By column name, in order of time.
    """
    rows: list[dict[str, Any]] = []
    for row in page.rows("frames"):
        begin, duration, blocking, render, script = [*row, *[None] * 5][:5]
        begin_ns = as_int(begin)
        if begin_ns is None:
            continue
        rows.append(
            {
                "source": "page",
                "begin_ns": begin_ns,
                **page.place(begin_ns),
                "duration_ms": as_float(duration),
                "blocking_ms": as_float(blocking),
                "is_long": True,  # the page tells of no others
                "script_ms": as_float(script),
                "render_ms": ms(as_int(render), begin_ns),
            }
        )
    return sorted(rows, key=lambda row: row["begin_ns"])


def _script(page: PageEvidence, script: Script) -> dict[str, Any]:
    return {
        "begin_ns": script.begin_ns,
        **page.place(script.begin_ns),
        "duration_ms": _length(script),
        "invoker_type": script.invoker_type,
        "invoker": _invoker(script),
        "function": script.function or None,
        "url": script.url or None,
        "position": script.char_position,
        "style_ms": script.style_ms,
        "layout_ms": script.layout_ms,
        "pause_ms": script.pause_ms,
    }


def _length(script: Script) -> float | None:
    return ms(script.end_ns, script.begin_ns)


def _invoker(script: Script) -> str | None:
    return ".".join(part for part in (script.class_name, script.property_name) if part) or None


def _label(script: Script) -> str | None:
    place = "" if not script.url else f" @ {script.url}:{script.char_position}"
    return (
        f"{_invoker(script) or script.invoker_type or '(unknown)'}: {script.function or '(anonymous)'}{place}"
    )
