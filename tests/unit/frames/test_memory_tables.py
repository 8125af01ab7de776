"""Samples of memory: sums, what is settled, and what each process is for."""

import json

import pytest

import agentlab as al
from agentlab.frames.evidence import read_run

MB = 1_000_000
WATCHDOG = 9


def process(run, at, pid, *, ppid=WATCHDOG, root=False, tree=True, group=True, start=100, **fields):
    about = {"pid": pid, "start": start, "ppid": ppid, "root": root, "in_tree": tree, "in_group": group}
    run.emit_memory("memory.process", at_ms=at, **about, **{"name": f"p{pid}", "tagged": True} | fields)


def sample(run, at, *rows, lane="slow", **fields):
    run.emit_memory("memory.sample", at_ms=at, lane=lane, processes=list(rows), **fields)


def slow(pid, anon, file=0, swap=0, *, start=100, threads=4, cpu=10):
    """A row of the slow lane, sizes in MB; PSS is what it is made of."""
    pss = (anon + file) * MB
    return [pid, start, pss, swap * MB, anon * MB, file * MB, 0, pss + MB, threads, cpu]


def unreadable(pid, *, start=100):
    return [pid, start, *[None] * 6, 4, 10]


def phase(run, at, name):
    run.emit_memory("memory.phase", at_ms=at, phase=name)


def plateau(run, at, since, until, *, reached=True):
    run.emit_memory(
        "memory.plateau", at_ms=at, reached=reached, since=run.ns(since), until=run.ns(until), window_s=3.0
    )


def load(study):
    recs = al.load(study.path)
    for name in ("memory", "processes"):
        recs.table(name).agentlab.validate()
    return recs


def test_a_sample_is_the_sum_of_its_processes(study):
    with study.run("a", n_sessions=2) as run:
        process(run, 5, 1, root=True)
        process(run, 5, 2, ppid=1)
        fields = {"wall_ns": 3_000_000, "cpu_ns": 2_000_000, "n_unreadable": 0, "n_exited": 1, "n_reused": 2}
        group = {"anon": 31 * MB, "file": 7 * MB, "peak": 40 * MB, "watchdog_anon": 1 * MB, "complete": False}
        sample(run, 10, slow(1, 10, 5, 1), slow(2, 20, 6), cgroup=group, **fields)
        sample(run, 20, [1, 100, 16 * MB, 4, 20], [2, 100, 30 * MB, 4, 30.5], lane="fast")
    memory = load(study).memory
    row = memory.iloc[0]
    assert (row["t_ms"], row["n_sessions"], row["n_processes"], row["n_threads"]) == (10.0, 2, 2, 8)
    sizes = {"pss": 41, "swap_pss": 1, "total": 42, "anon": 30, "file": 11, "shmem": 0, "rss": 43}
    assert {name: row[f"{name}_bytes"] / MB for name in sizes} == sizes
    assert (row["readable_bytes"], row["outside_tree_bytes"], row["cpu_ms"]) == (42 * MB, 0, 20)
    assert (row["cgroup_anon_bytes"], row["cgroup_file_bytes"]) == (31 * MB, 7 * MB)
    assert row["cgroup_watchdog_bytes"] == 1 * MB
    assert (row["cgroup_peak_bytes"], row["cgroup_complete"]) == (40 * MB, False)
    assert (row["n_unreadable"], row["n_exited"], row["n_reused"]) == (0, 1, 2)
    assert (row["sweep_ms"], row["sweep_cpu_ms"], row["status"]) == (3.0, 2.0, "ok")
    fast = memory.iloc[1]
    assert (fast["lane"], fast["rss_bytes"], fast["cpu_ms"], fast["status"]) == ("fast", 46 * MB, 50.5, "ok")
    assert memory["total_bytes"].isna().tolist() == [False, True]
    assert memory["reason"].fillna("").tolist() == ["", "fast_lane"]


def test_a_sum_with_an_unreadable_process_is_unknown_and_not_smaller(study):
    with study.run("a") as run:
        process(run, 5, 1, root=True)
        process(run, 5, 2, ppid=1)
        sample(run, 10, slow(1, 10), unreadable(2), n_unreadable=1)
        sample(run, 20, unreadable(1), unreadable(2), n_unreadable=2)
        sample(run, 30, slow(1, 10), slow(2, 5))
    recs = load(study)
    memory = recs.memory
    for name in ("pss", "total", "anon", "file", "rss", "outside_tree"):
        assert memory[f"{name}_bytes"].isna().tolist() == [True, True, False], name
    assert memory["readable_bytes"].tolist() == [10 * MB, 0, 15 * MB]
    assert memory["status"].tolist() == ["partial", "none", "ok"]
    assert memory["reason"].fillna("").tolist() == ["unreadable", "unreadable", ""]
    assert recs.processes["reason"].fillna("").tolist() == [
        "",
        "unreadable",
        "unreadable",
        "unreadable",
        "",
        "",
    ]


