"""Write recordings of terminal agents as the original terminal script's JSON.

Its definitions hold: MB are MiB, rounded to 0.1 per process before they are summed, total is PSS + SwapPSS,
one sample at launch (the first of the plateau) and one after the hold (the last), medians over repetitions.
What agentlab knows beside it has no place there: the ramp, start-up times, intervals.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, RecordingError
from ..jsonfile import read_json, write_whole
from .terminal_json import ABOUT, MIB, RUN, knows

if TYPE_CHECKING:
    import pandas as pd

    from ..frames.evidence import RunInfo
    from ..recording import Recordings

_GIB = 1024.0 * MIB
#: A run with another status was cut short and is made again.
_FINISHED = ("complete", "failed")
#: name in the file -> column of the tables
_SIZES = {
    "mem_mb": "total_bytes",
    "pss_mb": "pss_bytes",
    "swap_pss_mb": "swap_pss_bytes",
    "pss_anon_mb": "anon_bytes",
    "pss_file_mb": "file_bytes",
}
_Key = tuple[str, int, int]


def write(recs: Recordings, path: str | os.PathLike[str]) -> Path:
    """Write the file anew; it appears whole or stays what it was.

    Parameters
    ----------
    recs : Recordings
        Runs of one study, also one under way.
    path : path
        The file; an older one of this format is replaced, any other file is not.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ConfigError
        The file is something else or in no folder that can be written, or the runs are of several studies.
    RecordingError
        It cannot be written.
    """
    path = Path(path)
    check_target(path)
    text = json.dumps(report(recs), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text)
    return path


def check_target(path: Path) -> None:
    """Refuse a place where nothing can be written, or that holds a file of another kind.

    Parameters
    ----------
    path : Path
        Where is to be written.

    Raises
    ------
    ConfigError
        It is there and none of this format, or its folder is not there or cannot be written.
    """
    if path.exists() and not _is_ours(path):
        raise ConfigError(f"{path} exists and is no file of this format; choose another one")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}; choose a folder that exists and can be written"
        ) from error


def _is_ours(path: Path) -> bool:
    with contextlib.suppress(RecordingError):
        return path.is_file() and knows(read_json(path))
    return False


def report(recs: Recordings) -> dict[str, Any]:
    """Return the file as plain data.

    Runs that came from such a file stand in it unchanged. Of a study of ours: of several attempts the last;
    ``ready`` is the number of sessions that were; ``excerpt``, the daemons of the user before and after, and
    ``cmd`` beyond the program's name are not kept by agentlab, and null. ``quiet`` is null where the kernel
    reports no pressure. Beside ``median_mem_mb`` over all repetitions stands ``median_quiet_mem_mb`` over
    those that were quiet and had all sessions ready: that is agentlab's own population.

    Parameters
    ----------
    recs : Recordings
        Runs of one study.

    Returns
    -------
    dict
        Keys in the order of the original.

    Raises
    ------
    ConfigError
        There are several studies.
    """
    infos = [recording.info for recording in recs]
    if len({info.study for info in infos}) > 1:
        raise ConfigError("this format holds one study; choose one with recs.where(study=...)")
    tables = _Tables(recs)
    runs = [_run(info, rep, attempt, tables) for info, rep, attempt in _last_attempts(infos)]
    return {**_about(recs, infos), "summary": _summary(runs, infos), "runs": runs}


class _Tables:
    """The tables of all runs, by run."""

    def __init__(self, recs: Recordings) -> None:
        self._groups = {
            name: dict(tuple(recs.table(name).groupby("run_id", sort=False)))
            for name in ("memory", "processes", "sessions")
        }
        self._empty = {name: recs.table(name).iloc[:0] for name in self._groups}

    def of(self, name: str, info: RunInfo) -> pd.DataFrame:
        return self._groups[name].get(info.run_id, self._empty[name])


def _last_attempts(infos: Iterable[RunInfo]) -> Iterable[tuple[RunInfo, int, int]]:
    """Give each repetition's last attempt, with the number of both from 1."""
    attempts: dict[_Key, list[RunInfo]] = {}
    for info in sorted(infos, key=lambda one: one.sequence or 0):
        if info.status in _FINISHED:
            key = info.arm, _sessions(info), info.run_index or 0
            attempts.setdefault(key, []).append(info)
    reps: dict[tuple[str, int], int] = {}
    for (arm, sessions, _), made in attempts.items():
        reps[arm, sessions] = rep = reps.get((arm, sessions), 0) + 1
        yield made[-1], rep, len(made)


def _sessions(info: RunInfo) -> int:
    return int(info.raw.get("n_sessions") or 1)


def _run(info: RunInfo, rep: int, attempt: int, tables: _Tables) -> dict[str, Any]:
    stored = info.raw.get(RUN)
    if isinstance(stored, dict):
        return stored  # pyright: ignore[reportUnknownVariableType]
    memory = tables.of("memory", info)
    settled = memory[memory["settled"].fillna(value=False) & (memory["lane"] == "slow").fillna(value=False)]
    seqs = [int(seq) for seq in settled["seq"]]
    processes = tables.of("processes", info)
    last = _sample(processes, seqs[-1] if seqs else None)
    sessions = tables.of("sessions", info)
    settings = info.part("identity").get("settings")
    hold_s = settings.get("hold_s") if isinstance(settings, dict) else None  # pyright: ignore
    pressure = info.part("pressure")
    return {
        "tool": info.arm,
        "sessions": _sessions(info),
        "rep": rep,
        "attempt": attempt,
        "quiet": _quiet(info),
        "ready": int(sessions["first_input_ms"].notna().sum()),
        "excerpt": None,
        "hold_s": hold_s,
        **last,
        "outside_tree_mem_mb": _outside(processes, seqs[-1] if seqs else None),
        "launch": _sample(processes, seqs[0] if seqs else None),
        "pressure_before": _pressure(pressure.get("before")),
        "pressure_after": _pressure(pressure.get("after")),
        "processes": _processes(processes, seqs[-1] if seqs else None),
    }


