"""The tables of a run as a whole: what it was, its doubts, its evidence, the machine's state."""

from __future__ import annotations

from .columns import EVENTS_FILE as _E
from .columns import GATEWAY_FILE as _G
from .columns import KEY
from .columns import RUN_FILE as _R
from .schema import Column, Table

RUNS = Table(
    name="runs",
    grain="run",
    key=(),
    columns=(
        *KEY,
        Column("sequence", "Int64", "0-based place in the study.", source=_R),
        Column("status", "string", "complete, failed, cancelled, running.", source=_R),
        Column(
            "reason", "string", "Codes that discard the run, comma-separated; NA when eligible.", source=_R
        ),
        Column("driver", "string", "Name of the driver.", source=f"{_R} identity"),
        Column("version", "string", "Version of the agent.", source=f"{_R} identity"),
        Column("model", "string", "Model that was asked for, provider/model.", source=f"{_R} identity"),
        Column(
            "recorder",
            "string",
            "How a page was recorded: preset, digest of the trace's categories, sampler, probe. Unlike ones "
            "are not pooled. NA: no page.",
            source=f"{_R} identity",
        ),
        Column("versions", "string", "All versions, JSON text.", source=f"{_R} versions"),
        Column("warmup_rule", "string", "Rule of the scenario: none, original.", source=_R),
        Column("started_unix_ms", "Float64", "Begin, wall clock.", source=_R),
        Column("duration_s", "Float64", "End minus begin.", source=_R),
        Column(
            "n_sessions", "Int64", "Sessions that the driver kept open at once (a swept value).", source=_R
        ),
        Column("n_turns", "Int64", "Prompts submitted.", source=f"{_E} turn.send"),
        Column("n_requests", "Int64", "Model requests: rows of requests.", source="requests"),
        Column("n_tools", "Int64", "Tool calls: rows of tools.", source="tools"),
        Column("n_children", "Int64", "Child sessions.", source=f"{_E} session.open"),
        Column("n_retries", "Int64", "Announced repeats of model requests.", source=f"{_E} status"),
        Column("n_issues", "Int64", "Issues of any kind.", source=_R),
        Column("n_events", "Int64", "Lines of evidence, agent's side.", source=_E),
        Column("n_gateway_events", "Int64", "Lines of evidence, gateway's side; NA without one.", source=_G),
        Column(
            "n_repeats",
            "Int64",
            "Reports that arrived again unchanged.",
            source=f"{_E} stream.end, message, tool",
        ),
        Column(
            "result",
            "string",
            "answered, error, budget, balance, limit, stopped, timeout: the gateway's ending, else the "
            "driver's verdict, else by the last turn. What was answered without proof is an error.",
            source=f"{_E} result, turn.end, {_G} request.end",
        ),
        Column("result_reason", "string", "Its code; NA when it was answered.", source=f"{_E} result"),
        Column(
            "stop", "string", "How the agent says that it stopped, in its own word.", source=f"{_E} result"
        ),
        Column("answer_chars", "Int64", "Characters of the answer.", source=f"{_E} result, turn.reply"),
        Column(
            "n_refused",
            "Int64",
            "Requests that the gateway refused; NA without one.",
            source=f"{_G} request.end",
        ),
        Column(
            "n_compactions",
            "Int64",
            "Compactions with a result, by the agent or, where it tells of fewer, by the gateway.",
            source=f"{_E} compacted, requests",
        ),
        Column(
            "n_context_cuts", "Int64", "Old observations cut from the context.", source=f"{_E} context.cut"
        ),
        Column("n_tool_failures", "Int64", "Tool calls that failed.", source="tools"),
        Column("input_uncached_tokens", "Int64", "Sum; NA when any request's is.", source="requests"),
        Column("cache_read_tokens", "Int64", "Sum; NA when any request's is.", source="requests"),
        Column("cache_write_tokens", "Int64", "Sum; NA when any request's is.", source="requests"),
        Column("input_total_tokens", "Int64", "Sum; NA when any request's is.", source="requests"),
        Column("output_tokens", "Int64", "Sum; NA when any request's is.", source="requests"),
        Column("reasoning_tokens", "Int64", "Sum; NA when any request's is.", source="requests"),
        Column("n_without_usage", "Int64", "Requests whose input or output is unknown.", source="requests"),
        Column("cost_usd", "Float64", "Sum; NA when any request's is.", source="requests"),
        Column("charged_usd", "Float64", "What the ledger counts, uncertain included.", source="requests"),
        Column("uncertain_usd", "Float64", "Part of it that is a kept reservation.", source="requests"),
        Column("n_uncertain", "Int64", "Requests whose reservation is kept.", source="requests"),
        Column(
            "start_cpu_s",
            "Float64",
            "CPU time of the agent's processes before its first request.",
            source=f"{_E} process.first_request",
        ),
        Column(
            "first_request_ms",
            "Float64",
            "Start of the agent's process to its first request.",
            source=f"{_E} process.begin, process.first_request",
        ),
        Column(
            "exit_ms",
            "Float64",
            "End of its last request to the end of its process.",
            source=f"{_E} process.end",
        ),
        Column("agent_cpu_s", "Float64", "CPU time of its processes.", source=f"{_E} process.end"),
        Column("max_rss_bytes", "Int64", "Largest resident size of one process.", source=f"{_E} process.end"),
        Column(
            "exit_code",
            "Int64",
            "Of its last process; negative: the signal. Evidence, never the verdict.",
            source=f"{_E} process.end",
        ),
        Column(
            "n_lookups",
            "Int64",
            "Names that it looked up; NA outside a network of its own.",
            source=f"{_E} lookup",
        ),
        Column(
            "n_connections",
            "Int64",
            "Addresses beyond this machine that it was seen to connect to; NA where that cannot be seen.",
            source=f"{_E} outward",
        ),
        Column("lag_p50_ms", "Float64", "Lateness of the capture loop, median.", source=f"{_R} observer"),
        Column(
            "lag_p99_ms", "Float64", "Lateness of the capture loop, 99th percentile.", source=f"{_R} observer"
        ),
        Column("lag_max_ms", "Float64", "Lateness of the capture loop, worst.", source=f"{_R} observer"),
        Column(
            "observer_cpu_s",
            "Float64",
            "CPU time of the measuring process in the run.",
            source=f"{_R} observer",
        ),
        Column(
            "quiet",
            "boolean",
            "Machine was quiet before the run; NA when it cannot be told.",
            source=f"{_R} quiet",
        ),
        Column("quiet_waited_s", "Float64", "Time waited for it.", source=f"{_R} quiet"),
        Column("n_memory_samples", "Int64", "Samples of memory, both lanes.", source=f"{_R} memory"),
        Column("sampler_cpu_s", "Float64", "CPU time of the memory sampler.", source=f"{_R} memory"),
        Column("sampler_duty", "Float64", "Its share of one core, 0..1.", source=f"{_R} memory"),
        Column(
            "cpu_some_before_pct", "Float64", "PSI cpu some avg10 before the run.", source=f"{_R} pressure"
        ),
        Column(
            "memory_some_before_pct", "Float64", "PSI memory some avg10 before it.", source=f"{_R} pressure"
        ),
        Column(
            "memory_some_after_pct", "Float64", "PSI memory some avg10 after it.", source=f"{_R} pressure"
        ),
        Column("cpu_some_max_pct", "Float64", "Highest PSI cpu some avg10.", source=f"{_E} pressure"),
        Column("memory_some_max_pct", "Float64", "Highest PSI memory some avg10.", source=f"{_E} pressure"),
        Column("io_some_max_pct", "Float64", "Highest PSI io some avg10.", source=f"{_E} pressure"),
        Column("memory_available_min_bytes", "Int64", "Least available memory.", source=f"{_E} pressure"),
        Column("load1_max", "Float64", "Highest load average.", source=f"{_E} pressure"),
    ),
)

