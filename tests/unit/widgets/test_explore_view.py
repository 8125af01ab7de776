import dataclasses

import pytest

from agentlab import ConfigError
from agentlab.widgets.explore import View

VIEW = View(
    metrics=("TTFT", "COST"), arms=("a", "b", "c"), reference="a", estimate=("TTFT", "difference", "b")
)


def test_it_is_a_value() -> None:
    assert hash(dataclasses.replace(VIEW)) == hash(VIEW)
    assert View(metrics=["TTFT"], arms=["a"]).metrics == ("TTFT",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [{"metrics": ("COST",)}, {"arms": ("a", "c")}, {"reference": "b"}],
    ids=["its metric", "its arm", "it is the reference now"],
)
def test_what_is_picked_goes_when_it_is_no_longer_shown(change: dict[str, object]) -> None:
    picked = VIEW.but(run=("s", "0001-b"))
    after = picked.but(**change)
    assert (after.estimate, after.run) == (None, None)


def test_what_is_picked_stays_when_it_is_still_shown() -> None:
    after = VIEW.but(run=("s", "0001-b"), page=2).but(level=0.9, reference="c")
    assert (after.estimate, after.run, after.page) == (VIEW.estimate, ("s", "0001-b"), 2)


def test_the_list_begins_anew_when_it_is_another() -> None:
    assert VIEW.but(page=2).but(order="best first").page == 0
    assert VIEW.but(page=2).but(estimate=("COST", "level", "c")).page == 0


def test_the_reference_is_always_among_the_arms() -> None:
    assert VIEW.but(arms=("b",)).arms == ("a", "b")


def test_without_a_reference_it_is_the_first_arm_as_in_compare() -> None:
    assert VIEW.but(reference=None).reference == "a"
    assert View(metrics=("TTFT",), arms=("a",)).reference is None


def test_what_is_given_twice_counts_once() -> None:
    assert VIEW.but(metrics=("TTFT", "TTFT"), arms=("a", "b", "b")).metrics == ("TTFT",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metrics": ()}, "at least one metric"),
        ({"metrics": "TTFT"}, r"metrics=\('TTFT',\)"),
        ({"order": "slowest"}, "worst first, best first, as recorded"),
        ({"listed": "some"}, "all, used, not used"),
        ({"colour": "red"}, "a view has no colour; it has metrics"),
        ({"estimate": "TTFT"}, "give 3 texts"),
        ({"estimate": ("TTFT", "level")}, "give 3 texts"),
        ({"run": 3}, "give 2 texts"),
        ({"page": None}, "a whole number"),
        ({"estimate": ("ITL", "level", "b")}, "no such metric, kind and arm"),
        ({"estimate": ("TTFT", "difference", "a")}, "no such metric, kind and arm"),
    ],
)
def test_a_wrong_value_says_what_is_right(change: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        VIEW.but(**change)


def test_estimates_do_not_depend_on_what_is_picked() -> None:
    assert VIEW.but(estimate=None, page=3, order="as recorded").question == VIEW.question
    assert VIEW.but(without=("not_quiet",)).question != VIEW.question