def _quiet(info: RunInfo) -> bool | None:
    if any(issue.code == "memory_pressure" for issue in info.issues):
        return False
    known = [one for name in ("before", "after") if (one := _pressure(info.part("pressure").get(name)))]
    return True if len(known) == 2 and all(one["psi_some_avg10"] is not None for one in known) else None


def _pressure(sample: object) -> dict[str, float | None] | None:
    if not isinstance(sample, dict):
        return None
    one: dict[str, Any] = sample  # pyright: ignore[reportUnknownVariableType]
    free = one.get("memory_available_bytes")
    return {
        "psi_some_avg10": one.get("memory_some_avg10"),
        "psi_full_avg10": one.get("memory_full_avg10"),
        "mem_available_gb": None if free is None else round(free / _GIB, 1),
    }


def _of_sample(processes: pd.DataFrame, seq: int | None) -> list[dict[Any, Any]]:
    """Return the processes of a sample whose memory was read."""
    rows = processes[(processes["seq"] == seq).fillna(value=False)] if seq is not None else processes.iloc[:0]
    return rows[rows["total_bytes"].notna()].to_dict("records")


def _mb(value: Any) -> float | None:  # noqa: ANN401
    return None if value is None or value != value else round(float(value) / MIB, 1)


def _sum(rows: list[dict[Any, Any]], column: str) -> float | None:
    """Sum what was rounded, as the original did; None of no process."""
    parts = [part for row in rows if (part := _mb(row[column])) is not None]
    return round(sum(parts), 1) if parts else None


def _sample(processes: pd.DataFrame, seq: int | None) -> dict[str, Any]:
    rows = _of_sample(processes, seq)
    return {**{name: _sum(rows, column) for name, column in _SIZES.items()}, "process_count": len(rows)}


def _outside(processes: pd.DataFrame, seq: int | None) -> float | None:
    rows = _of_sample(processes, seq)
    outside = [row for row in rows if row["in_tree"] is False]
    return None if not rows else _sum(outside, "total_bytes") or 0.0


def _processes(processes: pd.DataFrame, seq: int | None) -> list[dict[str, Any]]:
    return [
        {
            "pid": int(row["pid"]),
            "pss_mb": _mb(row["pss_bytes"]),
            "swap_pss_mb": _mb(row["swap_pss_bytes"]),
            "mem_mb": _mb(row["total_bytes"]),
            "pss_anon_mb": _mb(row["anon_bytes"]),
            "pss_file_mb": _mb(row["file_bytes"]),
            "in_tree": row["in_tree"] if isinstance(row["in_tree"], bool) else None,
            "cmd": row["name"] if isinstance(row["name"], str) else None,
        }
        for row in _of_sample(processes, seq)
    ]


def _summary(runs: list[dict[str, Any]], infos: Iterable[RunInfo]) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for run in runs:
        found.setdefault((run["tool"], run["sessions"]), []).append(run)
    order = {arm: at for at, arm in enumerate(dict.fromkeys(info.arm for info in infos))}
    return [
        {
            "tool": tool,
            "sessions": sessions,
            "median_mem_mb": _median(found[tool, sessions]),
            "raw_mem_mb": [run["mem_mb"] for run in found[tool, sessions]],
            "median_quiet_mem_mb": _median(run for run in found[tool, sessions] if _counts(run)),
        }
        for tool, sessions in sorted(found, key=lambda key: (order[key[0]], key[1]))
    ]


def _counts(run: Mapping[str, Any]) -> bool:
    """Say whether agentlab's own figures count a repetition."""
    ready: Any = run["ready"]
    n = sum(ready) if isinstance(ready, list) else ready  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return run["quiet"] is not False and (n is True or (n is not False and n >= run["sessions"]))


def _median(runs: Iterable[Mapping[str, Any]]) -> float | None:
    values = [run["mem_mb"] for run in runs if run["mem_mb"] is not None]
    return round(statistics.median(values), 1) if values else None


def _about(recs: Recordings, infos: list[RunInfo]) -> dict[str, Any]:
    stored = next((info.raw[ABOUT] for info in infos if ABOUT in info.raw), None)
    if isinstance(stored, dict):
        return stored  # pyright: ignore[reportUnknownVariableType]
    study = _study(recs)
    machine: dict[str, Any] = study.get("machine") or {}
    started = [t for info in infos if isinstance(t := info.raw.get("started_unix_ns"), int)]
    when = min(started, default=study.get("created_unix_ns"))
    total = machine.get("memory_bytes")
    return {
        "date_utc": None if when is None else datetime.fromtimestamp(when / 1e9, UTC).isoformat(),
        "machine": {
            "cpu": machine.get("cpu_model"),
            "cores": machine.get("cpus"),
            "mem_gb": None if total is None else round(total / _GIB, 1),
            "os": machine.get("system"),
            "kernel": machine.get("kernel"),
            "arch": machine.get("architecture"),
        },
        "args": {name: arm.get("settings") for name, arm in (study.get("arms") or {}).items()},
        "versions": {info.arm: info.part("identity").get("version") for info in infos},
        "live_daemons_before": None,
        "live_daemons_after": None,
    }


def _study(recs: Recordings) -> dict[str, Any]:
    if recs.path is None:
        return {}
    file = recs.path / "study.json"
    return dict(read_json(file)) if file.is_file() else {}
