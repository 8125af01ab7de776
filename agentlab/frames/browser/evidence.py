"""What a run holds of its page: events by kind, and files that are read when they are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import AgentlabError
from ..evidence import PROFILE, TRACE, Event, RunInfo
from ..values import as_bool, as_text, ms
from .window import Window, told_window, traced_window

if TYPE_CHECKING:
    from ..chrometrace import Trace
    from ..cpuprofile import CpuProfile

_WORKERS = "cpu-worker-*.cpuprofile.gz"
_KIND = "page."


class PageEvidence:
    """One run's page; builders read it and change nothing.

    Parameters
    ----------
    run : RunInfo
        The run.
    events : sequence of Event
        Its events of every kind.
    trace, profile : Path, optional
        Files; one that does not exist counts as none.
    workers : sequence of Path
        CPU profiles of workers.
    """

    def __init__(
        self,
        run: RunInfo,
        events: Sequence[Event],
        *,
        trace: Path | None = None,
        profile: Path | None = None,
        workers: Sequence[Path] = (),
    ) -> None:
        self.run = run
        self._kinds: dict[str, list[Event]] = {}
        for event in events:
            if event["kind"].startswith(_KIND):
                self._kinds.setdefault(event["kind"].removeprefix(_KIND), []).append(event)
        self._trace_file = trace if trace is not None and trace.is_file() else None
        self.profile_file = profile if profile is not None and profile.is_file() else None
        self._worker_files = sorted(workers)

    @classmethod
    def of(cls, run: RunInfo, events: Sequence[Event]) -> PageEvidence:
        """Take what lies in the run's folder.

        Parameters
        ----------
        run : RunInfo
            The run.
        events : sequence of Event
            Its events.

        Returns
        -------
        PageEvidence
        """
        folder = run.path
        if folder is None:
            return cls(run, events)
        workers = list(folder.glob(_WORKERS))
        return cls(run, events, trace=folder / TRACE, profile=folder / PROFILE, workers=workers)

    @property
    def seen(self) -> bool:
        """Whether the run had a page at all."""
        return bool(self._kinds or self._trace_file or self.profile_file)

    def all(self, kind: str) -> list[Event]:
        """Return the events of a kind, named without ``page.``."""
        return self._kinds.get(kind, [])

    def last(self, kind: str) -> Event:
        """Return the last event of a kind, empty when there is none."""
        found = self.all(kind)
        return found[-1] if found else {}

    def rows(self, kind: str) -> list[list[Any]]:
        """Return the rows of all events of a kind that carry rows."""
        lists = [event.get("rows") for event in self.all(kind)]
        return [row for rows in lists if isinstance(rows, list) for row in rows if isinstance(row, list)]

    def file(self, name: str) -> Event:
        """Return what was told of a file of the run."""
        return next((event for event in self.all("file") if event.get("name") == name), {})

    @property
    def recorder(self) -> Mapping[str, Any]:
        """How the page was recorded: part of the arm."""
        settings = self.run.part("identity").get("settings")
        found = settings.get("recorder") if isinstance(settings, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def trace(self) -> Trace | None:
        """The trace, however much of it there is; None when there is none that can be read."""
        return self._read_trace[0]

    @property
    def trace_reason(self) -> str | None:
        """Why numbers of the trace are unknown; see :mod:`agentlab.frames.reasons`."""
        return self._read_trace[1]

    @cached_property
    def _read_trace(self) -> tuple[Trace | None, str | None]:
        from ..chrometrace import read_trace

        if self._trace_file is None:
            return None, "trace_missing" if self.file(TRACE) else "no_trace"
        try:
            trace = read_trace(self._trace_file)
        except AgentlabError:
            return None, "trace_unreadable"
        told = self.file(self._trace_file.name)
        if as_bool(told.get("data_loss")):
            return trace, "trace_data_loss"
        if trace.report.truncated or as_bool(told.get("complete")) is False:
            return trace, "trace_incomplete"
        if trace.page is None:
            return trace, "page_unknown"
        return trace, None if len(trace.tasks.on(trace.page)) else "page_no_tasks"

    @cached_property
    def window(self) -> Window | None:
        """The measured window."""
        told = told_window(self.all("window"))
        if told is not None or self.all("open"):
            return told
        return None if self.trace is None else traced_window(self.trace)

    @cached_property
    def frames_reason(self) -> str | None:
        """Why nothing is known of frames: a page that is not shown makes none."""
        if as_text(self.last("liveness").get("visibility")) == "hidden":
            return "page_hidden"
        failed = {as_text(e.get("name")) for e in self.all("gate") if as_bool(e.get("passed")) is False}
        return next((name for name in ("page_hidden", "page_frames_dead") if name in failed), None)

    @cached_property
    def page_profile(self) -> CpuProfile | None:
        """CPU samples of the page's main thread."""
        trace = self.trace
        if self.profile_file is not None:
            return _read_profile(self.profile_file)
        if trace is None or trace.page is None:
            return None
        page = trace.threads[trace.page]
        return next((p for p in trace.profiles if (p.pid, p.tid) == (page.pid, page.tid)), None)

    @cached_property
    def profiles(self) -> list[tuple[str, CpuProfile]]:
        """All CPU profiles: of the page, then of workers."""
        page = self.page_profile
        found = [] if page is None else [("page", page)]
        read = [_read_profile(path) for path in self._worker_files]
        inside = [] if self.trace is None else [p for p in self.trace.profiles if p is not page]
        workers = [p for p in read if p is not None] or inside
        return found + [(f"worker {number}", p) for number, p in enumerate(workers, 1)]

    def place(self, t_ns: int) -> dict[str, Any]:
        """Return when something was, and in which phase.

        Parameters
        ----------
        t_ns : int
            CLOCK_MONOTONIC.

        Returns
        -------
        dict
            ``t_ms`` since the window's begin, ``phase``.
        """
        window = self.window
        if window is None:
            return {"t_ms": None, "phase": None}
        return {"t_ms": ms(t_ns, window.begin_ns), "phase": window.phase(t_ns)}


def _read_profile(path: Path) -> CpuProfile | None:
    from ..cpuprofile import read_cpuprofile

    try:
        return read_cpuprofile(path)
    except AgentlabError:
        return None
