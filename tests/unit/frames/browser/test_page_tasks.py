"""Tasks of the page's main thread, beside what the original counted."""

import gzip
import json

import pytest

import agentlab as al
from agentlab.frames import reading
from agentlab.frames.browser import evidence
from agentlab.frames.build import TRACED
from agentlab.frames.chrometrace import reader
from agentlab.testing._trace import COMPOSITOR, OTHER_PAGE, PAGE


def row(recs):
    (one,) = (found for _, found in recs.page.iterrows())
    return one


def test_only_the_pages_own_thread_counts_and_only_what_began_in_the_stream(page, tables):
    page.task(10, 90)  # before
    page.task(110, 60, cpu_ms=20)
    page.task(200, 50, cpu_ms=50)
    page.task(300, 10, cpu_ms=10)
    page.task(850, 100, cpu_ms=90)  # half of it after the stream's end
    page.task(1000, 70)  # tail
    page.task(1110, 300)  # our own look at the page
    page.task(400, 500, thread=COMPOSITOR)
    page.task(400, 3000, thread=OTHER_PAGE)  # another renderer whose thread has the same number
    recs = tables()
    one = row(recs)
    assert (one["n_tasks"], one["n_long_tasks"], one["n_long_tasks_cpu"]) == (4, 3, 2)
    assert (one["long_total_ms"], one["longest_ms"], one["longest_cpu_ms"]) == (210, 100, 90)
    assert one["tbt_ms"] == 10 + 0 + 50
    assert (one["blocked_s"], one["blocked_share"]) == (pytest.approx(0.16), pytest.approx(0.16 / 0.8))
    assert (one["busy_s"], one["busy_share"]) == (pytest.approx(0.17), pytest.approx(0.17 / 0.8))
    assert (one["task_cpu_ms"], one["cpu_share"]) == (170, pytest.approx(170 / 220))
    assert (one["task_p95_ms"], one["stream_s"], one["recorded_s"]) == (100, 0.8, 1.0)
    tasks = recs.tasks
    assert tasks["phase"].tolist() == ["before", *["stream"] * 4, "tail", "after"]
    assert tasks["is_long"].sum() == 6 and tasks["is_page_main"].all()
    assert set(zip(tasks["pid"], tasks["tid"], strict=True)) == {PAGE}
    assert tasks["t_ms"].tolist()[:2] == [-90, 10]
    # The original: nine tasks, of which eight are long, in 1 s of recording.
    assert (one["original_tasks"], one["original_long_tasks"]) == (9, 8)
    assert one["original_long_total_ms"] == 90 + 60 + 50 + 100 + 70 + 300 + 500 + 3000
    assert (one["original_longest_ms"], one["original_blocked_pct"]) == (3000, pytest.approx(417))
    assert (one["original_task_p95_ms"], one["original_task_p99_ms"]) == (3000, 3000)


