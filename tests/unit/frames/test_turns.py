import pytest

import agentlab as al
from agentlab.scenario import Scenario
from agentlab.testing.recordings import SyntheticStudy

S = "ses_1"


def begin(run, turn=1, at=100.0, message="u1", session=S):
    if turn == 1:
        run.emit("session.open", session=session, role="main")
    run.emit("turn.send", at_ms=at, session=session, turn=turn, message=message, n_chars=12, n_bytes=14)


def answer(run, message="a1", parent="u1", at=150.0, **fields):
    run.emit(
        "message",
        at_ms=at,
        session=S,
        message=message,
        parent=parent,
        role="assistant",
        source="stream",
        **fields,
    )


def chunk(run, at, *, message="a1", kind="text", visible=True, chars=3, server=None, first=None):
    run.emit(
        "chunk",
        at_ms=at,
        session=S,
        message=message,
        part="p1",
        chunk=kind,
        n_chars=chars,
        n_bytes=chars,
        visible=visible,
        t_first=None if first is None else run.ns(first),
        server_unix_ms=None if server is None else run.unix_ms(server),
    )


def reply(run, at, turn=1, **fields):
    fields = {"finish": "stop", "http_status": 200, "text_chars": 5, **fields}
    run.emit("turn.reply", at_ms=at, session=S, turn=turn, **fields)


def end(run, at, turn=1, reason="complete"):
    run.emit("turn.end", at_ms=at, session=S, turn=turn, reason=reason)


def row(study):
    return al.load(study.path).turns.iloc[0]


def test_the_ladder_counts_from_the_send(study):
    with study.run("a") as run:
        begin(run)
        answer(run)
        run.emit("step.begin", at_ms=500, session=S, message="a1", part="s1", server_unix_ms=run.unix_ms(495))
        chunk(run, 600, kind="reasoning", server=590)
        run.emit(
            "tool",
            at_ms=700,
            session=S,
            message="a1",
            call="c1",
            name="read",
            status="pending",
            source="stream",
        )
        chunk(run, 3100, visible=False, chars=2, server=3090)
        chunk(run, 3200, server=3190, first=3198)
        reply(run, 3300)
        run.emit("idle", at_ms=3310, session=S)
        end(run, 3600)
    turn = row(study)
    assert turn["first_event_ms"] == 400
    assert turn["first_byte_ms"] == 400
    assert turn["first_event_server_ms"] == 395
    assert turn["first_reasoning_ms"] == 500
    assert turn["first_text_ms"] == 3100, "white space is no visible text"
    assert turn["first_tool_ms"] == 600
    assert turn["ttft_ms"] == 500
    assert turn["ttft_server_ms"] == 490
    assert turn["latency_ms"] == 3200
    assert turn["idle_ms"] == 3210
    assert (turn["n_tools"], turn["n_requests"], turn["reply_chars"]) == (1, 1, 5)
    assert turn[["first_paint_ms", "first_tool_server_ms", "reason", "error"]].isna().all()


def test_the_first_byte_may_come_in_an_earlier_read(study):
    with study.run("a") as run:
        begin(run)
        answer(run)
        chunk(run, 220, first=215.5)
    turn = row(study)
    assert (turn["first_byte_ms"], turn["first_event_ms"]) == (115.5, 120)


def test_the_stream_may_trail_the_reply(study):
    with study.run("a") as run:
        begin(run)
        reply(run, 200, completed_unix_ms=run.unix_ms(195))
        answer(run, at=240)
        chunk(run, 260)
        end(run, 600)
    turn = row(study)
    assert (turn["latency_ms"], turn["ttft_ms"], turn["latency_server_ms"]) == (100, 160, 95)


def test_a_server_stamp_of_a_later_event_stands_for_nothing(study):
    with study.run("a") as run:
        begin(run)
        answer(run)
        run.emit("step.begin", at_ms=300, session=S, message="a1", part="s1")
        chunk(run, 900, server=890)
    turn = row(study)
    assert turn["first_event_ms"] == 200
    assert turn.isna()["first_event_server_ms"]
    assert turn["first_text_server_ms"] == 790


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("timeout", "turn_timeout"),
        ("stall", "turn_stalled"),
        ("error", "turn_error"),
        ("stream", "stream_closed"),
        ("cancelled", "cancelled"),
    ],
)
def test_an_unanswered_turn_says_why(study, reason, code):
    with study.run("a") as run:
        begin(run)
        end(run, 900, reason=reason)
    turn = row(study)
    assert (turn["reason"], turn["ended"]) == (code, reason)
    assert turn[["ttft_ms", "latency_ms", "idle_ms"]].isna().all()


def test_without_visible_text_the_first_token_is_unknown_and_the_latency_kept(study):
    with study.run("a") as run:
        begin(run)
        answer(run)
        chunk(run, 200, visible=False, chars=0)
        chunk(run, 220, visible=False, chars=1)
        reply(run, 300)
        end(run, 600)
    turn = row(study)
    assert turn["reason"] == "no_visible_text"
    assert turn["latency_ms"] == 200


