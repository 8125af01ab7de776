"""Rows of a trace beside its slices: marks, frames, animation frames, input, shifts, counters."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple


class Mark(NamedTuple):
    """A ``performance.mark``: `page_ms` is the page's own clock at `t_ns`."""

    name: str
    t_ns: int
    thread: int
    page_ms: float | None


class Frame(NamedTuple):
    """A frame of the compositor (PipelineReporter).

    `state` is NO_UPDATE_DESIRED, PRESENTED_ALL, PRESENTED_PARTIAL or DROPPED; frames of the browser's own
    interface are in it too, so compare `pid` with the page's.
    """

    begin_ns: int
    end_ns: int | None
    pid: int | None
    state: str | None
    affects_smoothness: bool | None
    has_missing_content: bool | None
    frame_sequence: int | None
    frame_source: int | None
    scroll_state: str | None


class Script(NamedTuple):
    """A script inside an animation frame: who called it, where it stands, what it forced."""

    begin_ns: int
    end_ns: int | None
    invoker_type: str | None
    class_name: str | None
    property_name: str | None
    url: str | None
    function: str | None
    char_position: int | None
    style_ms: float | None
    layout_ms: float | None
    pause_ms: float | None


@dataclasses.dataclass(slots=True)
class AnimationFrame:
    """An animation frame of a page; stamps of its stages are None where it had none."""

    begin_ns: int
    end_ns: int | None
    thread: int
    duration_ms: float | None
    blocking_ms: float | None
    n_scripts: int | None
    render_ns: int | None = None
    style_layout_ns: int | None = None
    presentation_ns: int | None = None
    first_ui_event_ns: int | None = None
    scripts: tuple[Script, ...] = ()


class EventTiming(NamedTuple):
    """An input event as the page's timing tells it; ``*_ms`` but `duration_ms` are on the page's clock."""

    begin_ns: int
    end_ns: int | None
    thread: int
    type: str | None
    interaction_id: int | None
    duration_ms: float | None
    timestamp_ms: float | None
    processing_start_ms: float | None
    processing_end_ms: float | None
    commit_ms: float | None


class LayoutShift(NamedTuple):
    """A layout shift; `weighted` is its part of the cumulative score."""

    t_ns: int
    thread: int
    score: float | None
    weighted: float | None
    cumulative: float | None
    had_recent_input: bool | None
    is_main_frame: bool | None


class Counter(NamedTuple):
    """What a renderer held at a moment."""

    t_ns: int
    thread: int
    heap_bytes: int | None
    nodes: int | None
    documents: int | None
    listeners: int | None
