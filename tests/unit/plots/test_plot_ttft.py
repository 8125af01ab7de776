from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.figure import Figure

from agentlab import example, load
from agentlab.errors import ConfigError
from agentlab.plots.canvas import origin_of
from agentlab.plots.ttft import RUNGS, plot_ttft


def turns_frame(arms=("stable", "volatile"), n_runs=4, n_turns=2, **columns) -> pd.DataFrame:
    """Make turns whose times can be told: 100 ms an arm, 10 ms a run, 1 ms a turn."""
    rows = [
        {
            "study": "s", "arm": arm, "run_id": f"{arm}-{run}", "eligible": True, "warmup": turn == 0,
            "first_byte_ms": 5.0 + run, "first_text_ms": 100.0 * (i + 1) + 10 * run + turn,
            "first_paint_ms": None, "ttft_ms": 100.0 * (i + 1) + 10 * run + turn, **columns,
        }
        for i, arm in enumerate(arms)
        for run in range(n_runs)
        for turn in range(n_turns)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    numbers = {column: "Float64" for column in frame if column.endswith("_ms")}
    return frame.astype({**numbers, "eligible": "boolean", "warmup": "boolean"})


def medians(ax) -> list[float]:
    """Return the times of the big markers, from the top."""
    found = [line for line in ax.lines if line.get_marker() in "os^DvPX" and line.get_markersize() == 6.5]
    return [float(line.get_xdata()[0]) for line in sorted(found, key=lambda line: line.get_ydata()[0])]


def bars(ax) -> list[list[float]]:
    found = [line for line in ax.lines if line.get_marker() == "|"]
    return [
        list(map(float, line.get_xdata())) for line in sorted(found, key=lambda line: line.get_ydata()[0])
    ]


def test_medians_of_arms_and_runs_without_warmup() -> None:
    ax = plot_ttft(turns_frame()[["study", "arm", "run_id", "eligible", "warmup", "ttft_ms"]])
    assert medians(ax) == [116.0, 216.0]
    assert bars(ax) == [[101.0, 111.0, 121.0, 131.0], [201.0, 211.0, 221.0, 231.0]]


def test_warmup_on_request(look) -> None:
    frame = turns_frame()[["arm", "run_id", "warmup", "ttft_ms"]]
    ax = plot_ttft(frame, warmup=True)
    assert medians(ax) == [115.5, 215.5]
    assert "Warm-up turns are drawn." in look.said(ax.figure)
    assert "Warm-up turns left out: 8." in look.said(plot_ttft(frame).figure)


def test_rungs_in_their_order_and_unseen_ones_in_the_caption(look) -> None:
    ax = plot_ttft(turns_frame())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first byte", "first text", "TTFT"]
    assert list(RUNGS.values()).index("first byte") < list(RUNGS.values()).index("TTFT")
    assert "Not seen in any turn: first paint." in look.said(ax.figure)
    assert look.overlaps(ax.figure) == []


def test_what_a_turn_did_not_show_is_counted_and_never_zero(look) -> None:
    frame = turns_frame(n_turns=1, warmup=False)
    frame.loc[frame["run_id"] == "volatile-0", "first_text_ms"] = pd.NA
    ax = plot_ttft(frame)
    said = look.said(ax.figure)
    assert "220 ms, 3 runs, not in 1 turn" in said
    assert "115 ms, 4 runs" in said
    assert 0.0 not in [x for bar in bars(ax) for x in bar]


def test_an_arm_without_any_value_says_so(look) -> None:
    frame = turns_frame()
    frame.loc[frame["arm"] == "volatile", "first_text_ms"] = pd.NA
    assert "not in 4 turns" in look.said(plot_ttft(frame).figure)


def test_discarded_runs_are_left_out_and_counted(look) -> None:
    frame = turns_frame()
    frame.loc[frame["run_id"] == "volatile-0", "eligible"] = False
    ax = plot_ttft(frame)
    assert medians(ax)[-1] == 221.0
    assert "stable 4 turns of 4 runs; volatile 3 turns of 3 runs (1 discarded)" in look.said(ax.figure)


def test_runs_without_turns_are_counted_from_the_runs_table(look) -> None:
    frame = turns_frame(arms=("stable",))
    runs = pd.DataFrame(
        {
            "study": "s",
            "arm": ["stable"] * 4 + ["broken"] * 2,
            "run_id": [*"abcdef"],
            "eligible": [True] * 4 + [False] * 2,
        }
    )
    ax = plot_ttft(SimpleNamespace(turns=frame, runs=runs))  # pyright: ignore[reportArgumentType]
    assert "broken 0 turns of 0 runs (2 discarded)" in look.said(ax.figure)
    assert look.overlaps(ax.figure) == []


@pytest.mark.parametrize(
    "frame", [turns_frame().iloc[:0], turns_frame(eligible=False), turns_frame()[["arm", "run_id"]]]
)
def test_nothing_to_draw_is_said_with_coverage(frame: pd.DataFrame, look) -> None:
    """Case 96."""
    ax = plot_ttft(frame)
    said = look.said(ax.figure)
    assert "Nothing to draw" in said
    assert "Used:" in said or "There is no run." in said
    assert look.overlaps(ax.figure) == []


@pytest.mark.parametrize("arms", [("one",), tuple("abcdefg"), ("x" * 90, "$y_1$")])
def test_texts_do_not_lie_on_each_other(arms, look) -> None:
    assert look.overlaps(plot_ttft(turns_frame(arms=arms)).figure) == []


def test_the_scale_is_logarithmic_only_over_a_wide_span() -> None:
    assert plot_ttft(turns_frame()).get_xscale() == "log"
    narrow = plot_ttft(turns_frame()[["arm", "run_id", "ttft_ms"]])
    assert narrow.get_xscale() == "linear"
    assert narrow.get_xlim()[0] == 0.0
    zero = turns_frame()
    zero.loc[1, "first_byte_ms"] = 0.0
    assert plot_ttft(zero).get_xscale() == "linear"


def test_many_turns_are_thinned_and_both_ends_stay(look) -> None:
    frame = turns_frame(arms=("a",), n_runs=50, n_turns=40, warmup=False)[["arm", "run_id", "ttft_ms"]]
    ax = plot_ttft(frame)
    dots = next(line for line in ax.lines if line.get_marker() == "o" and line.get_markersize() < 3)
    assert len(dots.get_xdata()) == 400
    assert (min(dots.get_xdata()), max(dots.get_xdata())) == (100.0, 629.0)
    assert "At most 400 dots a line are drawn" in look.said(ax.figure)
    assert medians(ax) == [float(frame["ttft_ms"].median())]


def test_runs_of_two_studies_with_one_id_are_two_runs() -> None:
    frame = pd.concat([turns_frame(arms=("a",)), turns_frame(arms=("a",)).assign(study="t")])
    assert len(bars(plot_ttft(frame[["study", "arm", "run_id", "ttft_ms"]]))[0]) == 8


def test_draws_into_a_given_axes() -> None:
    ax = Figure().add_subplot()
    assert plot_ttft(turns_frame(), ax=ax) is ax


@pytest.mark.parametrize("wrong", [3, pd.DataFrame({"x": [1]}), SimpleNamespace(turns=None)])
def test_other_things_are_refused(wrong) -> None:
    with pytest.raises(ConfigError, match="give Recordings, or their table"):
        plot_ttft(wrong)


def test_arms_stand_in_the_order_of_the_study_as_in_the_estimates() -> None:
    recs = load(example("cache"))
    assert recs.runs["arm"].iloc[0] != recs.arms[0]  # the order of execution is another
    (drawn,) = origin_of(plot_ttft(recs).figure)["drawn_by"]  # pyright: ignore[reportArgumentType]
    assert drawn["arms"] == list(recs.arms)


def test_provenance_names_study_and_arms() -> None:
    (drawing,) = origin_of(plot_ttft(turns_frame()).figure)["drawn_by"]  # pyright: ignore[reportArgumentType]
    assert drawing["function"] == "plot_ttft"
    assert drawing["studies"] == [{"name": "s"}] and drawing["arms"] == ["stable", "volatile"]


def test_ecdf_is_the_share_of_turns_and_says_what_its_band_is(look) -> None:
    ax = plot_ttft(turns_frame(n_runs=6), kind="ecdf")
    stable, volatile = (line for line in ax.lines)
    assert list(stable.get_xdata()) == [101.0, 101.0, 111.0, 121.0, 131.0, 141.0, 151.0]
    assert list(stable.get_ydata()) == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    assert stable.get_linestyle() != volatile.get_linestyle()
    assert len(ax.collections) == 2
    said = look.said(ax.figure)
    assert "Band: 95 % at each time by itself" in said
    assert "Used: stable 6 turns of 6 runs; volatile 6 turns of 6 runs. Warm-up turns left out: 12." in said
    assert look.overlaps(ax.figure) == []
    assert origin_of(ax.figure)["drawn_by"][0]["kind"] == "ecdf"  # pyright: ignore[reportArgumentType]


def test_ecdf_without_a_band_and_with_unknown_times_says_so(look) -> None:
    frame = turns_frame(n_runs=4)
    frame.loc[frame["run_id"] == "volatile-1", "ttft_ms"] = pd.NA
    ax = plot_ttft(frame, kind="ecdf")
    assert not ax.collections
    said = look.said(ax.figure)
    assert "No band, fewer than 5 runs: stable, volatile." in said
    assert "TTFT unknown, left out: volatile 1 turn." in said


@pytest.mark.parametrize("frame", [turns_frame().iloc[:0], turns_frame()[["arm", "run_id"]]])
def test_ecdf_of_nothing_is_said(frame: pd.DataFrame, look) -> None:
    assert "Nothing to draw" in look.said(plot_ttft(frame, kind="ecdf").figure)


def test_an_arm_keeps_its_colour_when_another_has_no_value() -> None:
    frame = turns_frame(n_runs=5)
    both = plot_ttft(frame, kind="ecdf").lines[1].get_color()
    frame.loc[frame["arm"] == "stable", "ttft_ms"] = pd.NA
    assert [line.get_color() for line in plot_ttft(frame, kind="ecdf").lines] == [both]


def test_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="'ladder' or 'ecdf'"):
        plot_ttft(turns_frame(), kind="cdf")  # type: ignore[arg-type]
