"""The benchmark of exec sessions measures what it says, on tiny sizes; its goals are judged by running it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import _exec_peers, exec


def test_every_reader_reads_all_of_it():
    rows = exec.transfer_rows(pipe_bytes=1 << 22, pty_bytes=1 << 20, repeats=1)
    names = [row["reader"] for row in rows]
    assert {"pipe: agentlab", "pipe: bare splice", "pty: agentlab", "pty: bare read", "pty: C"} <= set(names)
    for row in rows:
        assert row["MB/s"] > 0
        assert 0 <= row["MB over import"] < 100
        assert row["ratio"] == pytest.approx(1) or "bare" not in row["reader"]


def test_a_reader_that_loses_bytes_is_no_contender(tmp_path, monkeypatch):
    monkeypatch.setitem(
        _exec_peers.CONTENDERS, "pipe: lossy", lambda n_bytes, spool: spool.write_bytes(b"x") and None
    )
    with pytest.raises(RuntimeError, match="1 of 131072 bytes"):
        _exec_peers.transfer("pipe: lossy", 1 << 17, tmp_path / "spool")


def test_reports_tell_the_rules_apart():
    rows = exec.report_rows(n=2)
    assert [(row["rules"], row["on"]) for row in rows] == [
        (rules, on) for rules in ("ours", "original") for on in ("terminal", "pipes")
    ]
    for row in rows:
        assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["max_ms"]
        assert row["p50_ms"] >= 100 or row["rules"] == "ours"


def test_starts_are_measured_below_a_parent_of_a_size():
    found = asyncio.run(_exec_peers.starts(1 << 20, 1))
    assert set(found) == {
        "agentlab, terminal", "agentlab, pipes", "subprocess.Popen", "Popen with preexec_fn", "pexpect",
    }  # fmt: skip
    assert all(value > 0 for values in found.values() for value in values)
