"""A process and its descendants, as ``/proc`` shows them: CPU time and connections.

Cheap enough to be looked at ten times a second: only the tree itself is read, not all processes.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
from pathlib import Path
from typing import NamedTuple

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Remote(NamedTuple):
    """Where a connection leads: ``protocol`` (tcp or udp), ``address``, ``port``."""

    protocol: str
    address: str
    port: int


def tree(pid: int) -> list[int]:
    """List a process and its live descendants.

    Parameters
    ----------
    pid : int
        The process.

    Returns
    -------
    list of int
        Parents before children; without those whose parent has ended. Empty where the system has no
        ``/proc/PID/task/TID/children``.
    """
    found: list[int] = []
    queue = [pid]
    while queue:
        one = queue.pop()
        try:
            threads = os.listdir(f"/proc/{one}/task")  # noqa: PTH208 (ten times a second)
        except OSError:
            continue
        found.append(one)
        for thread in threads:
            with contextlib.suppress(OSError, ValueError):
                queue += map(int, Path(f"/proc/{one}/task/{thread}/children").read_text().split())
    return found


def cpu_s(pids: list[int]) -> float | None:
    """Sum the CPU time of processes and of the children that they have waited for.

    Parameters
    ----------
    pids : list of int
        As :func:`tree` returns them.

    Returns
    -------
    float or None
        User and system time in seconds, in the kernel's ticks (10 ms); None: none can be read.
    """
    total = 0
    seen = False
    for pid in pids:
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            total += sum(map(int, fields[11:15]))
            seen = True
    return total / _TICK if seen else None


class Connections:
    """Find the connections of processes that leave this machine's loopback.

    The kernel takes milliseconds to spell its table of connections, so that it is asked only when a socket
    is new, a few times each (a socket is made before it is connected).

    Attributes
    ----------
    readable : bool
        Whether sockets could be looked at so far.
    """

    _LOOKS = 4

    def __init__(self) -> None:
        self.readable = False
        self._looks: dict[str, int] = {}

    def look(self, pids: list[int]) -> set[Remote]:
        """Look at the sockets of some processes.

        Parameters
        ----------
        pids : list of int
            As :func:`tree` returns them.

        Returns
        -------
        set of Remote
            Where those lead that are connected, or being connected, at this moment, and were not seen to be
            something else before.
        """
        sockets: dict[str, int] = {}
        for pid in pids:
            for inode in self._sockets(pid):
                sockets[inode] = pid
        wanted = {inode for inode in sockets if self._looks.get(inode, 0) < self._LOOKS}
        if not wanted:
            return set()
        for inode in wanted:
            self._looks[inode] = self._looks.get(inode, 0) + 1
        tables = _tables(sockets[next(iter(wanted))])
        return {
            remote
            for protocol, lines in tables.items()
            for line in lines
            if (remote := _remote(protocol, line, wanted)) is not None
        }

    def _sockets(self, pid: int) -> set[str]:
        found: set[str] = set()
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(entry.path)  # noqa: PTH115 (ten times a second)
                    if target.startswith("socket:["):
                        found.add(target[8:-1])
            self.readable = True
        return found


def _tables(pid: int) -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    for protocol in ("tcp", "udp"):
        for suffix in ("", "6"):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{pid}/net/{protocol}{suffix}").read_text().splitlines()[1:]
                tables.setdefault(protocol, []).extend(lines)
    return tables


def _remote(protocol: str, line: str, inodes: set[str]) -> Remote | None:
    fields = line.split()
    if len(fields) < 10 or fields[9] not in inodes:
        return None
    where, _, port = fields[2].partition(":")
    raw = bytes.fromhex(where)
    raw = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))  # words in the machine's order
    address = ipaddress.ip_address(raw)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_loopback or address.is_unspecified:
        return None
    return Remote(protocol, str(address), int(port, 16))
