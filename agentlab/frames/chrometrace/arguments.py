"""The arguments of events, as Chromium writes them; what is missing is None."""

from __future__ import annotations

import msgspec

#: Integers too: in a trace either may stand where a number is meant.
Number = int | float | None


class Reporter(msgspec.Struct):
    """What a frame's reporter says."""

    state: str | None = None
    affects_smoothness: bool | None = None
    has_missing_content: bool | None = None
    frame_sequence: Number = None
    frame_source: Number = None
    scroll_state: str | None = None


class FrameArgs(msgspec.Struct):
    """Of PipelineReporter; the second name is of an older Chrome."""

    frame_reporter: Reporter | None = None
    chrome_frame_reporter: Reporter | None = None


class TimingInfo(msgspec.Struct):
    """Of AnimationFrame."""

    duration_ms: Number = None
    blocking_duration_ms: Number = None
    num_scripts: Number = None


class ScriptInfo(msgspec.Struct):
    """Of AnimationFrame::Script::Execute."""

    invoker_type: str | None = None
    class_like_name: str | None = None
    property_like_name: str | None = None
    source_location_url: str | None = None
    source_location_function_name: str | None = None
    source_location_char_position: Number = None
    style_duration_ms: Number = None
    layout_duration_ms: Number = None
    pause_duration_ms: Number = None


class AnimationArgs(msgspec.Struct):
    """Of an animation frame and its stages."""

    id: str | int | None = None
    animation_frame_timing_info: TimingInfo | None = None
    animation_frame_script_timing_info: ScriptInfo | None = None


class InputData(msgspec.Struct):
    """Of EventTiming."""

    type: str | None = None
    interactionId: Number = None
    duration: Number = None
    timeStamp: Number = None
    processingStart: Number = None
    processingEnd: Number = None
    commitFinishTime: Number = None


class ShiftData(msgspec.Struct):
    """Of LayoutShift."""

    score: Number = None
    weighted_score_delta: Number = None
    cumulative_score: Number = None
    had_recent_input: bool | None = None
    is_main_frame: bool | None = None


class CounterData(msgspec.Struct):
    """Of UpdateCounters."""

    jsHeapSizeUsed: Number = None
    nodes: Number = None
    documents: Number = None
    jsEventListeners: Number = None


class MarkData(msgspec.Struct):
    """Of a mark."""

    startTime: Number = None


class InputArgs(msgspec.Struct):
    """Around InputData."""

    data: InputData = msgspec.field(default_factory=InputData)


class ShiftArgs(msgspec.Struct):
    """Around ShiftData."""

    data: ShiftData = msgspec.field(default_factory=ShiftData)


class CounterArgs(msgspec.Struct):
    """Around CounterData."""

    data: CounterData = msgspec.field(default_factory=CounterData)


class MarkArgs(msgspec.Struct):
    """Around MarkData."""

    data: MarkData = msgspec.field(default_factory=MarkData)
