"""Memory in a report: rows by number of sessions, figures, and silence where none was sampled."""

import pytest

import agentlab as al
from agentlab.plots.canvas import origin_of
from agentlab.reporting import numbers, terminals
from agentlab.testing.memory import SyntheticTool, write_memory_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("terminals")


@pytest.fixture(scope="module")
def recs(folder):
    tools = {"codex": SyntheticTool(anon_mib=26, file_mib=85), "pi": SyntheticTool(never_ready_rate=1.0)}
    return al.load(write_memory_study(folder / "s", arms=tools, runs=3, sessions=(1, 4)))


def test_a_row_for_each_arm_and_number_and_what_a_session_costs(recs):
    plain = repr(terminals.memory(recs))
    rows = [line.split() for line in plain.splitlines()]
    assert [row[:2] for row in rows[1:5]] == [["codex", "1"], ["codex", "4"], ["pi", "1"], ["pi", "4"]]
    assert rows[3][2:] == ["0", "of", "3", *"------"]  # never ready: not summed, and not 0
    assert "codex: each added session" in plain and "pi: each added session no data" in plain


def test_the_ramp_and_the_fit_are_drawn(recs):
    kinds = [origin_of(ax.figure)["drawn_by"][0]["kind"] for ax in terminals.memory_figures(recs)]
    assert kinds == ["ramp", "marginal"]
    one = recs.where(n_sessions=1)
    assert len(list(terminals.memory_figures(one))) == 1


def test_metrics_of_memory_are_among_the_default(recs):
    frame = numbers.estimate(recs)
    assert {"MEM_SLOPE", "MEM_INTERCEPT", "PSS_TOTAL", "FIRST_INPUT"} <= set(frame["metric"])
    totals = frame[(frame["metric"] == "PSS_TOTAL") & (frame["arm"] == "codex")]
    assert set(totals["status"]) == {"mixed_setup"}  # over several numbers of sessions: no interval


def test_without_any_interval_what_cannot_be_pooled_is_not_drawn_as_empty_axes(folder):
    few = write_memory_study(folder / "few", arms={"codex": SyntheticTool()}, runs=1, sessions=(1, 4))
    frame = numbers.estimate(al.load(few))
    assert frame["lower"].isna().all() and "PSS_TOTAL" in set(frame["metric"])
    drawn = {name for part in numbers.figures(frame) for name in part["metric"]}
    assert drawn == {"MEM_SLOPE", "MEM_INTERCEPT"}


def test_where_nothing_was_sampled_it_says_nothing():
    cache = al.load(al.example("cache"))
    assert repr(terminals.memory(cache)) == ""
    assert list(terminals.memory_figures(cache)) == []
