"""The agent's side and the gateway's side, joined; tokens and times of each request."""

import pytest

import agentlab as al

S = "ses_1"
TOKENS = {
    "input_uncached_tokens": 218,
    "cache_read_tokens": 8192,
    "cache_write_tokens": 0,
    "output_tokens": 41,
    "reasoning_tokens": 5,
}


class Talk:
    """Write both sides of one session."""

    def __init__(self, run, *, stamps=True):
        self.run, self.stamps = run, stamps
        run.emit("session.open", session=S, role="main")
        run.emit("turn.send", session=S, turn=1, message="u1", n_chars=1, n_bytes=1)

    def message(self, name, begin, end=None, *, session=S, source="history", **fields):
        fields = {"finish": "stop", **fields} if end is not None else fields
        if self.stamps:
            fields["created_unix_ms"] = self.run.unix_ms(begin)
        if end is not None:
            fields["completed_unix_ms"] = self.run.unix_ms(end) if self.stamps else 1
        fields = {"parent": "u1", "role": "assistant", "agent": "build", **fields}
        self.run.emit("message", at_ms=9000, session=session, message=name, source=source, **fields)

    def begin(self, number, at, *, session=S, n_tools=11, **fields):
        fields = {"dialect": "chat", "model": "m", "body_bytes": 9000, **fields}
        self.run.emit_gateway(
            "request.begin", at_ms=at, request=number, session=session, n_tools=n_tools, **fields
        )

    def chunk(self, number, at, kind="text", visible=True, chars=4):
        size = {"n_chars": chars, "n_bytes": chars, "visible": visible}
        self.run.emit_gateway("request.chunk", at_ms=at, request=number, chunk=kind, **size)

    def end(self, number, at, status=200, **fields):
        fields = {"terminal_seen": status == 200, "finish": "stop" if status == 200 else None, **fields}
        self.run.emit_gateway("request.end", at_ms=at, request=number, status=status, **fields)


@pytest.fixture(params=[True, False], ids=["stamps", "order"])
def talk(study, request):
    with study.run("a") as run:
        talk = Talk(run, stamps=request.param)
        talk.requests = lambda: (run.write(), al.load(study.path).requests)[1]
        yield talk
        run.write = lambda: None


def test_sides_are_joined_in_order(talk):
    talk.message("a1", 10, 100)
    talk.message("a2", 110, 200)
    for number, at in ((4, 20), (5, 120)):
        talk.begin(number, at)
        talk.end(number, at + 60, **TOKENS)
    frame = talk.requests()
    assert list(frame["message_id"]) == ["a1", "a2"]
    assert list(frame["gateway_request"]) == [4, 5]
    assert set(frame["source"]) == {"both"}
    assert list(frame["position"]) == [1, 2]
    assert list(frame["request"]) == [1, 2]


def test_failed_attempts_stay_rows_of_their_own(talk):
    talk.message("a1", 10, 5000, **TOKENS)
    talk.begin(1, 20)
    talk.end(1, 30, 500, fault="status")
    talk.begin(2, 2000, retry_of=1)
    talk.end(2, 2010, 429, fault="status")
    talk.begin(3, 4000, retry_of=2)
    talk.end(3, 4900, **TOKENS)
    frame = talk.requests()
    assert list(frame["attempt"]) == [1, 2, 3]
    assert list(frame["retry_of"].fillna(0)) == [0, 1, 2]
    assert list(frame["chain"]) == ["main"] * 3
    assert list(frame["chain_label"]) == ["main", "retry", "retry"]
    assert list(frame["status"]) == ["failed", "failed", "ok"]
    assert list(frame["source"]) == ["gateway", "gateway", "both"]
    assert set(frame["message_id"]) == {"a1"}
    assert list(frame["position"]) == [1, 1, 1]
    assert list(frame["input_total_tokens"].fillna(-1)) == [-1, -1, 8410]
    assert list(frame["agent_input_total_tokens"].fillna(-1)) == [-1, -1, 8410], "the agent reports once"
    assert list(frame["reason"].fillna("")) == ["request_failed", "request_failed", ""]


def test_the_model_that_answered_may_be_another_than_was_asked_for(talk):
    talk.message("a1", 10, 300)
    talk.begin(1, 20, model="asked")
    talk.end(1, 290, answered_model="answered")
    row = talk.requests().iloc[0]
    assert (row["model"], row["answered_model"]) == ("asked", "answered")


