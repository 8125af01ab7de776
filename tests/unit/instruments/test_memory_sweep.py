import errno

import pytest

from agentlab.instruments.memory import sweep
from agentlab.instruments.memory.sweep import Sweeper

from ...fakeproc import KERNEL_THREAD, FakeProc

DOG = 1000
KB = 1024


@pytest.fixture
def fake(tmp_path):
    fake = FakeProc(tmp_path)
    fake.put(1, ppid=0, name="init")
    fake.watchdog(DOG)
    return fake


class Group:
    """A control group as the sweeper uses it; it shows nothing of a kernel's."""

    def __init__(self, *pids, complete=True):
        self.inside, self.complete, self.adopted = list(pids), complete, []

    def adopt(self, owned):
        self.adopted += owned

    def pids(self):
        return self.inside

    def told(self, n, *, complete, slow):
        return {"anon": 5, "n": n, "complete": complete and self.complete}


def sweeper(fake, *, owned=(DOG,), group=None, on_read=lambda path: None, stopped=lambda: False):
    return Sweeper(fake.open(on_read), lambda: owned, group, stopped)


def test_nothing_is_told_before_the_first_process_and_an_empty_run_after_the_last(fake):
    looks = sweeper(fake)
    assert looks.look("slow") is None
    fake.put(1001, ppid=DOG)
    assert looks.look("fast") is not None
    fake.end(1001)
    empty = looks.look("slow")
    assert empty is not None
    assert (empty.sample["processes"], empty.total, empty.ids) == ([], None, frozenset())


def test_a_slow_look_in_the_documented_order(fake):
    fake.put(1001, ppid=DOG, start=77, ticks=(100, 50), n_threads=4, rss_kb=88)
    fake.put(1001, ppid=DOG, start=77, ticks=(100, 50), n_threads=4, rss_kb=88, rss=900, pss=500, anon=300,
             file=150, shmem=50, swap=7)  # fmt: skip
    found = sweeper(fake).look("slow")
    assert found is not None
    row = [1001, 77, 500 * KB, 7 * KB, 300 * KB, 150 * KB, 50 * KB, 900 * KB, 4, 1500]
    assert found.sample["processes"] == [row]
    assert (found.total, found.ids) == (507 * KB, frozenset({(1001, 77)}))
    assert found.sample["wall_ns"] > 0 and found.sample["cpu_ns"] > 0
    fast = sweeper(fake).look("fast")
    assert fast is not None
    assert fast.sample["processes"] == [[1001, 77, 88 * KB, 4, 1500]]
    assert fast.total is None


def test_unreadable_is_null_and_counted_and_a_thread_of_the_kernel_is_ignored(fake):
    """Case 68."""
    fake.put(2, ppid=DOG, flags=KERNEL_THREAD)
    fake.failing(2, "smaps_rollup", errno.ESRCH)
    fake.put(9, ppid=DOG)
    fake.failing(9, "smaps_rollup", errno.EACCES)
    fake.put(10, ppid=DOG, pss=8492)
    found = sweeper(fake).look("slow")
    assert found is not None
    assert [row[:3] for row in found.sample["processes"]] == [[9, 100, None], [10, 100, 8492 * KB]]
    assert found.sample["n_unreadable"] == 1 and found.sample["n_exited"] == 0
    assert found.total == 8492 * KB
    assert len(found.ids) == 2


def test_what_nobody_may_read_has_no_total(fake):
    fake.put(9, ppid=DOG)
    fake.failing(9, "smaps_rollup", errno.EPERM)
    found = sweeper(fake).look("slow")
    assert found is not None
    assert (found.total, found.sample["n_unreadable"]) == (None, 1)


def test_what_ends_between_list_and_read_is_counted_and_has_no_row(fake):
    fake.put(1001, ppid=DOG, pss=5)
    fake.put(1002, ppid=DOG, pss=6)

    def end(path):
        if path.endswith("1001/smaps_rollup"):
            fake.end(1001)

    found = sweeper(fake, on_read=end).look("slow")
    assert found is not None
    assert (found.sample["n_exited"], found.total, found.ids) == (1, 6 * KB, frozenset({(1002, 100)}))


def test_a_process_is_told_at_first_sight_and_when_it_changed(fake):
    looks = sweeper(fake)
    fake.put(1001, ppid=DOG, name="sh")

    def told():
        found = looks.look("slow")
        assert found is not None
        return [(p["pid"], p["name"], p["start"]) for p in found.processes]

    assert told() == [(1001, "sh", 100)]
    assert told() == []
    fake.put(1001, ppid=DOG, name="codex")
    assert told() == [(1001, "codex", 100)]
    fake.put(1001, ppid=DOG, name="codex", start=101)
    found = looks.look("slow")
    assert found is not None
    assert found.sample["n_reused"] == 1 and found.processes[0]["start"] == 101
    again = looks.look("slow")
    assert again is not None and again.sample["n_reused"] == 0


@pytest.mark.parametrize("lane", ["fast", "slow"])
def test_strangers_are_passed_over_for_two_seconds_but_nothing_new_is(fake, lane, monkeypatch):
    read: list[str] = []
    now = [10**12]
    monkeypatch.setattr(sweep.time, "monotonic_ns", lambda: now[0])
    fake.put(2, flags=KERNEL_THREAD)
    fake.put(500, name="stranger")
    fake.put(501, name="newcomer", start=10**15)  # it may be ours: its parent was not listed yet
    fake.put(1001, ppid=DOG)
    looks = sweeper(fake, on_read=read.append)
    assert looks.look(lane) is not None
    fake.put(1002, ppid=1001)
    for later, strangers in ((1.9, 0), (2.1, 2)):
        read.clear()
        now[0] = 10**12 + int(later * 1e9)
        found = looks.look(lane)
        assert found is not None
        assert [row[0] for row in found.sample["processes"]] == [1001, 1002]
        assert sum(f"{fake.root}/{pid}/stat" in read for pid in (2, 500)) == strangers
        assert f"{fake.root}/501/stat" in read


def test_a_whole_control_group_is_the_list_of_a_fast_look(fake):
    read: list[str] = []
    fake.put(1001, ppid=DOG)
    group = Group(DOG, 1001)
    looks = sweeper(fake, group=group, on_read=read.append)
    looks.look("slow")
    read.clear()
    fast = looks.look("fast")
    assert fast is not None
    assert sorted(path for path in read if path.endswith("/stat")) == [
        f"{fake.root}/{DOG}/stat",
        f"{fake.root}/1001/stat",
    ]
    assert fast.sample["cgroup"] == {"anon": 5, "n": 1, "complete": True}
    assert DOG in group.adopted


def test_a_member_outside_makes_the_control_group_incomplete(fake):
    fake.put(1001, ppid=DOG)
    fake.put(1002, ppid=1001)
    found = sweeper(fake, group=Group(DOG, 1002)).look("slow")
    assert found is not None
    assert found.sample["cgroup"] == {"anon": 5, "n": 1, "complete": False}
    assert [p["in_cgroup"] for p in found.processes] == [False, True]


def test_a_look_that_is_stopped_tells_nothing(fake):
    fake.put(1001, ppid=DOG)
    assert sweeper(fake, stopped=lambda: True).look("slow") is None
