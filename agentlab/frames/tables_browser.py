"""The tables of a page in a browser: tasks, frames, input, events by name, counters, code."""

from __future__ import annotations

from .chrometrace import TASK_COLUMNS
from .columns import EVENTS_FILE as _E
from .columns import KEY
from .schema import Column, Table

_T, _P = "trace.json.gz", "cpu.cpuprofile.gz"
_FEEL = "trace: EventTiming, or events.jsonl page.input"

#: Where in the measured window something is.
_PLACE = (
    Column("t_ms", "Float64", "Since the window's begin, directly before the prompt.", source="page.window"),
    Column(
        "phase",
        "string",
        "before, stream (prompt to the last turn's idle), tail, after; NA: no window is known.",
        source="page.window",
    ),
)
_SEQ = Column("seq", "Int64", "1-based inside its run, in order of time.")

TASKS = Table(
    name="tasks",
    grain="task of the page's main thread",
    key=("seq",),
    columns=(
        *KEY,
        _SEQ,
        *_PLACE,
        *TASK_COLUMNS,
        Column("top_ms", "Float64", "Time of that function in it; long tasks only.", source=_P),
    ),
)

FRAMES = Table(
    name="frames",
    grain="frame that the browser was asked for in the page",
    key=("seq",),
    columns=(
        *KEY,
        _SEQ,
        Column("begin_ns", "Int64", "Begin, CLOCK_MONOTONIC.", source=f"{_T} PipelineReporter"),
        *_PLACE,
        Column("shown_ms", "Float64", "Until something of it was on the screen; NA: nothing.", source=_T),
        Column("whole_ms", "Float64", "Until all of it was; NA: never.", source=_T),
        Column(
            "state",
            "string",
            "presented; late: first without the main thread's part, which came later; partial: only without; "
            "dropped; no_update: nothing was to be shown.",
            source=_T,
        ),
        Column("shown", "boolean", "Not dropped; NA where `reason` says why.", source="state"),
        Column("dropped", "boolean", "dropped; likewise.", source="state"),
        Column("affects_smoothness", "boolean", "Of an animation or scrolling.", source=_T),
        Column("has_missing_content", "boolean", "Parts were not drawn in time.", source=_T),
        Column("frame_sequence", "Int64", "The browser's number.", source=_T),
        Column("n_reports", "Int64", "Reports of the browser on it: two where the compositor went ahead."),
        Column("reason", "string", "Why it counts neither as shown nor as dropped, see the codes below."),
    ),
)

ANIMATION_FRAMES = Table(
    name="animation_frames",
    grain="animation frame of the page",
    key=("seq",),
    columns=(
        *KEY,
        _SEQ,
        Column("source", "string", "trace (all of them), page (the page's own report: long ones only)."),
        Column("begin_ns", "Int64", "Begin, CLOCK_MONOTONIC.", source=f"{_T} AnimationFrame"),
        *_PLACE,
        Column("duration_ms", "Float64", "Until what it shows was handed over.", source=_T),
        Column("blocking_ms", "Float64", "Part of it in which input would have waited.", source=_T),
        Column("is_long", "boolean", "50 ms or longer.", source="duration_ms"),
        Column("n_scripts", "Int64", "Scripts that ran 5 ms or longer in it.", source=_T),
        Column("script_ms", "Float64", "Sum of their time.", source=f"{_T} AnimationFrame::Script::Execute"),
        Column("render_ms", "Float64", "Begin to the begin of rendering.", source=_T),
        Column("style_layout_ms", "Float64", "Begin to style and layout.", source=_T),
        Column("presentation_ms", "Float64", "Begin to the moment it was on the screen.", source=_T),
        Column("top_script", "string", "Who called its longest script, and where that stands.", source=_T),
        Column("top_script_ms", "Float64", "Its time.", source=_T),
    ),
)

ANIMATION_SCRIPTS = Table(
    name="animation_scripts",
    grain="script in an animation frame",
    key=("frame", "seq"),
    columns=(
        *KEY,
        Column("frame", "Int64", "Row of animation_frames.", source="animation_frames"),
        Column("seq", "Int64", "1-based inside its frame."),
        Column("begin_ns", "Int64", "CLOCK_MONOTONIC.", source=f"{_T} AnimationFrame::Script::Execute"),
        *_PLACE,
        Column("duration_ms", "Float64", "How long it ran.", source=_T),
        Column("invoker_type", "string", "USER_CALLBACK, EVENT_HANDLER, PROMISE_RESOLVE ...", source=_T),
        Column("invoker", "string", "Who called it, e.g. Window.setTimeout.", source=_T),
        Column("function", "string", "Name of the function; NA: none.", source=_T),
        Column("url", "string", "Last part of the script's address.", source=_T),
        Column("position", "Int64", "Character in the script.", source=_T),
        Column("style_ms", "Float64", "Style that it forced.", source=_T),
        Column("layout_ms", "Float64", "Layout that it forced.", source=_T),
        Column("pause_ms", "Float64", "Time in which it was stopped, e.g. by a dialog.", source=_T),
    ),
)

INTERACTIONS = Table(
    name="interactions",
    grain="key or click, with all events of it",
    key=("seq",),
    columns=(
        *KEY,
        _SEQ,
        Column("source", "string", "trace, page (durations are multiples of 8 ms)."),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC of its first event.", source=_FEEL),
        *_PLACE,
        Column("interaction_id", "Int64", "The browser's number.", source=_FEEL),
        Column("type", "string", "Its longest event, e.g. keydown.", source=_FEEL),
        Column("n_events", "Int64", "Events of that number.", source=_FEEL),
        Column("duration_ms", "Float64", "Of its longest event: input to the next paint.", source=_FEEL),
        Column("input_delay_ms", "Float64", "Until the page began with it.", source=_FEEL),
        Column("processing_ms", "Float64", "What the page did.", source=_FEEL),
        Column("presentation_ms", "Float64", "From there to the paint.", source=_FEEL),
    ),
)