def test_the_title_request_is_a_side_request(talk):
    talk.message("a1", 10, 300)
    talk.begin(1, 20, n_tools=0, body_bytes=900)
    talk.begin(2, 22)
    talk.end(1, 80)
    talk.end(2, 290)
    frame = talk.requests()
    assert list(frame["chain"]) == ["title", "main"]
    assert frame.isna().loc[0, "message_id"]
    assert list(frame["source"]) == ["gateway", "both"]


def test_of_two_at_once_without_tools_the_smaller_is_the_side_request(talk):
    talk.message("a1", 10, 300)
    talk.begin(1, 20, n_tools=0, body_bytes=900)
    talk.begin(2, 22, n_tools=0, body_bytes=4000)
    talk.end(1, 80)
    talk.end(2, 290)
    talk.message("a2", 310, 400)
    talk.begin(3, 320, n_tools=0, body_bytes=800)
    talk.end(3, 390)
    frame = talk.requests()
    assert list(frame["chain"]) == ["title", "main", "main"]
    assert list(frame["message_id"].fillna("")) == ["", "a1", "a2"]


def test_a_child_sessions_requests_are_a_chain_of_their_own(talk):
    talk.run.emit("session.open", session="child", parent=S, role="child")
    talk.message("a1", 10, 900)
    talk.message("b1", 50, 400, session="child", parent="u_b")
    talk.begin(1, 20)
    talk.end(1, 40)
    talk.begin(2, 60, session="child", n_tools=0)
    talk.end(2, 300)
    frame = talk.requests()
    assert list(frame["chain"]) == ["main", "subagent"]
    assert list(frame["message_id"]) == ["a1", "b1"]
    assert list(frame["position"]) == [1, 1]


def test_a_request_of_an_unknown_session_is_not_lost(talk):
    talk.begin(1, 20, session="elsewhere")
    talk.end(1, 40, **TOKENS)
    frame = talk.requests()
    assert list(frame["reason"]) == ["gateway_unattributed"]
    assert frame["chain"].isna().all()
    assert list(frame["status"]) == ["ok"]
    assert list(frame["input_total_tokens"]) == [8410]


def test_a_request_that_names_no_session_belongs_to_the_only_one(talk):
    talk.message("a1", 10, 100)
    talk.begin(1, 20, session=None)
    talk.end(1, 40, **TOKENS)
    frame = talk.requests()
    assert list(frame["source"]) == ["both"]
    assert list(frame["session_id"]) == [S]


def test_of_two_sessions_none_is_guessed(talk):
    talk.run.emit("session.open", session="other", role="main")
    talk.begin(1, 20, session=None)
    assert list(talk.requests()["reason"]) == ["gateway_unattributed"]


def test_without_gateway_announced_repeats_are_attempts(study):
    with study.run("a") as run:
        talk = Talk(run)
        talk.message("a1", 10, 5000)
        talk.message("a2", 5010, 6000)
        for at, attempt in ((20, 1), (2100, 2)):
            run.emit("status", at_ms=at, session=S, state="retry", attempt=attempt)
        run.emit(
            "chunk", at_ms=4500, session=S, message="a1", part="p", chunk="text", n_chars=2, visible=True
        )
    frame = al.load(study.path).requests
    assert list(frame["attempt"]) == [3, 1]
    # the message was made before the first attempt: when the third was sent, nobody saw
    assert frame.loc[0, ["send_ns", "ttft_ms", "latency_ms"]].isna().all()
    assert frame.loc[0, "ttft_reason"] == "send_unknown"


@pytest.mark.parametrize("finish", ["unknown", "error"])
def test_without_gateway_a_step_that_says_it_failed_is_not_ok(talk, finish):
    talk.message("a1", 10, 400, finish=finish)
    row = talk.requests().iloc[0]
    assert (row["status"], row["reason"]) == ("failed", "request_failed")


def test_without_gateway_the_agents_report_stands(talk):
    talk.message("a1", 10, 400, **TOKENS)
    talk.run.emit("step.begin", at_ms=100, session=S, message="a1", part="s")
    for at, visible in ((150, False), (200, True), (300, True)):
        talk.run.emit(
            "chunk", at_ms=at, session=S, message="a1", part="p", chunk="text", n_chars=2, visible=visible
        )
    frame = talk.requests()
    row = frame.iloc[0]
    assert (row["source"], row["tokens_source"]) == ("agent", "agent")
    times = row[["ttft_ms", "latency_ms", "first_chunk_ms", "itl_ms"]]
    assert list(times) == [190, 290, 140, 100 / 40] if talk.stamps else times.isna().all()
    assert row["cache_hit_rate"] == 8192 / 8410
    assert row[["dialect", "http_status", "prefix_bytes", "gateway_request"]].isna().all()


