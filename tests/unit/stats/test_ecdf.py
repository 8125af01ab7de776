"""The distribution of rows, and a band that comes from runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlab.errors import ConfigError
from agentlab.stats.ecdf import LEAST_RUNS, ecdf


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 7)), min_size=1, max_size=60))
def test_shares_equal_a_naive_count(rows):
    values = np.array([float(value) for value, _ in rows])
    found = ecdf(values, np.array([run for _, run in rows]))
    assert list(found.value) == sorted(set(values))
    assert list(found.share) == pytest.approx([np.mean(values <= x) for x in found.value])
    assert (found.n_rows, found.n_runs) == (len(rows), len({run for _, run in rows}))
    assert (found.lower is None) == (found.n_runs < LEAST_RUNS)
    if found.lower is not None:
        assert (found.lower <= found.upper).all() and found.lower[-1] == found.upper[-1] == 1.0


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(1)
    values, run = rng.exponential(100, 300), np.repeat(np.arange(30), 10)
    order = rng.permutation(300)
    one, other = ecdf(values, run), ecdf(values[order], run[order])
    np.testing.assert_array_equal(one.lower, other.lower)
    np.testing.assert_array_equal(one.share, other.share)


def test_runs_that_differ_widen_the_band_and_more_rows_of_them_do_not_narrow_it():
    rng = np.random.default_rng(2)
    run = np.repeat(np.arange(12), 200)
    alike = rng.normal(0, 1, len(run))
    widths = {}
    for name, values in (("alike", alike), ("apart", alike + rng.normal(0, 3, 12)[run])):
        found = ecdf(values, run)
        widths[name] = float(np.max(found.upper - found.lower))
    assert widths["alike"] < 0.1 < 0.4 < widths["apart"]


def test_the_band_holds_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hits, n = 0, 200
    for _ in range(n):
        run = np.repeat(np.arange(20), 4)
        values = rng.normal(0, 1, 20)[run] + rng.normal(0, 1, 80)
        found = ecdf(values, run, n_resamples=399)
        at = np.searchsorted(found.value, 0.0, side="right") - 1
        hits += bool(found.lower[at] <= 0.5 <= found.upper[at])
    assert 0.88 <= hits / n <= 0.985


def test_many_values_are_thinned_by_rank_with_both_ends():
    values = np.random.default_rng(4).lognormal(5, 1, 5000)
    found = ecdf(values, np.repeat(np.arange(50), 100))
    assert len(found.value) == 400
    assert (found.value[0], found.value[-1]) == (values.min(), values.max())
    for at in (0, 17, 200, 399):
        assert found.share[at] == pytest.approx(np.mean(values <= found.value[at]))


def test_a_level_outside_is_refused():
    with pytest.raises(ConfigError, match="between 0 and 1"):
        ecdf(np.array([1.0]), np.array([0]), level=95)
