"""Whatever becomes of the samples of memory, a sum is whole or unknown, never smaller than what is there."""

import copy
import json
import random

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agentlab as al
from agentlab.frames.build import BUILDERS
from agentlab.frames.evidence import RunInfo, read_events
from agentlab.frames.reading import Reading
from agentlab.frames.sampling import read_samples
from agentlab.frames.tables import TABLES
from agentlab.testing.memory import SyntheticTool, write_memory_study

from .test_frames_evidence import JSON

TOOL = SyntheticTool(launcher_mib=10, daemon_mib=30, unreadable_rate=1.0)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two sessions with a launcher, a daemon and a process that cannot be read: events, and samples."""
    path = write_memory_study(tmp_path_factory.mktemp("m") / "s", arms={"a": TOOL}, sessions=(2,), runs=1)
    (folder,) = (path / "runs").iterdir()
    return read_events(folder / "events.jsonl"), read_events(folder / "memory.jsonl")


def tables(events, samples):
    read = Reading(RunInfo(study="s", arm="a", run_id="r", run_index=0), events, [])
    read.samples = read_samples(samples)  # in place of reading a file
    return {name: TABLES[name].frame(BUILDERS[name](read)) for name in ("memory", "processes", "sessions")}


def assert_sums_hold(made):
    """Add up the processes of each slow sample with pandas alone."""
    slow = made["memory"][(made["memory"]["lane"] == "slow").fillna(value=False)]
    for row in slow.itertuples():
        own = made["processes"][made["processes"]["seq"] == row.seq]
        assert row.n_processes == len(own)
        for name in ("total_bytes", "anon_bytes", "file_bytes"):
            values, found = own[name], getattr(row, name)
            if values.isna().any():
                assert pd.isna(found)
            else:
                assert found == values.sum()
        assert row.readable_bytes == own["total_bytes"].dropna().sum()


def test_a_recording_holds(recorded):
    assert_sums_hold(tables(*recorded))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_strange_values_break_nothing(recorded, data):
    events, samples = copy.deepcopy(recorded)
    for _ in range(data.draw(st.integers(1, 30))):
        event = data.draw(st.sampled_from(samples + events))
        if fields := sorted(set(event) - {"t", "kind"}):
            event[data.draw(st.sampled_from(fields))] = data.draw(JSON)
    for _ in range(data.draw(st.integers(0, 10))):
        event = data.draw(st.sampled_from([e for e in samples if e["kind"] == "memory.sample"]))
        rows = event.get("processes")
        if isinstance(rows, list) and rows and isinstance(rows[0], list) and rows[0]:
            rows[0][data.draw(st.integers(0, len(rows[0]) - 1))] = data.draw(JSON)
    for name, frame in tables(events, samples).items():
        assert list(frame.columns) == list(TABLES[name].names)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), drop=st.floats(0, 0.5))
def test_lost_and_shuffled_lines_keep_every_sum_whole(recorded, seed, drop):
    draw = random.Random(seed)
    samples = [event for event in recorded[1] if draw.random() > drop]
    ordered = tables(recorded[0], samples)
    assert_sums_hold(ordered)
    draw.shuffle(samples)
    shuffled = tables(recorded[0], samples)
    assert shuffled["memory"]["total_bytes"].equals(ordered["memory"]["total_bytes"])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_loses_at_most_its_last_sample(recorded, tmp_path, share):
    data = b"".join(json.dumps(event).encode() + b"\n" for event in recorded[1])
    path = tmp_path / "memory.jsonl"
    path.write_bytes(data[: int(share * len(data))])
    read = read_events(path)
    assert read == recorded[1][: len(read)]
    assert_sums_hold(tables(recorded[0], read))


def test_the_metrics_do_not_see_a_run_that_cannot_be_read(tmp_path):
    recs = al.load(write_memory_study(tmp_path / "s", arms={"a": TOOL}, sessions=(2,), runs=3))
    found = al.compare(recs, "PSS_TOTAL").iloc[0]
    assert found["status"] == "no_data"
    assert found["n_missing"] == int(recs.memory["settled"].sum()) > 0
