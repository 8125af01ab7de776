"""Processes found by a marker in their environment: the way out when the watchdog itself was killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from . import watchdog

#: Name of the variable in the environment of everything that is started.
MARKER = "AGENTLAB_CHILDREN"


async def kill_marked(marker: str) -> tuple[str, ...]:
    """Kill what carries the marker in its environment.

    Parameters
    ----------
    marker : str
        Value of :data:`MARKER`.

    Returns
    -------
    tuple of str
        What is still alive after 2 s, as ``"pid name"``.
    """
    alive: list[int] = []
    for _ in range(100):
        alive = [int(p.name) for p in Path("/proc").glob("[0-9]*") if marked(int(p.name), marker)]
        if not alive:
            break
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.02)
    return tuple(watchdog.command_of(pid) for pid in alive)


def marked(pid: int, marker: str) -> bool:
    """Say whether a process runs and carries the marker.

    Parameters
    ----------
    pid : int
        Process.
    marker : str
        Value of :data:`MARKER`.

    Returns
    -------
    bool
    """
    try:
        if f"{MARKER}={marker}".encode() not in variables(pid):
            return False
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def variables(pid: int) -> list[bytes]:
    """Return the environment of a process, ``NAME=value`` each.

    Parameters
    ----------
    pid : int
        Process.

    Returns
    -------
    list of bytes

    Raises
    ------
    OSError
        It is gone, or another user's.
    """
    return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
