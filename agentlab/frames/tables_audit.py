"""The table of the usage auditor: what the agent counts, beside what the gateway saw."""

from __future__ import annotations

from .columns import EVENTS_FILE as _E
from .columns import GATEWAY_FILE as _G
from .columns import KEY
from .schema import Column, Table

_EVENTS = f"{_E} message, usage, session.info, transcript"

AUDIT = Table(
    name="audit",
    grain="source of token counts in a run; the gateway's count is right where they differ",
    key=("source", "scope"),
    columns=(
        *KEY,
        Column(
            "source",
            "string",
            "message or usage (the agent's event stream), session (what it says of a session afterwards), "
            "transcript (a file that it leaves), none.",
            source=_EVENTS,
        ),
        Column("scope", "string", "What one report counts: request, turn, session.", source=_EVENTS),
        Column(
            "finding",
            "string",
            "agrees, omits_requests (it agrees but for some requests), omits_reasoning, differs, "
            "placeholder, implausible, schema_unknown, no_counts, no_gateway, gateway_unknown: see the "
            "codes below.",
        ),
        Column(
            "flags",
            "string",
            "What a reader must know, comma-separated: cumulative, duplicated, inclusive, exclusive, "
            "misdeclared, reasoning_outside, placeholder_input, placeholder_output, cost_cumulative, "
            "unread_files.",
        ),
        Column("detail", "string", "The same in words, with factors."),
        Column("convention_said", "string", "Whether its input holds cached tokens, as is known of it."),
        Column(
            "convention",
            "string",
            "The same as found: inclusive, exclusive; NA where nothing was cached or nothing tells.",
        ),
        Column(
            "accumulation",
            "string",
            "each (reports are added) or cumulative (running totals); NA for one report.",
        ),
        Column("n_reports", "Int64", "Reports.", source=_EVENTS),
        Column("n_distinct", "Int64", "Without repeats of a message in other reports and files."),
        Column("n_files", "Int64", "Transcripts; NA for a stream.", source=f"{_E} transcript"),
        Column("input_total_tokens", "Int64", "Its whole input, read rightly.", title="Input"),
        Column("cache_read_tokens", "Int64", "Its input from the cache, read rightly."),
        Column("cache_write_tokens", "Int64", "Its input to the cache, read rightly."),
        Column("output_tokens", "Int64", "Its output with reasoning, read rightly.", title="Output"),
        Column("cost_usd", "Float64", "Its own cost, read rightly; NA for 0 and unknown.", title="Cost"),
        Column("gateway_requests", "Int64", "Requests to a model that the gateway saw.", source=_G),
        Column("gateway_unknown", "Int64", "Those of them without known usage.", source=_G),
        Column("gateway_input_total_tokens", "Int64", "Input by the gateway.", source=_G),
        Column("gateway_cache_read_tokens", "Int64", "Input from the cache by the gateway.", source=_G),
        Column("gateway_output_tokens", "Int64", "Output by the gateway.", source=_G),
        Column("gateway_cost_usd", "Float64", "Cost by the gateway.", source=_G),
        Column("input_factor", "Float64", "Its input over the gateway's, read rightly; 1 agrees."),
        Column("output_factor", "Float64", "Its output over the gateway's."),
        Column("cost_factor", "Float64", "Its cost over the gateway's."),
        Column(
            "sum_factor",
            "Float64",
            "What adding all its reports as they are gives, over the right input: repeats, running totals.",
        ),
        Column(
            "misread_factor",
            "Float64",
            "What its input would be under the other convention, over the right one.",
        ),
    ),
)
