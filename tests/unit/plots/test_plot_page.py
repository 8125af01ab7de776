"""Figures of a page in a browser: frames, CPU by function, and the lanes of a run's timeline."""

import pandas as pd
import pytest

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.plots.canvas import origin_of
from agentlab.plots.lanes import lanes_of
from agentlab.plots.runtables import RunTables
from agentlab.testing.recordings import write_study
from agentlab.testing.webchat import SyntheticPage, write_webchat_study


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    arms = {
        "plain": SyntheticPage(typing=True),
        "heavy": SyntheticPage(long_rate=0.2, dropped_rate=0.3, sampler=False),
        "hidden": SyntheticPage(hidden=True),
    }
    return al.load(write_webchat_study(tmp_path_factory.mktemp("page") / "s", arms=arms, runs=2))


def frames_frame(states=("presented", "dropped", "no_update", "partial"), runs=1, each_ms=16.0, **columns):
    rows = [
        {
            "study": "s", "arm": "a", "run_id": f"{run}", "eligible": True, "phase": "stream",
            "t_ms": each_ms * k, "state": state, "reason": None, **columns,
            "dropped": None if state == "no_update" else state == "dropped",
        }
        for run in range(runs)
        for k, state in enumerate(states)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"dropped": "boolean", "state": "string", "reason": "string"})


def cpu_frame(**columns):
    rows = [
        {"study": "s", "arm": arm, "run_id": f"{arm}{run}", "profile": profile, "label": label, "kind": kind,
         "self_ms": ms * (run + 1), **columns}
        for arm in ("a", "b")
        for run in range(2)
        for profile, label, kind, ms in (
            ("page", "parse @ markdown.js:2:1", "js", 30.0),
            ("page", "(idle)", "idle", 900.0),
            ("page", "(garbage collector)", "gc", 10.0),
            ("worker 1", "highlight @ w.js:1:1", "js", 70.0),
        )
    ]  # fmt: skip
    return pd.DataFrame(rows)


def spans(ax) -> list[tuple[str, float, float]]:
    """Return the drawn bars: colour, begin and end."""
    from matplotlib.colors import to_hex

    found = []
    for collection in ax.collections:
        color = to_hex(collection.get_facecolor()[0])
        for path in collection.get_paths():
            x = path.vertices[:, 0]
            found.append((color, float(x.min()), float(x.max())))
    return found


def test_a_frame_lasts_to_the_next_one_and_what_shows_nothing_is_a_gap(look) -> None:
    ax = al.plot_frames(frames_frame())
    drawn = [(color, round(a, 4), round(b, 4)) for color, a, b in spans(ax)]
    assert drawn == [("#bfe3d0", 0.0, 0.016), ("#e69f00", 0.048, 0.098), ("#a03000", 0.016, 0.032)]
    assert "33.3 % of 3 dropped" in look.said(ax.figure)


def test_more_frames_than_can_be_drawn_one_by_one_are_all_there(look) -> None:
    ax = al.plot_frames(frames_frame(["presented"] * 1999 + ["dropped"], each_ms=2.0))
    assert "of 2,000 dropped" in look.said(ax.figure)
    assert any(color == "#a03000" for color, _, _ in spans(ax))  # one of 2,000 is not lost


def test_a_hidden_page_has_no_frames_and_many_runs_are_said(recs, look) -> None:
    ax = al.plot_frames(recs)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert [label.split("-")[1] for label in labels] == ["plain", "plain", "heavy", "heavy"]
    assert "hidden 0 (2 discarded: page_hidden 2)" in look.said(ax.figure)
    many = al.plot_frames(frames_frame(runs=45))
    assert len(many.get_yticks()) == 40 and "first 40 of 45 runs" in look.said(many.figure)
    unknown = frames_frame(["presented"])
    unknown[["dropped", "reason"]] = [pd.NA, "page_hidden"]
    said = look.said(al.plot_frames(unknown).figure)
    assert "Nothing to draw" in said
    assert "1 run whose page was hidden" in look.said(
        al.plot_frames(pd.concat([frames_frame(), unknown.assign(run_id="9")])).figure
    )


