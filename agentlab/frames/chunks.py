"""Rows of the table ``chunks``: one per streamed piece, with all stamps that are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .browser.shown import add_shown
from .conversation import Message
from .evidence import Event, RunInfo
from .join import Request
from .reading import Reading
from .values import as_bool, as_count, as_int, as_text

#: Kinds that an agent passes on; tool calls' arguments are streamed by no agent's event stream.
_PASSED_ON = ("text", "reasoning")
#: Of a page, where one was looked at.
_SHOWN = ("shown", "dom_lag_ms", "paint_lag_ms", "dom_reason", "ordered", "disorder")


def build_chunks(read: Reading) -> list[dict[str, Any]]:
    """Build the rows of one run, request by request in order of time.

    Both sides' stamps stand in one row only where number, kinds and sizes of the chunks of a request agree.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of dict
        By column name.
    """
    run, requests = read.run, read.requests
    seen = _seen_by_agent(requests)
    rows: list[dict[str, Any]] = []
    for number, request in enumerate(requests, 1):
        pieces = _pieces(run, request, seen.get(id(request), []))
        pieces.sort(key=_first_stamp)
        common = {
            **run.key(),
            "request": number,
            "session_id": request.session,
            "turn": request.turn,
            "attempt": request.attempt,
            "message_id": request.message.id if request.message else None,
        }
        rows += [{**common, "chunk": at, **piece} for at, piece in enumerate(pieces, 1)]
    main = {session.id for session in read.talk.sessions.values() if session.role != "child"}
    add_shown(rows, read.page, main)
    return rows


def _seen_by_agent(requests: Sequence[Request]) -> dict[int, list[Event]]:
    """Give the chunks of each message to its attempts: a step event begins the next attempt's chunks."""
    attempts: dict[str, list[Request]] = {}
    for request in requests:
        if request.message is not None:
            attempts.setdefault(request.message.id, []).append(request)
    seen: dict[int, list[Event]] = {}
    for of_message in attempts.values():
        message = of_message[0].message
        parts = _by_step(message) if message else []
        spoke = [r for r in of_message if r.exchange is None or _streamed(r)]
        ordered = sorted(spoke or of_message, key=lambda r: r.attempt)
        # from the end: what was cut before a step began has no step event of its own
        for part in reversed(parts):
            target = ordered.pop() if len(ordered) > 1 else ordered[0]
            seen[id(target)] = part + seen.get(id(target), [])
    return seen


def _streamed(request: Request) -> bool:
    return any(c.get("chunk") in _PASSED_ON for c in (request.exchange.chunks if request.exchange else ()))


def _by_step(message: Message) -> list[list[Event]]:
    begins = [step["t"] for step in message.steps][1:]
    parts: list[list[Event]] = [[] for _ in range(len(begins) + 1)]
    for chunk in message.chunks:
        parts[sum(1 for begin in begins if chunk["t"] >= begin)].append(chunk)
    return [part for part in parts if part]


def _pieces(run: RunInfo, request: Request, seen: list[Event]) -> list[dict[str, Any]]:
    sent = request.exchange.chunks if request.exchange else []
    passed_on = [c for c in sent if c.get("chunk") in _PASSED_ON]
    same = [_size(c) for c in passed_on if c.get("n_chars")] == [_size(c) for c in seen if c.get("n_chars")]
    if request.exchange is None:
        return [_piece(run, chunk, None, "no_gateway") for chunk in seen]
    rest = [_piece(run, None, c, "not_streamed") for c in sent if c.get("chunk") not in _PASSED_ON]
    if same and seen:
        partners = iter([c for c in seen if c.get("n_chars")])
        both = [_piece(run, next(partners) if c.get("n_chars") else None, c, None) for c in passed_on]
        return rest + both + [_piece(run, c, None, None) for c in seen if not c.get("n_chars")]
    reason = "sizes_differ" if seen else "not_streamed"
    rest += [_piece(run, None, chunk, reason) for chunk in passed_on]
    return rest + [_piece(run, chunk, None, reason) for chunk in seen]


def _size(chunk: Event) -> tuple[object, object]:
    return chunk.get("chunk"), chunk.get("n_chars")


def _piece(run: RunInfo, seen: Event | None, sent: Event | None, reason: str | None) -> dict[str, Any]:
    either = seen or sent or {}
    agent, gateway = seen or {}, sent or {}
    return {
        "part_id": as_text(agent.get("part")),
        "source": "both" if seen and sent else "agent" if seen else "gateway",
        "kind": as_text(either.get("chunk")),
        "n_chars": as_count(either.get("n_chars")),
        "n_bytes": as_count(either.get("n_bytes")),
        "visible": as_bool(either.get("visible")),
        "emit_ns": as_int(gateway.get("emit_ns")),
        "gateway_ns": as_int(gateway.get("t")),
        "server_ns": run.monotonic_ns(agent.get("server_unix_ms")),
        "first_byte_ns": as_int(agent.get("t_first")) or as_int(agent.get("t")),
        "arrive_ns": as_int(agent.get("t")),
        "dom_ns": None,
        "paint_ns": None,
        **dict.fromkeys(_SHOWN),
        "reason": reason,
    }


def _first_stamp(piece: dict[str, Any]) -> int:
    names = ("emit_ns", "gateway_ns", "arrive_ns")
    return min(piece[name] for name in names if piece[name] is not None)
