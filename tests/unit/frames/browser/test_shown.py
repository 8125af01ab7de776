"""When pieces of the answer stood on the page: stamps of one clock, and what does not follow."""

S = "ses_1"


def chat(page, pieces, *, reasoning=()):
    """``pieces``: (gateway, arrive, chars) of the answer; ``reasoning`` arrives only."""
    run = page.run
    run.emit("session.open", at_ms=80, session=S, role="main")
    run.emit("turn.send", at_ms=100, session=S, turn=1, message="u1")
    about = {"session": S, "message": "a1", "parent": "u1", "role": "assistant", "finish": "stop"}
    stamps = {"created_unix_ms": run.unix_ms(105), "completed_unix_ms": run.unix_ms(880)}
    run.emit("message", at_ms=890, **about, source="history", **stamps)
    run.emit_gateway("request.begin", at_ms=110, request=1, session=S, n_tools=1)
    for at in reasoning:
        run.emit(
            "chunk", at_ms=at, session=S, message="a1", part="p", chunk="reasoning", n_chars=5, n_bytes=5
        )
    for sent, arrived, n_chars in pieces:
        size = {"chunk": "text", "n_chars": n_chars, "n_bytes": n_chars, "visible": True}
        run.emit_gateway("request.chunk", at_ms=sent, request=1, emit_ns=run.ns(sent), **size)
        run.emit("chunk", at_ms=arrived, session=S, message="a1", part="p", **size)
    usage = {
        "input_uncached_tokens": 10,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 20,
    }
    run.emit_gateway(
        "request.end", at_ms=870, request=1, status=200, terminal_seen=True, convention="inclusive",
        input_total_tokens=10, **usage,
    )  # fmt: skip


def dom(page, *rows):
    made = [[page.run.ns(at), n, None if paint is None else page.run.ns(paint)] for at, n, paint in rows]
    page.run.emit("page.dom", at_ms=1190, rows=made)


def test_a_piece_is_shown_when_its_share_of_the_text_is(page, tables):
    chat(page, [(200, 203, 10), (210, 214, 10), (220, 226, 20)])
    # Of 40 characters the page shows 36: markup is left out.
    dom(page, (206, 5, 210), (217, 9, 230), (235, 18, None), (250, 36, 260))
    recs = tables(trace=False)
    chunks, ns = recs.chunks, page.run.ns
    assert chunks["dom_ns"].tolist() == [ns(217), ns(235), ns(250)]
    assert chunks["paint_ns"].tolist() == [ns(230), ns(260), ns(260)], "the next paint shows it at the latest"
    assert chunks["dom_lag_ms"].tolist() == [14, 21, 24]
    assert chunks["paint_lag_ms"].tolist() == [27, 46, 34]
    assert chunks["ordered"].all() and chunks["disorder"].isna().all() and chunks["shown"].all()
    (one,) = recs.page.to_dict("records")
    assert (one["n_chunks"], one["n_disordered"], one["ordered_share"]) == (3, 0, 1)
    assert (one["dom_lag_p50_ms"], one["dom_lag_p95_ms"]) == (21, 24)
    assert one["output_tokens"] == 20


def test_each_turn_has_its_own_first_paint(page, tables):
    chat(page, [(200, 203, 10)])
    for turn, at in ((2, 500), (3, 800)):
        page.run.emit("turn.send", at_ms=at, session=S, turn=turn, message=f"u{turn}")
    # before the second answer grows its text shrinks for a moment; of the third no frame was seen
    dom(page, (206, 5, 210), (217, 9, 230), (510, 2, 515), (560, 20, None), (570, 30, 580), (810, 40, None))
    turns = tables(trace=False).turns
    assert turns["first_paint_ms"].fillna(-1).tolist() == [110, 80, -1]


def test_stamps_that_do_not_follow_each_other_are_named(page, tables):
    chat(page, [(200, 230, 10), (210, 214, 10)])
    dom(page, (206, 10, 210), (240, 20, 235))
    recs = tables(trace=False)
    assert recs.chunks["ordered"].tolist() == [False, False]
    # The page's own connection was served before ours; the other paint is impossible.
    by_sent = recs.chunks.sort_values("gateway_ns")["disorder"].tolist()
    assert sorted(by_sent) == ["arrive>dom", "dom>paint"]
    assert recs.page["n_disordered"].tolist() == [2] and recs.page["ordered_share"].tolist() == [0]


def test_text_that_shrinks_for_a_moment_was_there(page, tables):
    chat(page, [(200, 203, 10), (210, 214, 10)])
    dom(page, (206, 10, 210), (207, 2, 210), (230, 20, 240))
    assert tables(trace=False).chunks["dom_ns"].tolist() == [page.run.ns(206), page.run.ns(230)]


def test_what_is_no_text_of_the_answer_is_not_shown(page, tables):
    chat(page, [(200, 203, 10)], reasoning=(150,))
    dom(page, (206, 9, 210))
    chunks = tables(trace=False).chunks.sort_values("arrive_ns")
    text = chunks[chunks["kind"] == "text"]
    assert text["shown"].any() and text["dom_reason"].isna().any()
    rest = chunks[chunks["kind"] == "reasoning"]
    assert (rest["dom_reason"] == "not_shown").all() and rest["dom_ns"].isna().all()
    assert not rest["shown"].any()


def test_a_page_that_shows_nothing_saw_nothing(page, tables):
    chat(page, [(200, 203, 10)])
    dom(page)
    chunks = tables(trace=False).chunks
    assert chunks["dom_reason"].tolist() == ["not_seen"] and chunks["dom_ns"].isna().all()
    assert chunks["ordered"].tolist() == [True], "as far as stamps are known"


def test_without_an_observer_nothing_is_said_of_the_page(page, tables):
    chat(page, [(200, 203, 10)])
    recs = tables(trace=False)
    names = ["dom_ns", "paint_ns", "shown", "ordered", "dom_reason", "disorder"]
    assert recs.chunks[names].isna().all(axis=None)
    assert recs.page[["n_chunks", "ordered_share", "dom_lag_p50_ms"]].isna().all(axis=None)
    assert recs.turns["first_paint_ms"].isna().all()


def test_damaged_rows_are_left_out(page, tables):
    chat(page, [(200, 203, 10)])
    page.run.emit(
        "page.dom", at_ms=1190, rows=[["x", 3, 4], [page.run.ns(206), -1], 7, [page.run.ns(207), 10]]
    )
    chunks = tables(trace=False).chunks
    assert chunks["dom_ns"].tolist() == [page.run.ns(207)] and chunks["paint_ns"].isna().all()


def test_what_a_subagent_says_is_not_on_the_page(page, tables):
    chat(page, [(200, 203, 10), (210, 214, 10)])
    page.run.emit("session.open", at_ms=150, session="ses_2", parent=S, role="child")
    about = {"session": "ses_2", "message": "b1", "role": "assistant", "finish": "stop", "source": "history"}
    page.run.emit("message", at_ms=300, **about)
    page.run.emit(
        "chunk", at_ms=205, session="ses_2", message="b1", part="q", chunk="text", n_chars=80, n_bytes=80
    )
    dom(page, (206, 10, 210), (230, 20, 240))
    recs = tables(trace=False)
    chunks = recs.chunks.set_index("session_id")
    assert chunks.loc[S, "dom_ns"].tolist() == [page.run.ns(206), page.run.ns(230)]
    assert chunks.loc["ses_2", "dom_reason"] == "not_shown" and recs.page["n_chunks"].tolist() == [2]