def test_open_and_negative_tasks_are_counted_and_in_no_sum(page, tables):
    page.task(110, 60)
    page.task(300, -5)
    begin = {"name": "RunTask", "ph": "B", "cat": "x", "pid": PAGE[0], "tid": PAGE[1], "args": {}}
    page.trace.events.append({**begin, "ts": page.run.ns(500) // 1000})
    recs = tables()
    one = row(recs)
    assert (one["n_tasks"], one["n_open_tasks"], one["n_negative_tasks"]) == (1, 1, 1)
    assert one["longest_ms"] == 60 and one["original_tasks"] == 1
    tasks = recs.tasks
    assert tasks["reason"].fillna("").tolist() == ["", "negative_duration", "task_open"]
    assert tasks["duration_ms"].isna().tolist() == [False, True, True]
    assert tasks["open"].tolist() == [False, False, True]


def test_a_task_inside_another_blocks_once(page, tables):
    page.task(200, 100)
    page.task(220, 60)
    one = row(tables())
    assert (one["n_long_tasks"], one["blocked_s"], one["busy_s"]) == (
        2,
        pytest.approx(0.1),
        pytest.approx(0.1),
    )


def test_self_time_is_what_lies_inside_nothing_else(page, tables):
    page.task(200, 10)
    page.trace.slice("FunctionCall", 201, 8)
    page.trace.slice("Layout", 202, 3)
    page.trace.slice("Layout", 206, 1)
    page.trace.slice("Layout", 950, 5)  # in the tail
    page.trace.slice("Layout", 300, 7, thread=COMPOSITOR)
    events = tables().page_events.set_index("name")
    assert events["self_ms"].drop("FunctionCall").to_dict() == {"Layout": 4, "RunTask": 2}
    assert events.loc["FunctionCall", ["n", "total_ms", "self_ms"]].tolist() == [1, 8, 4]
    assert events.loc["Layout", ["n", "total_ms", "max_ms"]].tolist() == [2, 4, 3]
    assert events["self_ms"].sum() == 10, "what the thread did, once"
    assert events.loc["Layout", ["original_n", "original_total_ms", "original_max_ms"]].tolist() == [4, 16, 7]
    assert events.loc["RunTask", ["original_n"]].isna().all(), "it was not listed"


def test_what_a_long_task_was_spent_on(page, tables):
    page.task(200, 80)
    page.task(400, 20)
    page.run.files["cpu.cpuprofile.gz"] = page.trace.profile([(200, 80)], 0, 1100)
    recs = tables()
    assert recs.tasks["top_function"].fillna("").tolist() == ["parse @ markdown.js:211:15", ""]
    assert recs.tasks["top_ms"].tolist()[0] == pytest.approx(16, abs=1)
    cpu = recs.cpu
    assert cpu["profile"].unique().tolist() == ["page"]
    assert cpu["self_ms"].is_monotonic_decreasing
    busy = cpu[cpu["kind"] != "idle"]
    assert busy["self_ms"].sum() == pytest.approx(80) and busy["share"].sum() == pytest.approx(1)
    one = row(recs)
    assert (one["sampled_busy_ms"], one["sample_interval_ms"]) == (pytest.approx(80), 1)
    assert one["original_cpu_busy_ms"] == pytest.approx(80)


def no_category(page):
    page.trace.events.clear()
    page.trace.mark("agentlab:begin", 90, page_ms=90)


def data_loss(page):
    page.run.emit("page.file", name="trace.json.gz", complete=True, data_loss=True)


def not_whole(page):
    page.run.emit("page.file", name="trace.json.gz", complete=False)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(no_category, "page_no_tasks"), (data_loss, "trace_data_loss"), (not_whole, "trace_incomplete")],
)
def test_a_trace_that_is_not_whole_gives_no_number(page, tables, spoil, reason):
    page.task(200, 80)
    spoil(page)
    recs = tables()
    one = row(recs)
    assert one["trace_reason"] == reason
    names = ["n_tasks", "n_long_tasks", "longest_ms", "tbt_ms", "blocked_share", "busy_share", "n_frames"]
    assert one[[*names, "original_long_tasks"]].isna().all()
    assert one["frames_reason"] == reason


def test_a_cut_or_missing_trace_is_told_apart(page, tables):
    page.task(200, 80)
    page.task(300, 80)
    text = gzip.decompress(page.trace.gzipped())
    page.run.files["trace.json.gz"] = gzip.compress(text[:-40])
    recs = tables(trace=False)
    assert row(recs)["trace_reason"] == "trace_incomplete"
    assert len(recs.tasks) >= 1, "what came is there"


@pytest.mark.parametrize(
    ("files", "told", "reason"),
    [
        ({}, False, "no_trace"),
        ({}, True, "trace_missing"),
        ({"trace.json.gz": b"no"}, True, "trace_unreadable"),
    ],
)
def test_without_a_trace_there_is_no_zero(page, tables, files, told, reason):
    page.run.files |= files
    if told:
        page.run.emit("page.file", name="trace.json.gz", complete=True, data_loss=False)
    recs = tables(trace=False)
    assert row(recs)["trace_reason"] == row(recs)["frames_reason"] == reason
    assert row(recs)[["n_long_tasks", "tbt_ms", "n_dropped"]].isna().all()
    assert len(recs.tasks) == len(recs.frames) == len(recs.page_events) == 0