def test_an_answer_without_parent_belongs_to_no_turn(study):
    """Otherwise it would be counted for every prompt."""
    with study.run("a") as run:
        begin(run)
        begin(run, turn=2, at=1000, message="u2")
        for number, at in (("a1", 200), ("a2", 1200)):
            answer(run, message=number, parent=None, at=at, created_unix_ms=run.unix_ms(at))
            chunk(run, at + 20, message=number)
        reply(run, 300, finish=None)
        reply(run, 1300, turn=2, finish=None)
    recs = al.load(study.path)
    assert list(recs.turns["reason"]) == ["turn_unproven"] * 2
    assert recs.turns["ttft_ms"].isna().all()
    assert list(recs.requests["turn"]) == [1, 2], "by time, each once"


def test_pieces_of_an_agent_that_describes_no_message_belong_to_the_turn_they_came_in(study):
    """Codex and Gemini CLI stream texts and tools and tell of no message."""
    with study.run("a") as run:
        begin(run)
        call = {"session": S, "message": f"{S}/1", "call": "1/c", "name": "exec", "source": "stream"}
        run.emit("tool", at_ms=180, status="running", **call)
        run.emit("tool", at_ms=230, status="completed", **call)
        chunk(run, 250, message=f"{S}/1")
        reply(run, 300)
        end(run, 310)
        begin(run, turn=2, at=1000, message="u2")
        chunk(run, 1040, message=f"{S}/2", kind="reasoning")
        reply(run, 1300, turn=2)
    recs = al.load(study.path)
    assert list(recs.turns["n_tools"]) == [1, 0]
    assert list(recs.turns["first_tool_ms"].fillna(-1)) == [80, -1]
    assert list(recs.turns["ttft_ms"]) == [150, 40]
    assert recs.turns["reason"].isna().all()
    assert list(recs.tools["turn"]) == [1]


def test_pieces_of_a_message_that_was_never_described_prove_nothing_beside_described_ones(study):
    with study.run("a") as run:
        begin(run)
        answer(run, parent="u1")
        chunk(run, 200, message="other")
        reply(run, 300)
    turn = row(study)
    assert (turn["reason"], turn.isna()["ttft_ms"]) == ("no_visible_text", True)


def test_answers_to_a_summary_are_not_answers_to_the_prompt(study):
    with study.run("a") as run:
        begin(run)
        answer(run, "a1", "u_c", created_unix_ms=run.unix_ms(150), agent="compaction", summary=True)
        run.emit("compacted", at_ms=400, session=S)
        answer(run, "a2", "u_synthetic", created_unix_ms=run.unix_ms(450), at=450)
        chunk(run, 500, message="a2")
        reply(run, 600, parent="u_synthetic")
        end(run, 900)
    recs = al.load(study.path)
    assert recs.turns.loc[0, "reason"] == "compaction"
    assert recs.turns.loc[0, "n_requests"] == 2
    assert list(recs.requests["chain"]) == ["compaction", "main"]
    assert list(recs.requests["turn"]) == [1, 1]
    assert recs.sessions.loc[0, "n_compactions"] == 1


def test_the_prompts_id_may_be_told_by_the_reply(study):
    with study.run("a") as run:
        begin(run, message=None)
        answer(run, parent="made_by_server")
        chunk(run, 250)
        reply(run, 300, parent="made_by_server")
    assert row(study)["ttft_ms"] == 150


def test_a_late_idle_event_of_the_turn_before_is_not_the_turns_own(study):
    with study.run("a") as run:
        begin(run)
        reply(run, 200, completed_unix_ms=run.unix_ms(195))
        begin(run, turn=2, at=300, message="u2")
        run.emit("idle", at_ms=320, session=S, server_unix_ms=run.unix_ms(201))
        reply(run, 400, turn=2, completed_unix_ms=run.unix_ms(390))
        run.emit("idle", at_ms=415, session=S, server_unix_ms=run.unix_ms(392))
    turns = al.load(study.path).turns
    assert turns.isna().loc[0, "idle_ms"]
    assert turns.loc[1, "idle_ms"] == 115
    assert turns.loc[1, "idle_server_ms"] == 92


def test_an_idle_event_of_our_own_abort_is_not_the_turns(study):
    with study.run("a") as run:
        begin(run)
        answer(run)
        end(run, 4100, reason="stall")
        run.emit("idle", at_ms=4230, session=S, server_unix_ms=run.unix_ms(4228))
    turn = al.load(study.path).turns.iloc[0]
    assert turn[["idle_ms", "idle_server_ms"]].isna().all()


def test_a_late_idle_event_does_not_stand_in_for_one_that_never_came(study):
    with study.run("a") as run:
        begin(run)
        run.emit("idle", at_ms=110, session=S, server_unix_ms=run.unix_ms(90))
        reply(run, 300, completed_unix_ms=run.unix_ms(290))
        end(run, 5600)
    assert al.load(study.path).turns.isna().loc[0, "idle_ms"]


