"""Budgets: what passes, what fails, and what is not known, which is no pass."""

import pandas as pd
import pytest

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.metrics import CACHE_HIT_RATE, TTFT
from agentlab.testing.estimates import estimates_frame


@pytest.fixture
def estimates() -> pd.DataFrame:
    """Levels of TTFT 412 [391, 437.2] and 450 [...]; of the hit rate 0.912 and 0.742."""
    return estimates_frame(metrics=["TTFT", "CACHE_HIT_RATE"])


def said(found: pd.DataFrame) -> list[tuple]:
    return [
        (row["arm"], row["status"], None if pd.isna(row["sure"]) else bool(row["sure"]))
        for row in found.to_dict("records")
    ]


def test_the_most_where_lower_is_better_and_exactly_the_budget_is_within(estimates) -> None:
    assert said(al.check(estimates, {"TTFT": 412})) == [("stable", "pass", False), ("volatile", "fail", True)]
    assert said(al.check(estimates, {"TTFT": 411.999}))[0] == ("stable", "fail", False)
    assert said(al.check(estimates, {"TTFT": 1000})) == [("stable", "pass", True), ("volatile", "pass", True)]


def test_the_least_where_higher_is_better(estimates) -> None:
    found = al.check(estimates, {CACHE_HIT_RATE: 0.85})
    assert said(found) == [("stable", "pass", True), ("volatile", "fail", True)]
    assert list(found["bound"]) == ["at least", "at least"]
    assert list(found.dtypes.astype(str))[3:8] == ["string", "Float64", "Float64", "Float64", "Float64"]


def test_what_is_unknown_is_no_pass() -> None:
    gone = {"estimate": None, "lower": None, "upper": None, "status": "no_data", "reason": "not measured"}
    frame = estimates_frame(arms=["a", "b"], overrides=[({"arm": "b"}, gone)])
    found = al.check(frame, {"TTFT": 500})
    assert said(found) == [("a", "pass", True), ("b", "unknown", None)]
    assert found["reason"].iloc[1] == "not measured"
    alone = estimates_frame(arms=["a"], overrides=[({}, {"lower": None, "upper": None})])
    assert said(al.check(alone, {"TTFT": 500})) == [("a", "pass", None)]


def test_recordings_are_compared_first() -> None:
    recs = al.load(al.example("cache"))
    found = al.check(recs, {TTFT: 60_000.0, "CACHE_HIT_RATE": 0.75})
    assert list(found["metric"]) == ["TTFT", "TTFT", "CACHE_HIT_RATE", "CACHE_HIT_RATE"]
    assert set(found.loc[found["metric"] == "TTFT", "status"]) == {"pass"}
    by_arm = found[found["metric"] == "CACHE_HIT_RATE"].set_index("arm")["status"]
    assert by_arm["stable"] == "pass" and by_arm["volatile"] == "fail"


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ({}, "at least one budget"),
        ({"TTFT": float("nan")}, "budget of TTFT is nan; give a number"),
        ({"TTFT": "abc"}, "'abc'; give a number"),
        ({"TTFT": True}, "give a number"),
        ({"TTTF": 5}, "no metric 'TTTF'"),
        ({"TURN_LATENCY": 5}, "TURN_LATENCY is not among the estimates; there are TTFT, CACHE_HIT_RATE"),
        ({7: 5}, "7 is no metric"),
    ],
)
def test_a_wrong_budget_is_named_and_never_ignored(estimates, budgets, message) -> None:
    with pytest.raises(ConfigError, match=message):
        al.check(estimates, budgets)


def test_a_metric_without_a_better_side_has_no_budget() -> None:
    frame = estimates_frame(overrides=[({}, {"better": None})])
    with pytest.raises(ConfigError, match="has no budget"):
        al.check(frame, {"TTFT": 5})
    with pytest.raises(ConfigError, match="give what compare"):
        al.check(pd.DataFrame({"a": [1]}), {"TTFT": 5})