def test_before_the_first_process_nothing_is_held_and_that_is_known(study):
    with study.run("a") as run:
        sample(run, 10)
    row = load(study).memory.iloc[0]
    assert (row["n_processes"], row["total_bytes"], row["anon_bytes"], row["status"]) == (0, 0, 0, "ok")


def test_a_run_that_was_not_sampled_has_no_rows(study):
    with study.run("a") as run:
        run.emit("session.open", session="s1", role="main")
    recs = load(study)
    assert len(recs.memory) == len(recs.processes) == 0


def times(recs):
    rows = recs.memory
    return rows.loc[rows["settled"], "t_ms"].tolist()


def sampled(run, *, until=100):
    process(run, 5, 1, root=True)
    for at in range(10, until + 1, 10):
        sample(run, at, slow(1, 10))
        sample(run, at + 5, [1, 100, 11 * MB, 4, 20], lane="fast")


def test_settled_is_the_flat_window_and_what_follows_until_the_end(study):
    with study.run("a") as run:
        sampled(run)
        for at, name in ((2, "launch"), (12, "settle"), (61, "settled"), (62, "hold"), (81, "end")):
            phase(run, at, name)
        plateau(run, 60, 30, 60)
    recs = load(study)
    assert times(recs) == [30, 40, 50, 60, 70, 80]
    slow_rows = recs.memory[recs.memory["lane"] == "slow"]
    assert slow_rows["phase"].tolist() == ["launch", *["settle"] * 5, "hold", "hold", "end", "end"]


def test_a_sample_that_was_still_taken_at_the_end_is_not_settled(study):
    with study.run("a") as run:
        process(run, 5, 1, root=True)
        for at in range(10, 90, 10):
            sample(run, at, slow(1, 10), wall_ns=5_000_000)
        plateau(run, 60, 30, 60)
        phase(run, 83, "end")
    assert times(load(study)) == [30, 40, 50, 60, 70]


def test_a_plateau_that_was_not_reached_settles_nothing(study):
    with study.run("a") as run:
        sampled(run)
        phase(run, 61, "settled")  # the driver goes on all the same
        plateau(run, 60, 30, 60, reached=False)
    assert times(load(study)) == []


def test_of_two_answers_the_first_that_was_reached_counts(study):
    with study.run("a") as run:
        sampled(run)
        plateau(run, 30, 10, 30, reached=False)
        plateau(run, 60, 40, 60)
    assert times(load(study)) == [40, 50, 60, 70, 80, 90, 100]


def test_after_a_wait_of_fixed_length_what_follows_it_is_settled(study):
    with study.run("a") as run:
        sampled(run)
        phase(run, 71, "settled")
        phase(run, 91, "end")
    assert times(load(study)) == [80, 90]


def roles(recs):
    rows = recs.processes
    return rows.groupby("pid", sort=False)["role"].agg(list).to_dict()


def test_codex_has_a_launcher_an_app_and_daemons(study):
    """Seen: npm's shim, the program, and two daemons in sessions of their own, one of them reparented."""
    with study.run("a") as run:
        process(run, 5, 1, root=True)
        sample(run, 10, slow(1, 12))
        process(run, 15, 2, ppid=1)
        process(run, 15, 3, ppid=2, group=False)
        sample(run, 20, slow(1, 12), slow(2, 5), slow(3, 50))
        process(run, 25, 4, ppid=WATCHDOG, tree=False, group=False)
        sample(run, 30, slow(1, 12), slow(2, 40), slow(3, 50), slow(4, 8))
    recs = load(study)
    assert roles(recs) == {
        1: ["launcher", "launcher", "launcher"],  # also before its child was there, and larger than it
        2: ["app", "app"],
        3: ["daemon", "daemon"],
        4: ["daemon"],
    }
    assert recs.memory["outside_tree_bytes"].tolist() == [0, 50 * MB, 58 * MB]


def test_a_shell_before_a_shim_is_a_launcher_too(study):
    with study.run("a") as run:
        for pid, parent in ((1, WATCHDOG), (2, 1), (3, 2), (4, 3)):
            process(run, 5, pid, ppid=parent, root=pid == 1)
        sample(run, 10, slow(1, 1), slow(2, 12), slow(3, 90), slow(4, 2))
    assert roles(load(study)) == {1: ["launcher"], 2: ["launcher"], 3: ["app"], 4: ["app"]}


def test_an_app_with_small_tools_is_no_launcher_and_a_large_daemon_makes_none(study):
    with study.run("a") as run:
        process(run, 5, 1, root=True)
        process(run, 5, 2, ppid=1)
        process(run, 5, 3, ppid=1, group=False)
        sample(run, 10, slow(1, 60), slow(2, 3), slow(3, 200))
    assert roles(load(study)) == {1: ["app"], 2: ["app"], 3: ["daemon"]}


