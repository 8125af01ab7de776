"""Rows of the table ``exec``: one per call of an exec session, and one for its close."""

from __future__ import annotations

from statistics import median
from typing import Any

from .evidence import Event
from .reading import Reading
from .values import as_bool, as_count, as_float, as_int, as_text, ms


def build_exec(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, session by session, in order of their calls.

    Delays are taken from the stamps of what the session printed, on the same clock.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    opened: dict[str | None, Event] = {}
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for event in read.events:
        exec_id, call = as_text(event.get("exec")), as_int(event.get("call"))
        if event["kind"] == "exec.open":
            opened.setdefault(exec_id, event)
        if event["kind"] not in ("exec.call", "exec.close") or exec_id is None or call is None:
            continue
        about = {
            **read.run.key(),
            "exec_id": exec_id,
            "call": call,
            **_about(event, opened.get(exec_id, {})),
        }
        rows.setdefault((exec_id, call), about | _numbers(event) | _delays(event))
    return list(rows.values())


def _about(event: Event, opened: Event) -> dict[str, Any]:
    begin = as_int(event.get("begin_ns"))
    return {
        "scenario": as_text(event.get("scenario") or opened.get("scenario")),
        "rules": as_text(opened.get("rules")),
        "tty": as_bool(opened.get("tty")),
        "op": "close" if event["kind"] == "exec.close" else as_text(event.get("op")),
        "begin_ns": begin,
        "end_ns": event["t"],
        "wall_ms": ms(event["t"], begin),
    }


def _numbers(event: Event) -> dict[str, Any]:
    counts = ("n_prints", "n_bytes", "typed_bytes", "typed_read_bytes", "printed_bytes", "seen_bytes")
    more = ("lost_bytes", "n_polls", "background", "survivors")
    typed, read = as_count(event.get("typed_bytes")), as_count(event.get("typed_read_bytes"))
    return {
        **{name: as_count(event.get(name)) for name in (*counts, *more)},
        "lost_typed_bytes": None if typed is None or read is None else typed - read,
        "yield_ms": as_float(event.get("yield_ms")),
        "state": as_text(event.get("state")),
        "exit": as_int(event.get("exit_code")),
        "ended_by": as_text(event.get("ended_by")),
    }


def _delays(event: Event) -> dict[str, Any]:
    begin, ended = as_int(event.get("begin_ns")), as_int(event.get("ended_ns"))
    told_from = None if begin is None or ended is None else max(begin, ended)
    end_delay = {"end_delay_ms": ms(event["t"], told_from)}
    if event["kind"] == "exec.close":
        return end_delay | {"reason": "exec_close"}
    found = event.get("prints")
    prints = [p for p in (found if isinstance(found, list) else []) if isinstance(p, list) and len(p) > 1]
    stamps = [stamp for p in prints if (stamp := as_int(p[0])) is not None]
    reads = [d for p in prints if (d := ms(as_int(p[1]), as_int(p[0]))) is not None]
    if not stamps:
        return end_delay | {"reason": "print_unknown" if as_count(event.get("n_bytes")) else "no_output"}
    return end_delay | {
        "delay_ms": ms(event["t"], round(median(stamps))),
        "delay_min_ms": ms(event["t"], max(stamps)),
        "delay_max_ms": ms(event["t"], min(stamps)),
        "read_delay_ms": median(reads) if reads else None,
    }
