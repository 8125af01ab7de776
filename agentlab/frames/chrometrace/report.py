"""What was lost of a trace while it was read."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True, kw_only=True)
class TraceReport:
    """Say what a trace's file was like.

    Parameters
    ----------
    n_bytes : int
        Bytes of plain text that were read.
    n_events : int
        Objects in its list of events.
    form : {"object", "array"}
        The list stands under ``traceEvents``, or is the file.
    compressed : bool
        It is gzip, whatever its name says.
    n_empty, n_unparsable : int
        Events ``{}``, and such that are no events; where only tasks are read, of those that were looked at.
    n_negative : int
        Slices with a negative duration; in no sum.
    n_open : int
        Slices without an end.
    n_other_clock : int
        Slices that began more than a day from most.
    truncated : bool
        The list of events has no end.
    truncated_at : int or None
        Offset in the plain text behind the last whole event, when it is truncated.
    damaged : str or None
        Why a compressed file could not be read to its end.
    """

    n_bytes: int
    n_events: int
    form: Literal["object", "array"]
    compressed: bool
    n_empty: int
    n_unparsable: int
    n_negative: int
    n_open: int
    n_other_clock: int
    truncated: bool
    truncated_at: int | None
    damaged: str | None = None

    def notes(self) -> list[str]:
        """Return what a reader of the tables has to know, in words; empty when nothing is lost.

        Returns
        -------
        list of str
        """
        said: list[str] = []
        if self.truncated:
            why = f" ({self.damaged})" if self.damaged else ""
            said.append(f"the trace is cut behind byte {self.truncated_at}{why}; what stands before is read")
        for n, what in (
            (self.n_unparsable, "events cannot be read"),
            (self.n_negative, "events have a negative duration and are in no sum"),
            (self.n_other_clock, "events were stamped by another clock than most"),
            (self.n_empty, "events are empty"),
            (self.n_open, "slices have no end: they were running when the trace ended"),
        ):
            if n:
                said.append(f"{n} {what}")
        return said
