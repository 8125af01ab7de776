"""The measured window of a page, and where in it something began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..evidence import Event
from ..values import as_int

if TYPE_CHECKING:
    from ..chrometrace import Trace


class Window(NamedTuple):
    """The stretch that is measured, CLOCK_MONOTONIC ns.

    Parameters
    ----------
    begin_ns : int
        Directly before the first prompt.
    stream_end_ns : int
        The last turn's idle; the end where that was not reached.
    end_ns : int
        After the tail. What is looked at later is our own.
    source : str
        ``"marks"``, or ``"trace"``: no window is told, so the whole trace is it.
    """

    begin_ns: int
    stream_end_ns: int
    end_ns: int
    source: str

    @property
    def stream_s(self) -> float:
        """Length of the stream, s."""
        return (self.stream_end_ns - self.begin_ns) / 1e9

    @property
    def recorded_s(self) -> float:
        """Length of the whole window, s."""
        return (self.end_ns - self.begin_ns) / 1e9

    def phase(self, t_ns: int) -> str:
        """Say where a stamp lies: before, stream, tail or after."""
        if t_ns < self.begin_ns:
            return "before"
        if t_ns < self.stream_end_ns:
            return "stream"
        return "tail" if t_ns < self.end_ns else "after"


def told_window(events: Sequence[Event]) -> Window | None:
    """Return the window as a driver told it.

    Parameters
    ----------
    events : sequence of Event
        Of the kind ``page.window``; the last counts.

    Returns
    -------
    Window or None
        None when there is none, or it has no length.
    """
    for event in reversed(events):
        begin, end = as_int(event.get("begin_ns")), as_int(event.get("end_ns"))
        stream_end = as_int(event.get("stream_end_ns"))
        if begin is not None and end is not None and begin < end:
            stops = end if stream_end is None else min(max(stream_end, begin + 1), end)
            return Window(begin, stops, end, "marks")
    return None


def traced_window(trace: Trace) -> Window | None:
    """Return the window of a trace that nobody tells of: from its first to its last task.

    Parameters
    ----------
    trace : Trace
        Any.

    Returns
    -------
    Window or None
        None when it holds no task.
    """
    tasks = trace.tasks if trace.page is None else trace.tasks.on(trace.page)
    tasks = tasks.where(tasks.duration_ns >= 0)
    if not len(tasks):
        return None
    begin, end = int(tasks.start_ns.min()), int((tasks.start_ns + tasks.duration_ns).max())
    return Window(begin, end, end, "trace") if begin < end else None
