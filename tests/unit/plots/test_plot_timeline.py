"""One run in time: every stamp where it was, and no lane empty without a reason."""

import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.plots.lanes import LANES, TONES
from agentlab.plots.runtables import RunTables
from agentlab.testing.recordings import SyntheticArm, SyntheticStudy, write_study

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    arms = {"a": SyntheticArm(retry_rate=0.3), "b": SyntheticArm(discard_rate=1.0)}
    return al.load(write_study(tmp_path_factory.mktemp("timeline") / "s", arms=arms, runs=3, steps=(3, 2, 1)))


@pytest.fixture
def faults(tmp_path):
    return al.load(shutil.copytree(ROOT / "data" / "opencode-faults", tmp_path / "faults"))


@pytest.fixture
def make(tmp_path):
    """Write one run, event by event."""
    study = SyntheticStudy(tmp_path / "made", arms=("a",))

    def begin(**fields):
        return study.run("a", **fields)

    begin.path = study.path
    return begin


def lane(run, name):
    return next(lane for lane in (make(RunTables(run)) for make in LANES) if lane.name.startswith(name))


def spans(lane):
    """Give (tone, start, end) in seconds, rounded to the microsecond."""
    return [
        (mark.tone.name, round(float(a), 6), round(float(b), 6))
        for mark in lane.marks
        for a, b in zip(mark.start, mark.end, strict=True)
    ]


def bars(ax):
    return [path for c in ax.collections if isinstance(c, PolyCollection) for path in c.get_paths()]


def test_turns_are_where_their_stamps_are(recs):
    run = recs.where(arm="a")[0]
    turns = run.table("turns")
    zero = int(turns["send_ns"].min())
    sent = [(t - zero) / 1e9 for t in turns["send_ns"]]
    assert spans(lane(run, "turns"))[3:] == [
        ("prompt to reply", round(s, 6), round(s + latency / 1e3, 6))
        for s, latency in zip(sent, turns["latency_ms"], strict=True)
    ]
    assert sent[0] == 0.0
    assert lane(run, "turns").note == "3 turns, 1 warm-up"


def test_requests_of_the_gateway_split_at_their_first_chunk(recs):
    run = recs.where(arm="b")[0]
    requests = run.table("requests")
    zero = int(run.table("turns")["send_ns"].min())
    begin = [(t - zero) / 1e9 for t in requests["send_ns"]]
    first, last = requests["first_chunk_ms"] / 1e3, requests["latency_ms"] / 1e3
    wait = [
        ("request to first chunk", round(b, 6), round(b + f, 6)) for b, f in zip(begin, first, strict=True)
    ]
    stream = [
        ("first to last chunk", round(b + f, 6), round(b + x, 6))
        for b, f, x in zip(begin, first, last, strict=True)
    ]
    assert spans(lane(run, "requests:\ngateway")) == wait + stream


def test_requests_of_the_agent_by_its_own_stamps_and_arrivals(recs):
    run = recs.where(arm="b")[0]
    tables = RunTables(run)
    requests, chunks = run.table("requests"), run.table("chunks")
    found = spans(lane(run, "requests:\nagent"))
    streamed = [span for span in found if span[0] == "first to last chunk"]
    expected = []
    for number in requests["request"]:
        stamps = chunks.loc[chunks["request"] == number, "arrive_ns"].dropna()
        if len(stamps):
            expected.append(
                tuple(round((int(t) - tables.zero_ns) / 1e9, 6) for t in (min(stamps), max(stamps)))
            )
    assert [span[1:] for span in streamed] == expected
    begins = [round((int(t) - tables.zero_ns) / 1e9, 6) for t in requests["agent_begin_ns"]]
    assert [span[1] for span in found if span[0] == "request to first chunk"] == begins


def test_failed_attempts_are_hatched_and_counted(faults, look):
    run = faults.where(arm="retry")[0]
    made = lane(run, "requests:\ngateway")
    assert made.note == "4 requests, 2 failed"
    assert [tone for tone, *_ in spans(made)].count("failed") == 2
    ax = al.plot_timeline(run)
    assert "complete, discarded: retry, step_unfinished" in look.said(ax.figure)
    assert any(c.get_hatch() for c in ax.collections)


def test_side_requests_are_named(faults):
    assert lane(faults.where(arm="plain")[0], "requests:\ngateway").note == "4 requests, 1 title"


