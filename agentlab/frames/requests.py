"""Rows of the table ``requests``: one per model request, agent side and gateway side joined."""

from __future__ import annotations

from typing import Any

from .conversation import Message
from .evidence import Event, RunInfo
from .exchange import Exchange
from .join import Request
from .prefix import prefix_columns
from .reading import Reading
from .values import as_bool, as_count, as_float, as_int, as_text, as_usd, ms, share, total

_STATUS_REASONS = {"failed": "request_failed", "aborted": "request_aborted"}
_PARTS = ("input_uncached_tokens", "cache_read_tokens", "cache_write_tokens")


def build_requests(read: Reading) -> list[dict[str, Any]]:
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
    run, talk = read.run, read.talk
    return [
        {
            **run.key(),
            "request": number,
            **row,
            "warmup": request.chain == "main" and talk.is_warmup(request.session, request.position),
        }
        for number, (request, row) in enumerate(zip(read.requests, read.request_rows, strict=True), 1)
    ]


def doubt_zeros(rows: list[dict[str, Any]]) -> None:
    """Make an agent's "0 tokens from the cache" unknown where its provider never reports any.

    An agent says 0 as well when the provider is silent about its cache, and one request cannot tell the two
    apart; any cached token from the same provider and model, anywhere in the study, can.

    Parameters
    ----------
    rows : list of dict
        All rows of a study; changed in place.
    """
    telling = {
        (row["provider"], row["model"])
        for row in rows
        if row["cache_read_tokens"] or row["cache_write_tokens"]
    }
    for row in rows:
        silent = (row["provider"], row["model"]) not in telling
        if silent and row["tokens_source"] == "agent" and row["cache_read_tokens"] == 0:
            for name in (
                "cache_read_tokens",
                "cache_write_tokens",
                "input_uncached_tokens",
                "cache_hit_rate",
            ):
                row[name] = None
            row["reason"] = row["reason"] or "cache_unreported"


def request_row(run: RunInfo, request: Request) -> dict[str, Any]:
    """Build one row without its number and its warm-up flag.

    Parameters
    ----------
    run : RunInfo
        The run.
    request : Request
        The joined request.

    Returns
    -------
    dict
        By column name.
    """
    message, exchange = request.message, request.exchange
    joined = message if request.is_last else None
    state = joined.state if joined else {}
    begin = exchange.begin if exchange else {}
    end = (exchange.end if exchange else None) or {}
    tokens, doubt = _tokens(joined, exchange)
    times = _times(request, joined, output_tokens=tokens["output_tokens"])
    status = _status(joined, exchange)
    return {
        "session_id": request.session,
        "turn": request.turn,
        "source": "both" if joined and exchange else "gateway" if exchange else "agent",
        "chain": request.chain,
        "chain_label": request.chain if request.attempt == 1 else "retry",
        "position": request.position,
        "attempt": request.attempt,
        "retry_of": as_count(begin.get("retry_of")),
        "message_id": message.id if message else None,
        "gateway_request": exchange.number if exchange else None,
        "agent": as_text(message.state.get("agent")) if message else None,
        "provider": as_text(message.state.get("provider")) if message else None,
        "model": as_text(begin.get("model")) or (as_text(message.state.get("model")) if message else None),
        "answered_model": as_text(end.get("answered_model")),
        "dialect": as_text(begin.get("dialect")),
        "counted": not (
            (exchange and exchange.refusal) or (request.reason == "join_ambiguous" and not exchange)
        ),
        **times,
        "duration_ms": ms(exchange.end_ns, exchange.begin_ns) if exchange and exchange.end else None,
        "agent_begin_ns": joined.begin_ns if joined else None,
        "agent_end_ns": joined.completed_ns if joined else None,
        **tokens,
        "convention": as_text(end.get("convention")),
        "unknown_usage_keys": _listed(end.get("unknown_usage_keys")),
        **_money(joined, exchange),
        **_agent_tokens(joined),
        **prefix_columns(request, tokens["input_total_tokens"]),
        "status": status,
        "refusal": exchange.refusal if exchange else None,
        "http_status": as_int(end.get("status")),
        "terminal_seen": as_bool(end.get("terminal_seen")),
        "fault": as_text(end.get("fault")),
        "finish": as_text(end.get("finish")) or as_text(state.get("finish")),
        "error": as_text(state.get("error")),
        "reason": request.reason or doubt or _reason(status, tokens, end),
        "ttft_reason": None if times["ttft_ms"] is not None else _ttft_reason(status, times),
        "n_repeats": message.n_repeats if joined and message else None,
    }


def _tokens(message: Message | None, exchange: Exchange | None) -> tuple[dict[str, Any], str | None]:
    """Take all parts from one side: parts of two sources may not count the same things."""
    end = (exchange.end if exchange else None) or {}
    names = (*_PARTS, "cache_write_1h_tokens", "input_total_tokens", "output_tokens", "reasoning_tokens")
    source: str | None = None
    found: Event = {}
    if end.get("usage") is not None or any(end.get(name) is not None for name in names):
        source, found = "gateway", end
    elif exchange is None and message is not None:
        found = _reported(message)
        source = "agent" if found else None
    row: dict[str, Any] = {name: as_int(found.get(name)) for name in names}
    known = total(*(row[name] for name in _PARTS))
    stated = row["input_total_tokens"]
    doubt = None
    if not _plausible(row, known):
        row, known, stated, doubt = {str(name): None for name in names}, None, None, "usage_implausible"
    row["input_total_tokens"] = known if stated is None else stated
    row["cache_hit_rate"] = share(row["cache_read_tokens"], row["input_total_tokens"])
    row["tokens_source"] = source
    return row, doubt


