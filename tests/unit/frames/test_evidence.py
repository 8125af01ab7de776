import fcntl
import json
import os
import time

import agentlab as al
from agentlab.frames.evidence import RunInfo, read_events, read_run


def a_run(study, **fields):
    with study.run("a", **fields) as run:
        run.emit("session.open", session="s1", role="main")
        run.emit("turn.send", at_ms=10, session="s1", turn=1, message="u1")
    return run.path


def codes(path):
    return [(issue.code, issue.discard) for issue in read_run(path, study="x").issues]


def old(path):
    for name in ("run.json", "events.jsonl"):
        os.utime(path / name, (time.time() - 3600,) * 2)


def test_a_whole_run_has_no_issue(study):
    path = a_run(study)
    assert codes(path) == []
    assert read_run(path, study="x").eligible


def test_a_crash_costs_at_most_the_last_line(study):
    path = a_run(study)
    whole = read_events(path / "events.jsonl")
    data = (path / "events.jsonl").read_bytes()
    (path / "events.jsonl").write_bytes(data[:-9])
    assert read_events(path / "events.jsonl") == whole[:-1]
    assert codes(path) == [("recording_cut", False)]


def test_a_last_line_without_newline_counts(study):
    path = a_run(study)
    whole = read_events(path / "events.jsonl")
    data = (path / "events.jsonl").read_bytes()
    (path / "events.jsonl").write_bytes(data[:-1])
    assert read_events(path / "events.jsonl") == whole
    assert codes(path) == []


def test_holes_are_counted_and_discard_the_run(study):
    path = a_run(study)
    lines = (path / "events.jsonl").read_bytes().splitlines(keepends=True)
    bad = [b'{"t": 1, "kind": \n', b"\xff\xfe\n", b'{"t": "late", "kind": "x"}\n', b"[1]\n", b'{"t": 5}\n']
    (path / "events.jsonl").write_bytes(lines[0] + b"".join(bad) + b"".join(lines[1:]))
    assert len(read_events(path / "events.jsonl")) == len(lines)
    info = read_run(path, study="x")
    assert [(i.code, i.discard, i.detail) for i in info.issues] == [
        ("recording_damaged", True, f"events.jsonl: 5 of {len(lines) + 5} lines")
    ]
    assert not info.eligible


def test_only_line_feeds_end_a_line(study):
    with study.run("a") as run:
        run.emit("other", type="a\u2028b\u0085c")
    assert read_events(run.path / "events.jsonl")[1]["type"] == "a\u2028b\u0085c"
    assert codes(run.path) == []


def test_a_run_nobody_writes_any_more_is_unfinished(study):
    path = a_run(study, status="running")
    old(path)
    assert codes(path) == [("unfinished", True)]
    recs = al.load(study.path)
    assert recs.runs.loc[0, "status"] == "running"
    assert recs.runs.loc[0, "reason"] == "unfinished"
    assert not recs[0].eligible
    assert len(recs.turns) == 1


def test_a_run_under_way_is_not_unfinished(study):
    path = a_run(study, status="running")
    old(path)
    with (study.path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert codes(path) == []
        assert not read_run(path, study="x").eligible
    assert codes(path) == [("unfinished", True)]


def test_missing_events_are_unknown_not_zero(study):
    path = a_run(study)
    (path / "events.jsonl").unlink()
    runs = al.load(study.path).runs
    assert runs.loc[0, "reason"] == "recording_missing"
    assert runs[["n_turns", "n_requests", "n_events"]].isna().all(axis=None)


def test_a_damaged_run_leaves_the_rest_of_the_study(study):
    good, bad, empty = a_run(study), a_run(study, run_index=1), study.path / "runs" / "0009-a"
    (bad / "run.json").write_text('{"run_id": ')
    empty.mkdir()
    recs = al.load(study.path)
    assert [r.run_id for r in recs if r.eligible] == [good.name]
    assert sorted(recs.issues["code"]) == ["recording_damaged"] * 2
    assert recs.where(eligible=False).arms == ("a",)


def test_issues_of_the_run_are_kept_in_order(study):
    with study.run("a") as run:
        run.now_ms = 3
        run.issue("retry", "attempt 1", discard=True)
        run.issue("not_quiet")
    recs = al.load(study.path)
    assert recs[0].issues[0].detail == "attempt 1"
    frame = recs.issues
    assert list(frame["code"]) == ["retry", "not_quiet"]
    assert list(frame["discard"]) == [True, False]
    assert frame.loc[0, "t_ns"] == run.ns(3)
    assert not recs[0].eligible
    assert recs.runs.loc[0, "reason"] == "retry"


def test_strange_fields_of_run_json_do_not_break_the_reader(study):
    path = a_run(study)
    raw = json.loads((path / "run.json").read_text())
    raw |= {
        "issues": ["x", {"detail": 5}],
        "anchor": {"unix_ns": "?"},
        "observer": 3,
        "quiet": None,
        "block": "no",
    }
    (path / "run.json").write_text(json.dumps(raw))
    recs = al.load(study.path)
    assert recs.runs[["block", "lag_p99_ms", "quiet"]].isna().all(axis=None)
    assert list(recs.issues["detail"]) == ["5"]


def test_server_stamps_come_through_the_anchor():
    info = RunInfo(study="s", arm="a", run_id="r", run_index=0, anchor=(5_000_000, 1_700_000_000_000_000_123))
    assert info.monotonic_ns(1_700_000_000_010) == 5_000_000 + 10_000_000 - 123
    assert info.monotonic_ns(None) is None
    assert info.monotonic_ns("soon") is None
    assert RunInfo(study="s", arm="a", run_id="r", run_index=0).monotonic_ns(1) is None
