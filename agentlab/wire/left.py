"""What a study left that was killed together with its watchdogs, found at the next start by its folders.

A process belongs to such a folder when its environment, its command or its working folder names it. It is
ended, with its descendants, when it carries the marker of what is started here; others are only named: they
may be somebody's editor.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import tempfile
import time
from itertools import chain
from pathlib import Path

from .held import PREFIX, left_behind
from .marked import MARKER, variables
from .procid import ProcessId
from .watchdog import command_of, descendants

_GONE_S = 2.0


@dataclasses.dataclass(frozen=True)
class Left:
    """What was found, each as ``"pid name"``.

    Parameters
    ----------
    ended : list of str
        Processes that were killed.
    staying : list of str
        Processes that run on; their folder stays too.
    """

    ended: list[str]
    staying: list[str]


def clear_left(*parents: Path) -> Left:
    """End and remove what studies left that were killed together with their watchdogs.

    Parameters
    ----------
    *parents : Path
        Where their private folders are, besides the temporary folder.

    Returns
    -------
    Left
    """
    ended: list[str] = []
    staying: list[str] = []
    for folder in chain.from_iterable(
        left_behind(PREFIX, parent) for parent in (Path(tempfile.gettempdir()), *parents)
    ):
        named = _named(str(folder).encode())
        marked = [pid for pid, ours in named.items() if ours]
        doomed = list(dict.fromkeys(one for pid in marked for one in (pid, *descendants(pid))))
        ended += [command_of(pid) for pid in doomed]
        _kill(doomed)
        others = [command_of(pid) for pid in _named(str(folder).encode())]
        staying += others
        if not others:
            shutil.rmtree(folder, ignore_errors=True)
    return Left(ended, staying)


def _named(folder: bytes) -> dict[int, bool]:
    """Return the processes that name a folder, and whether they carry the marker."""
    found: dict[int, bool] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            about = variables(int(entry.name))
            said = [*about, (entry / "cmdline").read_bytes(), os.fsencode((entry / "cwd").readlink())]
            if entry.name != str(os.getpid()) and any(folder in one for one in said):
                found[int(entry.name)] = any(one.startswith(f"{MARKER}=".encode()) for one in about)
    return found


def _kill(pids: list[int]) -> None:
    alive, end = [ProcessId.of(pid) for pid in pids], time.monotonic() + _GONE_S
    while alive and time.monotonic() < end:
        for process in alive:
            process.signal(signal.SIGKILL)
        time.sleep(0.01)
        alive = [process for process in alive if process.alive()]
