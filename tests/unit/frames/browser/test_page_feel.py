"""Frames, input and layout shifts: what a user would have felt, and NA where nobody could."""

import pytest

from agentlab.testing._trace import BROWSER


def row(recs):
    (one,) = (found for _, found in recs.page.iterrows())
    return one


def frames(page, *states, at=200):
    for number, state in enumerate(states, 1):
        page.trace.frame(at + 16 * number, 20, state, number)


def test_frames_are_those_in_which_something_was_to_be_shown(page, tables):
    page.task(200, 5)
    shown = ["PRESENTED_ALL", "NO_UPDATE_DESIRED", "PRESENTED_PARTIAL", "DROPPED", "PRESENTED_ALL"]
    frames(page, *shown)
    page.trace.frame(950, 20, "DROPPED", 9)  # tail
    recs = tables()
    one = row(recs)
    assert (one["n_frames"], one["n_presented"], one["n_partial"], one["n_dropped"]) == (4, 2, 1, 1)
    assert (one["dropped_share"], one["frames_per_second"]) == (0.25, pytest.approx(3 / 0.8))
    table = recs.frames
    assert table["state"].tolist() == ["presented", "no_update", "partial", "dropped", "presented", "dropped"]
    assert table["shown"].astype(object).fillna("").tolist() == [True, "", True, False, True, False]
    assert table["reason"].fillna("").tolist() == ["", "no_update", "", "", "", ""]


def test_a_frame_is_one_however_often_it_is_reported(page, tables):
    page.task(200, 5)
    page.trace.frame(200, 36, "PRESENTED_ALL", 1)
    page.trace.frame(200, 18, "PRESENTED_PARTIAL", 1)
    page.trace.frame(216, 20, "DROPPED", 2)
    page.trace.frame(216, 40, "PRESENTED_ALL", 2)
    page.trace.frame(232, 20, "PRESENTED_ALL", 3)
    page.trace.frame(232, 20, "NO_UPDATE_DESIRED", 3)
    recs = tables()
    table, one = recs.frames, row(recs)
    assert table["state"].tolist() == ["late", "late", "presented"]
    assert table["n_reports"].tolist() == [2, 2, 2]
    assert table["shown_ms"].tolist() == [18, 40, 20] and table["whole_ms"].tolist() == [36, 40, 20]
    assert (one["n_frames"], one["n_late"], one["n_dropped"]) == (3, 2, 0)


def test_frames_of_the_browsers_own_interface_are_not_the_pages(page, tables):
    page.task(200, 5)
    frames(page, "PRESENTED_ALL", "DROPPED")
    for event in page.trace.events:
        if event["name"] == "PipelineReporter" and event["ts"] > page.run.ns(230) // 1000:
            event["pid"], event["tid"] = BROWSER
    one = row(tables())
    assert (one["n_frames"], one["n_dropped"]) == (1, 0)


@pytest.mark.parametrize("how", ["liveness", "gate", "dead"])
def test_frames_of_a_page_that_is_not_drawn_are_unknown_and_not_none(page, tables, how):
    page.task(200, 60)
    frames(page, "DROPPED", "PRESENTED_ALL")
    if how == "liveness":
        page.run.emit("page.liveness", at_ms=1150, frames=0, seconds=1.0, visibility="hidden")
    else:
        page.run.emit("page.gate", name="page_frames_dead" if how == "dead" else "page_hidden", passed=False)
    recs = tables()
    one, reason = row(recs), "page_frames_dead" if how == "dead" else "page_hidden"
    assert one["frames_reason"] == reason
    names = ["n_frames", "n_dropped", "dropped_share", "frames_per_second", "n_long_frames"]
    assert one[names].isna().all()
    assert recs.frames[["shown", "dropped"]].isna().all(axis=None)
    assert set(recs.frames["reason"]) == {reason}
    assert one["n_long_tasks"] == 1, "what ran is known nevertheless"


def test_a_trace_without_frames_says_so(page, tables):
    page.task(200, 60)
    one = row(tables())
    assert one["frames_reason"] == "no_frames" and one[["n_frames", "dropped_share"]].isna().all()


