import errno

import pytest

from agentlab.instruments.memory.members import Members

from ...fakeproc import KERNEL_THREAD, FakeProc

DOG = 1000


@pytest.fixture
def fake(tmp_path):
    fake = FakeProc(tmp_path)
    fake.put(1, ppid=0, name="init")
    fake.put(2, ppid=0, name="kthreadd", flags=KERNEL_THREAD)
    fake.put(500, name="shell")
    fake.watchdog(DOG)
    return fake


def find(fake, members, owned=(DOG,), cgroup=None):
    return {m.stat.pid: m for m in members.find(fake.open().table(), owned, cgroup)}


def test_what_descends_from_the_watchdog_and_nothing_else(fake):
    fake.put(1001, ppid=DOG)
    fake.put(1002, ppid=1001, pgid=1001, sid=1001, marker="ours")
    fake.put(1003, ppid=1002, state="Z")
    fake.put(501, ppid=500, marker="another study's")
    found = find(fake, Members(fake.open()))
    assert list(found) == [1001, 1002]
    assert found[1001].root and not found[1002].root
    assert all(m.in_tree and m.in_group for m in found.values())
    assert [m.tagged for m in found.values()] == [False, True]


def test_a_daemon_that_left_session_and_tree_with_an_empty_environment(fake):
    """Case 74: it is the watchdog's child now, since that adopts what loses its parent."""
    members = Members(fake.open())
    fake.put(1001, ppid=DOG, marker="ours")
    fake.put(1002, ppid=1001, pgid=1001, sid=1001, marker="ours")
    fake.put(1003, ppid=1002)
    assert find(fake, members)[1003].in_tree
    fake.end(1002)
    fake.put(1003, ppid=DOG)
    daemon = find(fake, members)[1003]
    assert (daemon.root, daemon.in_tree, daemon.in_group, daemon.tagged) == (False, False, False, False)
    assert daemon.told()["ppid"] == DOG


def test_a_process_that_is_seen_before_it_leads_its_session_is_still_a_root(fake):
    members = Members(fake.open())
    fake.put(1001, ppid=DOG, pgid=DOG, sid=DOG, name="python3")  # between fork and exec
    assert not find(fake, members)[1001].root
    fake.put(1001, ppid=DOG, name="agent")
    assert find(fake, members)[1001].root


def test_a_driver_that_names_what_it_starts_leaves_nothing_to_guess(fake):
    fake.put(1001, ppid=DOG, marker="ours")
    fake.put(1002, ppid=DOG)  # leads a session of its own, but the driver has not started it
    assert find(fake, Members(fake.open()))[1002].root
    found = find(fake, Members(fake.open()), owned=(DOG, 1001))
    assert found[1001].root and not found[1002].root and not found[1002].in_tree


def test_a_process_that_is_owned_without_a_watchdog_counts(fake):
    fake.put(700, ppid=500)
    fake.put(701, ppid=700)
    found = find(fake, Members(fake.open()), owned=(700,))
    assert list(found) == [700, 701]
    assert found[700].root and found[701].in_tree


def test_after_the_watchdog_was_killed_group_and_marker_find_what_is_left(fake):
    members = Members(fake.open())
    fake.put(1001, ppid=DOG, marker="ours")
    find(fake, members)
    fake.end(DOG)
    fake.put(1001, ppid=1, marker="ours")
    fake.put(1002, ppid=1, pgid=1001, sid=1001)
    fake.put(1003, ppid=1, marker="ours")
    fake.put(1004, ppid=1, marker="others")
    found = find(fake, members, owned=())
    assert list(found) == [1001, 1002, 1003]
    assert found[1002].in_group and not found[1002].tagged
    assert found[1003].tagged and not found[1003].in_group and not found[1003].in_tree


def test_the_control_group_finds_what_nothing_else_does(fake):
    fake.put(501, ppid=500)
    found = find(fake, Members(fake.open()), cgroup={501, DOG})
    assert list(found) == [501]
    assert found[501].told()["in_cgroup"] is True
    assert "in_cgroup" not in find(fake, Members(fake.open()), owned=(501,))[501].told()


def test_a_marker_that_may_not_be_read_is_unknown(fake):
    fake.put(1001, ppid=DOG)
    fake.failing(1001, "environ", errno.EACCES)
    assert find(fake, Members(fake.open()))[1001].tagged is None


def test_an_environment_is_read_once_until_another_program_runs_in_the_process(fake):
    read: list[str] = []
    members = Members(fake.open(read.append))
    fake.put(1001, ppid=DOG, marker="ours", name="sh")
    for _ in range(3):
        find(fake, members)
    assert read.count(f"{fake.root}/1001/environ") == 1
    fake.put(1001, ppid=DOG, name="agent")
    assert find(fake, members)[1001].tagged is False


def test_a_child_with_a_lower_number_and_one_that_was_used_again(fake):
    """Case 70."""
    members = Members(fake.open())
    fake.put(32767, ppid=DOG, start=100)
    fake.put(301, ppid=32767, start=101)
    assert list(find(fake, members)) == [301, 32767]
    fake.put(301, ppid=1, start=900)
    assert list(find(fake, members)) == [32767]
    assert members.n_reused == 0  # the other process is none of the run's


def test_a_number_that_the_run_itself_uses_again_is_counted(fake):
    members = Members(fake.open())
    fake.put(1001, ppid=DOG, start=100)
    find(fake, members)
    fake.put(1001, ppid=DOG, start=200)
    assert find(fake, members)[1001].stat.start == 200
    assert members.n_reused == 1


def test_threads_of_the_kernel_are_no_members_even_below_an_owned_process(fake):
    fake.put(9, ppid=DOG, flags=KERNEL_THREAD)
    assert not find(fake, Members(fake.open()))
