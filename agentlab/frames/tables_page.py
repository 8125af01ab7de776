"""The table ``page``: one run's page in numbers, each beside what the original script would have said."""

from __future__ import annotations

from .columns import EVENTS_FILE as _E
from .columns import KEY
from .columns import RUN_FILE as _R
from .schema import Column, Table

_T, _P = "trace.json.gz", "cpu.cpuprofile.gz"
_S, _O = f"{_E} page.sample", f"{_E} page.open"

_SETUP = (
    Column("recorder", "string", "How the page was recorded, see runs.", source=f"{_R} identity"),
    Column("preset", "string", "Name of that.", source=_O),
    Column("sampling_us", "Int64", "Interval of CPU samples that was asked for, us; NA: none.", source=_O),
    Column("browser", "string", "Version of the browser.", source=_O),
    Column("headless", "boolean", "Without a window on a screen.", source=_O),
    Column("width", "Int64", "Of the page in CSS pixels.", source=_O),
    Column("height", "Int64", "Likewise.", source=_O),
    Column("service_worker", "string", "bypass, use.", source=_O),
    Column("loaded_ms", "Float64", "Navigation to the load event.", source=_O),
    Column("visibility", "string", "visible, hidden; looked at after the window.", source="page.liveness"),
    Column("gates_failed", "string", "Codes of what did not hold, comma-separated.", source="page.gate"),
)

_WINDOW = (
    Column("window_source", "string", "marks; trace: all of it, as no window is told.", source="page.window"),
    Column("begin_ns", "Int64", "Directly before the prompt, CLOCK_MONOTONIC.", source="page.window"),
    Column("stream_end_ns", "Int64", "Idle of the last turn; not reached: the end.", source="page.window"),
    Column(
        "end_ns", "Int64", "After the tail; what we did on the page lies behind it.", source="page.window"
    ),
    Column("stream_s", "Float64", "Begin to the end of the stream.", source="page.window"),
    Column("recorded_s", "Float64", "Begin to end.", source="page.window"),
)

_TASKS = (
    Column("trace_reason", "string", "Why numbers of tasks are NA, see the codes below."),
    Column("n_tasks", "Int64", "Tasks of the page's main thread that began in the stream.", source="tasks"),
    Column("n_open_tasks", "Int64", "Without an end; in no sum.", source="tasks"),
    Column("n_negative_tasks", "Int64", "With a negative duration; in no sum.", source="tasks"),
    Column("n_long_tasks", "Int64", "Of 50 ms or longer.", source="tasks"),
    Column("n_long_tasks_cpu", "Int64", "With 50 ms of CPU time or more.", source="tasks"),
    Column("long_total_ms", "Float64", "Sum of the long ones.", source="tasks"),
    Column("longest_ms", "Float64", "The longest.", source="tasks"),
    Column("longest_cpu_ms", "Float64", "Most CPU time of one.", source="tasks"),
    Column("tbt_ms", "Float64", "Total blocking time: what long ones have beyond 50 ms.", source="tasks"),
    Column("blocked_s", "Float64", "Time of the stream in long tasks.", source="tasks"),
    Column("blocked_share", "Float64", "Share of the stream in long tasks.", source="tasks"),
    Column("busy_s", "Float64", "Time of the stream in tasks.", source="tasks"),
    Column("busy_share", "Float64", "Share of the stream in tasks.", source="tasks"),
    Column("task_p95_ms", "Float64", "95th percentile of tasks, nearest rank.", source="tasks"),
    Column("task_p99_ms", "Float64", "99th percentile, likewise.", source="tasks"),
    Column("task_cpu_ms", "Float64", "CPU time in tasks.", source="tasks"),
    Column(
        "cpu_share",
        "Float64",
        "CPU time in the time of tasks; below about 0.7 they waited for a processor.",
        source="tasks",
    ),
)