def test_without_gateway_only_zeros_from_the_cache_are_unknown(talk):
    zeros = {
        "input_uncached_tokens": 900,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 5,
    }
    for number in (1, 2):
        talk.message(f"a{number}", 10 * number, 10 * number + 5, provider="p", model="m", **zeros)
    frame = talk.requests()
    assert frame[["cache_read_tokens", "cache_hit_rate", "input_uncached_tokens"]].isna().all(axis=None)
    assert list(frame["input_total_tokens"]) == [900, 900]
    assert list(frame["agent_cache_read_tokens"]) == [0, 0]
    assert set(frame["reason"]) == {"cache_unreported"}


def test_one_cached_token_of_the_same_model_makes_zeros_true(talk):
    zeros = {
        "input_uncached_tokens": 900,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "output_tokens": 5,
    }
    talk.message("a1", 10, 15, provider="p", model="m", **zeros)
    talk.message("a2", 20, 25, provider="p", model="m", **{**zeros, "cache_read_tokens": 128})
    talk.message("a3", 30, 35, provider="p", model="other", **zeros)
    read = talk.requests()["cache_read_tokens"]
    assert list(read[:2]) == [0, 128] and read.isna()[2]


def test_without_gateway_a_repeated_request_has_no_known_begin(talk):
    talk.message("a1", 10, 400, **TOKENS)
    for at, part in ((100, "s1"), (200, "s2")):
        talk.run.emit("step.begin", at_ms=at, session=S, message="a1", part=part)
    talk.run.emit(
        "chunk", at_ms=300, session=S, message="a1", part="p", chunk="text", n_chars=2, visible=True
    )
    row = talk.requests().iloc[-1]
    assert row[["send_ns", "ttft_ms", "latency_ms", "itl_ms"]].isna().all() and row["n_chunks"] == 1


def test_latency_ends_with_the_last_content_and_not_with_the_end(talk):
    talk.message("a1", 10, 900)
    talk.begin(1, 100)
    talk.chunk(1, 150, "reasoning", visible=False, chars=0)
    talk.chunk(1, 300, "text", visible=False, chars=2)
    talk.chunk(1, 400)
    talk.chunk(1, 480, "tool", chars=0)
    talk.end(1, 800, **TOKENS)
    row = talk.requests().iloc[0]
    assert row["send_ns"] == talk.run.ns(100)
    assert (row["ttft_ms"], row["latency_ms"], row["first_chunk_ms"]) == (300, 380, 200)
    assert row["n_chunks"] == 3


def test_a_tool_call_alone_has_no_first_token(talk):
    talk.message("a1", 10, 900)
    talk.begin(1, 100)
    talk.chunk(1, 300, "tool")
    talk.end(1, 400, **TOKENS)
    row = talk.requests().iloc[0]
    assert row["ttft_reason"] == "no_visible_text"
    assert row[["ttft_ms", "itl_ms"]].isna().all()
    assert row["latency_ms"] == 200


def test_one_token_has_no_time_between_tokens(talk):
    talk.message("a1", 10, 900)
    talk.begin(1, 100)
    talk.chunk(1, 300)
    talk.end(1, 400, **TOKENS | {"output_tokens": 1, "reasoning_tokens": 0})
    assert talk.requests().isna().loc[0, "itl_ms"]


def test_tokens_in_one_piece_or_one_read_have_no_known_time_between_them(talk):
    talk.message("a1", 10, 900)
    talk.begin(1, 100)
    talk.chunk(1, 300)
    talk.chunk(1, 300)
    talk.end(1, 400, **TOKENS)
    row = talk.requests().iloc[0]
    assert row["ttft_ms"] == row["latency_ms"] == 200 and row[["itl_ms"]].isna().all()


