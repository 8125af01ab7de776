"""The gateway's side of one run, and how it is joined with the agent's side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .conversation import AgentSession, Conversation, Message
from .evidence import Event
from .values import as_int, as_text

#: Server stamps are whole ms, cut off; a request may therefore seem to begin this much before its message.
_SLACK_NS = 5_000_000


@dataclasses.dataclass
class Exchange:
    """One request as the gateway saw it."""

    number: int
    begin: Event
    end: Event | None = None
    chunks: list[Event] = dataclasses.field(default_factory=list[Event])

    @property
    def session(self) -> str | None:
        """The agent's session, from its headers."""
        return as_text(self.begin.get("session"))

    @property
    def begin_ns(self) -> int:
        """The body was read."""
        return self.begin["t"]

    @property
    def end_ns(self) -> int:
        """Its last stamp."""
        return self.end["t"] if self.end else max((c["t"] for c in self.chunks), default=self.begin_ns)

    @property
    def has_tools(self) -> bool:
        """False only when the gateway says that the request offered none."""
        return self.begin.get("n_tools") != 0

    @property
    def status(self) -> str:
        """``ok``, ``failed``, ``aborted`` (the agent hung up) or ``unfinished``."""
        if self.end is None:
            return "unfinished"
        if self.end.get("fault") == "client_gone":
            return "aborted"
        code = as_int(self.end.get("status"))
        good = code is None or code < 400
        return (
            "ok"
            if good and not self.end.get("fault") and self.end.get("terminal_seen") is not False
            else "failed"
        )


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


def read_exchanges(gateway_events: Sequence[Event]) -> list[Exchange]:
    """Put the gateway's events of a run in order.

    Parameters
    ----------
    gateway_events : sequence of Event
        ``gateway.jsonl``.

    Returns
    -------
    list of Exchange
        By their begin; what has no begin (its line was lost) is left out.
    """
    found: dict[int, Exchange] = {}
    for event in gateway_events:
        number = as_int(event.get("request"))
        if number is None:
            continue
        if event["kind"] == "request.begin":
            found[number] = Exchange(number, event)
        elif number in found and event["kind"] == "request.chunk":
            found[number].chunks.append(event)
        elif number in found and event["kind"] == "request.end":
            found[number].end = event
    return sorted(found.values(), key=lambda exchange: (exchange.begin_ns, exchange.number))


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
    requests += [
        Request(x.session, None, exchange=x, reason="gateway_unattributed")
        for x in exchanges
        if owner[x.number] is None
    ]
    for request in requests:
        turn = (
            talk.turn_of(request.message)
            if request.message
            else talk.turn_at(request.session, request.order_ns)
        )
        request.turn = turn.turn if turn else None
    last = max((r.order_ns for r in requests if r.order_ns is not None), default=0)
    return sorted(requests, key=lambda r: last + 1 if r.order_ns is None else r.order_ns)


def _owner(talk: Conversation, exchange: Exchange) -> str | None:
    """Return the session that an exchange names, else the run's only one: the file is the run's own."""
    if exchange.session is None and len(talk.sessions) == 1:
        return next(iter(talk.sessions))
    return exchange.session if exchange.session in talk.sessions else None


def _join_session(session: AgentSession, exchanges: list[Exchange]) -> list[Request]:
    titles = _titles(session, exchanges)
    rest = [x for x in exchanges if x not in titles]
    groups, reason = _pair(session.messages, rest)
    requests: list[Request] = []
    counts: dict[str, int] = {}
    for message, group in groups:
        chain = _chain(session, message)
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
    for number, exchange in enumerate(titles, 1):
        requests.append(Request(session.id, "title", exchange=exchange, position=number))
    return requests


def _announced(session: AgentSession, message: Message) -> int:
    """Count the repeats that the agent announced while the message was under way."""
    begin, end = message.begin_ns, message.completed_ns
    return sum(
        1 for e in session.retries if begin is not None and begin <= e["t"] and (end is None or e["t"] <= end)
    )


def _chain(session: AgentSession, message: Message | None) -> str:
    if session.role == "child":
        return "subagent"
    return "compaction" if message is not None and message.is_compaction else "main"


