"""What came of a run: the columns of ``runs`` beside its status."""

import pytest

import agentlab as al

S = "ses"
USED = {"input_uncached_tokens": 100, "cache_read_tokens": 0, "cache_write_tokens": 0, "output_tokens": 5}


@pytest.fixture
def run(study):
    """A run with one turn; ``row()`` writes it and returns its row of ``runs``."""
    with study.run("a") as run:
        run.emit("session.open", session=S, role="main")
        run.emit("turn.send", session=S, turn=1, message="u1", n_chars=1, n_bytes=1)
        run.row = lambda: (run.write(), al.load(study.path).runs.iloc[0])[1]
        yield run
        run.write = lambda: None


def ask(run, number, at, status=200, begin=None, **end):
    run.emit_gateway("request.begin", at_ms=at, request=number, dialect="chat", n_tools=3, **(begin or {}))
    end = {"terminal_seen": status == 200, **end}
    run.emit_gateway("request.end", at_ms=at + 50, request=number, status=status, **end)


def end_turn(run, reason="complete", chars=3):
    run.emit("turn.reply", session=S, turn=1, text_chars=chars)
    run.emit("turn.end", session=S, turn=1, reason=reason)


def test_the_drivers_verdict_counts_and_not_the_exit_code(run):
    end_turn(run)
    run.emit("process.begin", at_ms=10, session=S, turn=1)
    ask(run, 1, 510, **USED)
    run.emit("process.first_request", at_ms=510, session=S, turn=1, request=1, cpu_s=0.42)
    run.emit("process.end", at_ms=700, session=S, turn=1, exit_code=0, cpu_s=0.8, max_rss_bytes=9)
    run.emit(
        "result", session=S, status="error", reason="http_500", stop="error", answer_chars=0, exit_code=0
    )
    row = run.row()
    assert (row["result"], row["result_reason"], row["stop"]) == ("error", "http_500", "error")
    assert (row["exit_code"], row["answer_chars"]) == (0, 0)
    assert (row["start_cpu_s"], row["first_request_ms"]) == (0.42, 500)
    assert (row["exit_ms"], row["agent_cpu_s"], row["max_rss_bytes"]) == (140, 0.8, 9)


@pytest.mark.parametrize(
    ("reason", "chars", "result"),
    [
        ("complete", 3, "answered"),
        ("complete", 0, "error"),
        ("timeout", 0, "timeout"),
        ("stall", 0, "timeout"),
        ("cancelled", 0, "stopped"),
        ("error", 0, "error"),
    ],
)
def test_without_a_verdict_the_last_turn_tells(run, reason, chars, result):
    end_turn(run, reason, chars)
    assert run.row()["result"] == result


def test_a_run_without_an_end_has_no_result(run):
    row = run.row()
    assert row[["result", "result_reason", "exit_code", "start_cpu_s", "n_refused", "cost_usd"]].isna().all()


@pytest.mark.parametrize("why", ["budget", "balance", "limit"])
def test_the_gateways_ending_overrides_the_agents_verdict(run, why):
    end_turn(run)
    ask(run, 1, 10, **USED)
    ask(run, 2, 100, 400, refused=True, reason=why)
    run.emit("result", session=S, status="answered", answer_chars=9)
    row = run.row()
    assert (row["result"], row["result_reason"], row["n_refused"]) == (why, why, 1)


def test_a_refusal_that_ends_nothing_changes_no_verdict(run):
    end_turn(run)
    ask(run, 1, 10, 400, refused=True, reason="tools")
    row = run.row()
    assert (row["result"], row["n_refused"]) == ("answered", 1)


def test_an_answer_that_is_not_believed_is_none(run):
    end_turn(run)
    run.emit("result", session=S, status="answered", answer_chars=3)
    run.issue("turn_unproven", "the last model request ended without its end", discard=True)
    row = run.row()
    assert (row["result"], row["result_reason"]) == ("error", "turn_unproven")


def test_sums_are_unknown_when_a_part_is(run):
    price = {"measured_usd": "0.25", "charged_usd": "0.25"}
    ask(run, 1, 10, begin={"reserved_usd": "1"}, **USED, **price)
    ask(
        run,
        2,
        100,
        begin={"reserved_usd": "1"},
        terminal_seen=False,
        fault="cut",
        charged_usd="1",
        uncertain=True,
    )
    ask(run, 3, 200, 400, begin={}, refused=True, reason="admission")
    row = run.row()
    assert row[["input_total_tokens", "output_tokens", "cost_usd"]].isna().all()
    assert (row["charged_usd"], row["uncertain_usd"], row["n_uncertain"]) == (1.25, 1, 1)
    assert row["n_without_usage"] == 1


def test_what_is_known_is_summed(run):
    ask(run, 1, 10, **USED, charged_usd="0.25", measured_usd="0.25")
    ask(run, 2, 100, **{**USED, "cache_read_tokens": 50}, charged_usd="0.5", measured_usd="0.5")
    row = run.row()
    assert (row["input_total_tokens"], row["cache_read_tokens"], row["cost_usd"]) == (250, 50, 0.75)
    assert (row["n_uncertain"], row["uncertain_usd"], row["n_without_usage"]) == (0, 0, 0)


def test_an_agents_zeros_from_the_cache_are_not_summed(run):
    run.emit("message", session=S, message="a", role="assistant", source="history", finish="stop", **USED,
             completed_unix_ms=run.unix_ms(9))  # fmt: skip
    row = run.row()
    assert row["output_tokens"] == 5 and row[["cache_read_tokens", "input_uncached_tokens"]].isna().all()


def test_compactions_tools_and_what_was_asked_outward_are_counted(run):
    ask(run, 1, 10, begin={"chain": "main"}, **USED)
    ask(run, 2, 100, begin={"chain": "compaction"}, **USED)
    ask(run, 3, 200, 500, begin={"chain": "compaction"}, fault="status")
    for call, status in (("1", "error"), ("2", "completed")):
        run.emit("tool", session=S, call=call, name="read", status="running", source="stream")
        run.emit("tool", session=S, call=call, name="read", status=status, source="stream")
    run.emit("context.cut", session=S, n_observations=2)
    run.emit("lookup", session=S, turn=1, name="example.org", type="A")
    run.emit("outward", session=S, turn=1, network="loopback")
    row = run.row()
    assert (row["n_compactions"], row["n_tool_failures"], row["n_context_cuts"]) == (1, 1, 1)
    assert row["n_lookups"] == 1 and row[["n_connections"]].isna().all()