@pytest.mark.parametrize(
    ("usage", "total", "rate", "reason"),
    [
        # inclusive sources, split by the gateway
        ((17111, 0, 0, None), 17111, 0.0, None),
        ((9, 17102, 0, None), 17111, 17102 / 17111, None),
        ((5, 5, 0, 10), 10, 0.5, None),
        ((10, 66360, 32435, 98805), 98805, 66360 / 98805, None),
        # exclusive source: reading more than the fresh input is legal
        ((12, 50000, 300, None), 50312, 50000 / 50312, None),
        # the provider does not say what it cached: that is no miss
        ((None, None, None, 900), 900, None, "cache_unreported"),
        ((900, None, 0, None), None, None, "usage_partial"),
        ((None, None, None, None), None, None, "no_usage"),
        # contradictions are errors, never clamped
        ((-20, 120, 0, 100), None, None, "usage_implausible"),
        ((None, 120, None, 100), None, None, "usage_implausible"),
        ((50, 40, 0, 100), None, None, "usage_implausible"),
    ],
)
def test_tokens_of_the_gateway(talk, usage, total, rate, reason):
    fresh, read, write, stated = usage
    known = any(part is not None for part in usage)
    talk.message("a1", 10, 900, **TOKENS)
    talk.begin(1, 100)
    talk.end(
        1,
        400,
        input_uncached_tokens=fresh,
        cache_read_tokens=read,
        cache_write_tokens=write,
        input_total_tokens=stated,
        output_tokens=20 if known else None,
        convention="inclusive",
    )
    row = talk.requests().iloc[0]
    expected = [total, rate, reason]
    got = [None if row.isna()[n] else row[n] for n in ("input_total_tokens", "cache_hit_rate", "reason")]
    assert got == expected
    assert row["agent_input_total_tokens"] == 8410, "the agent's report is kept beside"


def test_reasoning_above_the_output_is_implausible(talk):
    talk.message("a1", 10, 900, **TOKENS | {"output_tokens": 4, "reasoning_tokens": 5})
    row = talk.requests().iloc[0]
    assert row["reason"] == "usage_implausible"
    assert row.isna()["output_tokens"]
    assert row["agent_output_tokens"] == 4


def test_an_aborted_stream_has_no_usage_and_costs_an_unknown_amount(talk):
    talk.message("a1", 10, 600, error="MessageAbortedError", finish=None)
    talk.begin(1, 100)
    for at in range(5):
        talk.chunk(1, 200 + at)
    talk.end(1, 300, terminal_seen=False, fault="client_gone")
    frame = talk.requests()
    joined = frame[frame["gateway_request"].notna()].iloc[0]
    assert joined["status"] == "aborted"
    assert joined["reason"] == "request_aborted"
    assert joined["ttft_ms"] == 100
    assert joined[["input_total_tokens", "output_tokens", "cost_usd"]].isna().all()


def test_an_agents_price_of_nothing_is_unknown(talk):
    talk.message("a1", 10, 600, cost_usd=0, **TOKENS)
    talk.message("a2", 610, 700, cost_usd=0.25, **TOKENS)
    frame = talk.requests()
    assert list(frame["cost_usd"].fillna(-1)) == [-1, 0.25]
    assert list(frame["agent_cost_usd"]) == [0, 0.25]


def test_the_last_report_of_the_history_counts(talk):
    talk.message("a1", 10, source="stream")
    talk.message("a1", 10, 600, **TOKENS)
    talk.message("a1", 10, source="stream")
    row = talk.requests().iloc[0]
    assert (row["status"], row["output_tokens"]) == ("ok", 41)


def test_prefix_columns(talk):
    talk.message("a1", 10, 600)
    talk.begin(1, 20, canonical_bytes=1000)
    talk.end(1, 30)
    talk.message("a2", 610, 700)
    talk.begin(2, 620, canonical_bytes=2000, prefix_bytes=500, append_only=False, first_changed="system")
    talk.end(2, 650)
    frame = talk.requests()
    assert list(frame["prefix_share"].fillna(-1)) == [-1, 0.25]
    assert list(frame["append_only"].fillna(True)) == [True, False]
    assert frame.loc[1, "first_changed"] == "system"


def test_sides_that_counted_differently_stand_apart_without_stamps(study):
    with study.run("a") as run:
        talk = Talk(run, stamps=False)
        talk.message("a1", 0, 1, **TOKENS)
        for number, at in ((1, 20), (2, 120)):
            talk.begin(number, at)
            talk.end(number, at + 60, **TOKENS)
    frame = al.load(study.path).requests
    assert sorted(frame["source"]) == ["agent", "gateway", "gateway"]
    assert set(frame["reason"]) == {"join_ambiguous"}


