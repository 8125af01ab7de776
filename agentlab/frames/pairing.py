"""Which of the agent's messages stands for which of the gateway's exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from .conversation import Message
from .exchange import Exchange
from .values import as_int

#: Server stamps are whole ms, cut off; a request may therefore seem to begin this much before its message.
_SLACK_NS = 5_000_000

#: A message and its exchanges: the attempts at it, in order, the one that gave the result last.
Groups = list[tuple[Message | None, list[Exchange]]]


def inside(exchange: Exchange, message: Message) -> bool:
    """Say whether an exchange began while a message was under way.

    Parameters
    ----------
    exchange : Exchange
        The gateway's side.
    message : Message
        The agent's.

    Returns
    -------
    bool
    """
    if message.created_ns is None or exchange.begin_ns < message.created_ns - _SLACK_NS:
        return False
    return message.completed_ns is None or exchange.begin_ns <= message.completed_ns + _SLACK_NS


def pair(messages: Sequence[Message], exchanges: Sequence[Exchange]) -> tuple[Groups, str | None]:
    """Pair the messages and the exchanges of one session.

    Parameters
    ----------
    messages : sequence of Message
        The agent's side, in order.
    exchanges : sequence of Exchange
        The gateway's side, in order.

    Returns
    -------
    tuple of (list, str or None)
        Messages with their exchanges; a reason when the sides do not fit and stand apart.
    """
    if not exchanges:
        return [(message, []) for message in messages], None
    if not messages:
        return [(None, group) for group in _attempts(exchanges)], None
    if all(message.created_ns is not None for message in messages):
        return _pair_by_time(messages, exchanges), None
    return _pair_by_order(messages, exchanges)


def _pair_by_time(messages: Sequence[Message], exchanges: Sequence[Exchange]) -> Groups:
    """Give each exchange to the message under way when its body was read; several are attempts."""
    groups: dict[str, list[Exchange]] = {message.id: [] for message in messages}
    strays: list[Exchange] = []
    for exchange in exchanges:
        under_way = [message for message in messages if inside(exchange, message)]
        if under_way:
            groups[under_way[-1].id].append(exchange)
        else:
            strays.append(exchange)
    paired: Groups = [(message, _last_good(groups[message.id])) for message in messages]
    paired += [(None, group) for group in _attempts(strays)]
    return sorted(paired, key=_group_ns)


def _pair_by_order(messages: Sequence[Message], exchanges: Sequence[Exchange]) -> tuple[Groups, str | None]:
    """Without stamps the k-th completed message is the k-th good exchange, if there are as many.

    An agent that says of none whether it is complete is asked for those without an error. Likewise those that
    failed: one that its agent tells of is one request, and not two.
    """
    groups = _attempts(exchanges)
    good = [group for group in groups if group[-1].status == "ok"]
    complete = [message for message in messages if message.is_complete]
    if not complete:
        complete = [message for message in messages if not message.state.get("error")]
    of: dict[int, Message] | None = None
    if len(good) == len(complete):
        of = {id(group): message for group, message in zip(good, complete, strict=True)}
    elif all(_came_after(message, exchanges[0]) for message in messages):
        of = _by_arrival(messages, good)
        paired: Groups = [(of.get(id(group)), group) for group in groups]
        return paired, None
    if of is None:
        apart: Groups = [(message, []) for message in messages]
        return apart + [(None, group) for group in groups], "join_ambiguous"
    broken = [message for message in messages if message not in complete]
    failed = [group for group in groups if group[-1].status != "ok"]
    if len(failed) == len(broken):
        of |= {id(group): message for group, message in zip(failed, broken, strict=True)}
        broken = []
    return [(of.get(id(group)), group) for group in groups] + [(message, []) for message in broken], None


def _came_after(message: Message, first: Exchange) -> bool:
    return message.completed_ns is not None and message.completed_ns >= first.begin_ns


def _by_arrival(messages: Sequence[Message], good: Sequence[list[Exchange]]) -> dict[int, Message]:
    """Give each exchange the last message told after it and before the next one.

    For an agent that says when a message is whole, and of some requests nothing, or more than one thing.
    """
    of: dict[int, Message] = {}
    for message in messages:
        before = [g for g in good if g[-1].end_ns <= (message.completed_ns or 0) + _SLACK_NS]
        if before:
            of[id(max(before, key=lambda group: group[-1].end_ns))] = message
    return of


def _last_good(group: list[Exchange]) -> list[Exchange]:
    """Put the exchange that gave the message its result last; it is the one that is joined."""
    good = [x for x in group if x.status == "ok"]
    return [x for x in group if x is not good[-1]] + [good[-1]] if good else group


def _attempts(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
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
