"""Memory of real processes: who belongs to a run, what is written, and how it ends."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from agentlab.errors import RecordingError
from agentlab.instruments.memory import MemorySampler
from agentlab.wire.cgroup import Cgroup
from agentlab.wire.children import Children

ENV = {"PATH": os.environ["PATH"]}
MIB = 2**20
HOLD = "import sys,time; held = bytearray(b'x' * (int(sys.argv[1]) << 20)); time.sleep(60)"
#: Leaves its session, forks twice and empties its environment (case 74).
DAEMON = """
import os, sys, time
held = "import time; held = bytearray(b'x' * (30 << 20)); time.sleep(60)"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", held], {})
    os._exit(0)
os.wait()
time.sleep(60)
"""
GROW = "import time\nheld = []\nwhile True: held.append(bytearray(b'x' * (1 << 20))); time.sleep(0.02)"


class Log(list):
    def of(self, kind, **fields):
        return [r for r in self if r["kind"] == kind and all(r[k] == v for k, v in fields.items())]

    def slow(self):
        return self.of("memory.sample", lane="slow")

    def pids(self):
        return {record["pid"] for record in self.of("memory.process")}


@pytest.fixture
def log():
    return Log()


@pytest.fixture
async def children():
    async with Children() as children:
        yield children


async def until(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.01)


def sampler(log, *children, **options):
    options = {"slow_s": 0.05, "fast_s": 0.02, "duty": 0.5, **options}
    return MemorySampler(log.append, lambda: [c.pid for c in children], **options)


def groups_of_this_process():
    if isinstance(probe := Cgroup.create(), str):
        return []
    found = [path.name for path in probe.folder.parent.glob(f"agentlab-{os.getpid()}-*")]
    assert probe.remove()
    return [name for name in found if name != probe.folder.name]


def rows(sample):
    names = ("pid", "start", "pss", "swap_pss", "anon", "file", "shmem", "rss", "n_threads", "cpu_ms")
    return {row[0]: dict(zip(names, row, strict=True)) for row in sample["processes"]}


def smaps(pid, *keys):
    """Read single mappings, another file and another way than the sampler's."""
    sums = dict.fromkeys(keys, 0)
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in sums:
            sums[name] += int(rest.split()[0]) * 1024
    return [sums[key] for key in keys]


@pytest.mark.parametrize("cgroup", [True, False])
async def test_everything_that_belongs_to_a_run_and_nothing_else(log, children, cgroup):
    async with Children() as others:
        sampling = sampler(log, children, cgroup=cgroup)
        sampling.start()
        sampling.mark("launch")
        stranger = await others.spawn([sys.executable, "-c", HOLD, "20"], env=ENV)
        first = await children.spawn([sys.executable, "-c", HOLD, "40"], env=ENV)
        second = await children.spawn([sys.executable, "-c", DAEMON], env=ENV)
        assert await sampling.settled(window_s=0.5, cap_s=30)
        told = await sampling.stop()
    last = rows(log.slow()[-1])
    processes = {record["pid"]: record for record in log.of("memory.process")}
    assert {first.pid, second.pid} < set(last)
    (daemon,) = [processes[pid] for pid in set(last) - {first.pid, second.pid}]
    assert stranger.pid not in log.pids() and children.pid not in log.pids() and os.getpid() not in log.pids()
    assert (daemon["root"], daemon["in_tree"], daemon["in_group"], daemon["tagged"]) == (False,) * 4
    assert daemon["ppid"] == children.pid and daemon["name"].startswith("python")
    assert processes[first.pid]["root"] and processes[first.pid]["tagged"]
    assert 40 * MIB < last[first.pid]["anon"] < 52 * MIB
    assert 30 * MIB < last[daemon["pid"]]["anon"] < 42 * MIB
    assert log[0]["kind"] == "memory.begin" and log[-1]["kind"] == "memory.end"
    assert told["n_slow"] == len(log.slow()) and told["n_fast"] > 3
    if not cgroup:
        assert log[0]["cgroup"] == "off" and "cgroup" not in log.slow()[-1]


async def test_the_sum_is_that_of_all_mappings_read_another_way(log, children):
    sampling = sampler(log, children)
    sampling.start()
    for size in ("30", "60"):
        await children.spawn([sys.executable, "-c", HOLD, size], env=ENV)
    assert await sampling.settled(window_s=0.5, cap_s=30)
    await sampling.stop()
    last = rows(log.slow()[-1])
    literal = {pid: smaps(pid, "Pss", "SwapPss", "Anonymous", "Rss") for pid in last}
    ours = sum(row["pss"] + row["swap_pss"] for row in last.values())
    assert abs(sum(pss + swap for pss, swap, _, _ in literal.values()) - ours) < 0.01 * ours
    for pid, (_, _, anon, rss) in literal.items():
        assert abs(last[pid]["rss"] - rss) < 0.01 * rss
        assert abs(last[pid]["anon"] - anon) < 0.02 * anon  # what is shared by a fork counts in part