def test_a_request_that_failed_is_one_row_though_its_agent_tells_of_it(talk):
    talk.message("a1", 10, 100)
    talk.begin(1, 20)
    talk.end(1, 90)
    talk.message("a2", 110, 190, finish=None, error="http_403")
    talk.begin(2, 120)
    talk.end(2, 180, status=403, fault="status", measured_usd="0", charged_usd="0")
    frame = talk.requests()
    assert list(frame["message_id"]) == ["a1", "a2"]
    assert list(frame["source"]) == ["both", "both"]
    assert list(frame["http_status"]) == [200, 403] and frame["cost_usd"][1] == 0


def test_stamps_join_what_order_would_not(study):
    """A message is missing on the agent's side: the others still find their exchange."""
    with study.run("a") as run:
        talk = Talk(run)
        talk.message("a1", 10, 100)
        talk.message("a3", 210, 300)
        for number, at in ((1, 20), (2, 120), (3, 220)):
            talk.begin(number, at)
            talk.end(number, at + 60, **TOKENS)
    frame = al.load(study.path).requests
    assert list(frame["message_id"].fillna("")) == ["a1", "", "a3"]
    assert list(frame["source"]) == ["both", "gateway", "both"]
    assert list(frame["chain"]) == ["main"] * 3


def test_a_summary_is_found_among_requests_without_tools(study):
    with study.run("a") as run:
        talk = Talk(run)
        talk.message("a1", 10, 100)
        talk.message("a2", 110, 200, agent="compaction", summary=True, parent="u_c")
        talk.message("a3", 210, 300, parent="u_s")
        for number, at, tools in ((1, 20, 11), (2, 25, 0), (3, 120, 0), (4, 220, 11)):
            talk.begin(number, at, n_tools=tools)
            talk.end(number, at + 50, **TOKENS)
    frame = al.load(study.path).requests
    assert list(frame["chain"]) == ["main", "title", "compaction", "main"]
    assert list(frame["message_id"].fillna("")) == ["a1", "", "a2", "a3"]


def test_a_gateway_that_died_leaves_unfinished_requests(study):
    with study.run("a") as run:
        talk = Talk(run)
        talk.message("a1", 10)
        talk.begin(1, 20)
        talk.chunk(1, 90)
    row = al.load(study.path).requests.iloc[0]
    assert (row["status"], row["reason"], row["source"]) == ("unfinished", "unfinished", "both")
    assert row["ttft_ms"] == 70


MONEY = {
    "charged_usd": "0.03",
    "measured_usd": "0.03",
    "committed_usd": "0.04",
    "price": {"input": "3", "cache_read": "0.3"},
}


def test_money_and_what_a_broken_prefix_costs(talk):
    talk.message("a1", 10, 100)
    talk.begin(
        1,
        20,
        canonical_bytes=1000,
        prefix_state="first",
        reserved_usd="0.5",
        bound="hard",
        output_cap="injected",
    )
    talk.end(1, 60, **TOKENS, **MONEY)
    talk.message("a2", 110, 200)
    changed = {
        "before_bytes": 90,
        "after_bytes": 80,
        "at_bytes": 12,
        "item": 2,
        "role": "user",
        "type": "text",
    }
    lost = {
        "prefix_state": "changed",
        "prefix_bytes": 600,
        "lost_bytes": 400,
        "follows": 1,
        "append_only": False,
    }
    talk.begin(
        2, 120, canonical_bytes=8410, first_changed="message 3", changed=changed, reserved_usd="0.5", **lost
    )
    talk.end(2, 160, **TOKENS, charged_usd="0.5", uncertain=True, price=MONEY["price"])
    first, second = (row for _, row in talk.requests().iterrows())
    assert (first["cost_usd"], first["charged_usd"], first["reserved_usd"]) == (0.03, 0.03, 0.5)
    assert first["committed_usd"] == 0.04
    assert not first["uncertain"] and (first["bound"], first["output_cap"]) == ("hard", "injected")
    assert first["chain_start"] and first[["lost_bytes", "lost_tokens", "lost_usd"]].isna().all()
    assert second["uncertain"] and second["charged_usd"] == 0.5
    assert second[["cost_usd"]].isna().all()
    assert not second["chain_start"] and (second["follows"], second["prefix_state"]) == (1, "changed")
    assert second["changed_detail"] == "user text item 2: 90 to 80 bytes, from byte 12"
    assert second["lost_tokens"] == 400 * 8410 / 8410
    assert second["lost_usd"] == pytest.approx(400 * 2.7 / 1e6)


