"""How a session on a terminal started and ended: columns of ``sessions``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .evidence import Event
from .reading import Reading
from .values import as_count, as_float, as_int, as_text, ms


def startup_columns(read: Reading) -> dict[str, dict[str, Any]]:
    """Return the columns of every session that was started on a terminal.

    Of each step its first report counts; what was never reported (a probe that did not appear) is unknown.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    dict
        Columns by session.
    """
    told: dict[str, list[Event]] = {}
    for event in read.events:
        if event["kind"].startswith("terminal.") and (session := as_text(event.get("session"))) is not None:
            told.setdefault(session, []).append(event)
    return {session: _columns(read, events) for session, events in told.items()}


def _columns(read: Reading, events: Sequence[Event]) -> dict[str, Any]:
    first: dict[str, Event] = {}
    for event in events:
        first.setdefault(event["kind"].removeprefix("terminal."), event)
    start = first.get("start", {})
    spawn = as_int(start.get("t"))
    queries = first.get("queries", {})
    ended = first.get("exit", {})
    return {
        "spawn_ns": spawn,
        "home": as_text(start.get("home")),
        "daemon": as_text(start.get("daemon")),
        **_step("paint", first.get("paint"), spawn),
        **_step("raw", first.get("raw"), spawn),
        **_step("first_input", first.get("echo"), spawn),
        "n_probes": sum(event["kind"] == "terminal.probe" for event in events),
        "age_ms": ms(next((s.event["t"] for s in read.samples if s.settled), None), spawn),
        "n_queries": _counted(queries.get("seen")),
        "n_unanswered": _counted(queries.get("unanswered")),
        "output_bytes": as_count(first.get("output", {}).get("n_bytes")),
        "exit_code": as_int(ended.get("exit_code")),
        "ended_by": as_text(ended.get("ended_by")),
    }


def _step(name: str, event: Event | None, spawn: int | None) -> dict[str, Any]:
    reached = event or {}
    return {
        f"{name}_ms": ms(as_int(reached.get("t")), spawn),
        f"{name}_cpu_s": as_float(reached.get("cpu_s")),
    }


def _counted(names: object) -> int | None:
    """Sum a mapping of name to count."""
    if not isinstance(names, dict):
        return None
    return sum(count for value in names.values() if (count := as_count(value)) is not None)
