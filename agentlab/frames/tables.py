"""The tables: what every row is, and every column with unit and source."""

from __future__ import annotations

from .schema import Column, Table

_E, _G, _R = "events.jsonl", "gateway.jsonl", "run.json"

_KEY = (
    Column("study", "string", "Name of the recording: its folder's or file's.", source="path"),
    Column("arm", "string", "Condition being compared.", source=_R),
    Column("run_id", "string", "Repetition of an arm: the independent unit.", source=_R),
    Column("run_index", "Int64", "0-based inside its arm.", source=_R),
    Column("block", "Int64", "0-based block: one run of every arm; NA when not interleaved.", source=_R),
    Column("eligible", "boolean", "Scenario carried out and no discarding issue.", source="status, issues"),
)
_TOKENS = (
    Column("input_uncached_tokens", "Int64", "Input that no cache served or took."),
    Column(
        "cache_read_tokens",
        "Int64",
        "Input read from a prompt cache; NA when the provider does not say, or never says more than 0.",
    ),
    Column("cache_write_tokens", "Int64", "Input written to a prompt cache."),
    Column("input_total_tokens", "Int64", "uncached + read + write; NA when it is unknown.", title="Input"),
    Column("output_tokens", "Int64", "Output, reasoning inside.", title="Output"),
    Column("reasoning_tokens", "Int64", "Part of the output that is reasoning."),
)

RUNS = Table(
    name="runs",
    grain="run",
    key=(),
    columns=(
        *_KEY,
        Column("sequence", "Int64", "0-based place in the study.", source=_R),
        Column("status", "string", "complete, failed, cancelled, running.", source=_R),
        Column(
            "reason", "string", "Codes that discard the run, comma-separated; NA when eligible.", source=_R
        ),
        Column("driver", "string", "Name of the driver.", source=f"{_R} identity"),
        Column("version", "string", "Version of the agent.", source=f"{_R} identity"),
        Column("model", "string", "Model that was asked for, provider/model.", source=f"{_R} identity"),
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
        *_KEY,
        Column("seq", "Int64", "1-based inside its run."),
        Column("code", "string", "What is doubtful, see the codes below.", source=f"{_R} issues"),
        Column("phase", "string", "Where it happened.", source=f"{_R} issues"),
        Column("detail", "string", "Short, redacted.", source=f"{_R} issues"),
        Column("discard", "boolean", "It makes the run ineligible.", source=f"{_R} issues"),
        Column("t_ns", "Int64", "CLOCK_MONOTONIC.", source=f"{_R} issues"),
        Column("source", "string", "run (while recording) or reader."),
    ),
)

SESSIONS = Table(
    name="sessions",
    grain="conversation of the agent, child sessions too",
    key=("session_id",),
    columns=(
        *_KEY,
        Column("session_id", "string", "The agent's id.", source=f"{_E} session.open"),
        Column("parent_id", "string", "Session that opened it.", source=f"{_E} session.open"),
        Column("role", "string", "main, child.", source=f"{_E} session.open"),
        Column("agent", "string", "Agent that the session names.", source=f"{_E} session.info"),
        Column("provider", "string", "Provider that the session names.", source=f"{_E} session.info"),
        Column("model", "string", "Model that the session names.", source=f"{_E} session.info"),
        Column("version", "string", "Version that the session names.", source=f"{_E} session.info"),
        Column(
            "answered_by",
            "string",
            "agent/provider/model of its answers, comma-separated.",
            source=f"{_E} message",
        ),
        Column("opened_ns", "Int64", "It exists.", source=f"{_E} session.open"),
        Column("closed_ns", "Int64", "It was closed.", source=f"{_E} session.close"),
        Column("deleted", "boolean", "It was deleted.", source=f"{_E} session.close"),
        Column("n_turns", "Int64", "Prompts submitted.", source=f"{_E} turn.send"),
        Column("n_messages", "Int64", "Answers of the model.", source=f"{_E} message"),
        Column("n_requests", "Int64", "Rows of requests.", source="requests"),
        Column("n_tools", "Int64", "Tool calls.", source=f"{_E} tool"),
        Column("n_children", "Int64", "Child sessions.", source=f"{_E} session.info, session.open"),
        Column("n_retries", "Int64", "Announced repeats of model requests.", source=f"{_E} status"),
        Column("n_compactions", "Int64", "Times its context was compacted.", source=f"{_E} compacted"),
        Column(
            "agent_input_uncached_tokens",
            "Int64",
            "Running total that the agent keeps.",
            source=f"{_E} session.info",
        ),
        Column(
            "agent_cache_read_tokens",
            "Int64",
            "Running total that the agent keeps.",
            source=f"{_E} session.info",
        ),
        Column(
            "agent_cache_write_tokens",
            "Int64",
            "Running total that the agent keeps.",
            source=f"{_E} session.info",
        ),
        Column(
            "agent_output_tokens", "Int64", "Running total, reasoning inside.", source=f"{_E} session.info"
        ),
        Column("agent_reasoning_tokens", "Int64", "Running total.", source=f"{_E} session.info"),
        Column("agent_cost_usd", "Float64", "Running total.", source=f"{_E} session.info"),
    ),
)

