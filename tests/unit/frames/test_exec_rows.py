"""Rows of exec sessions: delays from stamps, unknown as NA."""

from __future__ import annotations

import agentlab as al


def call(run, at_ms, **fields):
    run.emit("exec.call", at_ms=at_ms, exec="e1", scenario="x", **fields)


def test_delays_are_those_of_the_stamps(study):
    with study.run("a") as run:
        run.emit("exec.open", at_ms=0, exec="e1", scenario="x", rules="ours", tty=True, n_chars=5)
        prints = [[run.ns(ms), run.ns(ms) + 500_000, 40] for ms in (10, 20, 60)]
        call(
            run, 100, call=1, op="start", begin_ns=run.ns(1), yield_ms=100.0, state="running", n_bytes=120,
            n_prints=3, prints=prints,
        )  # fmt: skip
        call(
            run, 160, call=2, op="poll", begin_ns=run.ns(101), yield_ms=10_000.0, state="exited", n_bytes=0,
            n_prints=0, exit_code=0, ended_by="self", ended_ns=run.ns(157),
        )  # fmt: skip
        run.emit(
            "exec.close", at_ms=170, exec="e1", scenario="x", call=3, begin_ns=run.ns(165), n_polls=2,
            n_bytes=120, printed_bytes=160, seen_bytes=120, lost_bytes=40, typed_bytes=10, typed_read_bytes=4,
            survivors=0, exit_code=0, ended_by="self", background=1,
        )  # fmt: skip
    start, poll, close = (row for _, row in al.load(study.path).table("exec").iterrows())
    assert (start["delay_ms"], start["delay_min_ms"], start["delay_max_ms"]) == (80, 40, 90)
    assert start["read_delay_ms"] == 0.5
    assert (start["rules"], start["tty"], start["wall_ms"]) == ("ours", True, 99)
    assert poll["end_delay_ms"] == 3
    assert (poll["exit"], poll["ended_by"], poll["reason"]) == (0, "self", "no_output")
    assert (close["op"], close["lost_bytes"], close["lost_typed_bytes"]) == ("close", 40, 6)
    assert (close["background"], close["survivors"]) == (1, 0)
    frame = al.load(study.path).table("exec")
    assert frame["delay_ms"].isna().tolist() == [False, True, True]
    assert frame["lost_bytes"].isna().tolist() == [True, True, False]


def test_who_asks_late_is_not_told_late(study):
    with study.run("a") as run:
        call(
            run, 502, call=1, op="poll", begin_ns=run.ns(500), yield_ms=100.0, state="exited", n_bytes=0,
            n_prints=0, ended_ns=run.ns(50),
        )  # fmt: skip
    (row,) = (row for _, row in al.load(study.path).table("exec").iterrows())
    assert row["end_delay_ms"] == 2


def test_what_is_not_told_is_unknown(study):
    with study.run("a") as run:
        call(run, 10, call=1, op="start", begin_ns=run.ns(1), yield_ms=100.0, state="running", n_bytes=5)
        run.emit("exec.close", at_ms=20, exec="e1", scenario="x", call=2, begin_ns=run.ns(15), typed_bytes=0)
    frame = al.load(study.path).table("exec")
    assert frame["reason"].tolist() == ["print_unknown", "exec_close"]
    for column in ("delay_ms", "end_delay_ms", "lost_bytes", "lost_typed_bytes", "survivors", "exit"):
        assert frame[column].isna().all(), column
