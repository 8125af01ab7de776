"""The tables of the model's work: requests and what they streamed."""

from __future__ import annotations

from .columns import EVENTS_FILE as _E
from .columns import GATEWAY_FILE as _G
from .columns import KEY
from .schema import Column, Table

_TOKENS = (
    Column("input_uncached_tokens", "Int64", "Input that no cache served or took."),
    Column(
        "cache_read_tokens",
        "Int64",
        "Input read from a prompt cache; NA when the provider does not say, or never says more than 0.",
    ),
    Column("cache_write_tokens", "Int64", "Input written to a prompt cache."),
    Column("cache_write_1h_tokens", "Int64", "Part of it that is kept for an hour."),
    Column("input_total_tokens", "Int64", "uncached + read + write; NA when it is unknown.", title="Input"),
    Column("output_tokens", "Int64", "Output, reasoning inside.", title="Output"),
    Column("reasoning_tokens", "Int64", "Part of the output that is reasoning."),
)

REQUESTS = Table(
    name="requests",
    grain="model request; each attempt that the gateway saw is a row",
    key=("request",),
    columns=(
        *KEY,
        Column("request", "Int64", "1-based inside its run, in order of time."),
        Column("session_id", "string", "The agent's session.", source=f"{_E} message, {_G} request.begin"),
        Column("turn", "Int64", "Turn it belongs to: by its parent, else by time.", source="turns"),
        Column("source", "string", "agent, gateway, both."),
        Column(
            "chain",
            "string",
            "main, title, compaction, subagent: by the agent, else by the gateway; NA: neither knows.",
            source=f"{_E} session.open, message, {_G} request.begin",
        ),
        Column("chain_label", "string", "chain, but retry for each attempt after the first."),
        Column("position", "Int64", "1-based inside session and chain; attempts share it."),
        Column(
            "attempt",
            "Int64",
            "1-based; the last one gave the result. A repeat has an attempt above 1 and keeps its chain.",
            source=f"{_G} request.begin, {_E} status",
        ),
        Column(
            "retry_of",
            "Int64",
            "The gateway's number of the request that had the same prompt before.",
            source=f"{_G} request.begin",
        ),
        Column(
            "counted",
            "boolean",
            "A request to a model: False for one that the gateway refused, and for a message that stands "
            "apart because it could not be joined with the gateway's row.",
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
        Column(
            "answered_model",
            "string",
            "Model that answered, as the provider names it; NA: it does not say.",
            source=f"{_G} request.end",
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
            "duration_ms",
            "Float64",
            "Body read to last write, by the gateway.",
            source=f"{_G} request.begin, request.end",
        ),
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
            "unknown_usage_keys",
            "string",
            "Keys of the provider's usage that no rule knows, comma-separated.",
            source=f"{_G} request.end",
        ),
        Column(
            "cost_usd",
            "Float64",
            "What it cost by the gateway's price, 0 when it was refused; NA when that is uncertain. Without "
            "a gateway the agent's figure if it is above 0.",
            source=f"{_G} request.end",
            title="Cost",
        ),
        Column(
            "charged_usd",
            "Float64",
            "What the ledger counts: the cost, or the reservation while that is uncertain.",
            source=f"{_G} request.end",
        ),
        Column(
            "committed_usd",
            "Float64",
            "Running total: what the gateway's budget had charged and reserved when this one was settled.",
            source=f"{_G} request.end",
        ),
        Column("reserved_usd", "Float64", "What it could cost at most.", source=f"{_G} request.begin"),
        Column("uncertain", "boolean", "Its reservation is kept.", source=f"{_G} request.end"),
        Column(
            "bound",
            "string",
            "How its input was bounded: hard (its bytes), calibrated (what was counted before, and bytes).",
            source=f"{_G} request.begin",
        ),
        Column(
            "output_cap",
            "string",
            "Where its output cap is from: agent, injected, assumed.",
            source=f"{_G} request.begin",
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
            "prompt_hash",
            "string",
            "16 digits of SHA-256 of the segments' hashes (such digits each), joined by blanks.",
            source=f"{_G} request.begin segments",
        ),
        Column(
            "chain_start",
            "boolean",
            "No request before it in its chain, so that nothing can be shared.",
            source=f"{_G} request.begin",
        ),
        Column(
            "follows",
            "Int64",
            "The gateway's number of the request that it is compared with.",
            source=f"{_G} request.begin",
        ),
        Column(
            "prefix_state",
            "string",
            "first; append_only; same_meaning (all that was said before is still there, but its bytes "
            "differ, or only its cache markers: append_only is True then); changed.",
            source=f"{_G} request.begin",
        ),
        Column(
            "prefix_bytes",
            "Int64",
            "Canonical bytes shared with the request before it in its chain; NA on the first.",
            source=f"{_G} request.begin",
        ),
        Column("prefix_share", "Float64", "prefix_bytes / canonical_bytes, 0..1."),
        Column(
            "append_only",
            "boolean",
            "The previous request is wholly its prefix, by canonical bytes.",
            source=f"{_G} request.begin",
        ),
        Column(
            "first_changed",
            "string",
            "First segment that differs: tools, system, message k; NA also when nothing was changed.",
            source=f"{_G} request.begin",
        ),
        Column(
            "changed_detail",
            "string",
            "What it is and how it differs, in numbers: role, type, item, bytes before and after, offset.",
            source=f"{_G} request.begin",
        ),
        Column(
            "lost_bytes",
            "Int64",
            "Canonical bytes of the request before it that are not shared.",
            source=f"{_G} request.begin",
        ),
        Column(
            "lost_tokens",
            "Float64",
            "Estimate of what was sent again: lost_bytes, at most those sent beyond the prefix, at the "
            "request's own tokens per canonical byte.",
            source="lost_bytes, input_total_tokens, canonical_bytes",
            title="Prefix lost",
        ),
        Column(
            "lost_usd",
            "Float64",
            "Estimate: lost_tokens as fresh input less what they cost from the cache.",
            source=f"lost_tokens, {_G} request.end price",
            title="Prefix lost",
        ),
        Column("status", "string", "ok, failed, aborted (the agent hung up), unfinished."),
        Column(
            "refusal",
            "string",
            "Why the gateway refused it: budget, balance, ledger, limit, tools, admission, price, "
            "invalid_body, tape_end, upstream_away, upstream_unreachable, upstream_redirect, gateway_error.",
            source=f"{_G} request.end",
        ),
        Column("http_status", "Int64", "As the agent got it.", source=f"{_G} request.end"),
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
        *KEY,
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
        Column(
            "dom_ns",
            "Int64",
            "In the page's document: when the same share of all text was. NA: no page was looked at, or "
            "dom_reason.",
            source=f"{_E} page.dom",
        ),
        Column(
            "paint_ns",
            "Int64",
            "The frame with it was handed over; the next one that was seen where its own was not.",
            source=f"{_E} page.dom",
        ),
        Column("shown", "boolean", "Text of the answer, which a page shows; NA: no page was looked at."),
        Column("dom_lag_ms", "Float64", "arrive_ns to dom_ns; negative: the page was first."),
        Column("paint_lag_ms", "Float64", "arrive_ns to paint_ns, likewise."),
        Column(
            "dom_reason",
            "string",
            "Why dom_ns is NA in a run with a page: not_shown (of a kind that is no text of the answer), "
            "not_seen.",
        ),
        Column(
            "ordered",
            "boolean",
            "emit, gateway, arrive, dom and paint follow each other, as far as they are known; NA: no page, "
            "or fewer than two. server_ns, of whole ms, is left out.",
        ),
        Column("disorder", "string", "Which do not, e.g. arrive>dom."),
        Column("reason", "string", "Why the other side's stamps are NA, see the codes below."),
    ),
)