def test_requests_at_the_same_time_stand_under_each_other(make):
    with make() as run:
        run.emit("session.open", session="s", role="main")
        run.emit("turn.send", session="s", turn=1, message="m")
        for number, begin, end in ((1, 10, 500), (2, 100, 200), (3, 300, 700)):
            run.emit_gateway(
                "request.begin", at_ms=begin, request=number, session="s", n_tools=3, dialect="chat"
            )
            run.emit_gateway(
                "request.chunk", at_ms=end - 5, request=number, chunk="text", n_chars=1, visible=True
            )
            run.emit_gateway("request.end", at_ms=end, request=number, status=200, terminal_seen=True)
    made = lane(al.load(make.path)[0], "requests:\ngateway")
    assert [list(mark.row) for mark in made.marks if len(mark)] == [[0, 1, 1]]


def test_chunks_are_ticks_and_tools_are_bars(recs):
    run = recs.where(arm="a")[0]
    chunks = run.table("chunks")
    n = int((chunks["visible"] & chunks["arrive_ns"].notna()).sum())
    assert len(lane(run, "chunks")) == n > 0
    ax = al.plot_timeline(run)
    ticks = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert n in [len(c.get_segments()) for c in ticks]
    tools = run.table("tools")
    assert [round(b - a, 6) for _, a, b in spans(lane(run, "tools"))] == [
        round(d / 1e3, 6) for d in tools["duration_ms"]
    ]


def test_retries_and_issues_are_named_where_they_happened(recs, faults, look):
    run = faults.where(arm="retry")[0]
    assert spans(lane(run, "events"))[0][0] == "event"
    assert [mark.labels for mark in lane(run, "issues").marks] == [(), ("retry", "step_unfinished")]
    said = look.said(al.plot_timeline(run).figure)
    assert "step_unfinished 2 issues, 2 discarding" in said or "2 issues, 2 discarding" in said
    assert "retry 1" in said


def test_a_cancelled_run_without_a_reply(make, look):
    with make(status="cancelled") as run:
        run.emit("session.open", session="s", role="main")
        run.now_ms = 100.0
        run.emit("turn.send", session="s", turn=1, message="m")
        run.now_ms = 4000.0
        run.emit("pressure", load1=0.1)
        run.issue("cancelled", discard=True)
    run = al.load(make.path)[0]
    assert spans(lane(run, "turns")) == [("end not seen", 0.0, 3.9)]
    said = look.said(al.plot_timeline(run).figure)
    assert "cancelled, discarded: cancelled" in said
    assert "1 turn, 1 without reply" in said
    assert "no end in the recording" in said
    assert "no model request" in said and "no gateway" in said and "no chunk was streamed" in said


def test_a_turn_that_timed_out_ends_where_it_was_closed(make):
    with make(status="failed") as run:
        run.emit("turn.send", session="s", turn=1, message="m")
        run.emit("turn.end", at_ms=1500.0, session="s", turn=1, reason="timeout")
        run.emit("pressure", at_ms=9000.0, load1=0.1)
    assert spans(lane(al.load(make.path)[0], "turns")) == [("failed", 0.0, 1.5)]


def test_a_run_that_sent_nothing(make, look):
    with make(status="failed") as run:
        run.emit("stream.end", at_ms=250.0, reason="failed")
    ax = al.plot_timeline(al.load(make.path)[0])
    assert ax.get_xlabel() == "s since the run began"
    said = look.said(ax.figure)
    assert "no prompt was sent" in said
    assert "stream ended 1" in said