TURNS = Table(
    name="turns",
    grain="submitted prompt",
    key=("session_id", "turn"),
    columns=(
        *_KEY,
        Column("session_id", "string", "The agent's session.", source=f"{_E} turn.send"),
        Column("turn", "Int64", "1-based inside its session.", source=f"{_E} turn.send"),
        Column("message_id", "string", "Id of the prompt.", source=f"{_E} turn.send"),
        Column(
            "send_ns",
            "Int64",
            "Directly before the prompt was sent, CLOCK_MONOTONIC.",
            source=f"{_E} turn.send",
        ),
        Column("prompt_chars", "Int64", "Length of the prompt.", source=f"{_E} turn.send"),
        Column("prompt_bytes", "Int64", "Length of the prompt, UTF-8.", source=f"{_E} turn.send"),
        Column(
            "first_byte_ms",
            "Float64",
            "Send to the read that brought the first byte of the first event below.",
            source=f"{_E} chunk t_first",
        ),
        Column(
            "first_event_ms",
            "Float64",
            "Send to the first chunk, step or tool event of an answer to this prompt.",
            source=f"{_E} chunk, step.begin, tool",
        ),
        Column("first_reasoning_ms", "Float64", "Send to the first reasoning chunk.", source=f"{_E} chunk"),
        Column(
            "first_text_ms",
            "Float64",
            "Send to the first text with a non-space character.",
            source=f"{_E} chunk",
        ),
        Column("first_tool_ms", "Float64", "Send to the first sign of a tool call.", source=f"{_E} tool"),
        Column("first_paint_ms", "Float64", "Send to the first paint; NA: no page was looked at."),
        Column(
            "ttft_ms",
            "Float64",
            "Send to the first reasoning chunk or first text with a non-space character, whichever is first.",
            source=f"{_E} chunk",
            title="TTFT",
        ),
        Column(
            "first_event_server_ms",
            "Float64",
            "Same by the server's own stamp (whole ms) through the wall anchor.",
            source="server_unix_ms",
        ),
        Column(
            "first_reasoning_server_ms", "Float64", "Same by the server's stamp.", source="server_unix_ms"
        ),
        Column("first_text_server_ms", "Float64", "Same by the server's stamp.", source="server_unix_ms"),
        Column("first_tool_server_ms", "Float64", "Same by the server's stamp.", source="server_unix_ms"),
        Column(
            "ttft_server_ms",
            "Float64",
            "Same by the server's stamp.",
            source="server_unix_ms",
            title="TTFT by the server's clock",
        ),
        Column(
            "latency_ms",
            "Float64",
            "Reply complete minus send.",
            source=f"{_E} turn.reply",
            title="Turn latency",
        ),
        Column(
            "latency_server_ms",
            "Float64",
            "Last answer's completion by the server's stamp, minus send.",
            source=f"{_E} turn.reply completed_unix_ms",
        ),
        Column("idle_ms", "Float64", "The session's own idle event minus send.", source=f"{_E} idle"),
        Column("idle_server_ms", "Float64", "Same by the server's stamp.", source=f"{_E} idle"),
        Column(
            "warmup",
            "boolean",
            "Warm-up by the scenario's rule; a single turn never is.",
            source="warmup_rule",
        ),
        Column(
            "n_requests",
            "Int64",
            "Model requests, attempts counted once, side requests apart.",
            source="requests",
        ),
        Column("n_retries", "Int64", "Announced repeats of model requests.", source=f"{_E} status"),
        Column("n_tools", "Int64", "Tool calls.", source=f"{_E} tool"),
        Column(
            "input_total_tokens", "Int64", "Sum over its requests; NA when one is unknown.", source="requests"
        ),
        Column(
            "cache_read_tokens", "Int64", "Sum over its requests; NA when one is unknown.", source="requests"
        ),
        Column("output_tokens", "Int64", "Sum over its requests; NA when one is unknown.", source="requests"),
        Column("cost_usd", "Float64", "Sum over its requests; NA when one is unknown.", source="requests"),
        Column("reply_chars", "Int64", "Visible characters of the final text.", source=f"{_E} turn.reply"),
        Column("http_status", "Int64", "Of the reply; says nothing of success.", source=f"{_E} turn.reply"),
        Column("finish", "string", "How the agent ended the answer.", source=f"{_E} turn.reply"),
        Column("error", "string", "Error code of the answer.", source=f"{_E} turn.reply"),
        Column(
            "ended", "string", "complete, timeout, stall, error, stream, cancelled.", source=f"{_E} turn.end"
        ),
        Column("reason", "string", "Why ttft_ms is NA, see the codes below."),
    ),
)

