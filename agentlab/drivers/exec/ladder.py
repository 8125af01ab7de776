"""Which processes belong to a session, and how they are ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time

from ...wire.procfs import Procfs, Stat
from ...wire.procid import ProcessId

TERM_S = 0.2
_KILL_S = 3.0
_LOOK_S = 0.01


def members(leader: ProcessId, *, watchdog: int) -> list[Stat]:
    """List the live processes of a session.

    Parameters
    ----------
    leader : ProcessId
        Its leader, which is not a member: whatever the command started is its descendant, also with a process
        session of its own.
    watchdog : int
        Everything of ours descends from it: should the leader have been killed, its members are those of its
        process session below the watchdog.

    Returns
    -------
    list of Stat
        Parents before children.
    """
    children: dict[int, list[Stat]] = {}
    for stat in Procfs().table().values():
        children.setdefault(stat.ppid, []).append(stat)
    if leader.alive():
        return _below(leader.pid, children)
    return [stat for stat in _below(watchdog, children) if stat.sid == leader.pid]


def _below(root: int, children: dict[int, list[Stat]]) -> list[Stat]:
    found = list(children.get(root, ()))
    for stat in found:
        found += children.get(stat.pid, ())
    return found


async def end(leader: ProcessId, *, watchdog: int, term_s: float = TERM_S) -> tuple[str, ...]:
    """End all of a session: SIGTERM, and SIGKILL to what is left, again and again.

    Parameters
    ----------
    leader, watchdog
        As for :func:`members`.
    term_s : float, default 0.2
        Seconds between the two.

    Returns
    -------
    tuple of str
        What is still alive after 3 s more, as ``"pid name"``.
    """
    alive = members(leader, watchdog=watchdog)
    _send(alive, signal.SIGTERM)
    _send(alive, signal.SIGCONT)  # stopped ones hear it only then
    deadline = time.monotonic() + term_s
    while alive and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)
        alive = members(leader, watchdog=watchdog)
    deadline = time.monotonic() + _KILL_S
    while alive and time.monotonic() < deadline:
        _send(alive, signal.SIGKILL)
        await asyncio.sleep(_LOOK_S)
        alive = members(leader, watchdog=watchdog)
    return tuple(f"{stat.pid} {stat.name}" for stat in alive)


def interrupt(group: int, *, leader: ProcessId, watchdog: int) -> None:
    """Send SIGINT to a process group of a session, if anything of it is alive.

    Parameters
    ----------
    group : int
        Process group.
    leader, watchdog
        As for :func:`members`.
    """
    if any(stat.pgid == group for stat in members(leader, watchdog=watchdog)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGINT)


def _send(stats: list[Stat], number: signal.Signals) -> None:
    for stat in stats:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(stat.pid, number)