def _plausible(row: dict[str, Any], known: int | None) -> bool:
    if any(value is not None and value < 0 for value in row.values()):
        return False
    stated, read = row["input_total_tokens"], row["cache_read_tokens"]
    if stated is not None and (known not in (None, stated) or (read is not None and read > stated)):
        return False
    output, reasoning = row["output_tokens"], row["reasoning_tokens"]
    return output is None or reasoning is None or reasoning <= output


def _reported(message: Message) -> Event:
    """Return the agent's own report: the message's, else its last step's."""
    for event in (message.state, *reversed(message.ends)):
        if any(event.get(name) is not None for name in (*_PARTS, "output_tokens")):
            return {
                k: v for k, v in event.items() if k.endswith(("_tokens", "cost_usd")) and k != "total_tokens"
            }
    return {}


def _agent_tokens(message: Message | None) -> dict[str, Any]:
    report = _reported(message) if message else {}
    return {
        "agent_input_total_tokens": total(*(as_count(report.get(name)) for name in _PARTS)),
        "agent_cache_read_tokens": as_count(report.get("cache_read_tokens")),
        "agent_output_tokens": as_count(report.get("output_tokens")),
        "agent_cost_usd": as_float(report.get("cost_usd")),
    }


def _money(message: Message | None, exchange: Exchange | None) -> dict[str, Any]:
    """Take the gateway's money; an agent says 0 for a model whose price it does not know."""
    if exchange is None:
        cost = as_float(_reported(message).get("cost_usd")) if message else None
        return {"cost_usd": cost or None}
    end = exchange.end or {}
    reserved = as_usd(exchange.begin.get("reserved_usd"))
    uncertain = reserved is not None and (as_bool(end.get("uncertain")) or exchange.end is None)
    charged = as_usd(end.get("charged_usd"))
    refused = exchange.refusal is not None
    return {
        "cost_usd": 0.0 if refused else as_usd(end.get("measured_usd")),
        "charged_usd": 0.0 if refused else reserved if uncertain and charged is None else charged,
        "committed_usd": as_usd(end.get("committed_usd")),
        "reserved_usd": reserved,
        "uncertain": None if reserved is None else uncertain,
        "bound": as_text(exchange.begin.get("bound")),
        "output_cap": as_text(exchange.begin.get("output_cap")),
    }


def _listed(names: object) -> str | None:
    return ",".join(map(str, names)) if isinstance(names, list) and names else None


def _times(request: Request, message: Message | None, *, output_tokens: int | None) -> dict[str, Any]:
    exchange = request.exchange
    send: int | None = None
    chunks: list[Event] = []
    if exchange is not None:
        send, chunks = exchange.begin_ns, exchange.chunks
    elif message is not None:
        # The agent announces a step about when its answer begins, so a step is no begin of a request; the
        # message is made just before it. Of a repeated request only the first begin is known.
        send = message.created_ns if len(message.steps) <= 1 and request.attempt == 1 else None
        last = message.steps[-1]["t"] if message.steps else None
        chunks = [c for c in message.chunks if last is None or c["t"] >= last]
    content = [c for c in chunks if c.get("n_chars") != 0 or c.get("chunk") == "tool"]
    spoken = [
        c for c in content if c.get("chunk") == "reasoning" or (c.get("chunk") == "text" and c.get("visible"))
    ]
    ttft = ms(min((c["t"] for c in spoken), default=None), send)
    latency = ms(max((c["t"] for c in content), default=None), send)
    itl = None
    # what came in one piece, or in one read, tells nothing of the time between tokens: unknown, not 0
    if ttft is not None and latency is not None and latency > ttft and (output_tokens or 0) > 1:
        itl = (latency - ttft) / ((output_tokens or 0) - 1)
    return {
        "send_ns": send,
        "send_source": None if send is None else "gateway" if exchange is not None else "message",
        "first_chunk_ms": ms(min((c["t"] for c in content), default=None), send),
        "ttft_ms": ttft,
        "itl_ms": itl,
        "latency_ms": latency,
        "n_chunks": len(content),
    }


def _status(message: Message | None, exchange: Exchange | None) -> str:
    if exchange is not None and exchange.status != "ok":
        return exchange.status
    if message is not None:
        error = as_text(message.state.get("error"))
        if error is not None:
            return "aborted" if "Abort" in error else "failed"
        if not message.is_complete and exchange is None:
            return "failed" if message.state.get("finish") else "unfinished"
    return "ok"


def _reason(status: str, tokens: dict[str, Any], end: Event) -> str | None:
    known = [
        tokens[name] is not None for name in ("input_total_tokens", "cache_read_tokens", "output_tokens")
    ]
    if all(known):
        return None
    if any(known):
        return as_text(end.get("reason")) or (
            "usage_partial" if not known[0] or not known[2] else "cache_unreported"
        )
    if status != "ok":
        return _STATUS_REASONS.get(status, status)
    return as_text(end.get("reason")) or "no_usage"


def _ttft_reason(status: str, times: dict[str, Any]) -> str:
    if times["send_ns"] is None:
        return "send_unknown"
    if status == "ok" or times["n_chunks"]:
        return "no_visible_text"
    return _STATUS_REASONS.get(status, status)