def _titles(session: AgentSession, exchanges: list[Exchange]) -> list[Exchange]:
    """Find the side requests that name a session: no tools, and no message of the agent stands for them."""
    if session.role == "child":
        return []
    if any(x.has_tools for x in exchanges):
        summaries = [m for m in session.messages if m.is_compaction]
        return [x for x in exchanges if not x.has_tools and not any(_inside(x, m) for m in summaries)]
    # an agent without tools: its steps follow each other, so of two at once the smaller is the side request
    return [x for x in exchanges if any(_beside(x, y) for y in exchanges)]


def _inside(exchange: Exchange, message: Message) -> bool:
    if message.created_ns is None or exchange.begin_ns < message.created_ns - _SLACK_NS:
        return False
    return message.completed_ns is None or exchange.begin_ns <= message.completed_ns + _SLACK_NS


def _beside(small: Exchange, big: Exchange) -> bool:
    overlap = small.begin_ns < big.end_ns and big.begin_ns < small.end_ns
    size = as_int(small.begin.get("body_bytes")), as_int(big.begin.get("body_bytes"))
    return overlap and size[0] is not None and size[1] is not None and size[0] < size[1]


_Groups = list[tuple[Message | None, list[Exchange]]]


def _pair(messages: list[Message], exchanges: list[Exchange]) -> tuple[_Groups, str | None]:
    if not exchanges:
        return [(message, []) for message in messages], None
    if not messages:
        return [(None, group) for group in _attempts(exchanges)], None
    if all(message.created_ns is not None for message in messages):
        return _pair_by_time(messages, exchanges), None
    return _pair_by_order(messages, exchanges)


def _pair_by_time(messages: list[Message], exchanges: list[Exchange]) -> _Groups:
    """Give each exchange to the message under way when its body was read; several are attempts."""
    groups: dict[str, list[Exchange]] = {message.id: [] for message in messages}
    strays: list[Exchange] = []
    for exchange in exchanges:
        under_way = [message for message in messages if _inside(exchange, message)]
        if under_way:
            groups[under_way[-1].id].append(exchange)
        else:
            strays.append(exchange)
    paired: _Groups = [(message, _last_good(groups[message.id])) for message in messages]
    paired += [(None, group) for group in _attempts(strays)]
    return sorted(paired, key=_group_ns)


def _pair_by_order(messages: list[Message], exchanges: list[Exchange]) -> tuple[_Groups, str | None]:
    """Without server stamps the k-th completed message is the k-th good exchange, if there are as many."""
    groups = _attempts(exchanges)
    good = [group for group in groups if group[-1].status == "ok"]
    complete = [message for message in messages if message.is_complete]
    if len(good) != len(complete):
        apart: _Groups = [(message, []) for message in messages]
        return apart + [(None, group) for group in groups], "join_ambiguous"
    of = {id(group): message for group, message in zip(good, complete, strict=True)}
    paired: _Groups = [(of.get(id(group)), group) for group in groups]
    paired += [(message, []) for message in messages if not message.is_complete]
    return paired, None


def _last_good(group: list[Exchange]) -> list[Exchange]:
    """Put the exchange that gave the message its result last; it is the one that is joined."""
    good = [x for x in group if x.status == "ok"]
    return [x for x in group if x is not good[-1]] + [good[-1]] if good else group


def _attempts(exchanges: list[Exchange]) -> list[list[Exchange]]:
    groups: dict[int, list[Exchange]] = {}
    root: dict[int, int] = {}
    for exchange in exchanges:
        earlier = as_int(exchange.begin.get("retry_of"))
        root[exchange.number] = root.get(earlier, exchange.number) if earlier is not None else exchange.number
        groups.setdefault(root[exchange.number], []).append(exchange)
    return list(groups.values())


def _group_ns(group: tuple[Message | None, list[Exchange]]) -> int:
    message, exchanges = group
    stamps = [x.begin_ns for x in exchanges]
    if message is not None and message.created_ns is not None:
        stamps.append(message.created_ns)
    return min(stamps)
