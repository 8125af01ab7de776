import math
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from agentlab.errors import ConfigError
from agentlab.plots.canvas import origin_of
from agentlab.plots.estimates import estimates_png, plot_estimates
from agentlab.testing.estimates import estimates_frame

NO_INTERVAL: dict[str, Any] = {"lower": None, "upper": None, "interval": None}
LONG = [
    "opencode with the very long name of a plugin that is on, revision 2026-11-29",
    "volatile $x_1$ <b>&",
    "ünï",
]
METRICS = ("TTFT", "ZERO_CACHE_RATE", "COST", "TURN_LATENCY")

CASES: dict[str, pd.DataFrame] = {
    "one arm": estimates_frame(arms=("stable",)),
    "two arms": estimates_frame(metrics=("TTFT", "CACHE_HIT_RATE")),
    "five arms, four metrics": estimates_frame(
        arms=("stable", "a-b", "on", "volatile", "tiny"), metrics=METRICS
    ),
    "one run": estimates_frame(n_runs=1, overrides=[({}, {**NO_INTERVAL, "status": "too_few_runs"})]),
    "no data": estimates_frame(
        n_runs=0, overrides=[({}, {**NO_INTERVAL, "estimate": None, "status": "no_data"})]
    ),
    "long names": estimates_frame(
        arms=LONG,
        overrides=[
            ({"arm": LONG[1]}, {"flags": "few_runs,dominated,tail", "n_missing": 12, "n_discarded": 3})
        ],
    ),
    "a long metric beside wide labels": estimates_frame(
        metrics=("ZERO_CACHE_RATE",),
        overrides=[({}, {"n_discarded": 1, "n_blocks_dropped": 1, "flags": "all_zero,few_runs,dominated"})],
    ),
    "open ends": estimates_frame(
        overrides=[
            ({"arm": "stable"}, {"lower": None}),
            ({"arm": "volatile"}, {"upper": math.inf, "flags": "tail"}),
        ]
    ),
    "no rows": estimates_frame().iloc[:0],
    "no columns": pd.DataFrame(),
    "no arm": estimates_frame(
        arms=("x",), overrides=[({}, {**NO_INTERVAL, "arm": None, "estimate": None, "status": "no_data"})]
    ),
    "nonsense": estimates_frame(
        overrides=[({}, {"estimate": math.inf, "lower": math.inf, "upper": -math.inf})]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_frame_is_drawn_without_texts_on_each_other(name: str, look) -> None:
    figure = plot_estimates(CASES[name]).figure
    assert isinstance(figure, Figure)
    assert look.overlaps(figure) == []


def test_a_row_of_panels_per_metric_and_a_column_per_kind() -> None:
    ax = plot_estimates(estimates_frame(metrics=("TTFT", "CACHE_HIT_RATE")))
    assert isinstance(ax, Axes)
    titles = [panel.get_title(loc="left") for panel in ax.figure.axes]
    assert titles == [
        "time to first token, median",
        "difference from stable",
        "cached share of input tokens",
        "difference from stable",
    ]
    assert ax is ax.figure.axes[0]
    labels = [panel.get_xlabel() for panel in ax.figure.axes]
    assert labels == [
        "ms, lower is better",
        "ms   ← better",
        "share (0 to 1), higher is better",
        "difference of shares   better →",
    ]


def test_markers_and_intervals_stand_where_the_frame_says() -> None:
    ax = plot_estimates(estimates_frame(arms=("stable", "volatile")))
    assert _markers(ax) == {0: 412.0, 1: 450.0}
    ends = [list(map(float, line.get_xdata())) for line in ax.lines if _is_interval(line)]
    assert ends == [[391.0, pytest.approx(437.2)], [pytest.approx(425.85), pytest.approx(478.98)]]


def test_differences_have_a_zero_line_inside_the_panel() -> None:
    panel = plot_estimates(estimates_frame()).figure.axes[1]
    assert [0.0, 0.0] in [list(line.get_xdata()) for line in panel.lines]
    low, high = panel.get_xlim()
    assert low < 0 < high


def test_a_number_without_interval_is_hollow_and_says_why(look) -> None:
    """Case 93: constant data give an estimate, no interval of width zero, and the reason."""
    frame = estimates_frame(
        arms=("stable",), overrides=[({}, {**NO_INTERVAL, "status": "degenerate", "flags": "constant"})]
    )
    ax = plot_estimates(frame)
    (point,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert matplotlib.colors.to_hex(point.get_markerfacecolor()) == "#ffffff"
    assert not [line for line in ax.lines if line.get_marker() == "|"]
    assert "all runs equal: no interval" in look.said(ax.figure)
    assert "Hollow: no interval" in look.said(ax.figure)


def test_no_data_is_said_with_its_reason_and_nothing_is_drawn(look) -> None:
    """Case 96: all runs discarded."""
    frame = estimates_frame(
        overrides=[
            (
                {"arm": "volatile"},
                {
                    **NO_INTERVAL,
                    "estimate": None,
                    "status": "no_data",
                    "n_runs": 0,
                    "n_discarded": 5,
                    "reason": "all 5 discarded",
                },
            )
        ]
    )
    ax = plot_estimates(frame)
    assert _markers(ax) == {0: 412.0}
    for part in (
        "no data",
        "0 runs, 5 discarded",
        "Runs used: stable 10, volatile 0 (5 discarded)",
        "all 5 discarded",
    ):
        assert part in look.said(ax.figure)


def test_one_reason_of_many_numbers_is_said_once(look) -> None:
    frame = estimates_frame(
        metrics=("TTFT", "COST"),
        overrides=[({"kind": "level"}, {"status": "mixed_setup", "reason": "two versions"})],
    )
    assert "TTFT, COST of stable, volatile: two versions" in look.said(plot_estimates(frame).figure)


def test_no_runs_at_all(look) -> None:
    said = look.said(plot_estimates(CASES["no arm"]).figure)
    assert "no run" in said and "no data" in said and "Runs used" not in said


def test_open_ends_are_arrows(look) -> None:
    figure = plot_estimates(CASES["open ends"]).figure
    levels, differences = figure.axes
    markers = [[line.get_marker() for line in panel.lines] for panel in (levels, differences)]
    assert "<" in markers[0] and ">" in markers[0] and ">" in markers[1]
    assert "Arrow: the end is not known" in look.said(figure)


def test_exact_bounds_of_shares_are_drawn_to_the_bound(look) -> None:
    frame = estimates_frame(
        arms=("stable",),
        metrics=("CACHE_HIT_RATE",),
        overrides=[
            ({}, {"estimate": 0.0, "lower": 0.0, "upper": 0.31, "interval": "exact", "flags": "all_zero"})
        ],
    )
    ax = plot_estimates(frame)
    assert [0.0, 0.31] in [[round(float(x), 2) for x in line.get_xdata()] for line in ax.lines]
    assert "all 0 = no run had a hit" in look.said(ax.figure)
    assert "exact bound" in look.said(ax.figure)


def test_coverage_stands_in_the_caption(look) -> None:
    frame = estimates_frame(
        overrides=[
            ({"arm": "volatile", "kind": "level"}, {"n_runs": 9, "n_discarded": 1, "n_missing": 3}),
            ({"kind": "difference"}, {"n_blocks": 9, "n_blocks_dropped": 1}),
        ]
    )
    told = look.said(plot_estimates(frame).figure)
    for part in (
        "95 % intervals over runs",
        "levels log t united with percentile, differences paired t",
        "Runs used: stable 10, volatile 9 (1 discarded)",
        "paired by block (blocks dropped: volatile 1)",
        "Unknown values left out: TTFT, volatile 3",
        "9 runs, 1 discarded, 3 values missing",
        "9 blocks, paired, 1 dropped",
    ):
        assert part in told


def test_names_are_text_and_no_mathematics(look) -> None:
    figure = plot_estimates(CASES["long names"]).figure
    assert any("$x_1$ <b>&" in text for text in look.texts(figure))


def test_one_panel_goes_into_a_given_axes_and_several_are_refused(look) -> None:
    ax = Figure(figsize=(5, 3)).add_subplot()
    assert plot_estimates(estimates_frame(), ax=ax, kinds="level") is ax
    assert len(ax.figure.axes) == 1
    assert "Runs used" in look.said(ax.figure)
    with pytest.raises(ConfigError, match="one Axes holds one panel, but there are 2"):
        plot_estimates(estimates_frame(), ax=Figure().add_subplot())


def test_a_given_axes_takes_an_empty_frame(look) -> None:
    ax = Figure().add_subplot()
    plot_estimates(CASES["no rows"], ax=ax)
    assert "Nothing to draw" in look.said(ax.figure)


@pytest.mark.parametrize("kinds", ["levels", (), ("level", "other"), 3])
def test_unknown_kinds_are_refused(kinds) -> None:
    with pytest.raises(ConfigError, match="'level', 'difference', 'ratio'"):
        plot_estimates(estimates_frame(), kinds=kinds)


def test_several_references_get_a_line_each(look) -> None:
    frame = estimates_frame(arms=("a", "b", "c"))
    more = frame[(frame["kind"] == "difference") & (frame["arm"] == "c")].assign(reference="b")
    figure = plot_estimates(pd.concat([frame, more], ignore_index=True)).figure
    assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["b − a", "c − a", "c − b"]
    assert look.overlaps(figure) == []


def test_ratios_have_a_line_at_one(look) -> None:
    frame = estimates_frame()
    frame = pd.concat(
        [frame, frame[frame["kind"] == "difference"].assign(kind="ratio", estimate=1.1, lower=0.9, upper=1.3)]
    )
    figure = plot_estimates(frame, kinds=("level", "difference", "ratio")).figure
    assert [1.0, 1.0] in [list(line.get_xdata()) for line in figure.axes[2].lines]
    assert look.overlaps(figure) == []


def test_colours_follow_the_arm_whatever_is_drawn() -> None:
    frame = estimates_frame(arms=("a", "b", "c"))
    both = plot_estimates(frame).figure.axes
    alone = plot_estimates(frame, kinds="difference").figure.axes[0]
    assert _colors(both[1])[-1] == _colors(alone)[-1]


def test_global_settings_and_pyplot_stay_untouched() -> None:
    from matplotlib import pyplot as plt

    before = dict(matplotlib.rcParams)
    plot_estimates(estimates_frame())
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == []


def test_in_ipython_the_figure_is_pyplots_so_that_the_notebook_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from matplotlib import pyplot as plt

    monkeypatch.setattr("agentlab.plots.canvas._in_ipython", lambda: True)
    figure = plot_estimates(estimates_frame()).figure
    try:
        assert plt.get_fignums() == [figure.number]  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        plt.close("all")


def test_a_figure_for_a_card_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot as plt

    monkeypatch.setattr("agentlab.plots.canvas._in_ipython", lambda: True)
    assert estimates_png(estimates_frame(), dpi=50).startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_a_figure_for_a_card_is_not_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FigureBase, "get_tightbbox")  # it takes a third of the time
    assert estimates_png(estimates_frame(), dpi=50).startswith(b"\x89PNG")


def test_provenance_is_noted() -> None:
    figure = plot_estimates(estimates_frame(metrics=("TTFT", "COST"))).figure
    (drawing,) = origin_of(figure)["drawn_by"]  # pyright: ignore[reportArgumentType]
    assert drawing["function"] == "plot_estimates"
    assert drawing["metrics"] == ["TTFT", "COST"]
    assert drawing["studies"] == [{"name": "synthetic", "scenario_digest": "0" * 16}]
    assert drawing["intervals"] == ["log t, percentile", "paired t"]


def _is_interval(line) -> bool:
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    return len(x) == 2 and y[0] == y[1] and float(y[0]).is_integer() and line.get_marker() == "None"


def _markers(ax: Axes) -> dict[int, float]:
    return {
        int(line.get_ydata()[0]): float(line.get_xdata()[0])
        for line in ax.lines
        if line.get_marker() not in ("None", "|", "<", ">")
    }


def _colors(ax: Axes) -> list[Any]:
    return [line.get_color() for line in ax.lines if line.get_marker() not in ("None", "|")]
