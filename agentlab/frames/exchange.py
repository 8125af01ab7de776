"""The gateway's side of one run: its requests as the gateway saw them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .evidence import Event
from .values import as_int, as_text


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
    def chain(self) -> str | None:
        """What the gateway says the request is for."""
        return as_text(self.begin.get("chain"))

    @property
    def refusal(self) -> str | None:
        """Why the gateway refused it, in one word of ``docs/events.md``; None: it did not."""
        end = self.end or {}
        if end.get("refused") is not True:
            return None
        return (as_text(end.get("reason")) or "refused").partition(":")[0]

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
