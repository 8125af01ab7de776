"""A control group of one's own: membership nobody escapes, and memory counters without a walk over pages.

Where this process may make one (as root, or in a delegated tree), what is put in before it starts anything
takes all its descendants with it. Anonymous memory and the peak are then exact counters; pages of files are
charged to whoever read them first, so that they are no share of what is in the group. Version 1 and 2 of the
kernel's interface: ``Documentation/admin-guide/cgroup-v1/memory.rst`` and ``cgroup-v2.rst``.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import NamedTuple

from .procfs import read_file
from .procid import ProcessId

_NAME = "agentlab-"


class Counters(NamedTuple):
    """Memory of a control group, bytes; None: this kernel does not tell it.

    Parameters
    ----------
    anon : int or None
        Anonymous memory (version 1: ``total_rss``).
    file : int or None
        Pages of files and shared memory (version 1: ``total_cache``).
    current : int or None
        All that is charged.
    peak : int or None
        Largest ``current`` since the group was made.
    """

    anon: int | None
    file: int | None
    current: int | None
    peak: int | None


class Cgroup:
    """Hold one control group, made below that of this process.

    Parameters
    ----------
    folder : Path
        The group.
    home : Path
        Where processes are put back to.
    version : {1, 2}
        Of the interface.

    Examples
    --------
    >>> Cgroup.create(Path("/nowhere"))
    'no_controller'
    """

    def __init__(self, folder: Path, home: Path, version: int) -> None:
        self.folder = folder
        self.home = home
        self.version = version
        self._files = _FILES[version]

    @classmethod
    def create(cls, root: Path = Path("/")) -> Cgroup | str:
        """Make a new group, and remove those that killed processes have left.

        The limits of this process hold in it too. Nothing changes for what is not put in.

        Parameters
        ----------
        root : Path, default ``/``
            Where ``proc`` and the mounts are.

        Returns
        -------
        Cgroup or str
            ``"no_controller"``: no memory controller can be used from here; ``"not_writable"``.
        """
        made: str | Cgroup = "no_controller"
        for version, parent, home in _places(root):
            _remove_left(parent)
            me = ProcessId.of(os.getpid())
            folder = parent / f"{_NAME}{me.pid}-{me.started}-{secrets.token_hex(3)}"
            try:
                folder.mkdir()
            except OSError:
                made = "not_writable"
                continue
            group = cls(folder, home, version)
            if (folder / group._files[2]).exists():
                group._take_limit()
                return group
            with contextlib.suppress(OSError):  # the tree is there, its memory is counted elsewhere
                folder.rmdir()
        return made

    def adopt(self, pid: int) -> bool:
        """Put a process in; what it starts from now on is in too.

        Parameters
        ----------
        pid : int
            Process id.

        Returns
        -------
        bool
            False: it is gone, or may not be moved.
        """
        return _write(self.folder / "cgroup.procs", str(pid))

    def pids(self) -> list[int]:
        """List the processes in it, zombies left out.

        Returns
        -------
        list of int
            Process ids; empty when it cannot be read.
        """
        return [int(pid) for pid in _bytes(f"{self.folder}/cgroup.procs").split()]

    def counters(self) -> Counters:
        """Read its memory.

        Returns
        -------
        Counters
        """
        anon, file, current, peak = self._files
        stat = b"\n" + _bytes(f"{self.folder}/memory.stat")
        return Counters(
            _row(stat, anon),
            _row(stat, file),
            _number(_bytes(f"{self.folder}/{current}")),
            _number(_bytes(f"{self.folder}/{peak}")),
        )

    def remove(self) -> bool:
        """Put back what is left in it and remove it.

        Returns
        -------
        bool
            False: it is still there.
        """
        for pid in self.pids():
            _write(self.home / "cgroup.procs", str(pid))
        with contextlib.suppress(OSError):
            self.folder.rmdir()
        return not self.folder.exists()

    def _take_limit(self) -> None:
        """Repeat the limit that programs look for, so that they size their heaps as they would outside."""
        name = _LIMIT[self.version]
        if limit := _read(self.home / name).strip():
            _write(self.folder / name, limit)


#: version -> anonymous, files (both keys of memory.stat), all, peak (both files).
_FILES = {
    1: ("total_rss", "total_cache", "memory.usage_in_bytes", "memory.max_usage_in_bytes"),
    2: ("anon", "file", "memory.current", "memory.peak"),
}
_LIMIT = {1: "memory.limit_in_bytes", 2: "memory.max"}


def _places(root: Path) -> list[tuple[int, Path, Path]]:
    """Return where a group with a memory controller may be made: version, parent, this process's own group.

    Below the own group, so that its limits hold. Version 2 gives no controllers to the children of a group
    that holds processes: there beside it, unless a limit would be left.
    """
    mounts = _mounts(root)
    found: list[tuple[int, Path, Path]] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        version = 2 if not controllers else 1 if "memory" in controllers.split(",") else 0
        if version not in mounts:
            continue
        top, point = mounts[version]
        mount = root / point.lstrip("/")
        home = mount / (path if top == "/" else path.removeprefix(top)).lstrip("/")
        if not home.is_dir():
            continue
        found.append((version, home, home))
        if version == 2 and home != mount and _read(home / _LIMIT[2]).strip() == "max":
            found.append((2, home.parent, home))
    return sorted(found, key=lambda place: place[0])


def _mounts(root: Path) -> dict[int, tuple[str, str]]:
    """Return, for each version, which part of the tree is mounted and where (proc_pid_mountinfo(5))."""
    found: dict[int, tuple[str, str]] = {}
    for line in _read(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        if kind[0] == "cgroup2":
            found[2] = (fields[3], fields[4])
        elif kind[0] == "cgroup" and "memory" in kind[-1].split(","):
            found[1] = (fields[3], fields[4])
    return found


def _remove_left(home: Path) -> None:
    """Remove the empty groups of processes that no longer run."""
    with contextlib.suppress(OSError):
        for folder in home.glob(f"{_NAME}*-*-*"):
            pid, started = folder.name.removeprefix(_NAME).split("-")[:2]
            if pid.isdecimal() and str(ProcessId.of(int(pid)).started) != started:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _read(file: Path) -> str:
    try:
        return file.read_text("ascii", "replace")
    except OSError:
        return ""


def _bytes(file: str) -> bytes:
    try:
        return read_file(file)
    except OSError:
        return b""


def _row(stat: bytes, name: str) -> int | None:
    key = f"\n{name} ".encode()
    at = stat.find(key)
    return None if at < 0 else _number(stat[at + len(key) : stat.find(b"\n", at + 1)])


def _number(text: bytes) -> int | None:
    text = text.strip()
    return int(text) if text.isdigit() else None


def _write(file: Path, text: str) -> bool:
    try:
        file.write_text(text)
    except OSError:
        return False
    return True