def test_without_a_window_nothing_is_summed(page, tables):
    page.task(200, 80)
    recs = tables(window=False)
    assert (row(recs)["trace_reason"], row(recs)["frames_reason"]) == ("no_window", "no_window")
    assert recs.tasks["phase"].isna().all() and recs.tasks["is_long"].tolist() == [True]


def test_where_the_stream_never_ended_the_window_does(page, tables):
    page.task(1000, 80)
    page.window(stream_end=None)
    one = row(tables(window=False))
    assert (one["stream_s"], one["n_long_tasks"]) == (1.0, 1)


def test_a_trace_of_somebody_else_is_its_own_window(page, tmp_path):
    page.trace.events = [e for e in page.trace.events if e["cat"] != "blink.user_timing"]
    page.task(500, 80)
    page.task(700, 20)
    page.trace.slice("RunTask", 100, 2000, thread=COMPOSITOR)
    file = tmp_path / "some.json"
    file.write_bytes(gzip.decompress(page.trace.gzipped()))
    info = al.frames.evidence.RunInfo(study="s", arm="a", run_id="0", run_index=0)
    read = reading.Reading(info, [], [], page=evidence.PageEvidence(info, [], trace=file))
    (one,) = al.frames.build.BUILDERS["page"](read)
    assert (one["window_source"], one["stream_s"], one["n_long_tasks"]) == ("trace", 0.22, 1)
    assert one["original_stream_s"] is None
    assert len(al.frames.build.BUILDERS["tasks"](read)) == 2


def test_where_the_page_is_unknown_all_tasks_are_shown_and_none_is_summed(page, tables):
    page.trace.events = [e for e in page.trace.events if e["ph"] not in ("M", "I")]
    page.task(200, 80)
    page.task(300, 80, thread=OTHER_PAGE)
    recs = tables()
    assert row(recs)["trace_reason"] == "page_unknown"
    assert len(recs.tasks) == 2 and recs.tasks["is_page_main"].isna().all()
    assert row(recs)["original_long_tasks"] == 2


def test_all_tables_of_a_page_take_one_reading_of_its_trace(page, tables, monkeypatch):
    page.task(200, 80)
    reads = []
    original = reader.read_trace
    monkeypatch.setattr("agentlab.frames.chrometrace.read_trace", lambda *a: reads.append(1) or original(*a))
    recs = tables()
    for name in TRACED:
        recs.table(name)
    assert len(reads) == 1
    again = al.load(recs.path)
    assert again.page.equals(recs.page) and len(reads) == 1, "it is cached"


def test_a_trace_that_changed_is_read_again(page, tables):
    page.task(200, 80)
    recs = tables()
    assert row(recs)["n_long_tasks"] == 1
    page.task(400, 80)
    (recs[0].path / "trace.json.gz").write_bytes(page.trace.gzipped())
    assert row(al.load(recs.path))["n_long_tasks"] == 2


def test_a_run_without_a_page_has_no_row(tmp_path):
    from agentlab.testing.recordings import write_study

    recs = al.load(write_study(tmp_path / "s", runs=1))
    for name in (*TRACED, "callsites"):
        assert len(recs.table(name)) == 0, name
    assert recs.chunks[["shown", "ordered", "dom_reason"]].isna().all(axis=None)
    assert recs.runs["recorder"].isna().all()


def test_a_run_of_two_is_read_alone(page, tables):
    page.task(200, 80)
    recs = tables()
    (path,) = [recs.path]
    raw = json.loads((recs[0].path / "run.json").read_text())
    second = path / "runs" / "0001-a"
    second.mkdir()
    for file in recs[0].path.iterdir():
        (second / file.name).write_bytes(file.read_bytes())
    (second / "run.json").write_text(json.dumps(raw | {"run_id": "0001-a", "run_index": 1}))
    both = al.load(path)
    assert len(both) == 2
    assert both[1].table("page")["n_long_tasks"].tolist() == [1]
