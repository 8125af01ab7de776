"""The codes of issues: why a run, a turn or a number is doubtful.

A driver may use codes of its own (``[a-z][a-z0-9_]*``); those below are used by agentlab itself, keep their
meaning, and are written into the data dictionary.
"""

from __future__ import annotations

#: code -> meaning. Whether it discards the run is said where it is raised and stored with the issue.
CODES: dict[str, str] = {
    # a run that did not come to its end
    "cancelled": "Cancel was pressed or .cancel() called while the run was under way",
    "interrupted": "the user interrupted the study while the run was under way",
    "owner_lost": "the notebook or script that owned the study ended while the run was under way",
    "deadline": "the study's own deadline, record(detach=...), passed while the run was under way",
    "unfinished": "the recording has no end: the measuring process was killed or the disk was full",
    "startup_failed": "the agent or its server did not become ready",
    "plugin_failed": "a plugin of the agent did not load",
    "warmup_failed": "the throw-away prompt of a fresh server did not succeed; the first turn may be dearer",
    "plugin_unproven": "whether all plugins loaded is unknown: the server's log or events ended too early",
    "foreign_server": "the server was not started here: its plugins, config and permissions are unknown",
    "agent_exited": "the agent's process ended although it was needed",
    "driver_error": "the driver failed; detail holds the error",
    # what the scenario asked for
    "missing_tool": "a tool that the scenario requires was not completed; detail names it",
    "missing_text": "no visible final text where the scenario requires one",
    "missing_turn": "a turn of the scenario was not answered",
    "routing_mismatch": "agent, provider or model that answered are not those that were asked for",
    # turns
    "turn_timeout": "the turn was not complete in time",
    "turn_stalled": "nothing but heartbeats for longer than the stall time-out",
    "turn_error": "the agent reported an error for the turn; detail holds its code",
    "turn_aborted": "the turn was aborted",
    "turn_length": "the answer was cut at the output limit",
    "turn_unproven": "the reply lacks finish or completion, or names no parent",
    "idle_missing": "the session's own idle event was not seen after the reply",
    "retry": "the agent retried a model request",
    "step_unfinished": "a model's stream ended cleanly but unfinished; the agent silently asked again",
    "compaction": "the session's context was compacted",
    "http_error": "the agent's server answered a call with an error status; detail holds route and status",
    "permission_rejected": "the agent asked for a permission; it was rejected",
    "question_rejected": "the agent asked the user a question; it was rejected",
    "child_session": "the agent opened a child session",
    "tool_invalid": "the agent called an unknown tool or with arguments that are not JSON",
    # event stream
    "stream_not_ready": "the event stream was not ready in time",
    "stream_malformed": "the event stream held data that cannot be parsed",
    "stream_closed": "the event stream ended before the turn was complete",
    "stream_failed": "the event stream's connection failed",
    "stream_truncated": "the event stream ended inside an event",
    "stream_empty": "the event stream carried bytes but no event",
    # found by the reader of a recording
    "recording_cut": "the last line of a recording's file is cut: the crash lost that line",
    "recording_damaged": "lines inside a recording's file cannot be read; detail says how many",
    "recording_missing": "a file of the run is missing: what it held is unknown",
    # clean-up
    "session_not_deleted": "the session could not be deleted",
    "orphan_session": "a session whose creation got no answer was found and deleted",
    "survivors": "processes of the run were still alive after clean-up; detail names them",
    "cleanup_error": "clean-up failed; detail holds the error",
    # numbers
    "no_usage": "the provider reported no usage: tokens are unknown",
    "usage_implausible": "usage contradicts itself, e.g. more cached tokens than input",
    "no_visible_text": "no reasoning and no visible text arrived: TTFT is unknown",
    "server_clock_unknown": "events carry no server time",
    "capture_lag": "the capture loop was late by more than its limit",
    "not_quiet": "the machine was under CPU or memory pressure",
    "memory_pressure": "memory was short before or after the run, so that its memory is not believed",
    "memory_unknown": "the driver names no process of the agent, so that its memory cannot be sampled",
    "pressure_unknown": "the kernel reports no pressure (PSI): whether the machine was quiet is unknown",
    "gateway_unattributed": "the gateway saw requests that belong to no session of the run",
    "gateway_gone": "the gateway's process ended during the run, which is therefore made again on resume",
    "budget_spent": "the budget was spent during the run, which is made again when there is a larger one",
    "balance_empty": "the provider's account was empty (HTTP 402); the run is made again on resume",
    "ledger_halted": "the ledger could no longer be trusted; the run is made again on resume",
    "request_limit": "the gateway refused requests beyond the run's cap of requests or seconds",
    "script_no_tool": "the agent offers no tool for what the script does; it got a text instead",
    "tape_mismatch": "prompts that are not on the tape were answered with the next reply of their chain",
    "tape_end": "nothing was left on the tape for a request, which was refused",
    "gateway_fault": "the gateway's upstream failed; detail holds status or kind",
    "import_note": "a remark of the reader of a foreign file",
}
