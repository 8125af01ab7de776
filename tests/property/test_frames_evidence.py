"""Whatever a crash or a stranger does to the evidence, it is read as far as it goes and never misread."""

import copy
import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlab.frames.build import BUILDERS
from agentlab.frames.evidence import RunInfo, read_events
from agentlab.frames.reading import Reading
from agentlab.frames.tables import TABLES
from agentlab.testing.recordings import SyntheticArm, write_study

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """One run with a retry: its folder, and both sides' events."""
    arms = {"a": SyntheticArm(retry_rate=0.5)}
    path = write_study(tmp_path_factory.mktemp("study") / "s", arms=arms, runs=1, seed=3)
    (folder,) = (path / "runs").iterdir()
    return folder, read_events(folder / "events.jsonl"), read_events(folder / "gateway.jsonl")


def run_info(**fields):
    anchor = (1_000_000_000_000, 1_767_225_600_000_000_000)
    return RunInfo(
        study="s", arm="a", run_id="r", run_index=0, anchor=anchor, warmup_rule="original", **fields
    )


def build(name, events, gateway_events):
    return BUILDERS[name](Reading(run_info(planned_turns=2), events, gateway_events))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_loses_at_most_its_last_line(evidence, tmp_path, share):
    folder, whole, _ = evidence
    data = (folder / "events.jsonl").read_bytes()
    at = int(share * len(data))
    (tmp_path / "events.jsonl").write_bytes(data[:at])
    read = read_events(tmp_path / "events.jsonl")
    lines = data[:at].count(b"\n")
    assert len(read) in (lines, lines + 1)
    assert read == whole[: len(read)]


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_strange_values_never_break_a_builder(evidence, data):
    _, events, gateway_events = evidence
    events, gateway_events = copy.deepcopy(events), copy.deepcopy(gateway_events)
    for _ in range(data.draw(st.integers(1, 40))):
        event = data.draw(st.sampled_from(events + gateway_events))
        fields = sorted(set(event) - {"t", "kind"})
        if fields:
            event[data.draw(st.sampled_from(fields))] = data.draw(JSON)
    for name, table in TABLES.items():
        table.frame(build(name, events, gateway_events))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), drop=st.floats(0, 0.4))
def test_lost_lines_never_break_a_builder(evidence, seed, drop):
    draw = random.Random(seed)
    events, gateway_events = ([e for e in side if draw.random() > drop] for side in evidence[1:])
    for name, table in TABLES.items():
        table.check(table.frame(build(name, events, gateway_events)))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_repeated_reports_change_nothing_but_their_count(evidence, seed):
    _, events, gateway_events = evidence
    draw = random.Random(seed)
    again = [
        {**event, "t": event["t"] + 1000}
        for event in events
        if event["kind"] in ("message", "tool", "step.begin", "status") and draw.random() < 0.5
    ]
    repeated = sorted([*events, *again], key=lambda event: event["t"])
    counts = {"n_repeats", "n_updates"}
    for name in ("turns", "requests", "tools", "chunks"):
        before, after = (
            [{k: v for k, v in row.items() if k not in counts} for row in build(name, side, gateway_events)]
            for side in (events, repeated)
        )
        assert before == after


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rows_are_the_same_however_equal_stamps_are_ordered_in_the_gateways_file(evidence, seed):
    """Both files are read on their own; only stamps relate them."""
    _, events, gateway_events = evidence
    shuffled = gateway_events.copy()
    random.Random(seed).shuffle(shuffled)
    begins_first = sorted(shuffled, key=lambda event: event["kind"] != "request.begin")
    for name in ("turns", "requests"):
        assert build(name, events, begins_first) == build(name, events, gateway_events)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["t", "kind", "x"]), JSON, max_size=3))
def test_a_line_is_an_event_or_a_hole(tmp_path_factory, line):
    path = tmp_path_factory.mktemp("line") / "events.jsonl"
    path.write_text(json.dumps(line, allow_nan=False) + "\n", encoding="utf-8")
    t = line.get("t")
    good = type(t) is int and -(2**63) <= t < 2**63 and type(line.get("kind")) is str
    assert read_events(path) == ([line] if good else [])
