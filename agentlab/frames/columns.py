"""What several tables share: the columns that each begins with, and the names of the files they come from."""

from __future__ import annotations

from .schema import Column

EVENTS_FILE, GATEWAY_FILE, RUN_FILE = "events.jsonl", "gateway.jsonl", "run.json"
MEMORY_FILE = "memory.jsonl"
_R = RUN_FILE

#: The first columns of every table.
KEY = (
    Column("study", "string", "Name of the recording: its folder's or file's.", source="path"),
    Column("arm", "string", "Condition being compared.", source=_R),
    Column("run_id", "string", "Repetition of an arm: the independent unit.", source=_R),
    Column("run_index", "Int64", "0-based inside its arm.", source=_R),
    Column("block", "Int64", "0-based block: one run of every arm; NA when not interleaved.", source=_R),
    Column("eligible", "boolean", "Scenario carried out and no discarding issue.", source="status, issues"),
)
