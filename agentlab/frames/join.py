"""How the gateway's side of one run is joined with the agent's side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .conversation import AgentSession, Conversation, Message, Turn
from .exchange import Exchange
from .pairing import inside, pair
from .values import as_count, as_int


@dataclasses.dataclass
class Request:
    """One model request: the agent's message, the gateway's exchange, or both.

    ``attempt`` counts the exchanges of one message; ``position`` the messages of one chain.
    """

    session: str | None
    chain: str | None
    message: Message | None = None
    exchange: Exchange | None = None
    attempt: int = 1
    is_last: bool = True
    position: int | None = None
    turn: int | None = None
    reason: str | None = None

    @property
    def order_ns(self) -> int | None:
        """Stamp that puts requests in order."""
        if self.exchange:
            return self.exchange.begin_ns
        return self.message.begin_ns if self.message else None


def join(talk: Conversation, exchanges: Sequence[Exchange]) -> list[Request]:
    """Join both sides, session by session.

    Parameters
    ----------
    talk : Conversation
        The agent's side.
    exchanges : sequence of Exchange
        The gateway's side.

    Returns
    -------
    list of Request
        In order of time. Where the sides do not fit, both stand apart with the reason ``join_ambiguous``.
    """
    owner = {x.number: _owner(talk, x) for x in exchanges}
    requests: list[Request] = []
    for session in talk.sessions.values():
        requests += _join_session(session, [x for x in exchanges if owner[x.number] == session.id])
    strays = [(x, x.chain) for x in exchanges if owner[x.number] is None]
    reason = "gateway_unattributed" if talk.sessions else None  # an agent may tell nothing at all
    for name in dict.fromkeys(x.session for x, _ in strays):
        requests += _by_the_gateway(name, [one for one in strays if one[0].session == name], reason)
    for request in requests:
        turn = _turn(talk, request)
        request.turn = turn.turn if turn else None
    last = max((r.order_ns for r in requests if r.order_ns is not None), default=0)
    return sorted(requests, key=lambda r: last + 1 if r.order_ns is None else r.order_ns)


def _turn(talk: Conversation, request: Request) -> Turn | None:
    if request.message is not None:
        return talk.turn_of(request.message)
    mains = [s.id for s in talk.sessions.values() if s.role != "child"]
    known = request.session in talk.sessions or len(mains) != 1
    return talk.turn_at(request.session if known else mains[0], request.order_ns)


def _owner(talk: Conversation, exchange: Exchange) -> str | None:
    """Return the session that an exchange names, else the run's only one: the file is the run's own."""
    if exchange.session is None and len(talk.sessions) == 1:
        return next(iter(talk.sessions))
    return exchange.session if exchange.session in talk.sessions else None


def _join_session(session: AgentSession, exchanges: list[Exchange]) -> list[Request]:
    aside = _aside(session, exchanges)
    groups, reason = pair(session.messages, [x for x in exchanges if x.number not in aside])
    requests: list[Request] = []
    counts: dict[str, int] = {}
    for message, group in groups:
        chain = _chain(session, message, group)
        counts[chain] = counts.get(chain, 0) + 1
        if not group and message is not None:
            attempt = 1 + _announced(session, message)
            requests.append(
                Request(session.id, chain, message, None, attempt, True, counts[chain], reason=reason)
            )
        for attempt, exchange in enumerate(group, 1):
            is_last = attempt == len(group)
            requests.append(
                Request(session.id, chain, message, exchange, attempt, is_last, counts[chain], reason=reason)
            )
    return requests + _by_the_gateway(
        session.id, [(x, aside[x.number]) for x in exchanges if x.number in aside]
    )


def _by_the_gateway(
    session: str | None, exchanges: Sequence[tuple[Exchange, str | None]], reason: str | None = None
) -> list[Request]:
    """Number exchanges that no message stands for, by chain; the gateway knows its repeats."""
    requests: list[Request] = []
    counts: dict[str | None, int] = {}
    for exchange, chain in exchanges:
        attempt = as_count(exchange.begin.get("attempt")) or 1
        counts[chain] = counts.get(chain, 0) + (attempt == 1 or chain not in counts)
        position = None if chain is None else counts[chain]
        requests.append(Request(session, chain, None, exchange, attempt, True, position, reason=reason))
    return requests


def _chain(session: AgentSession, message: Message | None, group: Sequence[Exchange]) -> str:
    """Say what a request is for: by the agent where it tells, else by the gateway."""
    if session.role == "child":
        return "subagent"
    if message is not None and message.is_compaction:
        return "compaction"
    return next((x.chain for x in group if x.chain is not None), "main")


def _aside(session: AgentSession, exchanges: list[Exchange]) -> dict[int, str]:
    """Find the side requests that no message of the agent stands for: by number, what they are for."""
    if session.role == "child":
        return {}
    summarises = any(m.is_compaction for m in session.messages)
    told = {x.number: "title" for x in exchanges if x.chain == "title"}
    if session.messages and not summarises:
        told |= {x.number: "compaction" for x in exchanges if x.chain == "compaction"}
    return told | {x.number: "title" for x in _titles(session, [x for x in exchanges if x.chain is None])}


def _titles(session: AgentSession, exchanges: list[Exchange]) -> list[Exchange]:
    """Find the side requests that name a session where the gateway does not say: without tools."""
    if any(x.has_tools for x in exchanges):
        summaries = [m for m in session.messages if m.is_compaction]
        return [x for x in exchanges if not x.has_tools and not any(inside(x, m) for m in summaries)]
    # an agent without tools: its steps follow each other, so of two at once the smaller is the side request
    return [x for x in exchanges if any(_beside(x, y) for y in exchanges)]


def _announced(session: AgentSession, message: Message) -> int:
    """Count the repeats that the agent announced while the message was under way."""
    begin, end = message.begin_ns, message.completed_ns
    return sum(
        1 for e in session.retries if begin is not None and begin <= e["t"] and (end is None or e["t"] <= end)
    )


def _beside(small: Exchange, big: Exchange) -> bool:
    overlap = small.begin_ns < big.end_ns and big.begin_ns < small.end_ns
    size = as_int(small.begin.get("body_bytes")), as_int(big.begin.get("body_bytes"))
    return overlap and size[0] is not None and size[1] is not None and size[0] < size[1]