REQUESTS = Table(
    name="requests",
    grain="model request; each attempt that the gateway saw is a row",
    key=("request",),
    columns=(
        *_KEY,
        Column("request", "Int64", "1-based inside its run, in order of time."),
        Column("session_id", "string", "The agent's session.", source=f"{_E} message, {_G} request.begin"),
        Column("turn", "Int64", "Turn it belongs to: by its parent, else by time.", source="turns"),
        Column("source", "string", "agent, gateway, both."),
        Column(
            "chain",
            "string",
            "main, title (side request without tools), compaction, subagent (child session); NA: no session.",
        ),
        Column("position", "Int64", "1-based inside session and chain; attempts share it."),
        Column(
            "attempt",
            "Int64",
            "1-based; the last one gave the result.",
            source=f"{_G} request.begin, {_E} status",
        ),
        Column("message_id", "string", "The agent's message.", source=f"{_E} message"),
        Column("gateway_request", "Int64", "The gateway's number.", source=f"{_G} request.begin"),
        Column("agent", "string", "Agent that asked.", source=f"{_E} message"),
        Column("provider", "string", "Provider, in the agent's words.", source=f"{_E} message"),
        Column(
            "model",
            "string",
            "Model in the request, else in the agent's words.",
            source=f"{_G} request.begin, {_E} message",
        ),
        Column("dialect", "string", "API dialect.", source=f"{_G} request.begin"),
        Column(
            "warmup", "boolean", "Position 1 of the main chain under the rule original.", source="warmup_rule"
        ),
        Column("send_ns", "Int64", "Begin, see send_source.", source=f"{_G} request.begin, {_E} message"),
        Column(
            "send_source",
            "string",
            "gateway (body read) or message (made by the agent just before it asks; whole ms of its clock).",
        ),
        Column(
            "first_chunk_ms",
            "Float64",
            "Send to the first content of any kind, tool calls too.",
            source="chunk",
        ),
        Column(
            "ttft_ms",
            "Float64",
            "Send to the first reasoning chunk or first text with a non-space character.",
            source=f"{_G} request.chunk, {_E} chunk",
            title="TTFT",
        ),
        Column(
            "itl_ms",
            "Float64",
            "(latency_ms - ttft_ms) / (output_tokens - 1); NA below 2 tokens or all in one read.",
            title="ITL",
        ),
        Column(
            "latency_ms", "Float64", "Last content chunk minus send.", source="chunk", title="Request latency"
        ),
        Column("n_chunks", "Int64", "Content chunks; a chunk is no token.", source="chunk"),
        Column(
            "agent_begin_ns",
            "Int64",
            "The agent made its message: its stamp (whole ms), else its first report.",
            source=f"{_E} message",
        ),
        Column(
            "agent_end_ns",
            "Int64",
            "The agent completed its message, tool calls included, by its stamp (whole ms).",
            source=f"{_E} message",
        ),
        *_TOKENS,
        Column(
            "tokens_source", "string", "Side that the token columns are from: gateway, agent.", source="usage"
        ),
        Column("cache_hit_rate", "Float64", "read / total, 0..1; NA when a part is unknown; never clamped."),
        Column(
            "convention",
            "string",
            "Whether the provider's input holds cached tokens: inclusive, exclusive.",
            source=_G,
        ),
        Column(
            "cost_usd", "Float64", "Charge by the gateway's price, else the agent's figure if it is above 0."
        ),
        Column("agent_input_total_tokens", "Int64", "The agent's own report.", source=f"{_E} message"),
        Column("agent_cache_read_tokens", "Int64", "The agent's own report.", source=f"{_E} message"),
        Column(
            "agent_output_tokens",
            "Int64",
            "The agent's own report, reasoning inside.",
            source=f"{_E} message",
        ),
        Column("agent_cost_usd", "Float64", "The agent's own report.", source=f"{_E} message"),
        Column("n_tools", "Int64", "Tools offered.", source=f"{_G} request.begin"),
        Column("n_messages", "Int64", "Messages sent.", source=f"{_G} request.begin"),
        Column("max_output_tokens", "Int64", "Output cap asked for.", source=f"{_G} request.begin"),
        Column("stream", "boolean", "A stream was asked for.", source=f"{_G} request.begin"),
        Column("body_bytes", "Int64", "Body as sent.", source=f"{_G} request.begin"),
        Column(
            "canonical_bytes", "Int64", "Canonical [tools, system, history].", source=f"{_G} request.begin"
        ),
        Column(
            "prefix_bytes",
            "Int64",
            "Canonical bytes shared with the previous request of the session and tool set; NA on the first.",
            source=f"{_G} request.begin",
        ),
        Column("prefix_share", "Float64", "prefix_bytes / canonical_bytes, 0..1."),
        Column(
            "append_only",
            "boolean",
            "The previous request is wholly its prefix.",
            source=f"{_G} request.begin",
        ),
        Column(
            "first_changed",
            "string",
            "First segment that differs: tools, system, message k; NA also when nothing was changed.",
            source=f"{_G} request.begin",
        ),
        Column("status", "string", "ok, failed, aborted (the agent hung up), unfinished."),
        Column("http_status", "Int64", "Of the provider.", source=f"{_G} request.end"),
        Column("terminal_seen", "boolean", "The stream's own end was seen.", source=f"{_G} request.end"),
        Column(
            "fault",
            "string",
            "status, cut, reset, hang, garbage, error, client_gone.",
            source=f"{_G} request.end",
        ),
        Column(
            "finish",
            "string",
            "The provider's word, else the agent's.",
            source=f"{_G} request.end, {_E} message",
        ),
        Column("error", "string", "The agent's error code.", source=f"{_E} message"),
        Column("reason", "string", "Why a token column is NA, see the codes below."),
        Column("ttft_reason", "string", "Why ttft_ms is NA, see the codes below."),
        Column(
            "n_repeats",
            "Int64",
            "Reports of the message that arrived again unchanged.",
            source=f"{_E} message",
        ),
    ),
)

