"""What came of a run: its verdict, what it used and cost, and what starting the agent took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .evidence import Event
from .reading import Reading
from .requests import doubt_zeros
from .tools import build_tools
from .values import as_count, as_float, as_int, as_text, ms

#: How a gateway ends a run; it overrides what the agent says of itself.
_ENDINGS = ("budget", "balance", "limit")
_SUMS = (
    "input_uncached_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "input_total_tokens",
    "output_tokens",
    "reasoning_tokens",
)


def result_columns(read: Reading) -> dict[str, Any]:
    """Build the columns of one run.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    dict
        By column name.
    """
    rows = [dict(row) for row in read.request_rows]
    doubt_zeros(rows)  # with no other run to tell: rather unknown than 0
    return {
        **_verdict(read, [row["refusal"] for row in rows]),
        **_counts(read, rows),
        **_usage([row for row in rows if row["counted"]]),
        **_money(rows),
        **_process(read),
    }


def _verdict(read: Reading, refusals: Sequence[str | None]) -> dict[str, Any]:
    told = next((e for e in reversed(read.events) if e["kind"] == "result"), {})
    status, reason = as_text(told.get("status")), as_text(told.get("reason"))
    chars = as_count(told.get("answer_chars"))
    if not told:
        status, reason, chars = _by_turns(read)
    ending = next((why for why in reversed(refusals) if why in _ENDINGS), None)
    if ending is not None and status is not None:
        status, reason = ending, ending
    elif status == "answered" and "turn_unproven" in (issue.code for issue in read.run.issues):
        status, reason = "error", "turn_unproven"  # e.g. it took a stream that was cut for the whole answer
    return {
        "result": status,
        "result_reason": reason,
        "stop": as_text(told.get("stop")),
        "answer_chars": chars,
    }


def _by_turns(read: Reading) -> tuple[str | None, str | None, int | None]:
    """Judge a driver that gives no verdict by the end of its last turn."""
    turns = [turn for turn in read.talk.turns if turn.end is not None]
    if not turns:
        return None, None, None
    last = turns[-1]
    reason = as_text((last.end or {}).get("reason"))
    chars = as_count((last.reply or {}).get("text_chars"))
    if reason == "complete":
        return ("answered", None, chars) if chars else ("error", "no_answer", chars)
    status = {"timeout": "timeout", "stall": "timeout", "cancelled": "stopped"}.get(reason or "", "error")
    return status, reason, chars


def _counts(read: Reading, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    summaries = sum(1 for row in rows if row["chain"] == "compaction" and row["status"] == "ok")
    if not read.events:
        return {"n_refused": _refused(rows), "n_compactions": summaries}
    told = sum(len(session.compactions) for session in read.talk.sessions.values())
    return {
        "n_refused": _refused(rows),
        "n_compactions": max(told, summaries),
        "n_context_cuts": sum(1 for e in read.events if e["kind"] == "context.cut"),
        "n_tool_failures": sum(1 for row in build_tools(read) if row["failed"]),
    }


def _refused(rows: Sequence[dict[str, Any]]) -> int | None:
    """Count what the gateway refused; without a gateway nothing is known of it."""
    return sum(1 for r in rows if r["refusal"]) if any(r["source"] != "agent" for r in rows) else None


def _usage(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum what all requests used; one unknown part makes the sum unknown."""
    if not rows:
        return {}
    sums: dict[str, Any] = {}
    for name in _SUMS:
        known = [row[name] for row in rows if row[name] is not None]
        sums[name] = sum(known) if len(known) == len(rows) else None
    without = sum(1 for r in rows if r["input_total_tokens"] is None or r["output_tokens"] is None)
    return {**sums, "n_without_usage": without}


def _money(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counted = [row for row in rows if row["counted"]]
    costs = [row["cost_usd"] for row in counted if row["cost_usd"] is not None]
    priced = [row for row in counted if row.get("charged_usd") is not None]
    uncertain = [row["charged_usd"] for row in priced if row["uncertain"]]
    return {
        "cost_usd": sum(costs) if counted and len(costs) == len(counted) else None,
        "charged_usd": sum(row["charged_usd"] for row in priced) if priced else None,
        "uncertain_usd": float(sum(uncertain)) if priced else None,
        "n_uncertain": len(uncertain) if priced else None,
    }


def _process(read: Reading) -> dict[str, Any]:
    """Tell what the agent's processes took; a driver of a server has none that is the run's own."""
    begins, firsts, ends = (
        [e for e in read.events if e["kind"] == f"process.{name}"]
        for name in ("begin", "first_request", "end")
    )
    lookups = [e for e in read.events if e["kind"] == "lookup"]
    outward = [e for e in read.events if e["kind"] == "outward"]
    watched = any(e.get("network") == "loopback" for e in outward)
    first = next((e for e in firsts if e.get("turn") == 1), {})
    cpu = [as_float(e.get("cpu_s")) for e in ends]
    return {
        "exit_code": as_int(ends[-1].get("exit_code")) if ends else None,
        "start_cpu_s": as_float(first.get("cpu_s")),
        "first_request_ms": ms(first.get("t"), begins[0]["t"]) if begins else None,
        "exit_ms": _exit_ms(read, ends),
        "agent_cpu_s": sum(c for c in cpu if c is not None) if cpu and None not in cpu else None,
        "max_rss_bytes": max((b for e in ends if (b := as_count(e.get("max_rss_bytes")))), default=None),
        "n_lookups": len(lookups) if watched else None,
        "n_connections": _sum_of(outward, "n_connections"),
    }


def _exit_ms(read: Reading, ends: Sequence[Event]) -> float | None:
    """Return the time from the last request's end to the end of the process that asked."""
    stamps = [r.exchange.end_ns for r in read.requests if r.exchange is not None and r.exchange.end]
    before = [t for t in stamps if ends and t <= ends[-1]["t"]]
    return ms(ends[-1]["t"], max(before)) if before else None


def _sum_of(events: Sequence[Event], name: str) -> int | None:
    known = [n for e in events if (n := as_count(e.get(name))) is not None]
    return sum(known) if known and len(known) == len(events) else None
