"""A recording of OpenCode's page in a real Chromium: evidence in, tables out, against a naive reading."""

import gzip
import hashlib
import json
import runpy
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

import agentlab as al
from agentlab.frames.chrometrace import read_tasks
from agentlab.metrics import DROPPED_FRAMES, LONG_TASKS, LONGEST_TASK, PAGE_REPORT, TBT

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "data" / "webchat"
MAKE = runpy.run_path(str(HERE / "make_webchat.py"))


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    return al.load(shutil.copytree(DATA, tmp_path_factory.mktemp("golden") / "webchat"))


def lines(run, name="events.jsonl"):
    return [json.loads(line) for line in (run.path / name).read_text().splitlines()]


def trace(run):
    """Read the whole trace with nothing of the library's own reading."""
    return json.loads(gzip.decompress((run.path / "trace.json.gz").read_bytes()))["traceEvents"]


def window(run):
    (told,) = (event for event in lines(run) if event["kind"] == "page.window")
    return told["begin_ns"], told["stream_end_ns"], told["end_ns"]


def test_the_tables_come_out_again(tmp_path):
    MAKE["write"](tmp_path)
    kept = sorted(path.name for path in (HERE / "webchat").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    for name in kept:
        assert (tmp_path / name).read_text() == (HERE / "webchat" / name).read_text(), name


def test_the_evidence_is_the_committed_one():
    for line in DATA.with_suffix(".sha256").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def test_nothing_private_is_in_it():
    for path in DATA.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            text = gzip.decompress(text) if path.suffix == ".gz" else text
            for word in (b"caller", b"three", b"/tmp/", b"/root", b"127.0.0.1", b"Explain"):
                assert word not in text, (path.name, word)


def test_tasks_agree_with_a_naive_reading(recs):
    for run in recs:
        events, (begin, stream_end, _) = trace(run), window(run)
        (mark,) = (e for e in events if e["name"] == "agentlab:begin")
        tasks = [e for e in events if e["name"] == "RunTask" and e["ph"] == "X"]
        own = [e for e in tasks if (e["pid"], e["tid"]) == (mark["pid"], mark["tid"])]
        stream = [e["dur"] / 1000 for e in own if begin <= e["ts"] * 1000 < stream_end]
        long = [length for length in stream if length >= 50]
        row = run.table("page").iloc[0]
        assert (row["n_tasks"], row["n_long_tasks"]) == (len(stream), len(long))
        assert row["longest_ms"] == max(stream)
        assert row["tbt_ms"] == pytest.approx(sum(length - 50 for length in long))
        table, alone = run.table("tasks"), read_tasks(run.path / "trace.json.gz")
        assert len(table) == len(alone)
        assert (~table["open"]).sum() == len(own)  # those still open at the end have no length
        everything = [e["dur"] / 1000 for e in tasks if e["dur"] > 0]
        assert row["original_tasks"] == len(everything) > 3 * len(own)
        assert row["original_long_total_ms"] == pytest.approx(sum(d for d in everything if d >= 50))


def test_a_frame_counts_once(recs):
    for run in recs:
        events, (begin, stream_end, _) = trace(run), window(run)
        (page,) = {e["pid"] for e in events if e["name"] == "agentlab:begin"}
        states, begins = defaultdict(set), {}
        for event in events:
            if event["name"] == "PipelineReporter" and event["ph"] == "b" and event["pid"] == page:
                about = event["args"]["frame_reporter"]
                states[about["frame_sequence"]].add(about["state"])
                begins[about["frame_sequence"]] = event["ts"] * 1000
        wanted = [
            s
            for n, s in states.items()
            if begin <= begins[n] < stream_end and s != {"STATE_NO_UPDATE_DESIRED"}
        ]
        dropped = [s for s in wanted if s == {"STATE_DROPPED"}]
        row = run.table("page").iloc[0]
        assert (row["n_frames"], row["n_dropped"]) == (len(wanted), len(dropped))
        assert row["frames_per_second"] <= 61, "no more than the screen shows"


def test_time_of_its_own_sums_to_what_the_thread_did(recs):
    for run in recs:
        row, events = run.table("page").iloc[0], run.table("page_events")
        tasks = run.table("tasks").query("phase == 'stream'")["duration_ms"].sum()
        assert events["self_ms"].sum() == pytest.approx(tasks, rel=0.01)
        assert events["total_ms"].sum() > 1.5 * events["self_ms"].sum(), "what lies inside counts again"
        beyond = tasks - row["busy_s"] * 1000  # of tasks that were running when the stream began or ended
        assert abs(beyond) < row["longest_ms"]


def test_every_piece_of_the_answer_stood_on_the_page(recs):
    chunks, page = recs.chunks, recs.page
    text = chunks[chunks["shown"]]
    assert text["dom_ns"].notna().all() and text["paint_ns"].notna().all()
    assert (text["paint_ns"] >= text["dom_ns"]).all()
    assert (text["emit_ns"] <= text["gateway_ns"]).all() and (text["gateway_ns"] <= text["arrive_ns"]).all()
    # Where the markup stands is not known: a piece may be taken for shown a little too early.
    assert (text["gateway_ns"] <= text["dom_ns"]).mean() > 0.99
    # Our connection is not the page's: now and then the page is served first.
    assert set(text["disorder"].dropna()) <= {"arrive>dom"}
    assert (page["ordered_share"] >= 0.9).all() and page["ordered_share"].mean() > 0.94
    assert page["shown_ratio"].tolist() == [1, 1]


def test_the_sampler_explains_what_the_light_recorder_does_not_pay_for(recs):
    light, sampled = (recs.where(arm=arm).page.iloc[0] for arm in ("light", "sampled"))
    assert sampled["main_cpu_ms"] > light["main_cpu_ms"] and sampled["probe_ms"] > 0
    cpu = recs.cpu
    assert set(cpu["arm"]) == {"sampled"} and set(cpu["profile"]) == {"page", "worker 1"}
    assert sampled["sampled_busy_ms"] < sampled["original_cpu_busy_ms"], "the original's reading is too high"
    assert sampled["n_interactions"] >= 3 and sampled["inp_ms"] > 16
    assert len(recs.callsites.query("kind == 'site'")) > 5


def test_levels_are_those_of_the_runs_and_a_difference_says_that_it_is_of_two_recorders(recs):
    estimates = al.compare(recs, LONG_TASKS, LONGEST_TASK, TBT, DROPPED_FRAMES, *PAGE_REPORT)
    levels = estimates[estimates["kind"] == "level"].set_index(["metric", "arm"])["estimate"]
    page = recs.page.set_index("arm")
    assert levels["LONG_TASKS"].to_dict() == page["n_long_tasks"].to_dict()
    assert levels["longestTaskMs"].to_dict() == page["original_longest_ms"].to_dict()
    assert levels["DROPPED_FRAMES"].to_dict() == pytest.approx(page["dropped_share"].to_dict())
    assert levels["heapMaxMb", "light"] == page.loc["light", "original_heap_max_bytes"] / 2**20
    known = estimates.query("kind == 'difference' and estimate.notna()", engine="python")
    assert known["flags"].str.contains("unlike_recorders").all()
