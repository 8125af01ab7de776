"""Rows of the table ``tools``: one per tool call."""

from __future__ import annotations

from typing import Any

from .conversation import Conversation
from .evidence import Event
from .reading import Reading
from .values import as_text, ms

_OVER = ("completed", "error", "invalid")


def build_tools(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in the order the calls were first seen.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    talk = read.talk
    return [_row(talk, call, states) for call, states in talk.calls.items()]


def _row(talk: Conversation, call: tuple[str | None, str], states: list[Event]) -> dict[str, Any]:
    run = talk.run
    last = next((s for s in reversed(states) if s.get("source") == "history"), states[-1])
    seen = [s for s in states if s.get("source") != "history"]
    message = talk.messages.get(as_text(last.get("message")) or "")
    turn = talk.turn_of(message) if message else talk.turn_at(call[0], seen[0]["t"] if seen else None)
    name = as_text(last.get("name"))
    # an agent reports an unknown tool, or arguments that are not JSON, as a completed call of "invalid"
    status = "invalid" if name == "invalid" else as_text(last.get("status"))
    start, end = (run.monotonic_ns(last.get(key)) for key in ("start_unix_ms", "end_unix_ms"))
    pending = seen[0]["t"] if seen else None
    running = _first(seen, "running")
    over = _first(seen, "completed", "error")
    # two reports in one read tell nothing of the time between them
    apart = over if over != running else None
    return {
        **run.key(),
        "session_id": call[0],
        "call": call[1],
        "turn": turn.turn if turn else None,
        "message_id": as_text(last.get("message")),
        "name": name,
        "status": status,
        "failed": status in ("error", "invalid") if status in _OVER else None,
        "error": as_text(last.get("error")),
        "start_ns": start,
        "duration_ms": ms(end, start),
        "first_seen_ns": pending,
        "running_seen_ns": running,
        "seen_duration_ms": ms(apart, running),
        "n_updates": len(states),
        "n_repeats": talk.call_repeats(call),
        "reason": None if end is not None and start is not None else _reason(status, start),
    }


def _first(states: list[Event], *wanted: str) -> int | None:
    return next((s["t"] for s in states if s.get("status") in wanted), None)


def _reason(status: str | None, start: int | None) -> str:
    if status not in _OVER:
        return "unfinished"
    return "start_unknown" if start is None else "end_unknown"
