"""Metrics of a page, worked out by hand, and set-ups that are not pooled."""

from __future__ import annotations

import pytest

import agentlab as al
from agentlab import metrics
from agentlab.testing._trace import SyntheticTrace
from agentlab.testing.recordings import SyntheticStudy

pytestmark = pytest.mark.filterwarnings("ignore::agentlab.errors.UnstableWarning")
MIB = 2**20


def record(study, arm, *, long=(), dropped=0, hidden=False, recorder=None, cpu=(1.0, 2.0), heap=0, index=0):
    """One run: tasks of 10 ms and the long ones (ms), four frames, a window of 1 s without a tail."""
    identity = {"driver": "synthetic", "version": "0", "model": "m", "settings": {}}
    if recorder is not None:
        identity["settings"] = {"recorder": recorder}
    with study.run(arm, run_index=index, identity=identity) as run:
        trace = SyntheticTrace(run.ns(0))
        trace.mark("agentlab:begin", 1, page_ms=1)
        for n, length in enumerate([10, *long]):
            trace.slice("RunTask", 10 + 100 * n, length)
        for n in range(4):
            trace.frame(10 + 16 * n, 16, "DROPPED" if n < dropped else "PRESENTED_ALL", n)
        run.files["trace.json.gz"] = trace.gzipped()
        run.emit("page.open", at_ms=1, preset="light")
        run.emit(
            "page.window", at_ms=1000, begin_ns=run.ns(5), end_ns=run.ns(1005), stream_end_ns=run.ns(1005)
        )
        for at, place, seconds in ((4, "begin", cpu[0]), (1006, "end", cpu[1])):
            held = {"heap_bytes": 0, "nodes": 10, "thread_s": seconds, "process_s": 2 * seconds}
            run.emit("page.sample", at_ms=at, at=place, **held)
        run.emit("page.gc", at_ms=1010, heap_bytes=heap, nodes=13)
        visibility = "hidden" if hidden else "visible"
        run.emit("page.liveness", at_ms=1020, frames=60, seconds=1, visibility=visibility)


def levels(study, *names):
    frame = al.compare(al.load(study.path), *names)
    frame = frame[frame["kind"] == "level"]
    return frame.set_index("metric")[["estimate", "n_missing"]].T.to_dict("list")


def test_each_run_weighs_alike_and_an_unknown_one_is_missing(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    record(study, "a", long=(60, 80), dropped=1, heap=4 * MIB)
    record(study, "a", long=(), dropped=3, heap=8 * MIB, cpu=(1.0, 1.5))
    record(study, "a", long=(70,), hidden=True, heap=0)
    names = ["LONG_TASKS", "LONGEST_TASK", "TBT", "BLOCKED", "BUSY", "DROPPED_FRAMES", "FRAME_RATE", "INP"]
    found = levels(study, *names, "HEAP_GROWTH", "NODE_GROWTH", "MAIN_CPU", "RENDERER_CPU")
    assert found["LONG_TASKS"] == [1, 0]
    assert found["LONGEST_TASK"] == [(80 + 10 + 70) / 3, 0]
    assert found["TBT"] == [(40 + 0 + 20) / 3, 0]
    assert found["BLOCKED"] == [pytest.approx(0.21 / 3), 0] and found["BUSY"] == [pytest.approx(0.08), 0]
    assert found["DROPPED_FRAMES"] == [4 / 8, 1], "the hidden run knows of no frame"
    assert found["FRAME_RATE"] == [(3 + 1) / 2, 1]
    assert found["HEAP_GROWTH"] == [4, 0] and found["NODE_GROWTH"] == [3, 0]
    assert found["MAIN_CPU"] == [pytest.approx(2500 / 3), 0]
    assert found["RENDERER_CPU"] == [pytest.approx(5000 / 3), 0]
    assert found["INP"][1] == 3


def test_cost_of_a_token_is_a_ratio_of_sums(tmp_path):
    from agentlab.testing.webchat import write_webchat_study

    recs = al.load(write_webchat_study(tmp_path / "s", runs=2)).where(arm="plain")
    found = al.compare(recs, "MAIN_CPU_PER_TOKEN", "RENDERER_CPU_PER_TOKEN", "DOM_LAG", "PAINT_LAG")
    page, chunks = recs.page, recs.chunks
    expected = {
        "MAIN_CPU_PER_TOKEN": page["main_cpu_ms"].sum() / page["output_tokens"].sum(),
        "RENDERER_CPU_PER_TOKEN": page["renderer_cpu_ms"].sum() / page["output_tokens"].sum(),
        "DOM_LAG": chunks["dom_lag_ms"].median(),
        "PAINT_LAG": chunks["paint_lag_ms"].median(),
    }
    assert found.set_index("metric")["estimate"].to_dict() == pytest.approx(expected)
    assert (found["n_missing"] == 0).all()


LIGHT = {"preset": "light", "categories": ["a"]}


def test_unlike_recorders_are_not_pooled(tmp_path):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    for index, recorder in enumerate([LIGHT, LIGHT, LIGHT, LIGHT | {"sampling_us": 200}]):
        record(study, "a", long=(60 + index,), recorder=recorder, index=index)
    recs = al.load(study.path)
    (row,) = al.compare(recs, "TBT").to_dict("records")
    assert row["status"] == "mixed_setup" and row["lower"] is None
    assert (
        "differ in recorder: light: trace ca97 (3 runs), light: trace ca97, samples 200 us (1 runs)"
        in row["reason"]
    )
    (row,) = al.compare(recs.where(recorder="light: trace ca97"), "TBT").to_dict("records")
    assert (row["status"], row["n_runs"]) == ("ok", 3)


@pytest.mark.parametrize("same", [True, False])
def test_a_difference_between_unlike_recorders_says_so(tmp_path, same):
    study = SyntheticStudy(tmp_path / "s", arms=("a", "b"))
    for index in range(3):
        record(study, "a", long=(60 + index,), recorder=LIGHT, index=index)
        record(study, "b", long=(65 + 2 * index,), recorder=LIGHT if same else {"preset": "off"}, index=index)
    frame = al.compare(al.load(study.path), "TBT")
    flags = frame.set_index(["kind", "arm"])["flags"]
    assert "unlike_recorders" not in flags["level", "a"] and "unlike_recorders" not in flags["level", "b"]
    for kind in ("difference", "ratio"):
        assert ("unlike_recorders" in flags[kind, "b"]) is not same
    told = frame[frame["kind"] == "difference"].iloc[0]
    assert told["status"] == "ok"
    if not same:
        assert "recorded in different ways" in told["reason"] and "light: trace ca97; off" in told["reason"]


def test_the_originals_report_has_its_rows_in_its_order():
    names = [metric.name for metric in metrics.PAGE_REPORT]
    assert names[:5] == ["longTaskCount", "longestTaskMs", "taskP95Ms", "taskP99Ms", "blockedPercent"]
    assert names[-2:] == ["heapGrowthMbPerSecond", "heapMaxMb"]
    from agentlab.stats.metrics import named

    assert named("taskP95Ms").column == "original_task_p95_ms"
