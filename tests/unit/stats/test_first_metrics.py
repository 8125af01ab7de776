"""Which metrics a study is shown with when nobody says which."""

import pytest

import agentlab as al
from agentlab.metrics import COST, MEM_SLOPE, PSS_TOTAL
from agentlab.stats.first import FIRST, first_metrics, has_data
from agentlab.stats.metrics import Metric, named
from agentlab.stats.runs import Runs
from agentlab.testing.memory import SyntheticTool, write_memory_study

ARMS = {"one": SyntheticTool(), "two": SyntheticTool(anon_mib=50)}


@pytest.fixture
def swept(tmp_path):
    return al.load(write_memory_study(tmp_path / "s", arms=ARMS, sessions=(1, 2), runs=2))


def test_all_of_them_are_named_metrics():
    assert [named(name).name for name in FIRST] == list(FIRST)


def test_a_study_of_prompts_begins_with_times_and_the_cache():
    assert first_metrics(Runs(al.load(al.example("cache"))))[:3] == ("TTFT", "TURN_LATENCY", "CACHE_HIT_RATE")


def test_over_several_numbers_of_sessions_the_line_is_shown(swept):
    assert first_metrics(Runs(swept)) == ("MEM_SLOPE", "MEM_INTERCEPT")
    assert first_metrics(Runs(swept.where(n_sessions=2))) == ("PSS_TOTAL", "FIRST_INPUT")


def test_no_row_at_all_is_no_data_also_for_sums(swept):
    runs = Runs(swept)
    assert not has_data(runs, COST)
    assert has_data(runs, PSS_TOTAL) and has_data(runs, MEM_SLOPE)
    assert not has_data(Runs(swept.where(n_sessions=1)), MEM_SLOPE)
    assert not has_data(runs, Metric(name="x", table="turns", column="no_such", aggregate="mean"))


def test_runs_that_do_not_belong_together_are_shown_rather_than_nothing(tmp_path, monkeypatch):
    recs = al.load(write_memory_study(tmp_path / "s", arms=ARMS, sessions=(1, 2), runs=1))
    monkeypatch.setattr("agentlab.stats.first.FIRST", ("PSS_TOTAL",))
    assert first_metrics(Runs(recs)) == ("PSS_TOTAL",)