def test_nothing_lost_costs_nothing_and_unknown_tokens_lose_an_unknown_number(talk):
    talk.message("a1", 10, 100)
    talk.begin(1, 20, canonical_bytes=1000, prefix_bytes=900, lost_bytes=0)
    talk.end(1, 60, **TOKENS, price=MONEY["price"])
    talk.message("a2", 110, 200)
    talk.begin(2, 120, canonical_bytes=1000, prefix_bytes=900, lost_bytes=10)
    talk.end(2, 160, price=MONEY["price"])
    frame = talk.requests()
    assert list(frame["lost_tokens"].fillna(-1)) == [0, -1]
    assert list(frame["lost_usd"].fillna(-1)) == [0, -1]


def test_what_was_dropped_for_good_is_not_sent_again(talk):
    """After a compaction 90,000 bytes are gone, and 1,500 are sent beyond the prefix."""
    talk.message("a1", 10, 100)
    talk.begin(1, 20, canonical_bytes=2000, prefix_bytes=500, lost_bytes=90_000)
    talk.end(1, 60, **TOKENS)
    assert talk.requests().loc[0, "lost_tokens"] == 1500 * 8410 / 2000


def test_a_refused_request_cost_nothing_and_is_not_counted(talk):
    talk.message("a1", 10, 600, error="APIError", finish=None)
    talk.begin(1, 100)
    talk.end(1, 110, 400, refused=True, reason="invalid_body: no messages")
    talk.message("a2", 610, 900, error="APIError", finish=None)
    talk.begin(2, 700)
    talk.end(2, 710, 400, fault="status")
    frame = talk.requests()
    frame = frame[frame["gateway_request"].notna()]
    assert list(frame["refusal"].fillna("")) == ["invalid_body", ""]
    assert list(frame["counted"]) == [False, True]
    assert list(frame["cost_usd"].fillna(-1)) == [0, -1]


def test_a_run_of_an_agent_that_tells_nothing_has_whole_rows(study):
    with study.run("a") as run:
        talk = Talk.__new__(Talk)
        talk.run, talk.stamps = run, True
        for number, at, chain, more in (
            (1, 10, "title", {}),
            (2, 20, "main", {"attempt": 1}),
            (3, 120, "main", {"attempt": 2, "retry_of": 2}),
            (4, 220, "main", {"attempt": 1}),
        ):
            talk.begin(number, at, session=None, chain=chain, **more)
            talk.end(number, at + 60, **TOKENS)
    frame = al.load(study.path).requests
    assert list(frame["chain"]) == ["title", "main", "main", "main"]
    assert list(frame["position"]) == [1, 1, 1, 2]
    assert list(frame["attempt"]) == [1, 1, 2, 1]
    assert frame["counted"].all() and frame["reason"].isna().all()


def test_the_gateway_tells_side_requests_apart_where_the_agent_does_not(study):
    """A compaction that no message stands for, and a subagent inside the same session."""
    with study.run("a") as run:
        talk = Talk(run, stamps=False)
        talk.message("a1", 0, 1)
        talk.message("a2", 0, 2)
        for number, at, chain in ((1, 20, "main"), (2, 120, "compaction"), (3, 220, "subagent")):
            talk.begin(number, at, chain=chain, n_tools=0 if chain == "compaction" else 9)
            talk.end(number, at + 60, **TOKENS)
    frame = al.load(study.path).requests
    assert list(frame["chain"]) == ["main", "compaction", "subagent"]
    assert list(frame["message_id"].fillna("")) == ["a1", "", "a2"]


def test_messages_are_joined_by_when_they_came(study):
    """An agent that tells its last message only, in two reports, has no rows beside the gateway's."""
    with study.run("a") as run:
        talk = Talk(run)
        talk.stamps = False
        for number, at in ((1, 20), (2, 120), (3, 220)):
            talk.begin(number, at)
            talk.end(number, at + 60, **TOKENS)
        for name, at in (("a2", 290), ("a3", 291)):
            talk.message(name, 0, completed_unix_ms=run.unix_ms(at), finish="stop", source="stream")
    frame = al.load(study.path).requests
    assert list(frame["message_id"].fillna("")) == ["", "", "a3"]
    assert list(frame["source"]) == ["gateway", "gateway", "both"]
    assert frame["counted"].all()
