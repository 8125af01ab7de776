"""The benchmark of the memory sampler measures what it says, on a tiny run."""

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import _memory_scans, memory


def test_memory_compares_with_bare_reads_and_the_originals_scans() -> None:
    found = {row["what"]: row for row in memory.rows(n_processes=3, size_mib=1, rounds=2)}
    ours, outside, between, scans = (found[name] for name in list(found)[:4])
    assert all(row["cpu_ms"] >= row["lowest_ms"] > 0 for row in found.values())
    assert ours["cpu_ms"] > between["lowest_ms"]
    mean = (outside["cpu_ms"] + 3 * between["cpu_ms"]) / 4
    assert scans["ratio"] == pytest.approx(scans["cpu_ms"] / mean)
    if shutil.which("cc"):
        assert ours["ratio"] == pytest.approx(ours["cpu_ms"] / found["bare reads in C"]["cpu_ms"])
    else:
        assert ours["ratio"] is None


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **where: None if name == "cc" else which(name, **where))
    memory.main(["--processes", "2", "--rounds", "1"])
    assert "NOT JUDGED: at most 1.3 times the bare reads" in capsys.readouterr().out


def test_the_peer_finds_a_process_of_its_own() -> None:
    assert os.getpid() in _memory_scans.scan([os.getppid()], b"nobody has this")
    assert set(_memory_scans.proc_map()) >= {os.getpid(), os.getppid()}
