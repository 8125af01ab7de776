"""One run's evidence, read once for all tables that are built from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .browser.evidence import PageEvidence
from .conversation import Conversation
from .evidence import EVENTS, GATEWAY, MEMORY, Event, RunInfo, read_events
from .exchange import read_exchanges
from .join import Request, join
from .sampling import Sample, read_samples
from .transcript import read_conversation


class Reading:
    """What a run is, what happened, and what that means; builders read it and change nothing.

    Parameters
    ----------
    run : RunInfo
        The run.
    events, gateway_events : sequence of Event
        Both sides' evidence.
    page : PageEvidence, optional
        Of a foreign trace; by default what lies in the run's folder.
    """

    def __init__(
        self,
        run: RunInfo,
        events: Sequence[Event],
        gateway_events: Sequence[Event],
        *,
        page: PageEvidence | None = None,
    ) -> None:
        self.run, self.events, self.gateway_events = run, events, gateway_events
        self._page = page

    @classmethod
    def of(cls, run: RunInfo) -> Reading:
        """Read the files of a run.

        Parameters
        ----------
        run : RunInfo
            The run; one without a folder has no events.

        Returns
        -------
        Reading
        """
        if run.path is None:
            return cls(run, [], [])
        return cls(run, read_events(run.path / EVENTS), read_events(run.path / GATEWAY))

    @cached_property
    def talk(self) -> Conversation:
        """The conversation as the agent told it."""
        return read_conversation(self.run, self.events)

    @cached_property
    def requests(self) -> list[Request]:
        """The model requests of both sides, joined."""
        return join(self.talk, read_exchanges(self.gateway_events))

    @cached_property
    def begin_ns(self) -> int | None:
        """CLOCK_MONOTONIC of the run's begin."""
        begins = (event["t"] for event in self.events if event["kind"] == "run.begin")
        return next(begins, self.run.anchor[0] if self.run.anchor else None)

    @cached_property
    def samples(self) -> list[Sample]:
        """What was sampled of its memory; read only where it is wanted, since it may be long."""
        return [] if self.run.path is None else read_samples(read_events(self.run.path / MEMORY))

    @cached_property
    def page(self) -> PageEvidence:
        """What is known of its page in a browser; its files are read only where they are wanted."""
        return PageEvidence.of(self.run, self.events) if self._page is None else self._page

    @cached_property
    def request_rows(self) -> list[dict[str, Any]]:
        """What each request says of itself, by column; not to be changed."""
        from .requests import request_row

        return [request_row(self.run, request) for request in self.requests]
