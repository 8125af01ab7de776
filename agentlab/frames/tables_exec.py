"""The table of exec sessions: every call, and what its processes say that they had printed by then."""

from __future__ import annotations

from .columns import EVENTS_FILE as _E
from .columns import KEY
from .schema import Column, Table

_C, _END = f"{_E} exec.call", f"{_E} exec.close"

EXEC = Table(
    name="exec",
    grain="call of an exec session",
    key=("exec_id", "call"),
    columns=(
        *KEY,
        Column("exec_id", "string", "The session.", source=_C),
        Column("call", "Int64", "1-based inside its session.", source=_C),
        Column("scenario", "string", "Name of what it runs.", source=f"{_E} exec.open"),
        Column("rules", "string", "ours, or original: idle waits.", source=f"{_E} exec.open"),
        Column("tty", "boolean", "On a pseudo-terminal; False: on pipes.", source=f"{_E} exec.open"),
        Column("op", "string", "start, write, poll, close.", source=_C),
        Column("begin_ns", "Int64", "CLOCK_MONOTONIC of the call.", source=_C),
        Column("end_ns", "Int64", "CLOCK_MONOTONIC of its return.", source=_C),
        Column("yield_ms", "Float64", "Longest wait that was asked for.", source=_C),
        Column("wall_ms", "Float64", "Return minus call.", source=_C),
        Column("delay_ms", "Float64", "Print to return: median over what it returned.", source=_C),
        Column("delay_min_ms", "Float64", "The same of the last print.", source=_C),
        Column("delay_max_ms", "Float64", "The same of the first print.", source=_C),
        Column("read_delay_ms", "Float64", "Print to read: median; NA: reads are not stamped.", source=_C),
        Column("end_delay_ms", "Float64", "End of the command, or call if later, to its report.", source=_C),
        Column("state", "string", "State of the session that it returned.", source=_C),
        Column("n_prints", "Int64", "Prints in what it returned.", source=_C),
        Column("n_bytes", "Int64", "Bytes returned; of close: over all calls.", source=f"{_C}, exec.close"),
        Column(
            "typed_bytes", "Int64", "Bytes written; of close: over all calls.", source=f"{_C}, exec.close"
        ),
        Column("typed_read_bytes", "Int64", "Of those, what the command read.", source=_END),
        Column("lost_typed_bytes", "Int64", "Written and not read by the command.", source=_END),
        Column("printed_bytes", "Int64", "Printed, by the processes' own account.", source=_END),
        Column("seen_bytes", "Int64", "Of those, in what was returned.", source=_END),
        Column("lost_bytes", "Int64", "Printed and never returned.", source=_END),
        Column("n_polls", "Int64", "Calls that waited.", source=_END),
        Column("exit", "Int64", "Exit code; negative: the signal.", source=f"{_C}, exec.close"),
        Column("ended_by", "string", "self, signal N, timeout, close.", source=f"{_C}, exec.close"),
        Column("background", "Int64", "Of an ended command: processes alive before the close.", source=_END),
        Column("survivors", "Int64", "Processes that were alive after the close.", source=_END),
        Column("reason", "string", "Why delay_ms is NA: no_output, print_unknown, exec_close."),
    ),
)