_FRAMES = (
    Column("frames_reason", "string", "Why numbers of frames are NA, see the codes below."),
    Column("n_frames", "Int64", "Frames of the stream in which something was to be shown.", source="frames"),
    Column("n_presented", "Int64", "Shown whole at once.", source="frames"),
    Column("n_late", "Int64", "The main thread's part was shown later.", source="frames"),
    Column("n_partial", "Int64", "It was never shown.", source="frames"),
    Column("n_dropped", "Int64", "Not shown.", source="frames"),
    Column("dropped_share", "Float64", "n_dropped / n_frames.", source="frames"),
    Column("frames_per_second", "Float64", "Shown frames a second of the stream.", source="frames"),
    Column("n_long_frames", "Int64", "Animation frames of 50 ms or longer.", source="animation_frames"),
    Column("frame_blocking_ms", "Float64", "Sum of their blocking time.", source="animation_frames"),
    Column("n_layout_shifts", "Int64", "Without recent input, in the stream.", source="layout_shifts"),
    Column("layout_shift_score", "Float64", "Sum of their scores.", source="layout_shifts"),
    Column("n_interactions", "Int64", "Keys and clicks in the stream.", source="interactions"),
    Column(
        "inp_ms",
        "Float64",
        "Interaction to next paint: the longest, one in each fifty left out.",
        source="interactions",
    ),
    Column("inp_reason", "string", "Why it is NA: no_input."),
)

_HELD = (
    Column("nodes_begin", "Int64", "Nodes before the prompt.", source=_S),
    Column("nodes_end", "Int64", "After the tail.", source=_S),
    Column("node_growth", "Int64", "Difference: garbage that waits for collection too.", source=_S),
    Column("node_growth_kept", "Int64", "What a forced collection left of it.", source=f"{_E} page.gc"),
    Column("listeners_begin", "Int64", "Event listeners before the prompt.", source=_S),
    Column("listeners_end", "Int64", "After the tail.", source=_S),
    Column("listener_growth", "Int64", "Difference.", source=_S),
    Column("listener_growth_kept", "Int64", "What a forced collection left of it.", source="page.gc"),
    Column("heap_begin_bytes", "Int64", "JavaScript heap before the prompt.", source=_S),
    Column("heap_end_bytes", "Int64", "After the tail.", source=_S),
    Column("heap_growth_bytes", "Int64", "Difference.", source=_S),
    Column(
        "heap_growth_kept_bytes",
        "Int64",
        "Difference after a forced collection.",
        source=f"{_E} page.gc",
    ),
    Column(
        "kept_since",
        "string",
        "What *_kept are the difference to: gc (before the prompt), or sample: garbage of that moment makes "
        "them too small.",
        source=f"{_E} page.gc",
    ),
    Column("heap_max_bytes", "Int64", "Largest in the window.", source="counters"),
)

_WORK = (
    Column("main_cpu_ms", "Float64", "CPU time of the main thread in the window.", source=_S),
    Column("renderer_cpu_ms", "Float64", "CPU time of the renderer's process in it.", source=_S),
    Column("script_ms", "Float64", "Time in scripts in it.", source=_S),
    Column("layout_ms", "Float64", "Time in layout in it.", source=_S),
    Column("style_ms", "Float64", "Time in style in it.", source=_S),
    Column("recalcs_per_second", "Float64", "Style recalculations a second.", source=_S),
    Column("layouts_per_second", "Float64", "Layouts a second.", source=_S),
    Column("n_gaps", "Int64", "Looks that got no answer: the main thread was blocked.", source="page.gap"),
    Column("output_tokens", "Int64", "Of the requests that answer; NA when any is.", source="requests"),
)

_TEXT = (
    Column("n_chars", "Int64", "Characters of the answers on the page.", source=f"{_E} page.text"),
    Column("n_growths", "Int64", "Changes in which it grew.", source=f"{_E} page.text"),
    Column("shown_ratio", "Float64", "Share of the answer's words that stand there.", source="page.text"),
    Column("n_chunks", "Int64", "Pieces of the answers' text with two stamps or more.", source="chunks"),
    Column("n_disordered", "Int64", "Whose stamps do not follow each other.", source="chunks"),
    Column("ordered_share", "Float64", "Whose stamps do.", source="chunks"),
    Column("dom_lag_p50_ms", "Float64", "Arrival of a piece to the document, median.", source="chunks"),
    Column("dom_lag_p95_ms", "Float64", "95th percentile, nearest rank.", source="chunks"),
    Column("paint_lag_p50_ms", "Float64", "Arrival of a piece to its paint, median.", source="chunks"),
    Column("paint_lag_p95_ms", "Float64", "95th percentile, nearest rank.", source="chunks"),
)

