"""Name a process of this machine so that it cannot be mistaken for a later one with the same number."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class ProcessId:
    """One process, for good.

    Parameters
    ----------
    pid : int
        Process id; used again by the system once the process is gone.
    started : int or None
        When it started, in clock ticks since boot; None: not known here, so nothing is believed of it.
    boot : str or None
        Which boot of which machine.

    Examples
    --------
    >>> import os
    >>> ProcessId.of(os.getpid()).alive()
    True
    """

    pid: int
    started: int | None
    boot: str | None

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        """Name a process that runs now.

        Parameters
        ----------
        pid : int
            Process id.

        Returns
        -------
        ProcessId
        """
        return cls(pid, _started(pid), _boot())

    def alive(self) -> bool:
        """Say whether it still runs, here; one that has ended and was not waited for does not.

        Returns
        -------
        bool
        """
        return self.started is not None and (self.started, self.boot) == (_started(self.pid), _boot())

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this process, and to no other.

        Parameters
        ----------
        number : signal.Signals
            Signal.

        Returns
        -------
        bool
            False when it is gone, or another user's.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not hasattr(os, "pidfd_open"):
                if self.alive():
                    os.kill(self.pid, number)
                    return True
                return False
            handle = os.pidfd_open(self.pid)  # from here on the number cannot pass to another
            try:
                if self.alive():
                    signal.pidfd_send_signal(handle, number)
                    return True
            finally:
                os.close(handle)
        return False


class Owned:
    """The processes that a driver has said belong to an arm or a run.

    Those that have ended are forgotten, so that a later process with the same number is not taken for one.

    Attributes
    ----------
    ever : bool
        Whether one was ever named.
    """

    def __init__(self) -> None:
        self.ever = False
        self._roots: dict[int, ProcessId] = {}

    def add(self, pid: int) -> None:
        """Take a process with all its descendants, of now and later.

        Parameters
        ----------
        pid : int
            Process id.
        """
        self.ever = True
        self._roots[pid] = ProcessId.of(pid)

    def alive(self) -> list[int]:
        """List the processes that still run."""
        self._roots = {pid: root for pid, root in self._roots.items() if root.alive()}
        return list(self._roots)


def _started(pid: int) -> int | None:
    """Return when a process started; None when it has ended or the system does not tell."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(fields[18])


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
