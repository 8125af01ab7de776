"""Rows of the table ``turns``: one per submitted prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from .browser.evidence import PageEvidence
from .browser.shown import first_paint
from .conversation import AgentSession, Conversation, Turn
from .evidence import Event, RunInfo
from .join import Request
from .reading import Reading
from .values import as_count, as_float, as_int, as_text, ms, total

#: A request, and what its row says.
_Told: TypeAlias = tuple[Request, dict[str, Any]]
#: How a turn ended -> why its first token is unknown.
_ENDED = {
    "timeout": "turn_timeout",
    "stall": "turn_stalled",
    "error": "turn_error",
    "stream": "stream_closed",
    "cancelled": "cancelled",
}


def build_turns(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, in the order the prompts were sent.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    told = zip(read.requests, read.request_rows, strict=True)
    counted = [(request, row) for request, row in told if row["counted"] and request.chain != "title"]
    return [_row(read.talk, turn, counted, read.page) for turn in read.talk.turns]


def _row(talk: Conversation, turn: Turn, requests: Sequence[_Told], page: PageEvidence) -> dict[str, Any]:
    run, session = talk.run, talk.sessions[turn.session]
    ladder = _ladder(run, turn)
    reply, end = turn.reply or {}, turn.end or {}
    own = [(r, row) for r, row in requests if r.turn == turn.turn and _same_family(talk, r, turn)]
    return {
        **run.key(),
        "session_id": turn.session,
        "turn": turn.turn,
        "message_id": turn.message,
        "send_ns": turn.send_ns,
        "prompt_chars": as_count(turn.send.get("n_chars")),
        "prompt_bytes": as_count(turn.send.get("n_bytes")),
        **ladder,
        "first_paint_ms": ms(first_paint(page, turn), turn.send_ns),
        "latency_ms": ms(reply.get("t"), turn.send_ns),
        "latency_server_ms": ms(run.monotonic_ns(reply.get("completed_unix_ms")), turn.send_ns),
        **_idle(run, session, turn),
        "warmup": talk.is_warmup(turn.session, turn.turn),
        "n_requests": len({(r.session, r.chain, r.position) for r, _ in own}),
        "n_retries": _retries(session, turn),
        "n_tools": len({call for m in turn.messages for t in m.tools if (call := as_text(t.get("call")))}),
        **_tokens([row for _, row in own]),
        "reply_chars": as_count(reply.get("text_chars")),
        "http_status": as_int(reply.get("http_status")),
        "finish": as_text(reply.get("finish")),
        "error": as_text(reply.get("error")),
        "ended": as_text(end.get("reason")),
        "reason": None if ladder["ttft_ms"] is not None else _reason(session, turn),
    }


def _same_family(talk: Conversation, request: Request, turn: Turn) -> bool:
    main = talk.main_of(request.session)
    return main is not None and main.id == turn.session


def _ladder(run: RunInfo, turn: Turn) -> dict[str, float | None]:
    chunks = [c for m in turn.messages for c in m.chunks if c["t"] >= turn.send_ns]
    steps = [s for m in turn.messages for s in m.steps if s["t"] >= turn.send_ns]
    tools = [
        t for m in turn.messages for t in m.tools if t.get("source") != "history" and t["t"] >= turn.send_ns
    ]
    reasoning = [c for c in chunks if c.get("chunk") == "reasoning" and c.get("n_chars") != 0]
    text = [c for c in chunks if c.get("chunk") == "text" and c.get("visible") is True]
    rungs = {
        "first_event": [*chunks, *steps, *tools],
        "first_reasoning": reasoning,
        "first_text": text,
        "first_tool": tools,
        "ttft": [*reasoning, *text],
    }
    first_bytes = [as_int(e.get("t_first")) or e["t"] for e in rungs["first_event"]]
    row = {"first_byte_ms": ms(min(first_bytes, default=None), turn.send_ns)}
    for name, found in rungs.items():
        row[f"{name}_ms"] = ms(min((e["t"] for e in found), default=None), turn.send_ns)
        row[f"{name}_server_ms"] = ms(_first_server(run, found), turn.send_ns)
    return row


def _first_server(run: RunInfo, found: Iterable[Event]) -> int | None:
    """Return the server's stamp of the event that came first, never of a later one that has a stamp."""
    first = min(found, key=lambda event: event["t"], default=None)
    return run.monotonic_ns(first.get("server_unix_ms")) if first else None


def _idle(run: RunInfo, session: AgentSession, turn: Turn) -> dict[str, float | None]:
    """Find the turn's own idle event.

    A late one of the turn before, and the first of the two that follow an error, lie before the reply's
    completion on the server's clock; one after the turn's end was caused by our own abort.
    """
    end = as_int((turn.end or {}).get("t"))
    idles = [e for e in session.idles if turn.holds(e["t"]) and (end is None or e["t"] <= end)]
    completed = as_float((turn.reply or {}).get("completed_unix_ms"))
    stamps = [as_float(e.get("server_unix_ms")) for e in idles]
    if completed is not None and None not in stamps:
        after = [
            e for e, stamp in zip(idles, stamps, strict=True) if stamp is not None and stamp >= completed
        ]
        idles = after[:1]
    if not idles:
        return {"idle_ms": None, "idle_server_ms": None}
    server = run.monotonic_ns(idles[-1].get("server_unix_ms"))
    return {"idle_ms": ms(idles[-1]["t"], turn.send_ns), "idle_server_ms": ms(server, turn.send_ns)}


def _retries(session: AgentSession, turn: Turn) -> int:
    return sum(1 for event in session.retries if turn.holds(event["t"]))


def _tokens(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum the requests of the turn; one unknown part makes the sum unknown."""
    names = ("input_total_tokens", "cache_read_tokens", "output_tokens")
    sums: dict[str, Any] = {name: total(*(row[name] for row in rows)) if rows else None for name in names}
    costs = [row["cost_usd"] for row in rows]
    sums["cost_usd"] = sum(costs) if costs and None not in costs else None
    return sums


def _reason(session: AgentSession, turn: Turn) -> str:
    ended = as_text((turn.end or {}).get("reason"))
    if ended in _ENDED:
        return _ENDED[ended]
    if turn.reply is None:
        return "unfinished"
    if turn.reply.get("error"):
        return "turn_error"
    if any(turn.holds(event["t"]) for event in session.compactions):
        return "compaction"
    return "no_visible_text" if turn.messages else "turn_unproven"
