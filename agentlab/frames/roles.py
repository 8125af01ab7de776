"""What a process is for: launcher, app or daemon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .sampling import Process, ProcessKey, Sample

Role = Literal["launcher", "app", "daemon"]
#: Largest PSS + SwapPSS and largest resident size of a process over a run, bytes.
Sizes = Mapping[ProcessKey, tuple[int | None, int | None]]


def sizes_of(samples: Sequence[Sample]) -> Sizes:
    """Return the largest sizes of every process of a run.

    Parameters
    ----------
    samples : sequence of Sample
        All samples of the run.

    Returns
    -------
    mapping
    """
    largest: dict[ProcessKey, tuple[int | None, int | None]] = {}
    for sample in samples:
        for process in sample.processes:
            total, rss = largest.get(process.key, (None, None))
            largest[process.key] = _larger(total, process.total), _larger(rss, process.rss)
    return largest


def roles_of(processes: Sequence[Process], sizes: Sizes) -> dict[ProcessKey, Role | None]:
    """Say what each process of a sample is for.

    A *daemon* was not started by the driver and has left what the driver started: its parents no longer lead
    there, or it is in none of their sessions and process groups (``setsid``, a double fork). A *launcher* was
    started by the driver, or by a launcher, and does its work in a child: one inside the tree that holds more
    memory. npm's shims (codex), node started again with other options (gemini) and shells are that. Any other
    is the *app*, with the tools that it runs.

    Parameters
    ----------
    processes : sequence of Process
        Of one sample.
    sizes : mapping
        As :func:`sizes_of` returns them: largest ones, since a launcher may be ahead of its child at first.

    Returns
    -------
    dict
        By process; None where nothing is known of it but its size.
    """
    roles: dict[ProcessKey, Role | None] = {process.key: _without_sizes(process) for process in processes}
    inside: dict[int, list[Process]] = {}
    for process in processes:
        if roles[process.key] == "app" and process.is_("in_tree") and process.ppid is not None:
            inside.setdefault(process.ppid, []).append(process)
    waiting = [process for process in processes if process.is_("root")]
    while waiting:
        process = waiting.pop()
        children = inside.pop(process.pid, [])
        if any(_is_larger(sizes[child.key], sizes[process.key]) for child in children):
            roles[process.key] = "launcher"
            waiting += children
    return roles


def _without_sizes(process: Process) -> Role | None:
    if process.is_("root"):
        return "app"
    left = [process.is_("in_tree"), process.is_("in_group")]
    if False in left:
        return "daemon"
    return None if None in left else "app"


def _larger(one: int | None, two: int | None) -> int | None:
    known = [size for size in (one, two) if size is not None]
    return max(known, default=None)


def _is_larger(child: tuple[int | None, int | None], parent: tuple[int | None, int | None]) -> bool:
    for mine, its in zip(child, parent, strict=True):  # resident sizes only where PSS is not known of both
        if mine is not None and its is not None:
            return mine > its
    return False
