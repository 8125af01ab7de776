"""Processes and their memory as ``/proc`` shows them, read with as little as the kernel asks for.

One pass over all ``stat`` files says who is there and who descends from whom; ``smaps_rollup`` says what a
process holds, for 10 to 30 us a resident MB: the kernel's walk over its pages is the cost, in any language.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: Bytes of a page, and clock ticks in a second, of this kernel.
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

_CHUNK = 4096
_ENDED = (b"Z", b"X", b"x")
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD of include/linux/sched.h
_SIZES = tuple(
    b"\n%s:" % name for name in (b"Pss", b"SwapPss", b"Pss_Anon", b"Pss_File", b"Pss_Shmem", b"Rss")
)


class Stat(NamedTuple):
    """One live process of a program, of ``/proc/PID/stat`` (see proc(5)).

    Parameters
    ----------
    pid, ppid, pgid, sid : int
        Process, parent, process group, session.
    name : str
        Name of the program, at most 15 bytes; never its arguments.
    cpu_ticks : int
        User and system time of its threads, in clock ticks.
    n_threads : int
        Threads.
    start : int
        When it started, clock ticks since boot.
    rss_bytes : int
        Resident set; may be off by some pages a thread.
    """

    pid: int
    ppid: int
    pgid: int
    sid: int
    name: str
    cpu_ticks: int
    n_threads: int
    start: int
    rss_bytes: int


class Rollup(NamedTuple):
    """Memory of one process, of ``/proc/PID/smaps_rollup``, in bytes; None: this kernel does not tell it.

    Parameters
    ----------
    pss : int or None
        Proportional set size: pages that n processes share count 1/n for each.
    swap_pss : int or None
        The same for what was swapped out.
    anon, file, shmem : int or None
        The parts of ``pss``: private memory, pages of files, shared memory.
    rss : int or None
        Resident set size.
    """

    pss: int | None
    swap_pss: int | None
    anon: int | None
    file: int | None
    shmem: int | None
    rss: int | None


def read_file(path: str) -> bytes:
    """Read a whole file of proc: one open, one read where it is short, one close.

    Parameters
    ----------
    path : str
        File.

    Returns
    -------
    bytes
        What it holds.

    Raises
    ------
    OSError
        It cannot be opened or read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = part = os.read(fd, _CHUNK)
        while len(part) == _CHUNK:  # only an environment is that long
            part = os.read(fd, _CHUNK)
            data += part
        return data
    finally:
        os.close(fd)


