"""What each added session costs: the lines of the fit, the runs behind them, and what was left out."""

import pytest

import agentlab as al
from agentlab.plots.memory import plot_memory
from agentlab.testing.memory import SyntheticTool, write_memory_study

MIB = 1 << 20
TOOLS = {
    "codex": SyntheticTool(anon_mib=26, file_mib=85, daemon_mib=90, pressed_rate=0.25, spread=0.02),
    "pi": SyntheticTool(anon_mib=68, file_mib=48),
}


def study(folder, **options):
    return al.load(write_memory_study(folder / "s", **({"arms": TOOLS, "sessions": (1, 4)} | options)))


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    return study(tmp_path_factory.mktemp("marginal"), runs=5, seed=1)


def lines(ax):
    """Return the fitted lines: pairs of (sessions, MiB)."""
    return [
        [(float(x), float(y)) for x, y in line.get_xydata()]
        for line in ax.lines
        if line.get_linewidth() == 1.6
    ]


def test_the_lines_are_those_of_the_fit(recs):
    fit = al.marginal_fit(recs).query("part != 'total'")
    drawn = lines(plot_memory(recs, kind="marginal"))
    assert len(drawn) == 4
    for row, line in zip(fit.to_dict("records"), drawn, strict=True):
        for x, y in line:
            assert y == pytest.approx((row["intercept_bytes"] + row["slope_bytes"] * x) / MIB)
        assert [x for x, _ in line] == [1.0, 4.0]


def test_slope_and_intercept_stand_with_their_intervals(recs, look):
    said = look.said(plot_memory(recs, kind="marginal").figure)
    pi = al.marginal_fit(recs).query("arm == 'pi' and part == 'anon'").iloc[0]
    assert f"pi, anon: {pi.slope_bytes / MIB:.1f} [{pi.slope_lower_bytes / MIB:.1f}," in said
    assert "MiB per session" in said and "MiB once" in said and "95 % intervals over runs" in said


def test_every_run_is_a_point_and_pressed_ones_are_crosses(recs, look):
    runs = recs.runs
    reason = runs["reason"].fillna("")
    n_pressed = int((reason == "memory_pressure").sum())
    assert n_pressed and set(reason) == {"", "memory_pressure"}
    ax = plot_memory(recs, kind="marginal")
    points = [line for line in ax.lines if line.get_markersize() == 4.2]
    assert len(points) == 2 * len(runs)
    assert sum(line.get_marker() == "x" for line in points) == 2 * n_pressed
    said = look.said(ax.figure)
    assert f"Crosses: {n_pressed} run" in said and "without" in said and "with" in said


def test_published_totals_stand_beside_ones_own(recs, look):
    ax = plot_memory(recs, kind="marginal", reference=al.reference("terminal"))
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    assert list(map(float, diamonds[0].get_ydata())) == [140.0]  # nothing beyond 4 sessions
    totals = [line for line in ax.lines if line.get_marker() == "_"]
    assert len(totals) == 4  # two agents, two numbers of sessions
    assert "MB taken as MiB" in look.said(ax.figure)
    assert look.overlaps(ax.figure) == []


def test_too_few_runs_are_drawn_without_an_interval(tmp_path, look):
    ax = plot_memory(study(tmp_path, runs=1, arms={"pi": TOOLS["pi"]}), kind="marginal")
    said = look.said(ax.figure)
    assert "[" not in said.partition("Marker")[0] and "few" in said
    assert not ax.collections  # no band


def test_one_number_of_sessions_has_no_slope(tmp_path, look):
    ax = plot_memory(study(tmp_path, runs=3, sessions=(2,)), kind="marginal")
    assert lines(ax) == []
    assert len([line for line in ax.lines if line.get_markersize() == 4.2]) > 6
    assert "Runs used" in look.said(ax.figure)


def test_without_memory_the_figure_says_so(look):
    said = look.said(plot_memory(al.load(al.example("cache")), kind="marginal").figure)
    assert "Nothing to draw" in said
