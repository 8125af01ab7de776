"""Tools, sessions, runs, events, pressure."""

import json

import agentlab as al

S = "ses_1"


def tool(run, at, status, *, call="c1", name="read", source="stream", **fields):
    run.emit(
        "tool",
        at_ms=at,
        session=S,
        message="a1",
        call=call,
        name=name,
        status=status,
        source=source,
        **fields,
    )


def opened(run):
    run.emit("session.open", session=S, role="main")
    run.emit("turn.send", session=S, turn=1, message="u1")
    run.emit("message", session=S, message="a1", parent="u1", role="assistant", source="stream")


def test_the_last_state_of_a_call_counts(study):
    with study.run("a") as run:
        opened(run)
        start, stop = run.unix_ms(105), run.unix_ms(140)
        tool(run, 100, "pending")
        tool(run, 110, "running", start_unix_ms=start)
        tool(run, 150, "completed", start_unix_ms=start, end_unix_ms=stop)
        tool(run, 900, "completed", start_unix_ms=start, end_unix_ms=stop, source="history")
    row = al.load(study.path).tools.iloc[0]
    assert (row["status"], row["failed"], row["turn"]) == ("completed", False, 1)
    assert (row["duration_ms"], row["seen_duration_ms"]) == (35, 40)
    assert (row["first_seen_ns"], row["running_seen_ns"]) == (run.ns(100), run.ns(110))
    assert row["start_ns"] == run.ns(105)
    assert (row["n_updates"], row["n_repeats"]) == (4, 0)


def test_one_update_that_arrives_200_times_is_one_call(study):
    with study.run("a") as run:
        opened(run)
        tool(run, 90, "running", start_unix_ms=run.unix_ms(85))
        for number in range(200):
            end = {"start_unix_ms": run.unix_ms(85), "end_unix_ms": run.unix_ms(99)}
            tool(run, 100 + 20 * number, "completed", **end)
            run.emit("step.begin", at_ms=100 + 20 * number, session=S, message="a1", part="s1")
        run.emit("turn.reply", at_ms=130, session=S, turn=1, finish="stop")
    recs = al.load(study.path)
    row = recs.tools.iloc[0]
    assert len(recs.tools) == 1
    assert (row["n_updates"], row["n_repeats"]) == (201, 199)
    assert (row["duration_ms"], row["seen_duration_ms"]) == (14, 10)
    assert recs.turns.loc[0, "latency_ms"] == 130
    assert recs.requests.loc[0, "attempt"] == 1, "a repeated step is no new attempt"
    assert recs.runs.loc[0, "n_repeats"] == 199 + 199


def test_invalid_calls_count_as_failures_although_the_agent_calls_them_completed(study):
    with study.run("a") as run:
        opened(run)
        tool(run, 100, "completed", call="c1", name="invalid")
        tool(run, 100, "error", call="c2", name="read", error="NotFound")
        tool(run, 100, "running", call="c3", name="bash")
    frame = al.load(study.path).tools.set_index("call")
    assert list(frame["status"]) == ["invalid", "error", "running"]
    assert list(frame["failed"].fillna(False)) == [True, True, False]
    assert frame.isna().loc["c3", "failed"]
    assert frame.loc["c3", "reason"] == "unfinished"
    assert frame.loc["c1", "reason"] == "start_unknown"
    assert frame["duration_ms"].isna().all()


def test_reports_in_one_read_tell_no_duration(study):
    with study.run("a") as run:
        opened(run)
        tool(run, 100, "running")
        tool(run, 100, "completed")
    assert al.load(study.path).tools.isna().loc[0, "seen_duration_ms"]


def test_sessions_hold_the_agents_running_totals_apart(study):
    with study.run("a") as run:
        opened(run)
        run.emit("session.open", at_ms=50, session="child", parent=S, role="child")
        totals = {
            "input_uncached_tokens": 14_774_671,
            "cache_read_tokens": 41_255_296,
            "output_tokens": 98_281,
        }
        run.emit("session.info", session=S, agent="build", provider="p", model="m", n_children=1, **totals)
        run.emit("session.close", at_ms=80, session=S, deleted=True)
    frame = al.load(study.path).sessions.set_index("session_id")
    main = frame.loc[S]
    assert (main["role"], main["n_children"], main["n_turns"], main["n_messages"]) == ("main", 1, 1, 1)
    assert main["agent_input_uncached_tokens"] == 14_774_671
    assert "input_total_tokens" not in frame.columns, "a running total is no context size"
    assert main["answered_by"] == "?/?/?"
    assert main["deleted"]
    assert frame.loc["child", "parent_id"] == S
    assert al.load(study.path).requests["input_total_tokens"].isna().all()


def test_run_row_takes_the_worst_of_the_samples(study):
    with study.run("a") as run:
        opened(run)
        for at, cpu in ((0, 1.0), (1000, 7.5), (2000, 2.0)):
            run.emit(
                "pressure", at_ms=at, cpu_some_avg10=cpu, memory_available_bytes=10**9 + at, load1=cpu / 2
            )
        run.emit("stream.end", at_ms=2500, reason="closed", n_repeats=3)
    recs = al.load(study.path)
    row = recs.runs.iloc[0]
    assert (row["cpu_some_max_pct"], row["load1_max"], row["memory_available_min_bytes"]) == (
        7.5,
        3.75,
        10**9,
    )
    assert recs.runs.isna().loc[0, "memory_some_max_pct"], "a kernel without PSI is unknown, not quiet"
    assert (row["n_repeats"], row["duration_s"], row["lag_p99_ms"]) == (3, 2.5, 0.4)
    assert row["quiet"]
    pressure = recs.pressure
    assert list(pressure["cpu_some_pct"]) == [1.0, 7.5, 2.0]
    assert list(pressure["seq"]) == [1, 2, 3]
    assert pressure["io_some_pct"].isna().all()


def test_events_of_both_sides_stand_in_order_and_hold_no_content(study):
    with study.run("a") as run:
        opened(run)
        run.emit("status", at_ms=30, session=S, state="retry", attempt=2, next_unix_ms=5)
        run.emit(
            "chunk", at_ms=40, session=S, message="a1", chunk="text", n_chars=6, content={"text": "secret"}
        )
        run.emit_gateway(
            "request.begin", at_ms=35, request=4, session=S, n_tools=1, content={"body": "secret"}
        )
    frame = al.load(study.path).events
    assert list(frame["kind"][-4:]) == ["status", "request.begin", "chunk", "run.end"]
    assert list(frame["source"][-4:]) == ["agent", "gateway", "agent", "agent"]
    assert list(frame["seq"]) == list(range(1, len(frame) + 1))
    status = frame[frame["kind"] == "status"].iloc[0]
    assert status["state"] == "retry"
    assert json.loads(status["detail"]) == {"attempt": 2, "next_unix_ms": 5}
    assert frame.loc[frame["kind"] == "request.begin", "gateway_request"].item() == 4
    assert "secret" not in frame.to_csv()


def test_a_run_without_any_event_of_an_agent_has_empty_tables(study):
    with study.run("a"):
        pass
    recs = al.load(study.path)
    for name in ("sessions", "turns", "requests", "chunks", "tools", "pressure", "issues"):
        assert len(recs.table(name)) == 0
    assert recs.runs.loc[0, "n_turns"] == 0
