"""Files of CPU profiles: ``.cpuprofile`` of Chrome, DevTools, Node and Puppeteer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import msgspec

from ...errors import ImportFormatError
from ..chrometrace.source import opened
from .profile import KINDS, CpuProfile, Node

_Id = int | str


class CallFrame(msgspec.Struct):
    """A function as files name it, 0-based."""

    functionName: str = ""
    url: str = ""
    lineNumber: int | float | None = None
    columnNumber: int | float | None = None


class RawNode(msgspec.Struct):
    """A node as files hold it: with its children, or with its parent."""

    id: _Id
    callFrame: CallFrame = msgspec.field(default_factory=CallFrame)
    children: list[_Id] = []
    parent: _Id | None = None


class ProfileFile(msgspec.Struct):
    """A file's fields, times in µs."""

    nodes: list[RawNode]
    startTime: int | float
    samples: list[_Id] = []
    timeDeltas: list[int | float] = []
    endTime: int | float | None = None


def read_cpuprofile(path: str | PathLike[str]) -> CpuProfile:
    """Read a ``.cpuprofile`` of Chrome, DevTools, Node or Puppeteer, plain or gzip.

    Parameters
    ----------
    path : path
        File.

    Returns
    -------
    CpuProfile

    Raises
    ------
    RecordingError
        It cannot be read.
    ImportFormatError
        It is no CPU profile, or lacks a field; the message names it.
    """
    found = read_file(Path(path))
    try:
        return build_profile(found.nodes, found.samples, found.timeDeltas, found.startTime, found.endTime)
    except OverflowError:
        raise ImportFormatError(f"{path} is no CPU profile: a time in it is beyond 64 bits of ns") from None


def build_profile(
    nodes: Sequence[RawNode],
    samples: Sequence[_Id],
    deltas: Sequence[float],
    start_us: float,
    end_us: float | None,
    *,
    pid: int | None = None,
    tid: int | None = None,
) -> CpuProfile:
    """Sort samples and give each its time.

    Parameters
    ----------
    nodes : sequence of RawNode
        The call tree.
    samples : sequence of int or str
        Node of each sample.
    deltas : sequence of number
        Time since the sample before, the first since the start, µs.
    start_us, end_us : number
        Of the profile, µs; without an end the last sample has no time.
    pid, tid : int, optional
        Thread.

    Returns
    -------
    CpuProfile
    """
    import numpy as np

    tree = _tree(nodes)
    place = {node.id: i for i, node in enumerate(nodes)}
    n = min(len(samples), len(deltas))
    start_ns = round(start_us * 1000)
    steps = np.array([round(delta * 1000) for delta in deltas[:n]], np.int64)
    times = start_ns + np.cumsum(steps)
    at = np.array([place.get(sample, -1) for sample in samples[:n]], np.int64)
    order = np.argsort(times, kind="stable")
    times, at = times[order], at[order]
    last = int(times[-1]) if n else start_ns
    end_ns = max(last, round(end_us * 1000) if end_us is not None else last)
    weights = np.diff(times, append=end_ns)
    known = at >= 0
    return CpuProfile(
        start_ns,
        end_ns,
        tree,
        times[known],
        at[known],
        weights[known],
        n_negative_deltas=int((steps[1:] < 0).sum()),
        n_unknown=int((~known).sum()) + len(samples) - n,
        pid=pid,
        tid=tid,
    )


def _tree(nodes: Iterable[RawNode]) -> tuple[Node, ...]:
    nodes = list(nodes)
    place = {node.id: i for i, node in enumerate(nodes)}
    parents = {place[child]: i for i, node in enumerate(nodes) for child in node.children if child in place}
    found: list[Node] = []
    for i, node in enumerate(nodes):
        frame = node.callFrame
        parent = parents.get(i, place.get(node.parent) if node.parent is not None else None)
        found.append(
            Node(
                frame.functionName,
                frame.url,
                _one_based(frame.lineNumber),
                _one_based(frame.columnNumber),
                parent if parent != i else None,
                KINDS.get(frame.functionName, "js") if not frame.url else "js",
            )
        )
    return tuple(found)


def _one_based(number: float | None) -> int | None:
    return None if number is None or number < 0 else int(number) + 1


def read_file(path: Path) -> ProfileFile:
    """Return what a file holds.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    ProfileFile

    Raises
    ------
    RecordingError, ImportFormatError
        As of :func:`read_cpuprofile`.
    """
    with opened(path) as source:
        text = source.read()
        if source.damaged is not None:
            raise ImportFormatError(f"{path}: {source.damaged}; a CPU profile can only be read whole")
    try:
        return msgspec.json.decode(text, type=ProfileFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ImportFormatError(f"{path} is no CPU profile: {_reason(text, error)}") from None


def _reason(text: bytes, error: Exception) -> str:
    try:
        data = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return f"it is no JSON ({error}), or cut"
    if isinstance(data, Mapping) and "selfSize" in str(data.get("head")):
        return "it holds samples of memory (.heapprofile), not of CPU time"
    if isinstance(data, Mapping) and "head" in data:
        return "it has the form of Chrome before 58 (a tree under head); record it anew"
    return str(error)
