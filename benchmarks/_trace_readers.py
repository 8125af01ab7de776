"""One reader of a trace in a process of its own: prints what it found, its CPU time and its memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

LONG_US = 50_000
WORKER = "DedicatedWorker thread"  # DevTools' engine does not count the tasks of workers as long tasks


class _Event(msgspec.Struct, gc=False):
    name: str
    pid: int
    tid: int
    ts: int
    dur: int | None = None
    tdur: int | None = None


class _Whole(msgspec.Struct, gc=False):
    traceEvents: list[_Event]


def agentlab(path: Path) -> dict[str, Any]:
    """Read as a user does."""
    from agentlab.frames.chrometrace import read_tasks

    frame = read_tasks(path, all_threads=True)
    long = frame[frame["duration_ms"].gt(LONG_US / 1000) & frame["thread"].ne(WORKER)]
    return {"tasks": len(frame), "long": len(long), "longest_ms": float(frame["duration_ms"].max())}


def agentlab_page(path: Path) -> dict[str, Any]:
    """Read the tasks of the page's main thread, as a user does by default."""
    from agentlab.frames.chrometrace import read_tasks

    return {"tasks": len(read_tasks(path))}


def msgspec_whole(path: Path) -> dict[str, Any]:
    """Decode the whole file into typed events."""
    events = msgspec.json.decode(_text(path), type=_Whole).traceEvents
    tasks = [event for event in events if event.name == "RunTask"]
    return _table(
        (event.ts for event in tasks),
        (-1 if event.dur is None else event.dur for event in tasks),
        (-1 if event.tdur is None else event.tdur for event in tasks),
        (event.pid for event in tasks),
        (event.tid for event in tasks),
    )


def plain_json(path: Path) -> dict[str, Any]:
    """Decode the whole file by the standard library."""
    events = json.loads(_text(path))["traceEvents"]
    tasks = [event for event in events if event["name"] == "RunTask"]
    return _table(
        (event["ts"] for event in tasks),
        (event.get("dur", -1) for event in tasks),
        (event.get("tdur", -1) for event in tasks),
        (event["pid"] for event in tasks),
        (event["tid"] for event in tasks),
    )


def _text(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes()
    import gzip

    with gzip.open(path) as file:
        return file.read()


def _table(*columns: Iterable[int]) -> dict[str, Any]:
    """Build the columns, no more; names of threads are not looked up."""
    import numpy as np
    import pandas as pd

    names = ("start", "duration", "cpu", "pid", "tid")
    frame = pd.DataFrame({n: np.fromiter(c, np.int64) for n, c in zip(names, columns, strict=True)})
    return {"tasks": len(frame), "longest_ms": float(frame["duration"].max()) / 1000}


READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "agentlab": agentlab,
    "agentlab, page": agentlab_page,
    "msgspec": msgspec_whole,
    "json": plain_json,
}


def main(name: str, path: Path, warm: Path) -> None:
    """Read a small file first, so that imports are in no figure; then the big one."""
    read = READERS[name]
    read(warm)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall = time.process_time(), time.perf_counter()
    found = read(path)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**found, "cpu_s": cpu, "wall_s": wall, "over_import_mb": (after - before) / 1024}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