async def test_the_control_group_counts_the_same_anonymous_memory(log, children, capsys):
    await children.folder()  # the watchdog is up: what it takes while it starts is told apart only roughly
    sampling = sampler(log, children)
    sampling.start()
    sampling.mark("launch")
    for size in ("60", "90"):
        await children.spawn([sys.executable, "-c", HOLD, size], env=ENV)
    settled = await sampling.settled(window_s=2.5, cap_s=30)  # the kernel adds up its counters every 2 s
    told = await sampling.stop()
    assert settled
    last = log.slow()[-1]
    kind = log[0]["cgroup"]
    with capsys.disabled():
        print(f"\ncontrol group: {kind if isinstance(kind, str) else f'version {kind}'}")
    if isinstance(kind, str):
        assert "cgroup" not in last
        return
    group = last["cgroup"]
    anon = sum(row["anon"] for row in rows(last).values())
    assert group["complete"] and group["n"] == 2
    assert abs(group["anon"] - group["watchdog_anon"] - anon) < 0.01 * anon
    assert group["watchdog_anon"] < 2 * MIB
    assert group["peak"] >= group["current"] >= group["anon"] > 150 * MIB
    assert "cgroup_left" not in told


async def test_what_ran_before_is_in_no_group_of_the_run_and_that_is_said(log, children):
    before = await children.spawn([sys.executable, "-c", HOLD, "10"], env=ENV)
    sampling = sampler(log, children)
    sampling.start()
    await until(lambda: len(log.slow()) > 2)
    await sampling.stop()
    last = log.slow()[-1]
    assert set(rows(last)) == {before.pid}
    assert last.get("cgroup", {"complete": False})["complete"] is False


async def test_the_ramp_is_kept_from_the_first_process_on(log, children):
    sampling = sampler(log, children, slow_s=1.0)
    sampling.start()
    await asyncio.sleep(0.3)
    assert not log.of("memory.sample")
    sampling.mark("launch")
    launched = time.monotonic_ns()
    await children.spawn([sys.executable, "-c", GROW], env=ENV)
    await until(lambda: len(log.of("memory.sample")) > 15)
    await sampling.stop()
    samples = log.of("memory.sample")
    assert samples[0]["lane"] == "slow"
    assert (samples[0]["t"] - launched) / 1e9 < 0.3
    rss = [row[-3] for sample in samples for row in sample["processes"]]
    assert rss[-1] > rss[0] + 5 * MIB
    assert [r["phase"] for r in log.of("memory.phase")] == ["launch"]


async def test_what_keeps_growing_is_not_settled_at_the_cap(log, children):
    sampling = sampler(log, children)
    sampling.start()
    await children.spawn([sys.executable, "-c", GROW], env=ENV)
    began = time.monotonic()
    assert not await sampling.settled(window_s=0.3, tolerance=0.001, cap_s=1.0)
    assert 0.9 < time.monotonic() - began < 3
    await sampling.stop()
    (answer,) = log.of("memory.plateau")
    assert (answer["reached"], answer["reason"]) == (False, "growing")
    assert answer["change"] > 0.001 and answer["waited_s"] >= 1.0


async def test_a_process_that_comes_late_begins_the_window_again(log, children):
    sampling = sampler(log, children)
    sampling.start()
    await children.spawn([sys.executable, "-c", HOLD, "10"], env=ENV)
    waiting = asyncio.create_task(sampling.settled(window_s=1.0, cap_s=30))
    await asyncio.sleep(0.5)
    late = await children.spawn([sys.executable, "-c", HOLD, "10"], env=ENV)
    assert await waiting
    await sampling.stop()
    (answer,) = log.of("memory.plateau")
    plateau = [s for s in log.slow() if answer["since"] <= s["t"] <= answer["until"]]
    assert len(plateau) == answer["n_samples"] >= 3
    assert all(late.pid in rows(sample) for sample in plateau)


async def test_the_duty_bound_holds_for_many_processes(log, children):
    for _ in range(30):
        await children.spawn([sys.executable, "-c", HOLD, "5"], env=ENV)
    sampling = MemorySampler(log.append, lambda: [children.pid], slow_s=0.05)
    sampling.start()
    await asyncio.sleep(3)
    told = await sampling.stop()
    dearest = max(s["cpu_ns"] for s in log.of("memory.sample")) / 1e9
    assert told["cpu_s"] <= 0.05 * told["wall_s"] + 1.5 * dearest
    assert told["duty"] == pytest.approx(told["cpu_s"] / told["wall_s"], rel=0.01)
    assert told["n_slow"] >= 2 and told["n_fast"] >= 5


