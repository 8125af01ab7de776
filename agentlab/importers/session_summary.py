"""Read the original web-chat script's ``session-summary.json`` as a recording of one run.

Its numbers stand in the ``original_`` columns of the table ``page``: tasks are those of all threads of all
processes, and MB are MiB. What it cannot tell (single tasks, frames, requests) is empty. Where
``cpu-profile.cpuprofile`` lies beside it, that is read as a CPU profile; else the functions it lists stand in
``cpu`` as the profile ``original``, booked as the original did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ImportFormatError
from ..frames.browser.evidence import PageEvidence
from ..frames.build import BUILDERS, known
from ..frames.evidence import Issue, RunInfo
from ..frames.reading import Reading
from ..frames.values import as_count, as_float, as_text

if TYPE_CHECKING:
    import pandas as pd

#: Where a run's plain data hold the file's object, without what is private in it.
SUMMARY = "session_summary"
MIB = float(1 << 20)
NAME, PROFILE = "session-summary.json", "cpu-profile.cpuprofile"
#: What names the user's machine, or what was said.
PRIVATE = ("url", "sessionId", "directory", "prompt")

_Converter = Callable[[object], Any]


def _whole(value: object) -> int | None:
    number = as_float(value)
    return None if number is None else round(number)


def _mib(value: object) -> int | None:
    number = as_float(value)
    return None if number is None else round(number * MIB)


def _mib_rate(value: object) -> float | None:
    number = as_float(value)
    return None if number is None else number * MIB


#: name in the file -> column of `page`, and how the value is read
FIELDS: dict[str, tuple[str, _Converter]] = {
    "taskCount": ("original_tasks", as_count),
    "longTaskCount": ("original_long_tasks", as_count),
    "longTaskTotalMs": ("original_long_total_ms", as_float),
    "longestTaskMs": ("original_longest_ms", as_float),
    "taskP95Ms": ("original_task_p95_ms", as_float),
    "taskP99Ms": ("original_task_p99_ms", as_float),
    "blockedPercent": ("original_blocked_pct", as_float),
    "mainThreadBusyPercent": ("original_busy_pct", as_float),
    "recalcStylePerSecond": ("original_recalcs_per_second", as_float),
    "layoutsPerSecond": ("original_layouts_per_second", as_float),
    "framesPerSecond": ("original_raf_per_second", as_float),
    "streamSeconds": ("original_stream_s", as_float),
    "recordedSeconds": ("recorded_s", as_float),
    "nodeStart": ("nodes_begin", as_count),
    "nodeEnd": ("nodes_end", as_count),
    "nodeGrowth": ("original_node_growth", _whole),
    "listenerStart": ("listeners_begin", as_count),
    "listenerEnd": ("listeners_end", as_count),
    "listenerGrowth": ("original_listener_growth", _whole),
    "heapMaxMb": ("original_heap_max_bytes", _mib),
    "heapGrowthMbPerSecond": ("original_heap_bytes_per_second", _mib_rate),
}
#: Those that come from the trace: without any task they are placeholders.
_OF_TASKS = tuple(name for name in FIELDS if "ask" in name or name == "blockedPercent")


class _Sample(msgspec.Struct, rename="camel"):
    elapsed_seconds: float
    js_heap_used_mb: float | None = None
    js_event_listeners: int | None = None
    nodes: int | None = None
    task_duration: float | None = None


class _Function(msgspec.Struct, rename="camel"):
    function: str
    self_ms: float
    percent_of_busy: float | None = None


class _Profile(msgspec.Struct, rename="camel"):
    top_self_time: list[_Function] = []


class _Liveness(msgspec.Struct, rename="camel"):
    frames_per_second: float | None = None
    visibility_state: str | None = None


class _Summary(msgspec.Struct, rename="camel"):
    recorded_at: str | None
    metrics: dict[str, Any]
    label: str | None = None
    model: str | None = None
    agent: str | None = None
    reached_idle: bool | None = None
    rendered_stream: bool | None = None
    trace_complete: bool | None = None
    frame_liveness: _Liveness | None = None
    cpu_profile: _Profile | None = None
    samples: list[_Sample] = []


def knows(data: Mapping[str, Any]) -> bool:
    """Say whether plain data is such a file.

    Parameters
    ----------
    data : mapping
        A file's JSON object.

    Returns
    -------
    bool
    """
    return {"recordedAt", "metrics", "reachedIdle"} <= data.keys()


class SessionSummary:
    """Run and tables of one file: the arm is its label.

    A run that never became idle, whose answer was not seen on the page, whose trace is cut or without tasks,
    or whose page was hidden is discarded, as it is in a study of agentlab; the original warned at most.

    Parameters
    ----------
    path : Path
        The file.
    data : dict
        Its JSON object.

    Raises
    ------
    ImportFormatError
        A field is missing or of the wrong type; the message names it.
    """

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        try:
            self._summary = msgspec.convert(data, _Summary)
        except msgspec.ValidationError as error:
            raise ImportFormatError(f"{path}: {error}") from None
        for name, value in self._summary.metrics.items():
            if value is not None and as_float(value) is None:
                raise ImportFormatError(f"{path}: metrics.{name} is {value!r:.40}, and no number")
        self.path = path.absolute()
        self.name = self.path.parent.name if path.name == NAME else path.stem
        arm = as_text(self._summary.label) or "webchat"
        stored = {name: None if name in PRIVATE else value for name, value in data.items()}
        run = RunInfo(
            study=self.name,
            arm=arm,
            run_id=f"0000-{arm}",
            run_index=0,
            sequence=0,
            issues=tuple(_issues(self._summary)),
            raw={
                "identity": {
                    "driver": "webchat",
                    "model": as_text(self._summary.model),
                    "settings": {"recorder": {"preset": "original"}},
                },
                "started_unix_ns": _unix_ns(self._summary.recorded_at),
                SUMMARY: stored,
            },
        )
        beside = self.path.parent / PROFILE
        self._page = PageEvidence(run, [], profile=beside)
        self._reading = Reading(run, [], [], page=self._page)
        self.runs = (run,)
        self.arms: tuple[str, ...] = (arm,)
        self.scenario: dict[str, Any] | None = None
        digest = hashlib.sha256(msgspec.json.encode(data)).hexdigest()
        self.identity = (SUMMARY, digest)
        self.about = {f"{SUMMARY}_sha256": digest}
        self._stored = stored

    def at_hand(self, name: str) -> bool:
        """Say that every table is there without long reading: the file was read as a whole."""
        return True

    def table(self, name: str) -> pd.DataFrame:
        """Return one table.

        Parameters
        ----------
        name : str
            Name of the table; those that the file says nothing about are empty.

        Returns
        -------
        pandas.DataFrame
        """
        key = self.runs[0].key()
        own = {
            "page": self._page_rows,
            "counters": self._counter_rows,
            "callsites": self._callsite_rows,
            "cpu": self._cpu_rows,
        }
        if name in own:
            return known(name).frame({**key, **row} for row in own[name]())
        return known(name).frame(BUILDERS[name](self._reading))

    def _page_rows(self) -> Iterator[dict[str, Any]]:
        summary, metrics = self._summary, self._summary.metrics
        no_tasks = not metrics.get("taskCount")
        told = {
            column: read(metrics.get(name))
            for name, (column, read) in FIELDS.items()
            if not (no_tasks and name in _OF_TASKS)
        }
        profiled = [row for row in BUILDERS["page"](self._reading) if self._page.profile_file is not None]
        sampled = {
            name: value
            for row in profiled
            for name, value in row.items()
            if name.startswith(("sample", "original_cpu"))
        }
        live = summary.frame_liveness or _Liveness()
        yield {
            "recorder": as_text(self._page.recorder),
            "preset": "original",
            "visibility": as_text(live.visibility_state),
            "gates_failed": ",".join(issue.code for issue in self.runs[0].issues) or None,
            "trace_reason": "no_trace",
            "frames_reason": "no_trace",
            "stream_s": as_float(metrics.get("streamSeconds")),
            "node_growth": told.get("original_node_growth"),
            "listener_growth": told.get("original_listener_growth"),
            **told,
            **sampled,
        }

    def _counter_rows(self) -> Iterator[dict[str, Any]]:
        stream_s = as_float(self._summary.metrics.get("streamSeconds"))
        for seq, sample in enumerate(self._summary.samples, 1):
            at = sample.elapsed_seconds
            yield {
                "seq": seq,
                "source": "sample",
                "t_ms": at * 1e3,
                "phase": None if stream_s is None else "stream" if at < stream_s else "tail",
                "heap_bytes": _mib(sample.js_heap_used_mb),
                "nodes": sample.nodes,
                "listeners": sample.js_event_listeners,
                "task_ms": None if sample.task_duration is None else sample.task_duration * 1e3,
            }

    def _cpu_rows(self) -> Iterator[dict[str, Any]]:
        if self._page.profile_file is not None:
            yield from BUILDERS["cpu"](self._reading)
            return
        profile = self._summary.cpu_profile or _Profile()
        for seq, one in enumerate(profile.top_self_time, 1):
            share = one.percent_of_busy
            yield {
                "profile": "original",
                "seq": seq,
                "function": one.function.partition(" @ ")[0],
                "label": one.function,
                "kind": _KINDS.get(one.function, "js"),
                "self_ms": one.self_ms,
                "share": None if share is None else share / 100,
            }

    def _callsite_rows(self) -> Iterator[dict[str, Any]]:
        work = _part(self._stored, "scheduledWork")
        sites = [(one.get("site"), one.get("calls"), one.get("totalMs")) for one in _parts(work, "sites")]
        counters = [(name, value, None) for name, value in _part(work, "counters").items()]
        app = [
            (one.get("metric"), one.get("count"), one.get("total"))
            for one in _parts(_part(self._stored, "streamPerformance"), "entries")
        ]
        for kind, rows in (("site", sites), ("counter", counters), ("app", app)):
            for seq, (name, calls, total_ms) in enumerate(rows, 1):
                yield {
                    "kind": kind,
                    "seq": seq,
                    "name": as_text(name) or "(unnamed)",
                    "calls": as_count(calls),
                    "total_ms": as_float(total_ms),
                }


_KINDS = {"(garbage collector)": "gc", "(program)": "program", "(idle)": "idle"}


def _part(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _parts(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = data.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _issues(summary: _Summary) -> Iterator[Issue]:
    live = summary.frame_liveness or _Liveness()
    found = {
        "page_not_idle": summary.reached_idle is False,
        "page_text_not_growing": summary.rendered_stream is False,
        "trace_incomplete": summary.trace_complete is False,
        "page_no_tasks": not summary.metrics.get("taskCount"),
        "page_hidden": live.visibility_state == "hidden",
    }
    for code, failed in found.items():
        if failed:
            yield Issue(code=code, discard=True, phase="import")


def _unix_ns(recorded_at: str | None) -> int | None:
    try:
        return round(datetime.fromisoformat(recorded_at or "").timestamp() * 1e3) * 1_000_000
    except ValueError:
        return None
