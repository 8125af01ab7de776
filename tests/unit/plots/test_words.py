import math

import pytest

from agentlab.plots import words
from agentlab.plots.rows import Row


def row(**fields: object) -> Row:
    return Row(**{"metric": "TTFT", "kind": "level", "arm": "a", "unit": "ms", **fields})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("number", "like", "text"),
    [
        (412.26, None, "412"),
        (0.98765, None, "0.988"),
        (1234.567, 33, "1,235"),
        (0.01312, 0.0022, "0.0131"),
        (0.0, None, "0"),
        (-0.0001, 33, "0"),
        (None, None, "unknown"),
        (math.inf, None, "∞"),
        (1e-12, None, "0.00000000"),
        (18.000000001, 2e-9, "18.0000"),
        (math.nan, 3.0, "nan"),
    ],
)
def test_numbers_have_the_digits_they_deserve(number: float | None, like: float | None, text: str) -> None:
    assert words.value(number, like=like) == text


def test_estimates_carry_unit_and_sign() -> None:
    assert words.estimate(row(estimate=412.0, lower=391.0, upper=437.0)) == "412 ms"
    assert words.estimate(row(kind="difference", estimate=38.0, lower=23.0, upper=53.0)) == "+38 ms"
    assert words.estimate(row(unit="", estimate=0.912)) == "0.912"
    assert words.estimate(row(kind="ratio", estimate=1.1)) == "1.10 x"
    assert words.estimate(row(status="no_data")) == "no data"
    assert words.estimate(row()) == "unknown"


def test_intervals() -> None:
    assert words.interval(row(estimate=412.0, lower=391.0, upper=437.0)) == "[391, 437]"
    assert words.interval(row(estimate=412.0)) == ""
    assert words.interval(row(estimate=412.0, lower=391.0)) == "[391, open]"
    assert words.interval(row(estimate=4.0, lower=3.0, upper=9.0, flags=("open",))) == "[3.0, ≥ 9.0]"


def test_coverage_names_everything_that_is_missing() -> None:
    said = words.coverage(row(n_runs=9, n_discarded=1, n_missing=3)).replace("\u00a0", " ")
    assert said == "9 runs, 1 discarded, 3 values missing"
    assert (
        words.coverage(row(kind="difference", paired=True, n_blocks=8, n_blocks_dropped=2))
        == "8 blocks, paired, 2 dropped"
    )
    assert words.coverage(row(kind="difference", paired=False, n_runs=20)) == "20 runs, unpaired"


def test_doubts_are_words_and_not_said_twice() -> None:
    assert words.doubts(row()) == []
    assert words.doubts(row(flags=("few_runs", "of_a_driver"))) == ["few runs", "of a driver"]
    assert words.doubts(row(status="degenerate", flags=("constant",))) == ["all runs equal: no interval"]
    assert words.doubts(row(status="too_few_runs", flags=("one_run", "tail"))) == [
        "too few for an interval",
        "thin tail",
    ]


def test_only_flags_that_are_shown_are_explained() -> None:
    assert words.explain([row(flags=("tail",)), row(flags=("tail",))])[0].startswith("thin tail = ")
    assert words.explain([row(status="degenerate", flags=("constant",))]) == []


def test_units() -> None:
    assert words.unit_of([row(estimate=3.0)], "level") == "ms"
    assert words.unit_of([row(unit="usd")], "level") == "USD"
    assert words.unit_of([row(unit="", estimate=0.4)], "level") == "share (0 to 1)"
    assert words.unit_of([row(unit="", estimate=-0.4)], "difference") == "difference of shares"
    assert words.unit_of([row(unit="", estimate=3.0)], "level") == "no unit"
    assert words.unit_of([], "level") == ""