_PROFILE = (
    Column("sample_interval_ms", "Float64", "Median time between CPU samples, as it came about.", source=_P),
    Column("sample_interval_p95_ms", "Float64", "95th percentile.", source=_P),
    Column("sampled_busy_ms", "Float64", "All but idle time of the profile.", source=_P),
    Column("sampled_idle_ms", "Float64", "Idle time.", source=_P),
    Column("sampled_gc_ms", "Float64", "Garbage collection.", source=_P),
    Column("sampled_program_ms", "Float64", "The browser's own work.", source=_P),
    Column("command_ms", "Float64", "Time that the page spent on our commands in the window.", source=_S),
    Column("observer_ms", "Float64", "Time of our observer of the text.", source=f"{_E} page.text"),
    Column("probe_ms", "Float64", "Time of our probe's own code.", source=f"{_E} page.probe"),
    Column("own_cpu_s", "Float64", "CPU time of the measuring process.", source=f"{_E} page.end"),
    Column("move_cpu_s", "Float64", "Part of it that moved the files, after the window.", source="page.end"),
)

_ALL = "All threads of all processes, whole trace: "

#: The readings of the original script, also where they mean little: its numbers stay comparable.
_ORIGINAL = (
    Column("original_tasks", "Int64", f"{_ALL}tasks above 0 ms.", source=_T),
    Column("original_long_tasks", "Int64", f"{_ALL}of 50 ms or longer.", source=_T),
    Column("original_long_total_ms", "Float64", f"{_ALL}their sum.", source=_T),
    Column("original_longest_ms", "Float64", f"{_ALL}the longest.", source=_T),
    Column("original_task_p95_ms", "Float64", f"{_ALL}95th percentile, nearest rank.", source=_T),
    Column("original_task_p99_ms", "Float64", f"{_ALL}99th percentile.", source=_T),
    Column(
        "original_blocked_pct", "Float64", "original_long_total_ms in the window; may pass 100.", source=_T
    ),
    Column("original_busy_pct", "Float64", "The browser's TaskDuration in the window.", source=_S),
    Column("original_recalcs_per_second", "Float64", "As recalcs_per_second.", source=_S),
    Column("original_layouts_per_second", "Float64", "As layouts_per_second.", source=_S),
    Column(
        "original_raf_per_second",
        "Float64",
        'Animation frames that the page asked for a second: the original\'s "frames". Those of our own '
        "look at the page, which it counted, are not in it.",
        source=f"{_E} page.probe",
    ),
    Column("original_stream_s", "Float64", "As stream_s.", source="page.window"),
    Column("original_node_growth", "Int64", "As node_growth.", source=_S),
    Column("original_listener_growth", "Int64", "As listener_growth.", source=_S),
    Column("original_heap_bytes_per_second", "Float64", "Slope of the samples' heap.", source=_S),
    Column("original_heap_max_bytes", "Int64", "Largest heap of the samples each 1 s.", source=_S),
    Column("original_cpu_busy_ms", "Float64", "CPU profile, negative times as 0: busy.", source=_P),
    Column("original_cpu_idle_ms", "Float64", "Likewise, idle.", source=_P),
    Column("original_cpu_gc_ms", "Float64", "Likewise, garbage collection.", source=_P),
    Column("original_cpu_program_ms", "Float64", "Likewise, the browser's own work.", source=_P),
)

PAGE = Table(
    name="page",
    grain="run with a page in a browser",
    key=(),
    columns=(
        *KEY,
        *_SETUP,
        *_WINDOW,
        *_TASKS,
        *_FRAMES,
        *_HELD,
        *_WORK,
        *_TEXT,
        *_PROFILE,
        *_ORIGINAL,
    ),
)
