"""Which request follows which: an agent's main chain, its side requests, and repeats.

A *chain* is a talk with the model that grows. Two requests of one conversation are of one chain when they
offer the same tools and share the system text or the first message, or when only the tools changed and the
first message is the same; what comes directly after a compaction with the same tools goes on as well. Among
several such chains the one that shares most leading segments is followed.
"""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict
from typing import Any

from .canonical import Canonical, Segment
from .dialects.base import ModelRequest
from .prefix import Change, compare

_MAX_CONVERSATIONS = 256
_MAX_HEADS = 16
_HEAD_BYTES = 400
# A request without tools names its job at the beginning of its system text.
_TITLE = re.compile(rb"\btitles?\b", re.IGNORECASE)
_SUMMARY = re.compile(rb"summari[sz]|compact", re.IGNORECASE)
# A compaction that keeps the system text, and perhaps the tools, asks for it in its last message.
_ASKS_SUMMARY = re.compile(
    r"context checkpoint compaction|(create|provide) a detailed summary of (our|the|this) conversation",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True)
class Link:
    """Say how a request follows the one before it in its chain.

    Parameters
    ----------
    chain : {"main", "title", "compaction", "subagent"} or None
        What the chain is for; None: not known.
    attempt : int
        1, and one more for each repeat of the same prompt.
    change : Change or None
        None: there is none before it.
    retry_of : int or None
        Number of the request that it repeats.
    follows : int or None
        Number of the request that it is compared with: for a repeat the one before what it repeats, since
        with that one it would share all.
    """

    chain: str | None = None
    attempt: int = 1
    change: Change | None = None
    retry_of: int | None = None
    follows: int | None = None

    def fields(self) -> dict[str, Any]:
        """Return what ``request.begin`` says of it.

        Returns
        -------
        dict
        """
        fields: dict[str, Any] = {"chain": self.chain, "attempt": self.attempt, "retry_of": self.retry_of}
        return fields if self.change is None else fields | {"follows": self.follows} | self.change.fields()


@dataclasses.dataclass
class _Head:
    """The last request of a chain."""

    number: int
    canonical: Canonical
    tools: str
    has_tools: bool
    link: Link = dataclasses.field(default_factory=Link)

    @property
    def chain(self) -> str | None:
        return self.link.chain

    @property
    def system(self) -> Segment:
        return self.canonical.segments[1]

    @property
    def first(self) -> Segment | None:
        return self.canonical.segments[2] if len(self.canonical.segments) > 2 else None


class Chains:
    """Follow the chains of all conversations."""

    def __init__(self) -> None:
        self._conversations: OrderedDict[tuple[str, str], list[_Head]] = OrderedDict()

    def link(self, key: str, number: int, request: ModelRequest) -> Link:
        """Place a request in its chain.

        Parameters
        ----------
        key : str
            Of the conversation; what the request's body names it by is added.
        number : int
            Of the request.
        request : ModelRequest
            What was asked.

        Returns
        -------
        Link
        """
        conversation = (key, request.session or "")
        heads = self._conversations.pop(conversation, [])
        self._conversations[conversation] = heads
        if len(self._conversations) > _MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)
        new = _Head(number, request.canonical, request.tool_names_hash, bool(request.tools))
        before = next((head for head in heads if head.canonical.data == new.canonical.data), None)
        if before is not None:
            again = {"attempt": before.link.attempt + 1, "retry_of": before.number}
            link = dataclasses.replace(before.link, **again)
        else:
            aside = side_job(request)
            before = _before(new, heads, aside)
            chain = aside or (before.chain if before else _label(new, heads))
            change = None if before is None else compare(before.canonical, new.canonical)
            link = Link(chain, change=change, follows=None if before is None else before.number)
        new.link = link
        if before is not None and before.chain == new.chain:
            heads.remove(before)
        heads.append(new)
        if len(heads) > _MAX_HEADS:  # the main chain waits while its subagents talk, however many there are
            heads.remove(next((head for head in heads if head.chain != "main"), heads[0]))
        return link


def _before(new: _Head, heads: list[_Head], aside: str | None) -> _Head | None:
    """Return the request that a new one follows; a summary follows what it sums up, nothing follows it."""
    open_heads = [head for head in heads if head.chain != "compaction" or aside == "compaction"]
    same = [
        head
        for head in open_heads
        if head.tools == new.tools
        and (head.system == new.system or (new.first is not None and head.first == new.first))
    ]
    if not same and new.has_tools:
        same = [head for head in open_heads if head.has_tools and head.first == new.first is not None]
    if not same and heads and heads[-1].chain == "compaction":  # its summary opens what goes on
        same = [head for head in open_heads if head.has_tools and head.tools == new.tools]
    return max(same, key=lambda head: (_shared(head.canonical, new.canonical), head.number), default=None)


def _shared(a: Canonical, b: Canonical) -> int:
    """Count the leading segments that are equal."""
    pairs = zip(a.segments, b.segments, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(a.segments))


def side_job(request: ModelRequest) -> str | None:
    """Say what a side request is for, if its own words say so.

    Parameters
    ----------
    request : ModelRequest
        What was asked.

    Returns
    -------
    {"title", "compaction"} or None
    """
    if _ASKS_SUMMARY.search(request.last_text):
        return "compaction"
    if request.tools:
        return None
    start = request.canonical.segments[0].n_bytes + 2
    head = request.canonical.data[start : start + min(_HEAD_BYTES, request.canonical.segments[1].n_bytes)]
    if _TITLE.search(head):
        return "title"
    return "compaction" if _SUMMARY.search(head) else None


def _label(new: _Head, heads: list[_Head]) -> str | None:
    """Name a chain that begins: beside a main chain with tools it is a subagent's, or unknown without.

    What came first without tools may have been a question ahead of the talk: then the first chain with tools
    is the main one.
    """
    if not any(head.chain == "main" and (head.has_tools or not new.has_tools) for head in heads):
        return "main"
    return "subagent" if new.has_tools else None
