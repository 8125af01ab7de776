"""The benchmark of traces measures what it says, on a small trace; its goals are judged by running it."""

import gzip
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import trace  # noqa: E402


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    return {
        (row["reader"], row["file"]): row
        for row in trace.rows(folder, megabytes=3, big_megabytes=4, repeats=1)
    }


def test_all_readers_count_the_same_tasks_and_the_engine_the_same_long_ones(found):
    ours = found["agentlab", "t.json"]
    for reader in ("msgspec", "json", "DevTools' engine"):
        assert found[reader, "t.json"]["tasks"] == ours["tasks"] > 2000
    assert found["DevTools' engine", "t.json"]["long"] == ours["long"] > 0
    assert found["agentlab", "t.json.gz"]["tasks"] == ours["tasks"]
    assert 0 < found["agentlab, page", "t.json"]["tasks"] < ours["tasks"]
    assert all(row["cpu_s"] > 0 for row in found.values())


def test_goals_are_judged_by_what_was_measured(found):
    rows = list(found.values())
    held = trace.judge(rows)
    assert held["the same number of long tasks as DevTools"] and held["the same number of tasks"]
    for row in rows:
        row["long"] = 0 if row["reader"] == "DevTools' engine" else 1
    assert not trace.judge(rows)["the same number of long tasks as DevTools"]


def test_a_longer_trace_goes_on_in_time(tmp_path):
    trace.make_trace(tmp_path / "t.json", 4)
    once = json.loads(gzip.decompress(trace.RECORDING.read_bytes()))["traceEvents"]
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert len(events) % len(once) == 0 and len(events) > len(once)
    marks = [event["ts"] for event in events if event["name"].startswith("agentlab:")]
    assert marks == sorted(marks) and len(set(marks)) == len(marks) == len(events) // len(once)
