import pytest

import agentlab as al

S = "ses_1"


def both_sides(run, sent, seen, *, steps=(110,)):
    """``sent``: (request, at, kind, chars) of the gateway; ``seen``: (at, kind, chars) of the agent."""
    run.emit("session.open", session=S, role="main")
    run.emit("turn.send", session=S, turn=1, message="u1")
    stamps = {"created_unix_ms": run.unix_ms(50), "completed_unix_ms": run.unix_ms(5000)}
    run.emit(
        "message",
        session=S,
        message="a1",
        parent="u1",
        role="assistant",
        finish="stop",
        source="history",
        **stamps,
    )
    for number in sorted({one[0] for one in sent}):
        at = 50 + 1000 * number - 940
        run.emit_gateway("request.begin", at_ms=at, request=number, session=S, n_tools=3)
        good = number == max(one[0] for one in sent)
        run.emit_gateway(
            "request.end",
            at_ms=at + 900,
            request=number,
            status=200,
            terminal_seen=good,
            fault=None if good else "cut",
        )
    for number, at, kind, chars in sent:
        size = {"n_chars": chars, "n_bytes": chars, "visible": True, "emit_ns": run.ns(at - 0.25)}
        run.emit_gateway("request.chunk", at_ms=at, request=number, chunk=kind, **size)
    for number, at in enumerate(steps):
        run.emit("step.begin", at_ms=at, session=S, message="a1", part=f"s{number}")
    for at, kind, chars in seen:
        size = {"n_chars": chars, "n_bytes": chars, "visible": True, "server_unix_ms": run.unix_ms(at - 3)}
        run.emit("chunk", at_ms=at, session=S, message="a1", part="p", chunk=kind, **size)


def test_stamps_of_both_sides_stand_in_one_row(study):
    with study.run("a") as run:
        both_sides(
            run,
            sent=[(1, 120, "reasoning", 3), (1, 130, "text", 5), (1, 131, "text", 0), (1, 140, "tool", 9)],
            seen=[(125, "reasoning", 3), (136, "text", 5)],
        )
    frame = al.load(study.path).chunks
    assert list(frame["source"]) == ["both", "both", "gateway", "gateway"]
    assert list(frame["kind"]) == ["reasoning", "text", "text", "tool"]
    assert list(frame["chunk"]) == [1, 2, 3, 4]
    first = frame.iloc[0]
    assert (first["emit_ns"], first["gateway_ns"]) == (run.ns(119.75), run.ns(120))
    assert (first["arrive_ns"], first["first_byte_ns"]) == (run.ns(125), run.ns(125))
    assert first["server_ns"] == run.ns(122)
    assert frame[["dom_ns", "paint_ns"]].isna().all(axis=None)
    assert list(frame["reason"].fillna("")) == ["", "", "", "not_streamed"]


@pytest.mark.parametrize(
    "seen",
    [
        [(125, "text", 5)],
        [(125, "text", 5), (126, "text", 4)],
        [(125, "reasoning", 5), (126, "text", 5)],
        [(125, "text", 10)],
        [(125, "text", 5), (126, "text", 5), (127, "text", 1)],
    ],
    ids=["fewer", "other size", "other kind", "merged", "more"],
)
def test_stamps_are_not_joined_where_sizes_differ(study, seen):
    with study.run("a") as run:
        both_sides(run, sent=[(1, 120, "text", 5), (1, 130, "text", 5)], seen=seen)
    frame = al.load(study.path).chunks
    assert sorted(frame["source"]) == ["agent"] * len(seen) + ["gateway"] * 2
    assert set(frame["reason"]) == {"sizes_differ"}
    assert frame[frame["source"] == "agent"]["gateway_ns"].isna().all()
    assert list(frame["chunk"]) == list(range(1, len(seen) + 3))


def test_chunks_of_a_cut_attempt_belong_to_it(study):
    """The message is the same, and its step is redone: the text that was cut off is in no answer."""
    with study.run("a") as run:
        both_sides(
            run,
            sent=[(1, 120, "text", 5), (2, 1120, "text", 5), (2, 1130, "text", 6)],
            seen=[(125, "text", 5), (1125, "text", 5), (1135, "text", 6)],
            steps=(115, 1115),
        )
    recs = al.load(study.path)
    assert list(recs.chunks["source"]) == ["both"] * 3
    assert list(recs.chunks["attempt"]) == [1, 2, 2]
    assert list(recs.chunks["request"]) == [1, 2, 2]
    assert list(recs.requests["status"]) == ["failed", "ok"]


def test_an_attempt_that_failed_before_any_text_takes_none(study):
    with study.run("a") as run:
        both_sides(run, sent=[(2, 1120, "text", 5)], seen=[(1125, "text", 5)], steps=(1115,))
        run.emit_gateway("request.begin", at_ms=70, request=1, session=S, n_tools=3)
        run.emit_gateway("request.end", at_ms=90, request=1, status=500, fault="status", terminal_seen=False)
    chunks = al.load(study.path).chunks
    assert list(chunks["attempt"]) == [2]
    assert list(chunks["source"]) == ["both"]


def test_without_gateway_only_the_agents_stamps_are_known(study):
    with study.run("a") as run:
        both_sides(run, sent=[], seen=[(125, "text", 5)])
    row = al.load(study.path).chunks.iloc[0]
    assert (row["source"], row["reason"]) == ("agent", "no_gateway")
    assert row[["emit_ns", "gateway_ns"]].isna().all()
