"""What a process is for: launcher, app or daemon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .sampling import Process, ProcessKey, Sample

Role = Literal["launcher", "app", "daemon"]
#: Largest PSS + SwapPSS and largest resident size of a process over a run, bytes.
_Sizes = Mapping[ProcessKey, tuple[int | None, int | None]]


def roles_of(samples: Sequence[Sample]) -> list[dict[ProcessKey, Role | None]]:
    """Say what each process of each sample is for.

    A *daemon* has left what the driver started (:func:`has_left`): it is to outlive its session, or a helper
    in a session of its own. A *launcher* was started by the driver, or by a launcher, and does its work in a
    child: one that has not left and that holds more memory. The shims of npm (codex), a node that starts
    itself again with other options (gemini) and shells are that. Any other process is the *app*, with the
    tools that it runs.

    Parameters
    ----------
    samples : sequence of Sample
        All samples of a run: the largest sizes are compared, since a launcher is ahead of its child at first,
        and it is one from its first sample on.

    Returns
    -------
    list of dict
        For each sample the role by process; None where nothing is known of it but its size.
    """
    sizes = _largest(samples)
    launchers = {key for sample in samples for key in _launchers(sample.processes, sizes)}
    return [
        {p.key: "launcher" if p.key in launchers else _without_sizes(p) for p in sample.processes}
        for sample in samples
    ]


def has_left(process: Process) -> bool | None:
    """Say whether a process left what the driver started.

    It was not started by the driver, and its parents no longer lead there, or it is in none of the sessions
    and process groups of what was started (``setsid``, a double fork).

    Parameters
    ----------
    process : Process
        In one sample.

    Returns
    -------
    bool or None
        None: it cannot be told.
    """
    if process.is_("root"):
        return False
    inside = [process.is_("in_tree"), process.is_("in_group")]
    if False in inside:
        return True
    return None if None in inside else False


def _without_sizes(process: Process) -> Role | None:
    left = has_left(process)
    return None if left is None else "daemon" if left else "app"


def _largest(samples: Sequence[Sample]) -> _Sizes:
    largest: dict[ProcessKey, tuple[int | None, int | None]] = {}
    for sample in samples:
        for process in sample.processes:
            total, rss = largest.get(process.key, (None, None))
            largest[process.key] = _larger(total, process.total), _larger(rss, process.rss)
    return largest


def _launchers(processes: Sequence[Process], sizes: _Sizes) -> list[ProcessKey]:
    children: dict[int, list[Process]] = {}
    for process in processes:
        if process.ppid is not None and has_left(process) is False:
            children.setdefault(process.ppid, []).append(process)
    found: list[ProcessKey] = []
    waiting = [process for process in processes if process.is_("root")]
    while waiting:
        process = waiting.pop()
        own = children.pop(process.pid, [])
        if any(_is_larger(sizes[child.key], sizes[process.key]) for child in own):
            found.append(process.key)
            waiting += own
    return found


def _larger(one: int | None, two: int | None) -> int | None:
    return max((size for size in (one, two) if size is not None), default=None)


def _is_larger(child: tuple[int | None, int | None], parent: tuple[int | None, int | None]) -> bool:
    for mine, its in zip(child, parent, strict=True):  # resident sizes only where PSS is not known of both
        if mine is not None and its is not None:
            return mine > its
    return False