LAYOUT_SHIFTS = Table(
    name="layout_shifts",
    grain="layout shift of the page",
    key=("seq",),
    columns=(
        *KEY,
        _SEQ,
        Column("source", "string", "trace, page."),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source=f"{_T} LayoutShift, {_E} page.shift"),
        *_PLACE,
        Column("score", "Float64", "Its part of the cumulative layout shift.", source=_T),
        Column("had_recent_input", "boolean", "Within 0.5 s of input: expected, in no sum.", source=_T),
    ),
)

PAGE_EVENTS = Table(
    name="page_events",
    grain="kind of event on the page's main thread",
    key=("name",),
    columns=(
        *KEY,
        Column("name", "string", "As Chromium calls it, e.g. Layout.", source=_T),
        Column("n", "Int64", "How many began in the stream; NA: the page or the window is unknown."),
        Column("total_ms", "Float64", "Their time; what lies inside one counts for both.", source=_T),
        Column("self_ms", "Float64", "Without what lies inside: sums to busy time over all.", source=_T),
        Column("max_ms", "Float64", "The longest.", source=_T),
        Column("original_n", "Int64", "All threads, whole trace; NA for what was not listed.", source=_T),
        Column("original_total_ms", "Float64", "Likewise, with what lies inside.", source=_T),
        Column("original_max_ms", "Float64", "Likewise.", source=_T),
    ),
)

_COUNTED = f"{_T} UpdateCounters, {_E} page.sample"

COUNTERS = Table(
    name="counters",
    grain="look at what the page held",
    key=("seq",),
    columns=(
        *KEY,
        _SEQ,
        Column(
            "source",
            "string",
            "trace (with each change), sample (1 s), gc (after a forced collection), gap (no answer).",
        ),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source=_COUNTED),
        *_PLACE,
        Column("heap_bytes", "Int64", "JavaScript heap in use.", source=_COUNTED),
        Column("nodes", "Int64", "Nodes of documents, those that wait for collection too.", source=_COUNTED),
        Column("documents", "Int64", "Documents, likewise.", source=_COUNTED),
        Column("listeners", "Int64", "Event listeners.", source=_COUNTED),
        *(
            Column(name, "Float64", f"{what}, since the page began.", source=f"{_E} page.sample")
            for name, what in (
                ("task_ms", "Time in tasks"),
                ("script_ms", "Time in scripts"),
                ("layout_ms", "Time in layout"),
                ("style_ms", "Time in style"),
                ("thread_cpu_ms", "CPU time of the main thread"),
                ("process_cpu_ms", "CPU time of the renderer"),
                ("command_ms", "Time in our own commands"),
            )
        ),
        Column("n_recalcs", "Int64", "Style recalculations, likewise.", source=f"{_E} page.sample"),
        Column("n_layouts", "Int64", "Layouts, likewise.", source=f"{_E} page.sample"),
        Column("reason", "string", "Why there is a gap: page_busy, page_gone.", source=f"{_E} page.gap"),
    ),
)

CPU = Table(
    name="cpu",
    grain="function in a CPU profile",
    key=("profile", "seq"),
    columns=(
        *KEY,
        Column("profile", "string", "page (its main thread), worker 1, ..."),
        Column("seq", "Int64", "1-based inside its profile: most time of its own first."),
        Column("function", "string", "Its name.", source=_P),
        Column("url", "string", "Last part of the script's address.", source=_P),
        Column("line", "Int64", "1-based.", source=_P),
        Column("column", "Int64", "1-based; tells functions of a minified line apart.", source=_P),
        Column("label", "string", "All of it in one.", source=_P),
        Column("kind", "string", "js, gc, program (the browser's own), idle.", source=_P),
        Column("self_ms", "Float64", "Time of its own: each sample's until the next one.", source=_P),
        Column("total_ms", "Float64", "With what it called.", source=_P),
        Column("n_samples", "Int64", "Samples of it.", source=_P),
        Column("share", "Float64", "Of all time that was not idle; NA for idle.", source=_P),
    ),
)

CALLSITES = Table(
    name="callsites",
    grain="place that asked for callbacks, or counter, of the page",
    key=("kind", "seq"),
    columns=(
        *KEY,
        Column(
            "kind", "string", "site (of a timer, frame or observer), counter (of the probe), app (its own)."
        ),
        Column("seq", "Int64", "1-based inside its kind: most time first."),
        Column("name", "string", "Place, or name of the counter.", source=f"{_E} page.probe"),
        Column("calls", "Int64", "Callbacks, or the count.", source=f"{_E} page.probe"),
        Column("total_ms", "Float64", "Their time; without the probe's own.", source=f"{_E} page.probe"),
        Column("max_ms", "Float64", "The longest.", source=f"{_E} page.probe"),
    ),
)

#: Of tasks, frames and what lies below them.
BROWSER = (
    TASKS,
    FRAMES,
    ANIMATION_FRAMES,
    ANIMATION_SCRIPTS,
    INTERACTIONS,
    LAYOUT_SHIFTS,
    PAGE_EVENTS,
    COUNTERS,
    CPU,
    CALLSITES,
)
