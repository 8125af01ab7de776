"""The user's own daemons of a tool: seen before and after a run, never signalled."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from ...wire.marked import MARKER
from ...wire.procid import ProcessId
from ...wire.watchdog import command_of

_PARENTS = frozenset({"systemd", "init"})


class ForeignDaemons:
    """Remember which daemons of a tool run outside of agentlab.

    A daemon is a process without a terminal that its starter has left to the system. Those of other studies
    carry agentlab's marker and are left out: they end with their own runs.

    Parameters
    ----------
    marks : sequence of str
        Words that all stand in the command line of such a process. Without any, none is looked for.
    """

    def __init__(self, marks: Sequence[str]) -> None:
        self._before: dict[ProcessId, str] = {}
        for entry in os.listdir("/proc") if marks and os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208
            if entry.isdigit() and _is_daemon(int(entry), marks):
                self._before[ProcessId.of(int(entry))] = command_of(int(entry))

    def __len__(self) -> int:
        """Say how many there are."""
        return len(self._before)

    def gone(self) -> tuple[str, ...]:
        """Name those that have ended since.

        Returns
        -------
        tuple of str
            As ``"pid name"``.
        """
        return tuple(name for process, name in self._before.items() if not process.alive())


def _is_daemon(pid: int, marks: Sequence[str]) -> bool:
    """Say whether a process is a daemon of the tool, and nobody of agentlab."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        _, ppid, _, _, terminal = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:5]
        if int(terminal) != 0 or not _left_to_the_system(int(ppid)):
            return False
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        ours = MARKER.encode() + b"=" in Path(f"/proc/{pid}/environ").read_bytes()
        return not ours and all(mark in command for mark in marks)
    return False


def _left_to_the_system(ppid: int) -> bool:
    return ppid <= 1 or Path(f"/proc/{ppid}/comm").read_text().strip() in _PARENTS
