import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from agentlab.wire.procfs import PAGE_BYTES, Procfs, Rollup, Stat, parse_rollup

from ...fakeproc import KERNEL_THREAD, ROLLUP, FakeProc

KB = 1024


@pytest.fixture
def fake(tmp_path):
    return FakeProc(tmp_path)


def test_stat_is_read_whatever_the_name_holds(fake):
    fake.put(
        7,
        ppid=3,
        pgid=5,
        sid=4,
        name="a) R (1 b",
        state="R",
        ticks=(12, 30),
        n_threads=9,
        start=2**40,
        rss_kb=40,
        flags=64,
    )
    assert fake.open().table() == {7: Stat(7, 3, 5, 4, "a) R (1 b", 42, 9, 2**40, 40 * KB)}


def test_zombies_and_threads_of_the_kernel_do_not_count(fake):
    fake.put(2, name="kthreadd", flags=KERNEL_THREAD)
    fake.put(3, state="Z")
    fake.put(4, state="X")
    fake.put(5, state="D")
    assert list(fake.open().table()) == [5]


def test_what_lives_on_without_its_first_thread_counts_with_its_memory():
    code = "import ctypes, threading, time; b = bytearray(40 << 20); b[::4096] = b'x' * 10240\n"
    code += "threading.Thread(target=time.sleep, args=(60,)).start(); print('up', flush=True)\n"
    code += "ctypes.pythonapi.PyThread_exit_thread()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"up\n"
            stat = Path(f"/proc/{process.pid}/stat")
            while stat.read_bytes().rpartition(b")")[2].split()[0] != b"Z":
                os.sched_yield()
            proc = Procfs()
            held, seen = proc.rollup(process.pid), proc.stats([process.pid])[process.pid]
        finally:
            process.kill()
    assert held is not None and held.anon is not None and held.anon > 40 << 20
    assert seen.rss_bytes > 40 << 20


def test_the_table_is_without_what_ended_and_without_other_files(fake):
    for pid in (1, 5, 6):
        fake.put(pid)
    fake.failing(5, "stat", errno.ESRCH)
    (fake.root / "meminfo").write_text("MemTotal: 1 kB\n")
    proc = fake.open()
    assert proc.pids() == {1, 5, 6}
    assert set(proc.table()) == {1, 6}
    assert set(proc.stats([6, 5, 99])) == {6}


def test_a_cut_stat_is_no_process(fake):
    fake.put(5)
    (fake.root / "5" / "stat").write_text("5 (agent) S 1 5 5")
    assert fake.open().table() == {}


def test_rollup_in_bytes(fake):
    fake.put(5, rss=900, pss=500, anon=300, file=150, shmem=50, swap=7)
    kb = Rollup(pss=500, swap_pss=7, anon=300, file=150, shmem=50, rss=900)
    assert fake.open().rollup(5) == Rollup(*[size * KB for size in kb])


def test_what_an_older_kernel_does_not_tell_is_unknown():
    text = ROLLUP.format(rss=9, pss=8, anon=7, file=6, shmem=5, swap=4)
    old = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("Pss_"))
    assert parse_rollup(old.encode()) == Rollup(8 * KB, 4 * KB, None, None, None, 9 * KB)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_what_may_not_be_read_is_told_from_what_is_gone(fake, number):
    fake.put(5)
    fake.put(6)
    fake.failing(5, "smaps_rollup", number)
    fake.failing(6, "smaps_rollup", errno.ESRCH)  # it ended, or is a thread of the kernel
    proc = fake.open()
    with pytest.raises(OSError, match=errno.errorcode[number]):
        proc.rollup(5)
    assert proc.rollup(6) is None
    assert proc.rollup(77) is None


def test_a_process_that_ends_between_open_and_read_is_gone(fake):
    fake.put(5)
    (fake.root / "5" / "smaps_rollup").write_text("")
    assert fake.open().rollup(5) is None


def test_a_kernel_without_rollups_is_no_ended_process(fake):
    fake.put(5)
    (fake.root / "5" / "smaps_rollup").unlink()
    with pytest.raises(FileNotFoundError):
        fake.open().rollup(5)


def test_environment_longer_than_a_chunk(fake):
    fake.put(5, marker="x" * 100_000)
    environ = fake.open().environ(5)
    assert environ is not None
    assert environ.endswith(b"x\0") and len(environ) > 100_000


def test_an_environment_that_may_not_be_read_is_unknown(fake):
    fake.put(5)
    fake.failing(5, "environ", errno.EACCES)
    assert fake.open().environ(5) is None
    assert fake.open().children(99) is None
    assert fake.open().command(99) == []


def test_this_process_as_the_kernel_shows_it():
    proc = Procfs()
    me = proc.table()[os.getpid()]
    held = proc.rollup(os.getpid())
    assert held is not None
    assert (me.ppid, me.pgid, me.sid) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert held.rss is not None and held.pss is not None and held.anon is not None
    assert held.file is not None and held.shmem is not None
    assert abs(held.anon + held.file + held.shmem - held.pss) <= 4 * KB  # each is rounded by itself
    assert abs(me.rss_bytes - held.rss) < 0.2 * held.rss
    assert held.rss <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KB + 4 * 2**20
    assert me.rss_bytes % PAGE_BYTES == 0
    assert proc.there and not Procfs("/nowhere").there
