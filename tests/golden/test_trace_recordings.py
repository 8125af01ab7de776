"""Traces of a real Chromium, profiles of a real Node: against a second reading by ``json`` alone."""

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from agentlab.frames.chrometrace import read_tasks, read_trace, self_time
from agentlab.frames.cpuprofile import original, read_cpuprofile

DATA = Path(__file__).resolve().parents[2] / "data" / "traces"
TRACES = ("light", "sampled", "opencode")


@pytest.fixture(params=TRACES)
def path(request):
    return DATA / f"{request.param}.json.gz"


def events_of(path):
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def page_of(events):
    return next((e["pid"], e["tid"]) for e in events if e["name"].startswith("agentlab:"))


def test_the_files_are_those_of_the_checksums_and_hold_nothing_private():
    lines = DATA.with_suffix(".sha256").read_text().splitlines()
    assert len(lines) == len(list(DATA.iterdir())) == 5
    for line in lines:
        digest, name = line.split("  ")
        data = (DATA / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        text = gzip.decompress(data) if name.endswith(".gz") else data
        for private in (
            b"://",
            b"127.0.0.1",
            b"/tmp",
            b"/home",
            b"/root",
            b"a text",
            b"A title",
            b"the answer",
        ):
            assert private not in text, (name, private)


def test_tasks_are_those_of_a_plain_reading(path):
    events = events_of(path)
    tasks = [e for e in events if e["name"] == "RunTask"]
    frame = read_tasks(path, all_threads=True)
    assert len(frame) == len(tasks) > 300
    complete = [e for e in tasks if "dur" in e]
    assert frame["duration_ms"].sum() == pytest.approx(sum(e["dur"] for e in complete) / 1000)
    assert frame["cpu_ms"].sum() == pytest.approx(sum(e.get("tdur", 0) for e in complete) / 1000)
    assert frame["start_ns"].tolist() == sorted(e["ts"] * 1000 for e in tasks)
    assert int(frame["open"].sum()) == len(tasks) - len(complete)
    own = read_tasks(path)
    ours = [e for e in complete if (e["pid"], e["tid"]) == page_of(events)]
    assert own["duration_ms"].count() == len(ours)
    assert int(own["is_long"].sum()) == sum(e["dur"] >= 50_000 for e in ours) > 0
    assert set(own["thread"]) == {"CrRendererMain"} and own["is_page_main"].all()


@pytest.mark.parametrize("name", ["light", "sampled"])
def test_one_reading_gives_all_kinds(name):
    path = DATA / f"{name}.json.gz"
    events = events_of(path)
    trace = read_trace(path)
    assert trace.report.n_events == len(events) and trace.report.n_unparsable == 0
    assert not trace.report.truncated and trace.page_from == "mark"
    begins = Counter(e["name"] for e in events if e["ph"] == "b")
    assert len(trace.frames) == begins["PipelineReporter"] > 10
    assert len(trace.animation_frames) == begins["AnimationFrame"] > 5
    assert (
        sum(len(a.scripts) for a in trace.animation_frames) == begins["AnimationFrame::Script::Execute"] > 0
    )
    assert len(trace.event_timings) == begins["EventTiming"] > 0
    names = Counter(e["name"] for e in events)
    assert len(trace.counters) == names["UpdateCounters"] > 10
    assert len(trace.layout_shifts) == names["LayoutShift"] > 0
    for frame in trace.animation_frames:
        assert frame.end_ns is not None and abs((frame.end_ns - frame.begin_ns) / 1e6 - frame.duration_ms) < 2
    states = Counter(f.state for f in trace.frames)
    assert states <= Counter(
        e["args"]["frame_reporter"]["state"].removeprefix("STATE_")
        for e in events
        if e["ph"] == "b" and "frame_reporter" in e["args"]
    )
    begin, end = (next(m for m in trace.marks if m.name == f"agentlab:{w}") for w in ("begin", "end"))
    assert (end.t_ns - begin.t_ns) / 1e6 == pytest.approx(end.page_ms - begin.page_ms, abs=1.0)


def test_own_times_of_the_page_add_up_to_its_tasks(path):
    trace = read_trace(path)
    slices = trace.slices.on(trace.page)
    own, depth = self_time(slices)
    usable = own >= 0
    outermost = usable & (depth == 0)
    assert own[usable].sum() == slices.duration_ns[outermost].sum()
    assert depth.max() >= 2


def test_samples_inside_a_trace_are_of_the_page_and_of_its_worker():
    trace = read_trace(DATA / "sampled.json.gz")
    page, worker = trace.profiles
    own = trace.threads[trace.page]
    assert (page.pid, page.tid) == (own.pid, own.tid)
    assert worker.pid == own.pid and worker.tid != own.tid
    burnt = {f.function: f for f in page.functions()}["burn"]
    assert burnt.total_ms == pytest.approx(70, abs=15)  # the page burns 70 ms once in 12 steps
    assert burnt.url == "app.js" and burnt.line is not None and burnt.column is not None
    tasks = trace.tasks.on(trace.page)
    longest = int(np.argmax(tasks.duration_ns))
    begin, length = int(tasks.start_ns[longest]), int(tasks.duration_ns[longest])
    label, spent = page.top(begin, begin + length)
    assert label.startswith("burn @ app.js:") and 0 < spent <= length / 1e6
    assert {f.function for f in worker.functions()} & {"onmessage"}
    busy = tasks.duration_ns[tasks.duration_ns > 0].sum() / 1e6
    assert page.busy_ms == pytest.approx(busy, rel=0.25)


@pytest.mark.parametrize("name", ["profiled.cpuprofile.gz", "node.cpuprofile"])
def test_profiles_of_chromium_and_of_node(name):
    profile = read_cpuprofile(DATA / name)
    assert profile.total_ms + profile.lead_ms == pytest.approx((profile.end_ns - profile.start_ns) / 1e6)
    functions = profile.functions()
    assert sum(f.self_ms for f in functions) == pytest.approx(profile.total_ms)
    assert sum(f.share for f in functions if f.share is not None) == pytest.approx(1.0)
    assert (np.diff(profile.sample_ns) >= 0).all()
    found = {f.function: f for f in functions}
    hot = found["burn" if name.startswith("profiled") else "inner"]
    assert hot.kind == "js" and hot.total_ms > 40
    old = original(DATA / name)
    lead, last = profile.lead_ms, profile.weight_ns[-1] / 1e6
    if not profile.n_negative_deltas:
        assert old.total_ms == pytest.approx(profile.total_ms + lead - last)
    assert old.busy_ms == pytest.approx(old.total_ms - old.idle_ms)


def test_a_recursive_function_counts_once():
    found = {f.function: f for f in read_cpuprofile(DATA / "node.cpuprofile").functions()}
    inner, outer = found["inner"], found["outer"]
    assert outer.total_ms == pytest.approx(inner.total_ms + outer.self_ms, rel=0.05)
