"""A recording of the real Codex on terminals, its daemons included: evidence in, tables out."""

import hashlib
import json
import runpy
import shutil
from pathlib import Path
from statistics import median

import pytest

import agentlab as al
from agentlab.metrics import ANON_TOTAL, FILE_TOTAL, MEM_PEAK, MEM_SLOPE, PSS_TOTAL

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "data" / "terminal-codex"
MAKE = runpy.run_path(str(HERE / "make_terminal_codex.py"))
MIB = 2**20


@pytest.fixture
def recs(tmp_path):
    return al.load(shutil.copytree(DATA, tmp_path / "terminal-codex"))


def test_the_tables_come_out_again(tmp_path):
    MAKE["write"](tmp_path)
    kept = sorted(path.name for path in (HERE / "terminal_codex").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    for name in kept:
        assert (tmp_path / name).read_text() == (HERE / "terminal_codex" / name).read_text(), name


def test_the_evidence_is_the_committed_one():
    for line in DATA.with_suffix(".sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def settled(run):
    """Walk the lines once, with nothing of the library's own reading; return the rows of settled samples."""
    lines = [json.loads(line) for line in (run.path / "memory.jsonl").read_text().splitlines()]
    (plateau,) = (e for e in lines if e["kind"] == "memory.plateau")
    assert plateau["reached"]
    (end,) = (e["t"] for e in lines if e["kind"] == "memory.phase" and e["phase"] == "end")
    slow = [e for e in lines if e["kind"] == "memory.sample" and e["lane"] == "slow"]
    return [e["processes"] for e in slow if plateau["since"] <= e["t"] < end]


def test_levels_agree_with_a_naive_reading(recs):
    for n in (1, 2):
        chosen = recs.where(n_sessions=n)
        (run,) = chosen
        samples = settled(run)
        estimates = al.compare(chosen, PSS_TOTAL, ANON_TOTAL, FILE_TOTAL).set_index("metric")["estimate"]
        of = {"PSS_TOTAL": (2, 3), "ANON_TOTAL": (4,), "FILE_TOTAL": (5,)}
        for name, columns in of.items():
            sums = [sum(row[k] for row in rows for k in columns) for rows in samples]
            assert estimates[name] == pytest.approx(median(sums) / MIB, rel=1e-12), name


def test_the_slope_is_the_difference_of_two_runs(recs):
    by_count = recs.memory[recs.memory["settled"]].groupby("n_sessions")["anon_bytes"].median()
    slope = al.compare(recs, MEM_SLOPE).iloc[0]
    assert slope["estimate"] == pytest.approx((by_count[2] - by_count[1]) / MIB)
    assert (slope["status"], slope["reason"]) == ("too_few_runs", "one block")
    assert 15 < slope["estimate"] < 40, "codex: about 26 MiB for each session"


def test_two_daemons_serve_both_sessions(recs):
    rows = recs.processes[recs.processes["settled"]]
    last = rows[rows["t_ns"] == rows.groupby("run_id")["t_ns"].transform("max")]
    roles = last.groupby(["run_id", "role"]).size().unstack()
    assert roles["daemon"].tolist() == [2, 2]
    assert roles["launcher"].tolist() == roles["app"].tolist() == [1, 2]
    assert set(last.loc[last["role"] == "launcher", "name"]) == {"node"}
    assert not last.loc[last["role"] == "daemon", "in_group"].any()
    sums = last[last["role"] == "daemon"].groupby("run_id")["total_bytes"].sum()
    memory = recs.memory[recs.memory["t_ns"].isin(last["t_ns"])].set_index("run_id")
    assert (memory["outside_tree_bytes"] == sums).all()
    assert (sums > 0.4 * memory["total_bytes"]).all(), "a sum over process groups misses nearly half"


def test_a_sum_of_anonymous_memory_is_what_the_kernel_counts(recs):
    """Where the run had a control group: two ways to count agree within 1 % on the plateau."""
    rows = recs.memory[recs.memory["settled"]]
    assert rows["cgroup_complete"].all()
    counted = rows["cgroup_anon_bytes"] - rows["cgroup_watchdog_bytes"]
    assert ((rows["anon_bytes"] - counted).abs() <= 0.01 * rows["anon_bytes"]).all()


def test_the_ramp_is_kept(recs):
    peak = al.compare(recs.where(n_sessions=1), MEM_PEAK).iloc[0]["estimate"]
    level = al.compare(recs.where(n_sessions=1), PSS_TOTAL).iloc[0]["estimate"]
    assert peak > 1.2 * level, "codex unpacks itself while it starts"
    sessions = recs.sessions
    assert (sessions["raw_ms"] <= sessions["first_input_ms"]).all()
    assert (sessions["paint_ms"] < sessions["first_input_ms"]).all()
    assert (sessions["age_ms"] > sessions["first_input_ms"]).all()