ISSUES = Table(
    name="issues",
    grain="coded doubt about a run",
    key=("seq",),
    columns=(
        *KEY,
        Column("seq", "Int64", "1-based inside its run."),
        Column("code", "string", "What is doubtful, see the codes below.", source=f"{_R} issues"),
        Column("phase", "string", "Where it happened.", source=f"{_R} issues"),
        Column("detail", "string", "Short, redacted.", source=f"{_R} issues"),
        Column("discard", "boolean", "It makes the run ineligible.", source=f"{_R} issues"),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source=f"{_R} issues"),
        Column("source", "string", "run (while recording) or reader."),
    ),
)

EVENTS = Table(
    name="events",
    grain="line of evidence",
    key=("seq",),
    columns=(
        *KEY,
        Column("seq", "Int64", "1-based inside its run, in order of time."),
        Column("source", "string", "agent, gateway, report (foreign file)."),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source="t"),
        Column("unix_ms", "Float64", "Same through the wall anchor.", source="t"),
        Column("kind", "string", "See docs/events.md.", source="kind"),
        Column("session_id", "string", "The agent's session.", source="session"),
        Column("message_id", "string", "The agent's message.", source="message"),
        Column("part_id", "string", "Part of the message.", source="part"),
        Column("call", "string", "Tool call.", source="call"),
        Column("turn", "Int64", "Turn.", source="turn"),
        Column("gateway_request", "Int64", "The gateway's number.", source="request"),
        Column(
            "state", "string", "Its status, state, reason, chunk kind or role.", source="status, state ..."
        ),
        Column("n_chars", "Int64", "Characters.", source="n_chars"),
        Column("n_bytes", "Int64", "Bytes.", source="n_bytes"),
        Column("server_ns", "Int64", "The agent's stamp through the wall anchor.", source="server_unix_ms"),
        Column("detail", "string", "All other fields, JSON text; never content."),
    ),
)

PRESSURE = Table(
    name="pressure",
    grain="sample of the machine's state, about one a second",
    key=("seq",),
    columns=(
        *KEY,
        Column("seq", "Int64", "1-based inside its run."),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source=f"{_E} pressure"),
        Column("unix_ms", "Float64", "Same through the wall anchor.", source=f"{_E} pressure"),
        Column(
            "cpu_some_pct", "Float64", "PSI cpu some avg10; NA: the kernel has none.", source=f"{_E} pressure"
        ),
        Column("memory_some_pct", "Float64", "PSI memory some avg10.", source=f"{_E} pressure"),
        Column("memory_full_pct", "Float64", "PSI memory full avg10.", source=f"{_E} pressure"),
        Column("io_some_pct", "Float64", "PSI io some avg10.", source=f"{_E} pressure"),
        Column("memory_available_bytes", "Int64", "Available memory.", source=f"{_E} pressure"),
        Column("load1", "Float64", "Load average over one minute.", source=f"{_E} pressure"),
    ),
)
