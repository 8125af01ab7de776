"""Which processes belong to one session, also those that have left its tree, and what they have spent."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path

from ...wire.proctree import cpu_s, tree
from ...wire.watchdog import descendants

#: In the environment of each session's processes: which of the run's sessions they belong to.
SESSION = "AGENTLAB_SESSION"


def session_tree(root: int, reaper: int, session: str, roots: Collection[int]) -> list[int]:
    """List the live processes of one session.

    Parameters
    ----------
    root : int
        Its first process.
    reaper : int
        The watchdog, to which processes pass whose parent has ended.
    session : str
        Its id, as :data:`SESSION` names it in the environment of its processes.
    roots : collection of int
        First processes of all the run's sessions. With one alone, all orphans are this session's.

    Returns
    -------
    list of int
    """
    found = tree(root)
    for pid in _children(reaper):
        if pid not in roots and (len(roots) == 1 or _session(pid) == session):
            found += tree(pid)
    return found


def session_cpu_s(root: int, reaper: int, session: str, roots: Collection[int]) -> float | None:
    """Sum the CPU time of a session's processes and of the children that they waited for.

    Parameters
    ----------
    root, reaper, session, roots
        As for :func:`session_tree`.

    Returns
    -------
    float or None
        Seconds, in ticks of 10 ms; None: nothing of it can be read.
    """
    return cpu_s(session_tree(root, reaper, session, roots))


def daemons(reaper: int, marks: Sequence[str]) -> set[str]:
    """Find the sessions whose daemon is up.

    Parameters
    ----------
    reaper : int
        The watchdog of the run.
    marks : sequence of str
        Words that all stand in the command line of such a process.

    Returns
    -------
    set of str
        For each daemon the session that started it; empty for one that has given up its environment.
    """
    found: set[str] = set()
    for pid in descendants(reaper):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            if all(mark in command for mark in marks):
                found.add(_session(pid))
    return found


def _children(pid: int) -> list[int]:
    """Return the children of a process of one thread."""
    with contextlib.suppress(OSError, ValueError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _session(pid: int) -> str:
    """Return the session that a process names in its environment; empty: none, or it cannot be read."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(f"{SESSION}=".encode()):
                return entry.partition(b"=")[2].decode(errors="replace")
    return ""