def test_functions_are_means_over_the_sampled_runs(look) -> None:
    ax = al.plot_cpu(cpu_frame())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["parse @ markdown.js:2:1", "(garbage collector)"]
    assert [round(bar.get_width(), 6) for bar in ax.patches] == [45.0, 15.0, 45.0, 15.0]
    assert "45.0 ms, 75.0 %" in look.said(ax.figure) and "collecting garbage" in look.said(ax.figure)
    worker = al.plot_cpu(cpu_frame(), profile="worker 1")
    assert [t.get_text() for t in worker.get_yticklabels()] == ["highlight @ w.js:1:1"]
    assert len(al.plot_cpu(cpu_frame(), n=1).get_yticks()) == 1
    assert look.overlaps(ax.figure) == []


def test_a_long_name_keeps_its_place_and_runs_without_a_sampler_are_counted(recs, look) -> None:
    long = cpu_frame().assign(label="averyveryvery" * 6 + " @ chunk-AB12.js:1:98213")
    (label,) = [t.get_text() for t in al.plot_cpu(long).get_yticklabels()]
    assert label.endswith("… @ chunk-AB12.js:1:98213") and len(label) <= 46
    assert "heavy 0 (2 not recorded in this way)" in look.said(al.plot_cpu(recs).figure)
    assert "Nothing to draw" in look.said(al.plot_cpu(recs.where(arm="heavy")).figure)


def test_a_page_adds_its_lanes_to_the_timeline(recs, look) -> None:
    run = recs.where(arm="plain")[0]
    names = [lane.name for lane in lanes_of(RunTables(run))]
    assert names[4:10] == ["chunks:\nagent", "text:\npage", "main\nthread", "frames", "typing", "heap"]
    lanes = {lane.name: lane for lane in lanes_of(RunTables(run))}
    tasks = run.table("tasks")
    assert len(lanes["main\nthread"]) == len(tasks[tasks["phase"].isin(["stream", "tail"])])
    page = run.table("page").iloc[0]
    assert lanes["frames"].note.replace("\u00a0", " ").startswith(f"{page['n_frames']} frames")
    assert (
        lanes["heap"].curve is not None and f"{page['heap_max_bytes'] / 2**20:.1f} MiB" in lanes["heap"].note
    )
    heavy = recs.where(arm="heavy")[0]
    assert "typing" not in [lane.name for lane in lanes_of(RunTables(heavy))]
    long = [
        m
        for m in {lane.name: lane for lane in lanes_of(RunTables(heavy))}["main\nthread"].marks
        if "long" in m.tone.name
    ]
    drawn = heavy.table("tasks").query('phase in ("stream", "tail")')
    assert len(long[0]) == drawn["is_long"].sum() > 0
    assert look.overlaps(al.plot_timeline(run).figure) == []


def test_a_hidden_page_says_why_it_has_no_frames_and_a_run_without_page_has_no_lane(recs, tmp_path) -> None:
    lanes = {lane.name: lane for lane in lanes_of(RunTables(recs.where(arm="hidden")[0]))}
    assert "hidden" in lanes["frames"].why and not len(lanes["frames"])
    plain = al.load(write_study(tmp_path / "s", runs=1))[0]
    assert not {"main\nthread", "frames", "heap"} & {lane.name for lane in lanes_of(RunTables(plain))}


def test_they_remember_where_they_come_from_and_name_what_they_cannot_draw(recs) -> None:
    for draw in (al.plot_frames, al.plot_cpu):
        (drawn,) = origin_of(draw(recs).figure)["drawn_by"]
        assert (drawn["function"], drawn["arms"]) == (draw.__name__, ["plain", "heavy", "hidden"])
        with pytest.raises(ConfigError, match=draw.__name__):
            draw(pd.DataFrame({"arm": ["a"]}))
    with pytest.raises(ConfigError, match="n=0"):
        al.plot_cpu(cpu_frame(), n=0)
