"""What the page held and cost: samples, collections, gaps, call sites, the price of looking."""

import pytest

MIB = 2**20


def row(recs):
    (one,) = (found for _, found in recs.page.iterrows())
    return one


def sample(page, at_ms, kind="page.sample", **fields):
    page.run.emit(kind, at_ms=at_ms, **fields)


def ends(page):
    first = {"heap_bytes": 10 * MIB, "nodes": 900, "listeners": 100, "task_s": 5.0, "thread_s": 4.0}
    last = {"heap_bytes": 30 * MIB, "nodes": 2000, "listeners": 130, "task_s": 5.4, "thread_s": 4.3}
    counts = {"recalc_count": 10, "layout_count": 4, "process_s": 7.0, "command_s": 0.001}
    sample(page, 95, at="begin", **first, **counts)
    more = {"recalc_count": 60, "layout_count": 24, "process_s": 8.0, "command_s": 0.003}
    sample(page, 1110, at="end", **last, **more)


def test_growth_is_taken_between_the_ends_of_the_window(page, tables):
    ends(page)
    for at, heap in ((300, 12), (600, 40), (900, 28)):
        sample(page, at, at="run", heap_bytes=heap * MIB, nodes=1)
    sample(page, 1150, "page.gc", heap_bytes=14 * MIB, nodes=1000, listeners=105)
    one = row(tables(trace=False))
    assert (one["node_growth"], one["listener_growth"]) == (1100, 30)
    assert (one["node_growth_kept"], one["listener_growth_kept"]) == (100, 5)
    assert (one["heap_growth_bytes"], one["heap_growth_kept_bytes"]) == (20 * MIB, 4 * MIB)
    assert (one["kept_since"], one["heap_max_bytes"]) == ("sample", 40 * MIB)
    assert (one["main_cpu_ms"], one["renderer_cpu_ms"]) == (pytest.approx(300), pytest.approx(1000))
    assert (one["recalcs_per_second"], one["layouts_per_second"]) == (50, 20)
    assert one["command_ms"] == pytest.approx(2)
    # The original: least squares over (0.3, 12), (0.6, 40), (0.9, 28) MiB.
    assert one["original_heap_bytes_per_second"] == pytest.approx(16 / 0.6 * MIB)
    assert one["original_heap_max_bytes"] == 40 * MIB
    assert one["original_busy_pct"] == pytest.approx(40)
    assert (one["original_node_growth"], one["original_recalcs_per_second"]) == (1100, 50)


def test_a_collection_before_the_prompt_is_what_kept_is_compared_with(page, tables):
    ends(page)
    sample(page, 50, "page.gc", heap_bytes=8 * MIB, nodes=800, listeners=100)
    sample(page, 1150, "page.gc", heap_bytes=14 * MIB, nodes=1000, listeners=105)
    one = row(tables(trace=False))
    assert (one["kept_since"], one["heap_growth_kept_bytes"], one["node_growth_kept"]) == ("gc", 6 * MIB, 200)


def test_what_one_end_does_not_tell_is_unknown(page, tables):
    sample(page, 95, at="begin", nodes=5)
    sample(page, 600, at="run", heap_bytes=MIB)
    one = row(tables(trace=False))
    names = ["node_growth", "node_growth_kept", "heap_growth_bytes", "heap_growth_kept_bytes", "kept_since"]
    names += ["main_cpu_ms", "original_busy_pct", "original_heap_bytes_per_second", "recalcs_per_second"]
    assert one[names].isna().all()
    assert (one["nodes_begin"], one["heap_max_bytes"], one["n_gaps"]) == (5, MIB, 0)


def test_counters_are_of_the_trace_and_of_samples_with_gaps_marked(page, tables):
    page.task(200, 5)
    page.trace.counters(210, 50 * MIB, 1000, 120, documents=3)
    page.trace.counters(1120, 99 * MIB, 1000, 120, documents=3)
    ends(page)
    page.run.emit("page.gap", at_ms=400, reason="busy", waited_ms=2000)
    sample(page, 1150, "page.gc", heap_bytes=14 * MIB, nodes=1000, listeners=105)
    recs = tables()
    table = recs.counters
    assert table["source"].tolist() == ["sample", "trace", "gap", "sample", "trace", "gc"]
    assert table["heap_bytes"].isna().tolist() == [False, False, True, False, False, False]
    assert table["reason"].fillna("").tolist() == ["", "", "page_busy", "", "", ""]
    assert table["task_ms"].dropna().tolist() == [5000, 5400]
    assert (row(recs)["heap_max_bytes"], row(recs)["n_gaps"]) == (50 * MIB, 1), "only in the window"


def test_call_sites_stand_beside_counters_of_probe_and_app(page, tables):
    sites = [["a.js:1:2", 3, 4.5, 2.0], ["b.js:9:1", 1, 40.0, 40.0], ["odd"], 5]
    counters = {"rafScheduled": 61, "setTimeoutScheduled": 7, "wrong": "x"}
    page.run.emit("page.probe", at_ms=1190, sites=sites, counters=counters, own_ms=3.5)
    entries = [{"metric": "ui.list", "total": 9.0, "count": 2, "max": 5.0}, "odd"]
    page.run.emit("page.app_counters", at_ms=1190, entries=entries)
    page.run.emit("page.text", at_ms=1190, n_chars=10, n_growths=2, own_ms=1.5, shown_ratio=1)
    page.run.emit("page.end", at_ms=1195, own_cpu_s=0.25, move_cpu_s=0.125)
    recs = tables(trace=False)
    table = recs.callsites
    assert table["kind"].tolist() == ["site"] * 3 + ["counter"] * 2 + ["app"]
    assert table["name"].tolist()[:3] == ["b.js:9:1", "a.js:1:2", "odd"]
    assert table["calls"].fillna(-1).tolist() == [1, 3, -1, 61, 7, 2]
    one = row(recs)
    assert one["original_raf_per_second"] == 61
    assert (one["probe_ms"], one["observer_ms"], one["own_cpu_s"]) == (3.5, 1.5, 0.25)


def test_the_set_up_stands_in_words_that_tell_it_apart(page, tables):
    page.run.raw["identity"]["settings"] = {
        "recorder": {"preset": "cpu", "categories": ["b", "a"], "sampling_us": 1000, "probe": True}
    }
    page.run.emit("page.gate", name="page_hidden", passed=True)
    page.run.emit("page.gate", name="page_no_mark", passed=False)
    page.run.emit("page.gate", name="page_no_tasks", passed=False)
    recs = tables(trace=False)
    assert row(recs)["recorder"] == recs.runs["recorder"].iloc[0] == "cpu: trace 1eb7, samples 1000 us, probe"
    assert row(recs)["gates_failed"] == "page_no_mark,page_no_tasks"
    assert row(recs)["preset"] == "light", "as the page was opened"