CHUNKS = Table(
    name="chunks",
    grain="streamed piece of an answer; a chunk is no token",
    key=("request", "chunk"),
    columns=(
        *_KEY,
        Column("request", "Int64", "Row of requests.", source="requests"),
        Column("chunk", "Int64", "1-based inside its request, in order of time."),
        Column("session_id", "string", "The agent's session.", source="requests"),
        Column("turn", "Int64", "Turn of the request.", source="requests"),
        Column("attempt", "Int64", "Attempt of the request.", source="requests"),
        Column("message_id", "string", "The agent's message.", source="requests"),
        Column("part_id", "string", "The agent's part of the message.", source=f"{_E} chunk"),
        Column("source", "string", "both (stamps of both sides), agent, gateway."),
        Column("kind", "string", "text, reasoning, tool.", source="chunk"),
        Column("n_chars", "Int64", "Characters.", source="chunk"),
        Column("n_bytes", "Int64", "UTF-8 bytes.", source="chunk"),
        Column("visible", "boolean", "Holds a non-space character.", source="chunk"),
        Column("emit_ns", "Int64", "Scripted model: just before the write.", source=f"{_G} request.chunk"),
        Column(
            "gateway_ns",
            "Int64",
            "Just before the write to the agent's socket.",
            source=f"{_G} request.chunk",
        ),
        Column(
            "server_ns",
            "Int64",
            "The agent's stamp (whole ms) through the wall anchor.",
            source=f"{_E} chunk",
        ),
        Column("first_byte_ns", "Int64", "Read that brought its first byte.", source=f"{_E} chunk"),
        Column("arrive_ns", "Int64", "Read that completed it.", source=f"{_E} chunk"),
        Column("dom_ns", "Int64", "Seen in a page; NA: no page was looked at."),
        Column("paint_ns", "Int64", "Painted; NA: no page was looked at."),
        Column("reason", "string", "Why the other side's stamps are NA, see the codes below."),
    ),
)