def test_animation_frames_say_who_made_them_long(page, tables):
    page.task(200, 60)
    info = {"invoker_type": "USER_CALLBACK", "property_like_name": "TimerHandler:setTimeout"}
    code = {"source_location_function_name": "flush", "source_location_url": "app.js"}
    about = {**info, **code, "source_location_char_position": 12, "layout_duration_ms": 4}
    page.trace.animation_frame(200, 80, [(205, 50, about), (260, 10, info)])
    page.trace.animation_frame(400, 20, [])
    recs = tables()
    table, one = recs.animation_frames, row(recs)
    assert table["is_long"].tolist() == [True, False]
    assert table["script_ms"].tolist() == [60, 0] and table["blocking_ms"].tolist() == [30, 0]
    assert table["top_script"].iloc[0] == "TimerHandler:setTimeout: flush @ app.js:12"
    assert table["presentation_ms"].iloc[0] == 88
    assert (one["n_long_frames"], one["frame_blocking_ms"]) == (1, 30)
    scripts = recs.table("animation_scripts")
    assert scripts["duration_ms"].tolist() == [50, 10] and scripts["frame"].tolist() == [1, 1]
    assert scripts["function"].fillna("").tolist() == ["flush", ""]
    assert scripts["layout_ms"].iloc[0] == 4


def test_without_a_trace_the_page_tells_of_its_long_frames(page, tables):
    stamps = [page.run.ns(at) for at in (300, 950)]
    rows = [[stamps[0], 70.5, 20.5, stamps[0] + 5_000_000, 60.0], [stamps[1], 90, 40, None, 80]]
    page.run.emit("page.frames", at_ms=1190, rows=rows)
    recs = tables(trace=False)
    table, one = recs.animation_frames, row(recs)
    assert table["source"].tolist() == ["page", "page"] and table["phase"].tolist() == ["stream", "tail"]
    assert table["render_ms"].iloc[0] == 5 and table["n_scripts"].isna().all()
    assert (one["n_long_frames"], one["frame_blocking_ms"]) == (1, 20.5)


def test_inp_is_the_worst_interaction_of_the_stream(page, tables):
    page.task(200, 5)
    for number, (at, delay) in enumerate([(200, 1), (300, 90), (400, 3), (950, 500)]):
        page.trace.key(at, delay_ms=delay, processing_ms=2, number=number)
    recs = tables()
    table, one = recs.interactions, row(recs)
    assert table["duration_ms"].tolist() == [19, 108, 21, 518]
    assert table["input_delay_ms"].tolist() == [1, 90, 3, 500]
    assert (table["processing_ms"] == 2).all() and (table["presentation_ms"] == 16).all()
    assert (one["n_interactions"], one["inp_ms"]) == (3, 108)


def test_one_interaction_in_fifty_is_left_out_and_events_of_one_are_one(page, tables):
    rows = [[page.run.ns(200 + n), "keydown", 7 + n, 8 * (1 + n), 1.0] for n in range(60)]
    rows += [[page.run.ns(201), "keyup", 7, 4000, 2.0], [page.run.ns(190), "keypress", 8, 8, 1.0]]
    page.run.emit("page.input", at_ms=1190, n_keys=60, interactions=[*rows, [page.run.ns(5), "x", 0, 9, 1]])
    recs = tables(trace=False)
    table, one = recs.interactions, row(recs)
    assert len(table) == 60 and table["n_events"].sum() == 62 and set(table["source"]) == {"page"}
    first = table[table["interaction_id"] == 7].iloc[0]
    assert (first["type"], first["duration_ms"], first["processing_ms"]) == ("keyup", 4000, 2)
    assert table["t_ms"].min() == 90
    assert (one["n_interactions"], one["inp_ms"]) == (60, 8 * 60)


def test_nobody_who_types_gives_no_inp(page, tables):
    page.task(200, 5)
    one = row(tables())
    assert one["inp_reason"] == "no_input" and one[["inp_ms", "n_interactions"]].isna().all()


def test_layout_shifts_count_without_input(page, tables):
    page.task(200, 5)
    for at, score in ((150, 0.25), (300, 0.125), (950, 0.5)):
        page.trace.shift(at, score)
    page.trace.events[-2]["args"]["data"]["had_recent_input"] = True
    recs = tables()
    assert recs.table("layout_shifts")["phase"].tolist() == ["stream", "stream", "tail"]
    assert (row(recs)["n_layout_shifts"], row(recs)["layout_shift_score"]) == (1, 0.25)


def test_shifts_that_nobody_looked_for_are_unknown(page, tables):
    page.task(200, 5)
    assert row(tables())[["n_layout_shifts", "layout_shift_score"]].isna().all()


def test_shifts_that_were_looked_for_and_not_seen_are_none(page, tables):
    page.run.emit("page.shift", at_ms=1190, rows=[])
    assert row(tables(trace=False))["n_layout_shifts"] == 0


def test_the_page_tells_of_its_shifts_too(page, tables):
    page.run.emit(
        "page.shift", at_ms=1190, rows=[[page.run.ns(300), 0.5, False], [page.run.ns(310), 1, True]]
    )
    recs = tables(trace=False)
    assert recs.table("layout_shifts")["source"].tolist() == ["page", "page"]
    assert (row(recs)["n_layout_shifts"], row(recs)["layout_shift_score"]) == (1, 0.5)
