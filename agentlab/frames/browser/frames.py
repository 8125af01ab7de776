"""Rows of the tables of frames: ``frames``, ``animation_frames``, ``animation_scripts``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..reading import Reading
from ..values import as_float, as_int, ms
from .tasks import LONG_MS

if TYPE_CHECKING:
    from ..chrometrace import AnimationFrame, Frame, Script
    from .evidence import PageEvidence

#: State of a frame as Chromium spells it -> as it is called here.
STATES = {
    "PRESENTED_ALL": "presented",
    "PRESENTED_PARTIAL": "partial",
    "DROPPED": "dropped",
    "NO_UPDATE_DESIRED": "no_update",
}


def build_frames(read: Reading) -> list[dict[str, Any]]:
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
    return [
        {
            **key,
            "seq": seq,
            "begin_ns": frame.begin_ns,
            **page.place(frame.begin_ns),
            "duration_ms": ms(frame.end_ns, frame.begin_ns),
            **_outcome(frame, page.frames_reason),
            "affects_smoothness": frame.affects_smoothness,
            "has_missing_content": frame.has_missing_content,
            "frame_sequence": frame.frame_sequence,
        }
        for seq, frame in enumerate(frames_of(page), 1)
    ]


def frames_of(page: PageEvidence) -> Sequence[Frame]:
    """Return the frames of the page's own renderer.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    sequence of Frame
        Empty where its main thread is unknown: frames of the browser's interface are no frames of the page.
    """
    trace = page.trace
    if trace is None or trace.page is None:
        return ()
    pid = trace.threads[trace.page].pid
    return [frame for frame in trace.frames if frame.pid == pid]


def _outcome(frame: Frame, reason: str | None) -> dict[str, Any]:
    state = STATES.get(frame.state or "")
    if reason is None and state is None:
        reason = "state_unknown"
    wanted = reason is None and state != "no_update"
    return {
        "state": state,
        "shown": state in ("presented", "partial") if wanted else None,
        "dropped": state == "dropped" if wanted else None,
        "reason": reason or ("no_update" if state == "no_update" else None),
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
    page, key = read.page, read.run.key()
    rows = [_traced(page, frame) for frame in animation_frames_of(page)] or _told(page)
    return [{**key, "seq": seq, **row} for seq, row in enumerate(rows, 1)]


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
        for number, frame in enumerate(animation_frames_of(page), 1)
        for seq, script in enumerate(frame.scripts, 1)
    ]


def animation_frames_of(page: PageEvidence) -> Sequence[AnimationFrame]:
    """Return the animation frames on the page's main thread.

    Parameters
    ----------
    page : PageEvidence
        The page.

    Returns
    -------
    sequence of AnimationFrame
    """
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


def _told(page: PageEvidence) -> list[dict[str, Any]]:
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