def test_commands_last_until_their_close_and_their_calls_stand_on_them(make, look):
    with make() as run:
        for exec_id, call, kind, begin, end, more in (
            ("e1", 1, "exec.call", 0, 100, {"op": "start"}),
            ("e2", 1, "exec.call", 150, 200, {"op": "start"}),
            ("e1", 2, "exec.call", 300, 400, {"op": "poll"}),
            ("e1", 3, "exec.close", 500, 510, {"lost_bytes": 7, "survivors": 1}),
            ("e2", 2, "exec.close", 600, 605, {"lost_bytes": 0, "survivors": 0}),
        ):
            run.emit(kind, at_ms=end, exec=exec_id, call=call, begin_ns=run.ns(begin), **more)
    shown = lane(al.load(make.path)[0], "commands")
    assert spans(shown) == [
        ("command to its close", 0.0, 0.51),
        ("command to its close", 0.15, 0.605),
        ("call on a command", 0.0, 0.1),
        ("call on a command", 0.15, 0.2),
        ("call on a command", 0.3, 0.4),
        ("its output was lost", 0.5, 0.51),
    ]
    assert [list(mark.row) for mark in shown.marks] == [[0, 1], [0, 1, 0], [0]]
    assert shown.note == "2 commands, 1 lost output, 1 left processes,\n3 calls"
    said = look.said(al.plot_timeline(al.load(make.path)[0]).figure)
    assert "no prompt was sent" not in said and "commands" in said


def test_a_file_without_times_says_so(look):
    for name in ("typical", "all_discarded", "nulls"):
        foreign = al.load(ROOT / "data" / "schema2" / f"{name}.json")
        ax = al.plot_timeline(foreign[0])
        said = look.said(ax.figure)
        assert ax.get_xlabel() == "This recording holds no times."
        assert "this recording holds no events" in said
        assert "not in this recording" in said
        assert look.overlaps(ax.figure) == []


def test_no_text_lies_on_another(recs, faults, look):
    for run in (*recs[:2], *faults, *al.load(al.example("cache"))[:2]):
        assert look.overlaps(al.plot_timeline(run).figure) == [], run.run_id


def test_recordings_of_one_run_and_no_other(recs):
    assert al.plot_timeline(recs.where(run_id=recs[0].run_id)).get_xlabel()
    with pytest.raises(ConfigError, match=r"6 runs, and it draws one.*recs\[0\].*where\(run_id='0000-"):
        al.plot_timeline(recs)
    with pytest.raises(ConfigError, match="no run in it"):
        al.plot_timeline(recs.where(arm="a", eligible=False, status="failed"))
    with pytest.raises(ConfigError, match=r"plot_timeline\(DataFrame\): give a run"):
        al.plot_timeline(recs.runs)


def test_it_draws_on_given_axes_and_leaves_no_settings(recs, look):
    before = dict(matplotlib.rcParams)
    figure = Figure(figsize=(9, 8))
    upper, lower = figure.subplots(2)
    assert al.plot_timeline(recs[0], ax=lower) is lower
    assert not upper.collections and lower.collections
    assert dict(matplotlib.rcParams) == before


def test_saved_files_say_which_run_it_was(recs, tmp_path):
    saved = al.save(al.plot_timeline(recs[2]), tmp_path / "run")
    info = al.figure_info(saved.svg)
    assert info["drawn_by"] == [
        {
            "function": "plot_timeline",
            "arms": [recs[2].arm],
            "studies": [{"name": "s"}],
            "runs": [recs[2].run_id],
        }
    ]
    again = al.save(al.plot_timeline(recs[2]), tmp_path / "again")
    assert saved.png.read_bytes() != b"" and again.svg.read_bytes().count(b"<path") > 50


def test_names_are_text_and_never_mathematics(tmp_path, look):
    study = SyntheticStudy(tmp_path / "s", arms=("$x_1$" + "y" * 120,))
    with study.run("$x_1$" + "y" * 120) as run:
        run.emit("turn.send", session="s", turn=1, message="m")
    ax = al.plot_timeline(al.load(study.path)[0])
    assert "$x_1$" in ax.get_title(loc="left")
    assert max(map(len, ax.get_title(loc="left").split("\n"))) < 100
    ax.figure.draw_without_rendering()


def test_tones_of_one_lane_are_told_apart_without_colour():
    grey = {tone.name: 0.3 * r + 0.59 * g + 0.11 * b for tone in TONES for r, g, b in [to_rgb(tone.color)]}
    hatched = {tone.name for tone in TONES if tone.hatch}
    for one, two in (
        ("prompt to reply", "reply to idle"),
        ("request to first chunk", "first to last chunk"),
        ("text chunk", "reasoning chunk"),
        ("command to its close", "call on a command"),
        ("issue", "issue that discards the run"),
    ):
        assert abs(grey[one] - grey[two]) > 0.15, (one, two)
    assert hatched == {"failed", "end not seen"}
    assert np.isfinite(list(grey.values())).all()