def test_of_two_idle_events_after_an_error_the_one_after_completion_counts(study):
    with study.run("a") as run:
        begin(run)
        run.emit("idle", at_ms=210, session=S, server_unix_ms=run.unix_ms(205))
        reply(run, 215, completed_unix_ms=run.unix_ms(209), error="MessageAbortedError", finish=None)
        run.emit("idle", at_ms=220, session=S, server_unix_ms=run.unix_ms(212))
        end(run, 600, reason="error")
    turn = row(study)
    assert turn["idle_ms"] == 120
    assert turn["error"] == "MessageAbortedError"


def test_retries_of_a_turn_are_counted_once_each(study):
    with study.run("a") as run:
        begin(run)
        for at, attempt, until in ((120, 1, 2000), (121, 1, 2000), (2100, 2, 6000)):
            run.emit(
                "status", at_ms=at, session=S, state="retry", attempt=attempt, next_unix_ms=run.unix_ms(until)
            )
        begin(run, turn=2, at=7000, message="u2")
    turns = al.load(study.path).turns
    assert list(turns["n_retries"]) == [2, 0]


def test_two_sessions_do_not_mix(study):
    with study.run("a") as run:
        begin(run)
        run.emit("session.open", session="other", role="main")
        run.emit("turn.send", at_ms=110, session="other", turn=1, message="u9", n_chars=1, n_bytes=1)
        answer(run)
        chunk(run, 300)
        run.emit("idle", at_ms=200, session="other")
    turns = al.load(study.path).turns.set_index("session_id")
    assert turns.loc[S, "ttft_ms"] == 200
    assert turns.isna().loc["other", "ttft_ms"]
    assert turns.isna().loc[S, "idle_ms"]


@pytest.mark.parametrize(
    ("rule", "prompts", "flags"),
    [("none", 2, [False, False]), ("original", 2, [True, False]), ("original", 1, [False])],
)
def test_warm_up_follows_the_scenario(tmp_path, rule, prompts, flags):
    scenario = Scenario("x", turns=["p"] * prompts, warmup=rule)
    study = SyntheticStudy(tmp_path / "s", scenario=scenario, arms=("a",))
    with study.run("a") as run:
        for turn in range(1, prompts + 1):
            begin(run, turn=turn, at=100.0 * turn, message=f"u{turn}")
            for step in (1, 2):
                at = 100.0 * turn + 10 * step
                answer(run, f"a{turn}{step}", f"u{turn}", at=at, created_unix_ms=run.unix_ms(at))
    recs = al.load(study.path)
    assert list(recs.turns["warmup"]) == flags
    first = [True, False, False, False] if flags[0] else [False] * (2 * prompts)
    assert list(recs.requests["warmup"]) == first


def test_the_only_turn_that_was_reached_of_two_is_still_warm_up(tmp_path):
    study = SyntheticStudy(
        tmp_path / "s", scenario=Scenario("x", turns=["p", "q"], warmup="original"), arms=("a",)
    )
    with study.run("a", status="cancelled") as run:
        begin(run)
    assert list(al.load(study.path).turns["warmup"]) == [True]


def test_a_turn_sums_its_requests_and_one_unknown_part_makes_the_sum_unknown(study):
    known = {
        "input_uncached_tokens": 12,
        "cache_read_tokens": 50_000,
        "cache_write_tokens": 300,
        "output_tokens": 80,
    }
    with study.run("a") as run:
        begin(run)
        for number in ("a1", "a2"):
            answer(run, number, **known)
        begin(run, turn=2, at=1000, message="u2")
        answer(run, "a3", "u2", at=1100, **known)
        answer(run, "a4", "u2", at=1200)
    turns = al.load(study.path).turns
    assert list(turns["input_total_tokens"].fillna(-1)) == [100_624, -1]
    assert list(turns["cache_read_tokens"].fillna(-1)) == [100_000, -1]
    assert list(turns["n_requests"]) == [2, 2]


def test_what_the_gateway_refused_is_no_request_of_the_turn(study):
    tokens = {"input_total_tokens": 10, "cache_read_tokens": 0, "output_tokens": 2, "measured_usd": "0.5"}
    with study.run("a") as run:
        begin(run)
        for number, end_of in ((1, tokens), (2, {"refused": True, "reason": "budget"})):
            at = 100 + 100 * number
            run.emit_gateway("request.begin", at_ms=at, request=number, session=S, n_tools=1, chain="main")
            status = 400 if number == 2 else 200
            run.emit_gateway("request.end", at_ms=at + 50, request=number, status=status, **end_of)
        end(run, 600, reason="error")
    turn = row(study)
    assert (turn["n_requests"], turn["input_total_tokens"], turn["cost_usd"]) == (1, 10, 0.5)
