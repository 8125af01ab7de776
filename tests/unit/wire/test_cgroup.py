"""Control groups on a folder that looks like them; the kernel's own are in tests/integration."""

import os
from pathlib import Path

import pytest

from agentlab.wire.cgroup import Cgroup, Counters
from agentlab.wire.procid import ProcessId

V1 = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
V2 = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that sets up this process's groups; new folders get files where memory is counted."""

    def set_up(own, mounts, folders, counted=()):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(own)
        (tmp_path / "proc/self/mountinfo").write_text(mounts)
        for folder in folders:
            (tmp_path / folder).mkdir(parents=True)
        make = Path.mkdir

        def mkdir(self, *args, **kwargs):
            make(self, *args, **kwargs)
            for parent, files in counted:
                if self.parent == tmp_path / parent:
                    for name, text in files.items():
                        (self / name).write_text(text)

        monkeypatch.setattr(Path, "mkdir", mkdir)
        return tmp_path

    return set_up


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("agentlab-"))


def test_version_1_below_the_own_group_with_its_limit(kernel):
    files = {
        "memory.stat": "cache 1\nrss 2\ntotal_cache 30\ntotal_rss 400\n",
        "memory.usage_in_bytes": "500\n",
        "memory.max_usage_in_bytes": "600\n",
        "memory.limit_in_bytes": "999\n",
        "cgroup.procs": "12\n7\n",
    }
    own = "sys/fs/cgroup/memory/a/b"
    root = kernel("4:memory:/a/b\n3:cpu:/x\n", V1, [own], [(own, files)])
    (root / own / "memory.limit_in_bytes").write_text("123\n")
    group = Cgroup.create(root)
    assert isinstance(group, Cgroup)
    assert (group.version, group.folder.parent) == (1, root / own)
    assert group.counters() == Counters(anon=400, file=30, current=500, peak=600)
    assert group.pids() == [12, 7]
    assert (group.folder / "memory.limit_in_bytes").read_text() == "123"
    assert group.adopt(44) and (group.folder / "cgroup.procs").read_text() == "44"
    assert not group.remove()  # a plain folder with files in it cannot be removed, as one that is in use
    assert (root / own / "cgroup.procs").read_text() == "44"


def test_version_2_beside_the_own_group_which_gives_its_children_no_controller(kernel):
    files = {"memory.stat": "anon 4\nfile 3\n", "memory.current": "9\n", "memory.peak": "11\n"}
    own = "sys/fs/cgroup/app.slice/me.scope"
    root = kernel("0::/app.slice/me.scope\n", V2, [own], [("sys/fs/cgroup/app.slice", files)])
    (root / own / "memory.max").write_text("max\n")
    group = Cgroup.create(root)
    assert isinstance(group, Cgroup)
    assert (group.version, group.folder.parent.name) == (2, "app.slice")
    assert group.counters() == Counters(anon=4, file=3, current=9, peak=11)
    assert names(root / own) == []  # the attempt below was taken back


def test_a_limit_of_the_own_group_is_not_left(kernel):
    own = "sys/fs/cgroup/app.slice/me.scope"
    root = kernel(
        "0::/app.slice/me.scope\n", V2, [own], [("sys/fs/cgroup/app.slice", {"memory.current": "1"})]
    )
    (root / own / "memory.max").write_text("1000000\n")
    assert Cgroup.create(root) == "no_controller"
    assert names(root / own) == names((root / own).parent) == []


def test_a_group_of_a_container_is_mounted_as_the_top(kernel):
    own = "sys/fs/cgroup/memory"
    root = kernel("4:memory:/docker/77\n", V1.replace(" / ", " /docker/77 "), [own], [])
    assert Cgroup.create(root) == "no_controller"  # found, and taken back: nothing is counted in it
    assert names(root / own) == []


@pytest.mark.parametrize("own", ["", "4:memory:/gone\n", "3:cpu:/x\n"])
def test_without_a_controller_there_is_none(kernel, own):
    assert Cgroup.create(kernel(own, V1, ["sys/fs/cgroup/memory"])) == "no_controller"


def test_what_may_not_be_written_is_said(kernel, monkeypatch):
    root = kernel("4:memory:/\n", V1, ["sys/fs/cgroup/memory"])

    def refuse(self, *args, **kwargs):
        raise PermissionError

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert Cgroup.create(root) == "not_writable"


def test_groups_that_killed_processes_left_are_removed_and_others_are_not(kernel):
    own = "sys/fs/cgroup/memory"
    me = ProcessId.of(os.getpid())
    mine, dead, foreign = f"agentlab-{me.pid}-{me.started}-aa", f"agentlab-{me.pid}-1-bb", "agentlab-notes"
    root = kernel("4:memory:/\n", V1, [f"{own}/{name}" for name in (mine, dead, foreign)])
    Cgroup.create(root)
    assert names(root / own) == sorted([mine, foreign])


def test_counters_that_cannot_be_read_are_unknown(tmp_path):
    group = Cgroup(tmp_path, tmp_path, 1)
    (tmp_path / "memory.stat").write_text("total_rss many\n")
    assert group.counters() == Counters(None, None, None, None)
    assert group.pids() == []
