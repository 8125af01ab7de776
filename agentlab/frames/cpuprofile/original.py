"""How the original script read a CPU profile."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

from .files import read_file


class Original(NamedTuple):
    """How the original script read a profile, for comparison with its results.

    The time before a sample is booked to that sample, negative times count as 0, the start of the profiler
    is inside, and functions are told apart by name, path and line only.
    """

    total_ms: float
    busy_ms: float
    idle_ms: float
    gc_ms: float
    program_ms: float
    top: list[tuple[str, float, float]]


def original(path: str | PathLike[str]) -> Original:
    """Read a profile as the original script did.

    Parameters
    ----------
    path : path
        File.

    Returns
    -------
    Original
        With the 25 functions of most time, each with its share of busy time in %.

    Raises
    ------
    RecordingError, ImportFormatError
        As of :func:`read_cpuprofile`.
    """
    found = read_file(Path(path))
    nodes = {node.id: node.callFrame for node in found.nodes}
    spent: dict[str, float] = {}
    names: dict[str, float] = {}
    for sample, delta in zip(found.samples, found.timeDeltas, strict=False):
        frame = nodes.get(sample)
        if frame is None:
            continue
        ms = max(0.0, float(delta)) / 1000
        path_of = frame.url.split("?")[0].partition("://")[2].partition("/")[2] or frame.url
        line = int(frame.lineNumber or 0) + 1
        label = f"{frame.functionName or '(anonymous)'}" + (f" @ /{path_of}:{line}" if frame.url else "")
        spent[label] = spent.get(label, 0.0) + ms
        names[frame.functionName] = names.get(frame.functionName, 0.0) + ms
    total = sum(names.values())
    idle = names.get("(idle)", 0.0)
    busy = total - idle
    work = sorted(((ms, label) for label, ms in spent.items() if label != "(idle)"), reverse=True)
    top = [(label, ms, 100 * ms / busy) for ms, label in work[:25] if busy > 0]
    return Original(
        total, busy, idle, names.get("(garbage collector)", 0.0), names.get("(program)", 0.0), top
    )