TOOLS = Table(
    name="tools",
    grain="tool call",
    key=("session_id", "call"),
    columns=(
        *_KEY,
        Column("session_id", "string", "The agent's session.", source=f"{_E} tool"),
        Column("call", "string", "Id of the call.", source=f"{_E} tool"),
        Column("turn", "Int64", "Turn it belongs to.", source="turns"),
        Column("message_id", "string", "Message that made it.", source=f"{_E} tool"),
        Column("name", "string", "Name of the tool.", source=f"{_E} tool"),
        Column(
            "status",
            "string",
            "Last state: pending, running, completed, error; invalid: unknown tool or unreadable arguments.",
            source=f"{_E} tool",
        ),
        Column("failed", "boolean", "status is error or invalid; NA while it is not over."),
        Column("error", "string", "Error code.", source=f"{_E} tool"),
        Column("start_ns", "Int64", "Begin by the agent's stamp.", source=f"{_E} tool start_unix_ms"),
        Column(
            "duration_ms", "Float64", "End minus begin by the agent's stamps (whole ms).", source=f"{_E} tool"
        ),
        Column("first_seen_ns", "Int64", "First report on the stream.", source=f"{_E} tool"),
        Column("running_seen_ns", "Int64", "First report that it runs.", source=f"{_E} tool"),
        Column(
            "seen_duration_ms",
            "Float64",
            "Report of its end minus report that it runs; NA when both came in one read.",
            source=f"{_E} tool",
        ),
        Column("n_updates", "Int64", "Reports, all sources.", source=f"{_E} tool"),
        Column("n_repeats", "Int64", "Reports that arrived again unchanged.", source=f"{_E} tool"),
        Column("reason", "string", "Why duration_ms is NA, see the codes below."),
    ),
)

EVENTS = Table(
    name="events",
    grain="line of evidence",
    key=("seq",),
    columns=(
        *_KEY,
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
        *_KEY,
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

TABLES: dict[str, Table] = {
    table.name: table for table in (RUNS, ISSUES, SESSIONS, TURNS, REQUESTS, CHUNKS, TOOLS, EVENTS, PRESSURE)
}
