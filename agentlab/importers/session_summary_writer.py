"""Write a run of a web chat as the original script's ``session-summary.json``, its CPU profile beside it.

Its definitions hold: tasks of all threads of all processes, MB are MiB, numbers of 2 digits (slopes of 3),
CPU time as it was booked there. What agentlab does not keep (the prompt, addresses, ids) and what is unknown
is null; intervals, frames and everything of the page's own thread have no place there.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, RecordingError
from ..frames.evidence import EVENTS, read_events
from ..jsonfile import write_whole
from .session_summary import FIELDS, MIB, NAME, PROFILE, SUMMARY

if TYPE_CHECKING:
    import pandas as pd

    from ..recording import Recording

_GZIPPED = "cpu.cpuprofile.gz"
#: name in the file -> how its column is turned into it, where it is not the same number
_MIB = ("heapMaxMb", "heapGrowthMbPerSecond")
_SLOPES = ("heapGrowthMbPerSecond",)
_TOP = 15


def write(run: Recording, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the files of one run into a folder; each appears whole or not at all.

    Parameters
    ----------
    run : Recording
        A run with a page, or one that came from such a file.
    folder : path
        Made when it is absent.

    Returns
    -------
    list of Path
        ``session-summary.json``, and ``cpu-profile.cpuprofile`` where a sampler ran.

    Raises
    ------
    ConfigError
        The run has no page, or a file of that name is there.
    RecordingError
        They cannot be written.
    """
    folder = Path(folder)
    text = json.dumps(summary(run), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    profile = _profile_bytes(run)
    files = {NAME: text.encode(), **({PROFILE: profile} if profile is not None else {})}
    for name in files:
        if (folder / name).exists():
            raise ConfigError(f"{folder / name} exists; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder} cannot be written: {error.strerror}") from error
    for name, data in files.items():
        write_whole(folder / name, data)
    return [folder / name for name in files]


def summary(run: Recording) -> dict[str, Any]:
    """Return the file as plain data.

    Parameters
    ----------
    run : Recording
        One run; one that came from such a file is unchanged, but for what is private in it.

    Returns
    -------
    dict
        Keys in the order of the original.

    Raises
    ------
    ConfigError
        The run has no page.
    """
    stored = run.info.raw.get(SUMMARY)
    if isinstance(stored, dict):
        return stored  # pyright: ignore[reportUnknownVariableType]
    page = run.table("page")
    if not len(page):
        raise ConfigError(f"{run.run_id} has no page in a browser: it cannot be written in this format")
    row, failed = _plain(page.iloc[0].to_dict()), {issue.code for issue in run.info.issues}
    identity = run.info.part("identity")
    chat = _dict(_dict(identity.get("settings")).get("chat"))
    events = _events(run)
    text, live = _last(events, "page.text"), _last(events, "page.liveness")
    return {
        "recordedAt": _when(run),
        "label": run.arm,
        "url": None,
        "sessionId": None,
        "directory": None,
        "prompt": None,
        "model": identity.get("model"),
        "agent": chat.get("agent"),
        "reachedIdle": not failed & {"page_not_idle", "timeout"} and run.info.status == "complete",
        "renderedStream": not failed & {"page_text_not_growing", "page_text_mismatch"},
        "renderedMessagesBefore": None,
        "renderedMessagesAfter": text.get("n_messages"),
        "renderedCharacterGrowth": text.get("body_chars"),
        "traceComplete": not failed & {"trace_incomplete", "trace_data_loss"},
        "disposableSession": None,
        "metrics": _metrics(row, run.table("counters")),
        "frameLiveness": {
            "framesPerSecond": _per_second(live),
            "visibilityState": live.get("visibility"),
        },
        "cpuProfile": _cpu(run),
        **_callsites(run.table("callsites")),
        "samples": _samples(run.table("counters")),
    }


def _metrics(row: Mapping[str, Any], counters: pd.DataFrame) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, (column, _) in FIELDS.items():
        value = row.get(column)
        if value is not None and name in _MIB:
            value = value / MIB
        values[name] = round(value, 3 if name in _SLOPES else 2) if isinstance(value, float) else value
    heap = [mb for sample in _samples(counters) if (mb := sample["jsHeapUsedMb"]) is not None]
    values["heapStartMb"], values["heapEndMb"] = (heap[0], heap[-1]) if heap else (None, None)
    return {name: values[name] for name in _ORDER}


#: In the order of the original.
_ORDER = (
    *(name for name in FIELDS if not name.startswith("heap")),
    *("heapStartMb", "heapEndMb", "heapMaxMb", "heapGrowthMbPerSecond"),
)


def _samples(counters: pd.DataFrame) -> list[dict[str, Any]]:
    inside = counters[(counters["source"] == "sample") & counters["phase"].isin(["stream", "tail"])]
    return [
        {
            "elapsedSeconds": round(row["t_ms"] / 1e3, 2),
            "jsHeapUsedMb": None if row["heap_bytes"] is None else round(row["heap_bytes"] / MIB, 2),
            "jsEventListeners": row["listeners"],
            "nodes": row["nodes"],
            "taskDuration": None if row["task_ms"] is None else round(row["task_ms"] / 1e3, 6),
        }
        for row in map(_plain, inside.to_dict("records"))
    ]


def _cpu(run: Recording) -> dict[str, Any]:
    from ..frames.cpuprofile import original

    file = None if run.info.path is None else run.info.path / _GZIPPED
    if file is None or not file.is_file():
        return {"topSelfTime": []}
    names = ("function", "selfMs", "percentOfBusy")
    rows = [(label, round(ms, 2), round(percent, 2)) for label, ms, percent in original(file).top[:_TOP]]
    return {"topSelfTime": [dict(zip(names, row, strict=True)) for row in rows]}


def _callsites(callsites: pd.DataFrame) -> dict[str, Any]:
    kinds: dict[str, list[dict[Any, Any]]] = {"site": [], "counter": [], "app": []}
    for row in callsites.to_dict("records"):
        kinds[str(row["kind"])].append(_plain(row))
    app = [
        {"metric": one["name"], "total": one["total_ms"], "count": one["calls"], "max": one["max_ms"]}
        for one in kinds["app"]
    ]
    sites = [
        {"site": one["name"], "calls": one["calls"], "totalMs": one["total_ms"]} for one in kinds["site"]
    ]
    return {
        "streamPerformance": {"entries": app},
        "syncCounters": None,
        "scheduledWork": {
            "counters": {str(one["name"]): one["calls"] for one in kinds["counter"]},
            "sites": sites,
        },
    }


def _profile_bytes(run: Recording) -> bytes | None:
    if run.info.path is None:
        return None
    file = run.info.path / _GZIPPED
    try:
        return gzip.decompress(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, EOFError) as error:
        raise RecordingError(f"{file} cannot be read: {error}") from None


def _events(run: Recording) -> list[dict[str, Any]]:
    return [] if run.info.path is None else read_events(run.info.path / EVENTS)


def _last(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next((event for event in reversed(events) if event["kind"] == kind), {})


def _per_second(live: Mapping[str, Any]) -> float | None:
    frames, seconds = live.get("frames"), live.get("seconds")
    known = isinstance(frames, int) and isinstance(seconds, int | float) and seconds > 0
    return round(frames / seconds, 2) if known else None  # pyright: ignore[reportOptionalOperand, reportOperatorIssue]


def _when(run: Recording) -> str | None:
    started = run.info.raw.get("started_unix_ns")
    if not isinstance(started, int):
        return None
    when = datetime.fromtimestamp(started / 1e9, UTC).isoformat(timespec="milliseconds")
    return when.replace("+00:00", "Z")


def _dict(value: Any) -> dict[str, Any]:  # noqa: ANN401
    return value if isinstance(value, dict) else {}


def _plain(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """Turn every kind of NA into None, and numbers of arrays into plain ones."""
    import pandas as pd

    plain: dict[Any, Any] = {name: None if pd.isna(value) else value for name, value in row.items()}
    return {name: value.item() if hasattr(value, "item") else value for name, value in plain.items()}