async def test_it_ends_at_once_and_leaves_nothing(log, children):
    sampling = sampler(log, children)
    sampling.start()
    await children.spawn([sys.executable, "-c", HOLD, "5"], env=ENV)
    await until(lambda: log.slow())
    began = time.monotonic()
    first = await sampling.stop()
    assert time.monotonic() - began < 1.0
    assert await sampling.stop() == first
    assert not [thread for thread in threading.enumerate() if thread.name == "agentlab-memory"]
    assert len(log.of("memory.end")) == 1
    n = len(log)
    await asyncio.sleep(0.2)
    assert len(log) == n
    assert groups_of_this_process() == []


async def test_processes_go_back_where_they_were(log, children):
    if isinstance(probe := Cgroup.create(), str):
        assert probe in ("no_controller", "not_writable")
        return
    probe.remove()

    def where(pid):
        return Path(f"/proc/{pid}/cgroup").read_text()

    home = where(children.pid)
    sampling = sampler(log, children)
    sampling.start()
    sampling.mark("launch")
    child = await children.spawn([sys.executable, "-c", HOLD, "5"], env=ENV)
    assert where(child.pid) == where(children.pid) != home
    await sampling.stop()
    assert where(child.pid) == where(children.pid) == home


async def test_a_disk_that_is_full_is_said_and_ends_the_thread(children):
    written = []

    def write(record):
        written.append(record)
        if record["kind"] == "memory.sample":
            raise RecordingError("memory.jsonl cannot be written: No space left on device")

    sampling = MemorySampler(write, lambda: [children.pid], slow_s=0.05)
    sampling.start()
    await children.spawn(["sleep", "60"], env=ENV)
    began = time.monotonic()
    with pytest.raises(RecordingError, match="No space left"):
        await sampling.settled(cap_s=60)
    assert time.monotonic() - began < 20
    for _ in range(2):
        with pytest.raises(RecordingError, match="No space left"):
            await sampling.stop()
    assert written[-1]["kind"] == "memory.sample"


async def test_a_run_that_cannot_begin_to_be_sampled_leaves_no_group(children):
    def write(record):
        raise RecordingError("memory.jsonl cannot be written: No space left on device")

    with pytest.raises(RecordingError, match="No space left"):
        MemorySampler(write, lambda: [children.pid]).start()
    assert groups_of_this_process() == []


async def test_nothing_is_written_or_left_after_an_end_that_was_cancelled(log, children):
    sampling = sampler(log, children)
    sampling.start()
    await children.spawn([sys.executable, "-c", HOLD, "5"], env=ENV)
    await until(lambda: log.slow())
    ending = asyncio.create_task(sampling.stop())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    n = len(log)
    assert groups_of_this_process() == []
    await asyncio.sleep(0.1)
    assert len(log) == n


async def test_a_broken_reader_fails_no_run_and_is_said(log, children):
    def roots():
        raise ZeroDivisionError("of a test")

    sampling = MemorySampler(log.append, roots)
    sampling.start()
    assert not await sampling.settled(cap_s=20)
    told = await sampling.stop()
    assert told["reason"] == "ZeroDivisionError: of a test"
    assert log.of("memory.plateau")[0]["reason"] == "ended"


async def test_a_system_without_procfs_is_unknown_not_empty(log, tmp_path):
    sampling = MemorySampler(log.append, lambda: [1], proc=str(tmp_path))
    sampling.start()
    sampling.mark("launch")
    assert not await sampling.settled(cap_s=20)
    assert (await sampling.stop())["reason"] == "no_procfs"
    assert not log.of("memory.sample") and log[0]["reason"] == "no_procfs"


async def test_a_killed_watchdog_does_not_hide_what_it_left(log):
    children = Children()
    async with children:
        owned = [children.pid]
        sampling = MemorySampler(log.append, lambda: owned, slow_s=0.05, cgroup=False)
        sampling.start()
        child = await children.spawn([sys.executable, "-c", HOLD, "5"], env=ENV)
        await until(lambda: log.of("memory.process", pid=child.pid, root=True, tagged=True))
        os.kill(children.pid, signal.SIGSTOP)  # it cannot sweep
        os.kill(children.pid, signal.SIGKILL)
        owned.clear()
        n = len(log.slow())
        await until(lambda: len(log.slow()) > n + 2)
        await sampling.stop()
        last = log.of("memory.process", pid=child.pid)[-1]
    assert child.pid in rows(log.slow()[-1])
    assert last["in_group"] and last["tagged"] and last["ppid"] != owned
