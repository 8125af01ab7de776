"""Rows per run that are at least so large, and a band that comes from runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.errors import ConfigError
from agentlab.stats.ecdf import LEAST_RUNS
from agentlab.stats.tail import tail


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 6)), max_size=60), st.integers(7, 9))
def test_counts_equal_a_naive_count(rows, n_runs):
    values = np.array([float(value) for value, _ in rows])
    found = tail(values, np.array([run for _, run in rows], dtype=np.intp), n_runs, marks=(50.0,))
    assert 50.0 in found.value
    assert list(found.count) == pytest.approx([(values >= x).sum() / n_runs for x in found.value])
    for asked in (50.0, 49.5, 91.0):
        assert found.at(asked) == pytest.approx((values >= asked).sum() / n_runs)
    assert found.lower is not None and found.upper is not None
    assert (found.lower <= found.upper).all()


def test_a_run_without_such_rows_counts_and_widens_the_band():
    values, run = np.full(12, 80.0), np.repeat(np.arange(6), 2)
    even, odd = tail(values, run, 6), tail(values, run, 12)
    assert (even.at(80.0), odd.at(80.0)) == (2.0, 1.0)
    assert (
        even.lower is not None and odd.lower is not None and even.upper is not None and odd.upper is not None
    )
    assert even.lower[-1] == even.upper[-1] == 2.0
    assert odd.lower[-1] < 1.0 < odd.upper[-1]


def test_of_many_rows_the_largest_are_all_kept():
    values = np.arange(1.0, 20_001.0)
    found = tail(values, np.zeros(len(values), dtype=np.intp), 1)
    assert len(found.value) <= 400 and found.value[0] == 1.0
    assert list(found.value[-5:]) == [19_996.0, 19_997.0, 19_998.0, 19_999.0, 20_000.0]
    assert found.at(19_998.0) == 3.0 and found.at(1.0) == 20_000.0


def test_few_runs_have_no_band_and_wrong_input_is_named():
    few = tail(np.array([1.0]), np.array([0]), LEAST_RUNS - 1)
    assert few.lower is None and few.upper is None
    with pytest.raises(ConfigError, match="level"):
        tail(np.array([1.0]), np.array([0]), 1, level=1.0)
    with pytest.raises(ConfigError, match="n_runs=1"):
        tail(np.array([1.0]), np.array([1]), 1)
