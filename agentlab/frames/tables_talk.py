"""The tables of a conversation as the agent tells it: sessions, turns and tools."""

from __future__ import annotations

from .columns import EVENTS_FILE as _E
from .columns import KEY
from .schema import Column, Table

SESSIONS = Table(
    name="sessions",
    grain="conversation of the agent, child sessions too",
    key=("session_id",),
    columns=(
        *KEY,
        Column("session_id", "string", "The agent's id.", source=f"{_E} session.open"),
        Column("parent_id", "string", "Session that opened it.", source=f"{_E} session.open"),
        Column("role", "string", "main, child.", source=f"{_E} session.open"),
        Column("agent", "string", "Agent that the session names.", source=f"{_E} session.info, session.open"),
        Column("provider", "string", "Provider that the session names.", source=f"{_E} session.info"),
        Column("model", "string", "Model that the session names.", source=f"{_E} session.info"),
        Column(
            "version", "string", "Version that the session names.", source=f"{_E} session.info, session.open"
        ),
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
        Column(
            "spawn_ns", "Int64", "Directly before its start on a terminal.", source=f"{_E} terminal.start"
        ),
        Column("home", "string", "cold or warm: state that it found.", source=f"{_E} terminal.start"),
        Column("daemon", "string", "shared or isolated.", source=f"{_E} terminal.start"),
        Column("paint_ms", "Float64", "Start to the first visible character.", source=f"{_E} terminal.paint"),
        Column("paint_cpu_s", "Float64", "CPU time until then.", source=f"{_E} terminal.paint"),
        Column("raw_ms", "Float64", "Start to a terminal that does not echo.", source=f"{_E} terminal.raw"),
        Column("raw_cpu_s", "Float64", "CPU time until then.", source=f"{_E} terminal.raw"),
        Column(
            "first_input_ms",
            "Float64",
            "Start to the probe on the rendered screen.",
            source=f"{_E} terminal.echo",
        ),
        Column("first_input_cpu_s", "Float64", "CPU time until then.", source=f"{_E} terminal.echo"),
        Column("n_probes", "Int64", "Times that the probe was typed.", source=f"{_E} terminal.probe"),
        Column("age_ms", "Float64", "Start to the first sample of the plateau.", source="memory"),
        Column("n_queries", "Int64", "Questions to the terminal.", source=f"{_E} terminal.queries"),
        Column("n_unanswered", "Int64", "Of those, not answered.", source=f"{_E} terminal.queries"),
        Column("output_bytes", "Int64", "Bytes that it wrote.", source=f"{_E} terminal.output"),
        Column("exit_code", "Int64", "Negative: the signal.", source=f"{_E} terminal.exit"),
        Column(
            "ended_by",
            "string",
            "self, gesture (its own way to leave), signal N, us.",
            source=f"{_E} terminal.exit",
        ),
    ),
)

TURNS = Table(
    name="turns",
    grain="submitted prompt",
    key=("session_id", "turn"),
    columns=(
        *KEY,
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
        Column(
            "first_paint_ms",
            "Float64",
            "Send to the frame in which text of the answer first stood on the page; NA: no page was looked "
            "at, or it was not seen.",
            source=f"{_E} page.dom",
        ),
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
            "Model requests, attempts counted once; without titles and what the gateway refused.",
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

TOOLS = Table(
    name="tools",
    grain="tool call",
    key=("session_id", "call"),
    columns=(
        *KEY,
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
