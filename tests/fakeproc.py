"""A folder that looks like ``/proc``, for tests of what reads it.

What it cannot show: what a kernel does between two reads, and permissions (tests run as root); for those a
test gives :meth:`FakeProc.failing` an error for one file.
"""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

from agentlab.wire import watchdog
from agentlab.wire.marked import MARKER
from agentlab.wire.procfs import PAGE_BYTES, Procfs, read_file

KERNEL_THREAD = 0x00200040
ROLLUP = """00400000-7ffd398e4000 ---p 00000000 00:00 0                          [rollup]
Rss:            {rss:8} kB
Pss:            {pss:8} kB
Pss_Dirty:      {anon:8} kB
Pss_Anon:       {anon:8} kB
Pss_File:       {file:8} kB
Pss_Shmem:      {shmem:8} kB
Shared_Clean:       6100 kB
Swap:                  8 kB
SwapPss:        {swap:8} kB
Locked:                0 kB
"""


class FakeProc:
    """Write processes into a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.errors: dict[str, OSError] = {}

    def put(
        self,
        pid: int,
        *,
        ppid: int = 1,
        start: int = 100,
        pgid: int | None = None,
        sid: int | None = None,
        name: str = "agent",
        state: str = "S",
        flags: int = 0x400000,
        ticks: tuple[int, int] = (0, 0),
        n_threads: int = 1,
        rss_kb: int = 4,
        marker: str | None = None,
        command: str = "agent\0",
        children: str = "",
        **sizes_kb: int,
    ) -> int:
        """Put a process there, in place of one with its number; its group and session are its own."""
        folder = self.root / str(pid)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "task" / str(pid)).mkdir(parents=True)
        (folder / "task" / str(pid) / "children").write_text(children)
        head = f"{pid} ({name}) {state} {ppid} {pgid or pid} {sid or pid} 0 -1 {flags} 1 2 3 4"
        pages = rss_kb * 1024 // PAGE_BYTES
        tail = f"{ticks[0]} {ticks[1]} 7 8 20 0 {n_threads} 0 {start} 123456 {pages} 18446744073709551615 1"
        (folder / "stat").write_text(f"{head} {tail}\n")
        (folder / "cmdline").write_text(command)
        (folder / "environ").write_text("PATH=/bin\0" + (f"{MARKER}={marker}\0" if marker else ""))
        sizes = {"rss": 0, "pss": 0, "anon": 0, "file": 0, "shmem": 0, "swap": 0} | sizes_kb
        (folder / "smaps_rollup").write_text(ROLLUP.format(**sizes))
        return pid

    def watchdog(self, pid: int, *, marker: str = "ours", children: str = "") -> int:
        """Put a watchdog there, as ``Children`` starts it."""
        command = f"python\0-I\0-S\0{watchdog.__file__}\0{3}\0"
        return self.put(pid, name="python3", command=command, marker=marker, children=children)

    def end(self, pid: int) -> None:
        """Take a process away."""
        shutil.rmtree(self.root / str(pid))

    def failing(self, pid: int, file: str, number: int) -> None:
        """Let the read of a file fail with an error number."""
        self.errors[f"{self.root}/{pid}/{file}"] = OSError(number, errno.errorcode[number])

    def open(self, on_read: Callable[[str], None] = lambda path: None) -> Procfs:
        """Return what reads it; `on_read` is told each file before it is read."""
        (self.root / "self").mkdir(exist_ok=True)
        (self.root / "self" / "stat").write_text("")

        def read(path: str) -> bytes:
            on_read(path)
            if path in self.errors:
                raise self.errors[path]
            return read_file(path)

        return Procfs(str(self.root), read=read)