def test_without_pss_resident_sizes_tell_the_launcher(study):
    with study.run("a") as run:
        process(run, 5, 1, root=True)
        process(run, 5, 2, ppid=1)
        sample(run, 10, [1, 100, 20 * MB, 4, 1], [2, 100, 90 * MB, 4, 1], lane="fast")
    assert roles(load(study)) == {1: ["launcher"], 2: ["app"]}


def test_of_an_unknown_process_no_role_is_made_up(study):
    with study.run("a") as run:
        sample(run, 10, slow(7, 20))
    recs = load(study)
    assert recs.processes["role"].isna().all()
    assert recs.memory["total_bytes"].tolist() == [20 * MB]
    assert recs.memory["outside_tree_bytes"].isna().all()


def test_a_reused_number_is_another_process(study):
    with study.run("a") as run:
        process(run, 5, 1, root=True, name="first")
        sample(run, 10, slow(1, 20))
        process(run, 15, 1, start=500, tree=False, group=False, name="second")
        sample(run, 20, slow(1, 3, start=500), n_reused=1)
    rows = load(study).processes
    assert rows["name"].tolist() == ["first", "second"]
    assert rows["start_ticks"].tolist() == [100, 500]
    assert rows["role"].tolist() == ["app", "daemon"]


def test_what_a_process_is_may_change(study):
    with study.run("a") as run:
        process(run, 5, 1, root=True)
        process(run, 5, 2, ppid=1)
        sample(run, 10, slow(1, 20), slow(2, 5))
        process(run, 15, 2, ppid=WATCHDOG, tree=False, group=False)
        sample(run, 20, slow(1, 20), slow(2, 5))
    rows = load(study).processes
    second = rows[rows["pid"] == 2]
    assert second["role"].tolist() == ["app", "daemon"]
    assert second["ppid"].tolist() == [1, WATCHDOG]
    assert second["in_tree"].tolist() == [True, False]


@pytest.mark.parametrize(
    "rows",
    [
        "nothing",
        None,
        [None, "x", [], [1], [None, 100, 5], [1.5, 100, 5], {"pid": 1}],
        [[1, 100, "many", -5, 2.5, True, [], 7 * MB, "four", "long"]],
        [[1, 100]],
    ],
)
def test_rows_of_another_shape_are_unknown_and_break_nothing(study, rows):
    with study.run("a") as run:
        run.emit_memory("memory.sample", at_ms=10, lane="slow", processes=rows)
        run.emit_memory("memory.process", at_ms=11, pid="one", start=None)
        run.emit_memory("memory.sample", at_ms=12, lane="sideways", processes=[slow(1, 4)])
    recs = load(study)
    first = recs.memory.iloc[0]
    assert len(recs.memory) == 2
    if first["n_processes"]:
        assert recs.memory["total_bytes"].isna().all()
        assert first["status"] == "none"


def test_damage_is_told_as_in_the_other_files(study):
    with study.run("a") as run:
        sampled(run)
    path = run.path / "memory.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines) + b'{"t": 5, "ki')
    assert [(i.code, i.discard, i.detail) for i in read_run(run.path, study="x").issues] == [
        ("recording_cut", False, "memory.jsonl")
    ]
    path.write_bytes(lines[0] + b"{}\n" + b"".join(lines[1:]))
    assert [(i.code, i.discard, i.detail) for i in read_run(run.path, study="x").issues] == [
        ("recording_damaged", True, f"memory.jsonl: 1 of {len(lines) + 1} lines")
    ]


def test_samples_that_were_taken_and_are_gone_are_missed(study):
    with study.run("a", memory={"n_slow": 3, "n_fast": 10, "cpu_s": 0.1, "duty": 0.01}) as run:
        run.emit("session.open", session="s1", role="main")
    recs = load(study)
    assert recs.issues[["code", "discard", "detail"]].values.tolist() == [
        ["recording_missing", False, "memory.jsonl"]
    ]
    row = recs.runs.iloc[0]
    assert (row["n_memory_samples"], row["sampler_cpu_s"], row["sampler_duty"]) == (13, 0.1, 0.01)


def test_a_changed_file_of_samples_makes_its_tables_anew(study):
    with study.run("a") as run:
        sampled(run)
    assert len(load(study).memory) == 20
    with (run.path / "memory.jsonl").open("a") as file:
        event = {"t": run.ns(200), "kind": "memory.sample", "lane": "slow", "processes": [slow(1, 9)]}
        file.write(json.dumps(event) + "\n")
    recs = load(study)
    assert len(recs.memory) == 21
    assert recs[0].memory_events[-1] == event


def test_the_machine_around_a_run_stands_in_its_row(study):
    around = {
        "before": {"cpu_some_avg10": 12.5, "memory_some_avg10": 0.0},
        "after": {"memory_some_avg10": 2.5},
    }
    with study.run("a", pressure=around) as run:
        run.emit("session.open", session="s1", role="main")
    row = load(study).runs.iloc[0]
    assert row["cpu_some_before_pct"] == 12.5
    assert (row["memory_some_before_pct"], row["memory_some_after_pct"]) == (0.0, 2.5)
