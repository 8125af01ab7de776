"""The figure of memory: every run where it was, both figures under pressure, and what others published."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.plots.canvas import origin_of
from agentlab.plots.lanes import lanes_of
from agentlab.plots.memory import plot_memory
from agentlab.plots.runtables import RunTables
from agentlab.testing.memory import SyntheticTool, write_memory_study

MIB = 1 << 20


def memory_frame(runs=3, sessions=(1, 4), arms=("codex", "pi"), **columns) -> pd.DataFrame:
    """Make samples that can be told: 100 MiB an arm, 10 a session, 1 a run, rising by 5 a second to 4 s."""
    rows = [
        {
            "study": "s", "arm": arm, "run_id": f"{arm}-{n}-{run}", "eligible": True, "lane": "slow",
            "t_ms": 2000.0 + 1000.0 * t, "phase": ("launch", "launch", "settle", "settle", "settled")[t],
            "settled": t == 4, "n_sessions": n, "n_unreadable": 0, "swap_pss_bytes": 0,
            **dict.fromkeys(("pss_bytes", "total_bytes"), (100 * (i + 1) + 10 * n + run + 5 * t) * MIB),
            "anon_bytes": 60 * MIB, "file_bytes": 40 * MIB, **columns,
        }
        for i, arm in enumerate(arms)
        for n in sessions
        for run in range(runs)
        for t in range(5)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"eligible": "boolean", "settled": "boolean", "lane": "string"})


def bold(ax) -> list[list[tuple[float, float]]]:
    """Return the points of the bold lines."""
    lines = [line for line in ax.lines if line.get_linewidth() == 2.0]
    return [
        list(zip(map(float, line.get_xdata()), map(float, line.get_ydata()), strict=True)) for line in lines
    ]


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    arms = {
        "codex": SyntheticTool(anon_mib=26, file_mib=85, daemon_mib=90, pressed_rate=0.5, spread=0.02),
        "pi": SyntheticTool(anon_mib=68, file_mib=48, never_ready_rate=0.1),
    }
    return al.load(write_memory_study(tmp_path_factory.mktemp("m") / "s", arms=arms, runs=4, sessions=(1, 4)))


def test_the_median_runs_through_the_middle_of_the_runs_from_launch_on() -> None:
    ax = plot_memory(memory_frame(arms=("codex",), sessions=(1,)))
    assert bold(ax) == [[(0.0, 111.0), (1.0, 116.0), (2.0, 121.0), (3.0, 126.0), (4.0, 131.0)]]
    thin = [line for line in ax.lines if line.get_linewidth() == 0.7]
    assert [float(line.get_ydata()[0]) for line in thin] == [110.0, 111.0, 112.0]
    marks = {line.get_marker(): float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() in ">o"}
    assert marks == {">": 2.0, "o": 4.0}


def test_each_arm_and_number_of_sessions_has_a_line_and_a_name(look) -> None:
    ax = plot_memory(memory_frame())
    assert [line[-1][1] for line in bold(ax)] == [131.0, 161.0, 231.0, 261.0]
    said = look.said(ax.figure)
    assert "codex, 1 session" in said and "pi, 4 sessions" in said
    assert "Runs used: codex 6; pi 6." in said
    assert look.overlaps(ax.figure) == []


def test_anonymous_and_file_memory_are_areas_of_one_group_alone(look) -> None:
    one = plot_memory(memory_frame(arms=("pi",), sessions=(1,)))
    assert len(one.collections) == 2 and "anon" in look.texts(one.figure)
    assert len(plot_memory(memory_frame(arms=("pi",))).collections) == 0


def test_unknown_sums_are_left_out_and_never_zero() -> None:
    frame = memory_frame(arms=("pi",), sessions=(1,), runs=1)
    frame["total_bytes"] = frame["total_bytes"].astype("Int64")
    frame.loc[2, "total_bytes"] = pd.NA
    assert [t for t, _ in bold(plot_memory(frame))[0]] == [0.0, 1.0, 3.0, 4.0]


def test_what_is_sampled_while_sessions_are_ended_is_no_part_of_the_ramp() -> None:
    frame = memory_frame(arms=("pi",), sessions=(1,), runs=1)
    frame.loc[4, ["phase", "settled", "total_bytes"]] = ["end", False, 0]
    assert bold(plot_memory(frame))[0][-1] == (3.0, 125.0)


def test_discarded_runs_are_counted_and_pressed_ones_drawn_apart(recs, look) -> None:
    runs = recs.runs
    reason = runs["reason"].fillna("")
    pressed, others = runs[reason == "memory_pressure"], runs[~reason.isin(["", "memory_pressure"])]
    assert len(pressed) and len(others)  # or this shows nothing
    ax = plot_memory(recs)
    dotted = [line for line in ax.lines if line.get_linestyle() == "--" and line.get_linewidth() == 0.7]
    assert len(dotted) == len(pressed)
    thin = [line for line in ax.lines if line.get_linewidth() == 0.7]
    assert len(thin) == len(runs) - len(others)
    said = look.said(ax.figure)
    assert f"memory_pressure {len(pressed)}" in said and "never_ready" in said
    assert "MiB without" in said


def test_samples_with_unreadable_processes_are_counted(look) -> None:
    frame = memory_frame(arms=("pi",), sessions=(1,), runs=2)
    frame.loc[3:6, "n_unreadable"] = 1
    assert "4 of 10 (pi)" in look.said(plot_memory(frame).figure)


def test_published_figures_stand_beside_those_of_the_same_agent(look) -> None:
    frame = memory_frame(arms=("codex",), sessions=(1, 4))
    ax = plot_memory(frame, reference=al.reference("terminal"))
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    assert [float(line.get_ydata()[0]) for line in diamonds] == [140.0, 137.0, 163.6]  # of 1 session alone
    said = look.said(ax.figure)
    assert "freecode BENCHMARKS: codex 0.144.1" in said and "on other machines" in said
    assert origin_of(ax.figure)["drawn_by"][0]["reference"][0] == "jcode README: codex 0.120.0"
    none = plot_memory(memory_frame(arms=("nobody",)), reference=al.reference("terminal"))
    assert "No PSS of these agents" in look.said(none.figure)


def test_nothing_to_draw_says_so(look) -> None:
    assert "Nothing to draw" in look.said(plot_memory(memory_frame().iloc[:0]).figure)
    assert "Nothing to draw" in look.said(plot_memory(al.load(al.example("cache"))).figure)


def test_an_axes_of_ones_own_is_used() -> None:
    ax = Figure().add_subplot()
    assert plot_memory(memory_frame(), ax=ax) is ax


@pytest.mark.parametrize(
    ("what", "options", "said"),
    [
        ([1], {}, "give Recordings, or their table"),
        (pd.DataFrame({"arm": ["a"]}), {}, "give Recordings, or their table"),
        (memory_frame(), {"kind": "pie"}, "must be 'ramp' or 'marginal'"),
        (memory_frame(), {"kind": "marginal"}, "does not know which runs were discarded"),
        (memory_frame(), {"reference": "terminal"}, r"rows of agentlab.reference\('terminal'\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(what, options, said) -> None:
    with pytest.raises(ConfigError, match=said):
        plot_memory(what, **options)


def test_the_timeline_of_a_run_on_terminals_shows_sessions_and_memory(recs, look) -> None:
    run = recs.where(arm="codex", eligible=True, n_sessions=4)[0]
    names = [lane.name for lane in lanes_of(RunTables(run))]
    assert names == ["sessions", "memory", "events", "issues"]
    said = look.said(al.plot_timeline(run).figure)
    assert "4 sessions" in said and "MiB, settled" in said
    curve = next(lane.curve for lane in lanes_of(RunTables(run)) if lane.name == "memory")
    slow = run.table("memory").query("lane == 'slow'")
    assert curve is not None and [round(x) for x in curve.value] == [
        round(x / MIB) for x in slow["total_bytes"].dropna()
    ]


def test_the_timeline_of_a_conversation_has_no_lane_of_terminals() -> None:
    names = [lane.name for lane in lanes_of(RunTables(al.load(al.example("cache"))[0]))]
    assert "memory" not in names and "sessions" not in names and names[0] == "turns"