class Procfs:
    """Read processes.

    Parameters
    ----------
    root : str, default "/proc"
        Where the proc file system is.
    read : callable, default :func:`read_file`
        Reads one file; tests give one that fails.

    Examples
    --------
    >>> import os
    >>> proc = Procfs()
    >>> proc.table()[os.getpid()].ppid == os.getppid()
    True
    >>> proc.rollup(os.getpid()).pss > 0
    True
    """

    def __init__(self, root: str = "/proc", *, read: Callable[[str], bytes] = read_file) -> None:
        self.root = root
        self._read = read

    @property
    def there(self) -> bool:
        """Whether this system shows its processes."""
        return os.path.exists(f"{self.root}/self/stat")  # noqa: PTH110

    def pids(self) -> set[int]:
        """List all process ids, of threads of the kernel too."""
        return {int(name) for name in os.listdir(self.root) if name.isdecimal()}  # noqa: PTH208 (often)

    def table(self) -> dict[int, Stat]:
        """Look at all processes of the machine; about 10 us for each.

        Returns
        -------
        dict of int to Stat
            By process id; without zombies, threads of the kernel and what ended meanwhile.
        """
        return self.stats(self.pids())

    def stats(self, pids: Iterable[int]) -> dict[int, Stat]:
        """Look at some processes.

        Parameters
        ----------
        pids : iterable of int
            Process ids.

        Returns
        -------
        dict of int to Stat
            As :meth:`table`.
        """
        found: dict[int, Stat] = {}
        for pid in pids:
            try:
                data = self._read(f"{self.root}/{pid}/stat")
            except OSError:
                continue
            if (stat := parse_stat(pid, data)) is not None:
                found[pid] = stat if stat.rss_bytes else self._with_memory(stat)
        return found

    def rollup(self, pid: int) -> Rollup | None:
        """Read what a process holds.

        Parameters
        ----------
        pid : int
            Process id.

        Returns
        -------
        Rollup or None
            None: it is gone (or is no process of a program).

        Raises
        ------
        OSError
            It is there and may not be read, or this kernel (before 4.14) has no such file.
        """
        try:
            data = self._read(f"{self.root}/{pid}/smaps_rollup")
        except OSError as error:
            if error.errno != errno.ESRCH and os.path.exists(f"{self.root}/{pid}"):  # noqa: PTH110
                raise
            data = b""
        # Empty: it ended between open and read.
        data = data or self._of_another_thread(pid, "smaps_rollup")
        return parse_rollup(data) if data else None

    def _with_memory(self, stat: Stat) -> Stat:
        """Return the resident set as another thread shows it: a first thread that has ended shows none."""
        other = parse_stat(stat.pid, self._of_another_thread(stat.pid, "stat"))
        return stat if other is None else stat._replace(rss_bytes=other.rss_bytes)

    def _of_another_thread(self, pid: int, file: str) -> bytes:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"{self.root}/{pid}/task"):  # noqa: PTH208 (strings are all it takes)
                with contextlib.suppress(OSError):
                    if thread != str(pid) and (data := self._read(f"{self.root}/{pid}/task/{thread}/{file}")):
                        return data
        return b""

    def children(self, pid: int) -> list[int] | None:
        """List the children of a process with one thread.

        Parameters
        ----------
        pid : int
            Process id.

        Returns
        -------
        list of int or None
            None: it is gone, or this kernel does not tell.
        """
        with contextlib.suppress(OSError):
            return [int(child) for child in self._read(f"{self.root}/{pid}/task/{pid}/children").split()]
        return None

    def command(self, pid: int) -> list[bytes]:
        """Read the arguments of a process; they may hold a prompt, so they go nowhere.

        Parameters
        ----------
        pid : int
            Process id.

        Returns
        -------
        list of bytes
            Empty: it is gone, or may not be read.
        """
        with contextlib.suppress(OSError):
            return self._read(f"{self.root}/{pid}/cmdline").split(b"\0")
        return []

    def environ(self, pid: int) -> bytes | None:
        """Read the environment that a process was started with.

        Parameters
        ----------
        pid : int
            Process id.

        Returns
        -------
        bytes or None
            ``NAME=value`` pairs, each ended by a zero byte; None: it may not be read.
        """
        with contextlib.suppress(OSError):
            return self._read(f"{self.root}/{pid}/environ")
        return None


def parse_stat(pid: int, data: bytes) -> Stat | None:
    """Read the text of ``stat``.

    Parameters
    ----------
    pid : int
        Process id.
    data : bytes
        As the kernel spells it; the name in brackets may hold anything.

    Returns
    -------
    Stat or None
        None: it has ended, or is a thread of the kernel.
    """
    end = data.rfind(b")")
    f = data[end + 2 :].split(None, 22)
    # A zombie by its first thread alone lives on in the others.
    if len(f) < 22 or (f[0] in _ENDED and int(f[17]) <= 1) or int(f[6]) & _KERNEL_THREAD:
        return None
    return Stat(
        pid,
        ppid=int(f[1]),
        pgid=int(f[2]),
        sid=int(f[3]),
        name=data[data.find(b"(") + 1 : end].decode("utf-8", "replace"),
        cpu_ticks=int(f[11]) + int(f[12]),
        n_threads=int(f[17]),
        start=int(f[19]),
        rss_bytes=int(f[21]) * PAGE_BYTES,
    )


def parse_rollup(data: bytes) -> Rollup:
    r"""Read the text of ``smaps_rollup``.

    Parameters
    ----------
    data : bytes
        As the kernel spells it.

    Returns
    -------
    Rollup

    Examples
    --------
    >>> parse_rollup(b"00400000-7fff ---p 00000000 00:00 0    [rollup]\nRss:    12 kB\nPss:     4 kB\n")
    Rollup(pss=4096, swap_pss=None, anon=None, file=None, shmem=None, rss=12288)
    """
    sizes: list[int | None] = []
    for key in _SIZES:
        at = data.find(key)
        sizes.append(None if at < 0 else int(data[at + len(key) : data.index(b"k", at)]) << 10)
    return Rollup(*sizes)
