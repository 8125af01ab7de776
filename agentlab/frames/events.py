"""Rows of the table ``events``: every line of evidence, both sides in order of time."""

from __future__ import annotations

from typing import Any

from .evidence import Event, RunInfo
from .reading import Reading
from .values import as_count, as_int, as_text

#: Fields that have a column of their own; ``content`` never enters a table.
_OWN = {
    "session": "session_id",
    "message": "message_id",
    "part": "part_id",
    "call": "call",
}
_STATES = ("status", "state", "reason", "chunk", "role")
_TAKEN = {"t", "kind", "content", "turn", "request", "n_chars", "n_bytes", "server_unix_ms", *_OWN}


def build_events(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in order of time.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    tagged = [("agent", event) for event in read.events]
    tagged += [("gateway", event) for event in read.gateway_events]
    tagged.sort(key=lambda pair: pair[1]["t"])
    return [{"seq": seq, **_row(read.run, side, event)} for seq, (side, event) in enumerate(tagged, 1)]


def _row(run: RunInfo, side: str, event: Event) -> dict[str, Any]:
    state = next((name for name in _STATES if event.get(name) is not None), None)
    rest = {name: value for name, value in event.items() if name not in _TAKEN and name != state}
    return {
        **run.key(),
        "source": side,
        "t_ns": event["t"],
        "unix_ms": run.unix_ms(event["t"]),
        "kind": event["kind"],
        **{column: as_text(event.get(name)) for name, column in _OWN.items()},
        "turn": as_int(event.get("turn")),
        "gateway_request": as_int(event.get("request")),
        "state": as_text(event.get(state)) if state else None,
        "n_chars": as_count(event.get("n_chars")),
        "n_bytes": as_count(event.get("n_bytes")),
        "server_ns": run.monotonic_ns(event.get("server_unix_ms")),
        "detail": as_text(rest) if rest else None,
    }
