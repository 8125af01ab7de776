import math

import pandas as pd

from agentlab.plots.rows import Row, read_rows, split_flags
from agentlab.testing.estimates import estimates_frame


def test_reads_a_frame_without_na() -> None:
    level, other, difference = read_rows(estimates_frame())
    assert (level.metric, level.kind, level.arm, level.reference) == ("TTFT", "level", "stable", None)
    assert (level.estimate, level.unit, level.better, level.n_runs) == (412.0, "ms", "lower", 10)
    assert other.flags == ()
    assert (difference.reference, difference.paired, difference.n_blocks) == ("stable", True, 10)


def test_na_is_unknown_and_never_zero() -> None:
    frame = estimates_frame(
        overrides=[({}, {"estimate": None, "lower": None, "n_runs": None, "paired": None})]
    )
    for row in read_rows(frame):
        assert (row.estimate, row.lower, row.n_runs, row.paired) == (None, None, None, None)


def test_a_frame_with_few_columns_of_plain_dtypes() -> None:
    frame = pd.DataFrame(
        {"metric": ["m"], "kind": ["level"], "arm": [None], "estimate": [math.nan], "flags": [["tail"]]}
    )
    (row,) = read_rows(frame)
    assert row == Row(metric="m", kind="level", arm="", flags=("tail",))


def test_open_ends() -> None:
    row = Row(metric="m", kind="level", arm="a", estimate=1.0, lower=0.5)
    assert row.open_upper and not row.open_lower and row.has_interval
    assert Row(metric="m", kind="level", arm="a", lower=0.5, upper=math.inf).open_upper
    assert Row(metric="m", kind="level", arm="a", lower=0.5, upper=2.0, flags=("open",)).open_upper
    nothing = Row(metric="m", kind="level", arm="a", estimate=1.0)
    assert not (nothing.open_upper or nothing.open_lower or nothing.has_interval)


def test_flags_as_text_or_sequence() -> None:
    assert split_flags("few_runs,tail") == ("few_runs", "tail")
    assert split_flags(["tail", "tail"]) == ("tail",)
    assert split_flags(frozenset({"tail"})) == ("tail",)
    assert split_flags(None) == split_flags("") == split_flags(3) == ()
