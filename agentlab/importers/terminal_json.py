"""Read the original terminal script's JSON (memory of terminal agents) as recordings.

Its MB are MiB, rounded to 0.1 per process before they are summed; its total is PSS + SwapPSS. It knows no
threads and no times inside a run, and of a repetition only the last attempt is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ImportFormatError
from ..frames.evidence import Issue, RunInfo
from .report_rows import report_table

if TYPE_CHECKING:
    import pandas as pd

#: Where a run's plain data hold its object of the file, and what the file says of all runs.
RUN, ABOUT = "terminal_json_run", "terminal_json_about"
MIB = 1 << 20


class _Sample(msgspec.Struct):
    mem_mb: float | None = None
    pss_mb: float | None = None
    swap_pss_mb: float | None = None
    pss_anon_mb: float | None = None
    pss_file_mb: float | None = None
    process_count: int | None = None


class _Pressure(msgspec.Struct):
    psi_some_avg10: float | None = None
    psi_full_avg10: float | None = None
    mem_available_gb: float | None = None


class _Process(msgspec.Struct):
    pid: int
    pss_mb: float | None = None
    swap_pss_mb: float | None = None
    mem_mb: float | None = None
    pss_anon_mb: float | None = None
    pss_file_mb: float | None = None
    in_tree: bool | None = None
    cmd: str | None = None


class _Run(_Sample, kw_only=True):
    tool: str
    sessions: int
    rep: int
    attempt: int = 1
    quiet: bool | None = None
    ready: bool | int | list[bool] | None = None
    hold_s: float | None = None
    outside_tree_mem_mb: float | None = None
    launch: _Sample | None = None
    pressure_before: _Pressure | None = None
    pressure_after: _Pressure | None = None
    processes: list[_Process] | None = None

    @property
    def n_ready(self) -> int | None:
        """How many sessions were ready; unknown where the file says only that not all were."""
        if isinstance(self.ready, bool):
            return self.sessions if self.ready else (0 if self.sessions == 1 else None)
        return sum(self.ready) if isinstance(self.ready, list) else self.ready

    @property
    def all_ready(self) -> bool | None:
        """Whether all sessions were ready."""
        if isinstance(self.ready, bool) or self.ready is None:
            return self.ready
        return self.n_ready is not None and self.n_ready >= self.sessions


class _Report(msgspec.Struct):
    date_utc: str | None
    runs: list[_Run]
    versions: dict[str, str | None] = {}


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
    return {"date_utc", "machine", "summary", "runs"} <= data.keys()


class TerminalReport:
    """Runs and tables of one file: an arm is a tool, a run one repetition at one number of sessions.

    A repetition under memory pressure, or with a session that was never ready, is discarded, as it is in a
    study of agentlab; the file's own medians count both.

    Parameters
    ----------
    path : Path
        The file.
    data : dict
        Its JSON object.

    Raises
    ------
    ImportFormatError
        A field is missing or of the wrong type, or a repetition stands in it twice; the message names it.
    """

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        try:
            self._report = msgspec.convert(data, _Report)
        except msgspec.ValidationError as error:
            raise ImportFormatError(f"{path}: {error}") from None
        keys = [(run.tool, run.sessions, run.rep) for run in self._report.runs]
        if len(set(keys)) != len(keys):
            raise ImportFormatError(f"{path}: runs[] repeats a tool, sessions and rep")
        self.path = path.absolute()
        self.name = path.stem
        digest = hashlib.sha256(msgspec.json.encode(data)).hexdigest()
        self.identity = ("terminal_json", digest)
        self.about = {"terminal_json_sha256": digest}
        self.scenario: dict[str, Any] | None = None
        self.arms = tuple(dict.fromkeys(run.tool for run in self._report.runs))
        about = {name: value for name, value in data.items() if name not in ("runs", "summary")}
        self.runs = tuple(self._infos({ABOUT: about}, data["runs"]))

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
        return report_table(name, _ROWS, zip(self._report.runs, self.runs, strict=True))

    def _infos(self, about: dict[str, Any], stored: list[dict[str, Any]]) -> Iterator[RunInfo]:
        counts: dict[str, int] = {}
        for sequence, (run, whole) in enumerate(zip(self._report.runs, stored, strict=True)):
            index = counts[run.tool] = counts.get(run.tool, -1) + 1
            version = self._report.versions.get(run.tool)
            identity = {"driver": "terminal", "version": version, "settings": {"agent": run.tool}}
            yield RunInfo(
                study=self.name,
                arm=run.tool,
                run_id=f"{sequence:04d}-{run.tool}",
                run_index=index,
                sequence=sequence,
                issues=tuple(_issues(run)),
                raw={
                    "identity": identity,
                    "versions": {run.tool: version},
                    "n_sessions": run.sessions,
                    **about,
                    RUN: whole,
                },
            )


def _issues(run: _Run) -> Iterator[Issue]:
    if run.quiet is False:
        detail = f"attempt {run.attempt}, the last one"
        yield Issue(code="memory_pressure", detail=detail, discard=True, phase="import")
    if run.all_ready is False:
        ready = "not all" if run.n_ready is None else f"{run.n_ready}"
        detail = f"{ready} of {run.sessions} sessions were ready"
        yield Issue(code="never_ready", detail=detail, discard=True, phase="import")


def as_bytes(mb: float | None) -> int | None:
    """Convert the file's MB, which are MiB.

    Parameters
    ----------
    mb : float or None
        MiB.

    Returns
    -------
    int or None
    """
    return None if mb is None else round(mb * MIB)


_Rows = Iterator[dict[str, Any]]


def _run_rows(run: _Run, info: RunInfo) -> _Rows:
    identity = info.part("identity")
    pressures = [p for p in (run.pressure_before, run.pressure_after) if p is not None]
    some = [p.psi_some_avg10 for p in pressures if p.psi_some_avg10 is not None]
    free = [p.mem_available_gb for p in pressures if p.mem_available_gb is not None]
    yield {
        "sequence": info.sequence,
        "status": info.status,
        "reason": ",".join(info.discard_codes) or None,
        "driver": identity["driver"],
        "version": identity["version"],
        "n_sessions": run.sessions,
        "n_issues": len(info.issues),
        # without PSI the original called every machine quiet
        "quiet": run.quiet if some else None,
        "memory_some_max_pct": max(some, default=None),
        "memory_available_min_bytes": round(min(free) * MIB * 1024) if free else None,
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


def _memory_rows(run: _Run, info: RunInfo) -> _Rows:
    """Give the sample of the medians, and before a hold the one at launch."""
    held = bool(run.hold_s) and run.launch is not None
    samples = [(run.launch, "settle", False)] if held else []
    for seq, (sample, phase, settled) in enumerate([*samples, (run, "hold" if held else "settled", True)], 1):
        if sample is None:
            continue
        outside = run.outside_tree_mem_mb if sample is run else None
        yield {
            "seq": seq,
            "lane": "slow",
            "phase": phase,
            "settled": settled,
            "n_sessions": run.sessions,
            "n_processes": sample.process_count,
            **_sizes(sample),
            "outside_tree_bytes": as_bytes(outside),
            "status": "none" if sample.mem_mb is None else "ok",
            "reason": "no_process" if sample.mem_mb is None else None,
        }


def _sizes(sample: _Sample | _Process) -> dict[str, int | None]:
    return {
        "pss_bytes": as_bytes(sample.pss_mb),
        "swap_pss_bytes": as_bytes(sample.swap_pss_mb),
        "total_bytes": as_bytes(sample.mem_mb),
        "anon_bytes": as_bytes(sample.pss_anon_mb),
        "file_bytes": as_bytes(sample.pss_file_mb),
    }


def _process_rows(run: _Run, info: RunInfo) -> _Rows:
    held = bool(run.hold_s) and run.launch is not None
    for process in run.processes or ():
        yield {
            "seq": 2 if held else 1,
            "lane": "slow",
            "phase": "hold" if held else "settled",
            "settled": True,
            "pid": process.pid,
            "name": _name(process.cmd),
            "in_tree": process.in_tree,
            **_sizes(process),
        }


def _name(command: str | None) -> str | None:
    """Return a program's name; its arguments stay in the file."""
    words = (command or "").split()
    return words[0].rpartition("/")[2][:15] if words else None


_ROWS = {
    "runs": _run_rows,
    "issues": _issue_rows,
    "memory": _memory_rows,
    "processes": _process_rows,
}
