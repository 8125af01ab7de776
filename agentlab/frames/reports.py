"""The counts of tokens that an agent gives itself: on its event stream and in the files that it leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .evidence import Event
from .reading import Reading
from .values import as_count, as_float, as_int, as_text

_COUNTS = ("cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "total_tokens")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """One count, as its source gives it; None is unknown.

    Parameters
    ----------
    source : {"message", "usage", "session", "transcript"}
        Where it stands.
    scope : {"request", "turn", "session"}
        What it counts, in the source's words.
    input : int or None
        What the source calls its input, in tokens.
    read, write, output, reasoning, total : int or None
        In tokens.
    cost : float or None
        In USD.
    said : {"inclusive", "exclusive"} or None
        Whether its input is known to hold cached tokens.
    message, session : str or None
        What it is about.
    file : int or None
        Number of the transcript.
    """

    source: str
    scope: str
    input: int | None = None
    read: int | None = None
    write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    total: int | None = None
    cost: float | None = None
    said: str | None = None
    message: str | None = None
    session: str | None = None
    file: int | None = None

    def whole(self, convention: str) -> int | None:
        """Return the whole input under a convention.

        Parameters
        ----------
        convention : {"inclusive", "exclusive"}
            How the input is read.

        Returns
        -------
        int or None
        """
        if convention == "inclusive" or self.input is None:
            return self.input
        return self.input + (self.read or 0) + (self.write or 0)

    @property
    def cached(self) -> int:
        """Tokens that were read from or written to a cache, as far as it says."""
        return (self.read or 0) + (self.write or 0)


def reports_of(read: Reading) -> list[Report]:
    """Collect all counts of a run, in order of time.

    Parameters
    ----------
    read : Reading
        The run.

    Returns
    -------
    list of Report
        A message that was told of several times stands there once, as it was told last.
    """
    messages = [
        _report(message.state, "message", "request")
        for session in read.talk.sessions.values()
        for message in session.messages
    ]
    sessions = [
        _report(session.info, "session", "session", session=session.id)
        for session in read.talk.sessions.values()
        if session.info
    ]
    usages = [
        _report(
            event,
            "transcript" if event.get("source") == "transcript" else "usage",
            as_text(event.get("scope")) or "turn",
        )
        for event in read.events
        if event["kind"] == "usage"
    ]
    return [report for report in (*messages, *sessions, *usages) if report is not None]


def _report(event: Event, source: str, scope: str, **more: str) -> Report | None:
    counts: Mapping[str, Any] = {name: as_count(event.get(name)) for name in _COUNTS}
    said = as_text(event.get("convention")) or "exclusive"  # the columns of a message hold uncached input
    whole, fresh = as_count(event.get("input_total_tokens")), as_count(event.get("input_uncached_tokens"))
    given = whole if said == "inclusive" else fresh
    if given is None and not any(counts.values()):
        return None
    about = {"message": as_text(event.get("message")), "session": as_text(event.get("session")), **more}
    return Report(
        source=source,
        scope=scope,
        input=given,
        read=counts["cache_read_tokens"],
        write=counts["cache_write_tokens"],
        output=counts["output_tokens"],
        reasoning=counts["reasoning_tokens"],
        total=counts["total_tokens"],
        cost=as_float(event.get("cost_usd")),
        said=said,
        file=as_int(event.get("file")),
        **about,
    )
