"""Why a value is NA: the codes in the columns ``reason`` and ``ttft_reason``."""

from __future__ import annotations

#: code -> meaning; codes of :data:`agentlab.issues.CODES` mean the same here.
REASONS: dict[str, str] = {
    "no_visible_text": "no reasoning and no visible text arrived: TTFT is unknown",
    "turn_timeout": "the turn was not complete in time",
    "turn_stalled": "nothing but heartbeats for longer than the stall time-out",
    "turn_error": "the agent reported an error for the turn",
    "turn_unproven": "no message of the agent names this prompt as its parent",
    "stream_closed": "the event stream ended before the turn was complete",
    "cancelled": "the run was cancelled during the turn",
    "compaction": "the context was compacted in the turn; what follows answers the summary, not the prompt",
    "unfinished": "the recording or the request has no end",
    "no_usage": "no side reported tokens",
    "usage_partial": "the usage lacks the input's or the output's part",
    "usage_implausible": "the usage contradicts itself; the agent's own report is in the agent_* columns",
    "cache_unreported": "the provider does not say what was read from a cache; an agent then only says 0",
    "request_failed": "the request failed: HTTP status, fault or the agent's error tell how",
    "request_aborted": "the request was aborted by the agent",
    "send_unknown": "no stamp of the request's begin: neither gateway nor step event",
    "join_ambiguous": "agent and gateway counted different requests; their rows stand apart",
    "gateway_unattributed": "the request names no session of the run",
    "sizes_differ": "agent and gateway saw different chunks of this request; their stamps are not joined",
    "null_in_report": "the foreign file holds null and does not say why",
    "no_gateway": "no gateway stood before the model",
    "start_unknown": "the agent gave no begin of the tool call",
    "end_unknown": "the agent gave no end of the tool call",
    "fast_lane": "a sample of counters only: no page tables were walked",
    "unreadable": "a process of the sample could not be read",
    "no_output": "the call returned no output",
    "print_unknown": "the command does not say when it printed",
    "exec_close": "the owner's close returns no output",
    "not_streamed": "the agent passes nothing of this kind on",
}
