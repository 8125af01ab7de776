"""Read the original cache script's report (``schemaVersion`` 2) as recordings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType, field

from ..errors import ImportFormatError
from ..frames.evidence import Issue, RunInfo
from ..frames.values import as_text, share, total
from .discard_texts import CLEANUP, to_issue
from .report_rows import report_table

if TYPE_CHECKING:
    import pandas as pd

_NULL = "null_in_report"
#: Where a run's plain data hold its object of the report, and what the report says of all runs: what schema 2
#: alone says is not lost when it is written again.
RUN, ABOUT = "schema2_run", "schema2_about"


class _Routing(msgspec.Struct):
    agent: str | None
    provider: str | None = field(name="providerID")
    model: str | None = field(name="modelID")


class _Observed(msgspec.Struct):
    agent: str | None = field(name="sessionAgent")
    provider: str | None = field(name="sessionProviderID")
    model: str | None = field(name="sessionModelID")
    n_messages: int | None = field(name="assistantCount")


class _Event(msgspec.Struct):
    at: float
    type: str
    session: str | None = field(name="sessionID", default=None)
    message: str | None = field(name="messageID", default=None)
    part: str | None = field(name="partID", default=None)
    field: str | None = None
    partType: str | None = None
    status: str | None = None
    retryAttempt: float | None = None


class _Tool(msgspec.Struct):
    tool: str | None
    status: str | None


class _Request(msgspec.Struct):
    position: int
    warmup: bool
    input: int | None
    output: int | None
    cacheRead: int | None
    cacheWrite: int | None
    totalInput: int | None


class _PromptLoop(msgspec.Struct):
    turn: int
    warmup: bool
    promptLoopTtftMs: float | None
    promptLoopLatencyMs: float | None


class _Observation(msgspec.Struct):
    """After an exception only the events are there."""

    events: list[_Event]
    routing: _Observed | None = None
    tools: list[_Tool] | UnsetType = UNSET
    requests: list[_Request] | UnsetType = UNSET
    promptLoops: list[_PromptLoop] | UnsetType = UNSET


class _Run(msgspec.Struct):
    runIndex: int
    observation: _Observation
    discarded: bool
    requestedRouting: _Routing
    sessionID: str | None = None
    discardReasons: list[str] | None = None
    cleanupError: str | None = None


class _Comparison(msgspec.Struct):
    arm: str
    pluginBuild: str | None = None
    hostOpenCodeVersion: str | None = None


class _Report(msgspec.Struct):
    generatedAt: str
    comparison: _Comparison
    runs: list[_Run]


def knows(data: dict[str, Any]) -> bool:
    """Say whether plain data is such a report, of whatever version.

    Parameters
    ----------
    data : dict
        A file's JSON object.

    Returns
    -------
    bool
    """
    return "schemaVersion" in data


class CacheReport:
    """Runs and tables of one report.

    Parameters
    ----------
    path : Path
        The file.
    data : dict
        Its JSON object.

    Raises
    ------
    ImportFormatError
        Another version, or a field that is missing or of the wrong type; the message names it.
    """

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        version = data.get("schemaVersion")
        if version != 2:
            raise ImportFormatError(f"{path}: schemaVersion is {version!r}; only 2 is known")
        try:
            self._report = msgspec.convert(data, _Report)
        except msgspec.ValidationError as error:
            raise ImportFormatError(f"{path}: {error}") from None
        indices = [run.runIndex for run in self._report.runs]
        if len(set(indices)) != len(indices):
            raise ImportFormatError(f"{path}: runs[].runIndex repeats a number")
        self.path = path.absolute()
        self.name = path.stem
        digest = hashlib.sha256(msgspec.json.encode(data)).hexdigest()
        self.identity = ("schema2", digest)
        self.about = {"schema2_sha256": digest}
        self.scenario: dict[str, Any] | None = None
        self.arms = (self._report.comparison.arm,)
        about = {name: data[name] for name in ("generatedAt", "comparison", "controls") if name in data}
        pairs = zip(self._report.runs, data["runs"], strict=True)
        self.runs = tuple(self._info(run, {RUN: stored, ABOUT: about}) for run, stored in pairs)

    def at_hand(self, name: str) -> bool:
        """Say that every table is there without long reading: the file was read as a whole."""
        return True

    def table(self, name: str) -> pd.DataFrame:
        """Return one table.

        Parameters
        ----------
        name : str
            Name of the table; those that the report says nothing about are empty.

        Returns
        -------
        pandas.DataFrame
        """
        return report_table(name, _ROWS, zip(self._report.runs, self.runs, strict=True))

    def _info(self, run: _Run, stored: dict[str, Any]) -> RunInfo:
        comparison = self._report.comparison
        whole = run.observation.requests is not UNSET
        routing = run.requestedRouting
        return RunInfo(
            study=self.name,
            arm=comparison.arm,
            run_id=f"{run.runIndex:04d}-{comparison.arm}",
            run_index=run.runIndex,
            sequence=run.runIndex,
            status="complete" if whole or not run.discarded else "failed",
            issues=tuple(_issues(run)),
            warmup_rule="original",
            planned_turns=2,
            raw={
                "identity": {
                    "driver": "opencode",
                    "version": comparison.hostOpenCodeVersion,
                    "model": f"{routing.provider}/{routing.model}",
                    "settings": {"agent": routing.agent},
                },
                "versions": {"opencode": comparison.hostOpenCodeVersion, "plugin": comparison.pluginBuild},
                **stored,
            },
        )


def _issues(run: _Run) -> Iterator[Issue]:
    reasons = run.discardReasons or []
    for text in reasons:
        code, detail = to_issue(text)
        yield Issue(code=code, detail=detail, discard=run.discarded, phase="import")
    if run.discarded and not reasons:
        yield Issue(code="import_note", detail="discarded without a reason", discard=True, phase="import")
    if run.cleanupError is not None:
        detail = None if run.cleanupError == CLEANUP else run.cleanupError
        yield Issue(code="session_not_deleted", detail=detail, phase="import")


def _session_id(run: _Run) -> str:
    """Name the session; after an exception there may have been none, and then there is nothing of it."""
    return run.sessionID or f"run {run.runIndex}"


_Rows = Iterator[dict[str, Any]]


def _run_rows(run: _Run, info: RunInfo) -> _Rows:
    seen = run.observation
    identity, versions = info.part("identity"), info.part("versions")
    yield {
        "sequence": info.sequence,
        "status": info.status,
        "reason": ",".join(info.discard_codes) or None,
        "driver": identity["driver"],
        "version": identity["version"],
        "model": identity["model"],
        "versions": as_text(dict(versions)),
        "warmup_rule": info.warmup_rule,
        "n_sessions": 1,
        "n_turns": None if isinstance(seen.promptLoops, UnsetType) else len(seen.promptLoops),
        "n_requests": None if isinstance(seen.requests, UnsetType) else len(seen.requests),
        "n_tools": None if isinstance(seen.tools, UnsetType) else len(seen.tools),
        "n_issues": len(info.issues),
        "n_events": len(seen.events),
    }


def _issue_rows(run: _Run, info: RunInfo) -> _Rows:
    for seq, issue in enumerate(info.issues, 1):
        yield {
            "seq": seq,
            "code": issue.code,
            "phase": issue.phase,
            "detail": issue.detail,
            "discard": issue.discard,
            "source": issue.source,
        }


def _session_rows(run: _Run, info: RunInfo) -> _Rows:
    seen = run.observation
    if run.sessionID is None:
        return
    routing = seen.routing
    yield {
        "session_id": run.sessionID,
        "role": "main",
        "agent": routing.agent if routing else None,
        "provider": routing.provider if routing else None,
        "model": routing.model if routing else None,
        "version": info.part("identity")["version"],
        "n_turns": None if isinstance(seen.promptLoops, UnsetType) else len(seen.promptLoops),
        "n_messages": routing.n_messages if routing else None,
        "n_requests": None if isinstance(seen.requests, UnsetType) else len(seen.requests),
        "n_tools": None if isinstance(seen.tools, UnsetType) else len(seen.tools),
    }


def _turn_rows(run: _Run, info: RunInfo) -> _Rows:
    for loop in () if isinstance(run.observation.promptLoops, UnsetType) else run.observation.promptLoops:
        yield {
            "session_id": _session_id(run),
            "turn": loop.turn,
            "ttft_ms": loop.promptLoopTtftMs,
            "latency_ms": loop.promptLoopLatencyMs,
            "warmup": loop.warmup,
            "reason": _NULL if loop.promptLoopTtftMs is None else None,
        }


def _request_rows(run: _Run, info: RunInfo) -> _Rows:
    requests = () if isinstance(run.observation.requests, UnsetType) else run.observation.requests
    for number, one in enumerate(requests, 1):
        yield {
            "request": number,
            "session_id": _session_id(run),
            "source": "agent",
            "chain": "main",
            "counted": True,
            "position": one.position,
            "agent": run.requestedRouting.agent,
            "provider": run.requestedRouting.provider,
            "model": run.requestedRouting.model,
            "warmup": one.warmup,
            "input_uncached_tokens": one.input,
            "cache_read_tokens": one.cacheRead,
            "cache_write_tokens": one.cacheWrite,
            "input_total_tokens": one.totalInput,
            "output_tokens": one.output,
            "tokens_source": "agent",
            "cache_hit_rate": share(one.cacheRead, one.totalInput),
            "convention": "exclusive",
            "agent_input_total_tokens": total(one.input, one.cacheRead, one.cacheWrite),
            "agent_cache_read_tokens": one.cacheRead,
            "agent_output_tokens": one.output,
            "reason": _NULL if None in (one.input, one.output, one.cacheRead, one.totalInput) else None,
            "ttft_reason": "send_unknown",
        }


def _tool_rows(run: _Run, info: RunInfo) -> _Rows:
    tools = () if isinstance(run.observation.tools, UnsetType) else run.observation.tools
    for number, tool in enumerate(tools, 1):
        yield {
            "session_id": _session_id(run),
            "call": str(number),
            "name": tool.tool,
            "status": "invalid" if tool.tool == "invalid" else tool.status,
            "failed": {"completed": tool.tool == "invalid", "error": True}.get(tool.status or ""),
            "reason": _NULL,
        }


def _event_rows(run: _Run, info: RunInfo) -> _Rows:
    for seq, event in enumerate(run.observation.events, 1):
        rest = {"field": event.field, "partType": event.partType, "retryAttempt": event.retryAttempt}
        rest = {name: value for name, value in rest.items() if value is not None}
        yield {
            "seq": seq,
            "source": "report",
            "unix_ms": event.at,
            "kind": event.type,
            "session_id": event.session,
            "message_id": event.message,
            "part_id": event.part,
            "state": event.status,
            "detail": as_text(rest) if rest else None,
        }


_ROWS = {
    "runs": _run_rows,
    "issues": _issue_rows,
    "sessions": _session_rows,
    "turns": _turn_rows,
    "requests": _request_rows,
    "tools": _tool_rows,
    "events": _event_rows,
}
