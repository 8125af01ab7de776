from __future__ import annotations

import numpy as np
import pytest

from agentlab.stats.linear import correction, fit, is_dominated, welch_df


def n_by_n(h: np.ndarray, g: float) -> tuple[np.ndarray, float]:
    """The definition, with the whole n x n matrix."""
    v = h**g
    total = v.sum()
    expected = v * (1 - 2 * h) + h**2 * total
    k = v / expected
    c = np.diag(v) - np.outer(h, v) - np.outer(v, h) + total * np.outer(h, h)
    return k, total**2 / (np.outer(k, k) * c**2).sum()


@pytest.mark.parametrize("g", [1.0, 1.5])
@pytest.mark.parametrize("n", [3, 10, 200])
def test_the_short_sum_equals_the_matrix(n, g):
    h = np.random.default_rng(n).lognormal(sigma=1.5, size=n)
    h /= h.sum()
    k, df = correction(h, g=g)
    expected_k, expected_df = n_by_n(h, g)
    np.testing.assert_allclose(k, expected_k, rtol=1e-12)
    assert df == pytest.approx(expected_df, rel=1e-12)


def test_equal_units_have_the_textbook_standard_error():
    x = np.array([3.0, 5.0, 4.0, 8.0])
    fitted = fit(x, np.ones(4))
    assert fitted.estimate == 5
    assert fitted.df == pytest.approx(3)
    assert fitted.se == pytest.approx(x.std(ddof=1) / 2)


def test_units_without_weight_are_harmless():
    fitted = fit(np.array([1.0, 2.0, 4.0, 2.0]), np.array([1.0, 3.0, 2.0, 0.0]))
    assert fitted.estimate == 1.5
    assert np.isfinite([fitted.se, fitted.df]).all()


def test_rounding_is_not_variation():
    b = np.arange(1.0, 8.0)
    assert fit(0.1 * b, b).se == 0
    assert fit(np.full(5, 35 / 10_000), np.ones(5)).se == 0
    assert fit(0.1 * b + np.eye(7)[0] * 1e-6, b).se > 0


def test_few_large_runs_dominate():
    assert not is_dominated(np.full(10, 0.1))
    assert is_dominated(np.array([0.9, *[0.1 / 9] * 9]))
    sizes = np.array([1000.0, 3, 4, 5, 2, 3])
    assert fit(sizes, sizes + 1).df == fit(sizes, sizes + 1, g=1.5).df
    assert fit(sizes, sizes + 1).dominated


def test_welch_df_ignores_an_arm_that_does_not_vary():
    assert welch_df((2.0, 9.0), (0.0, 3.0)) == 9
    assert welch_df((1e-170, 5.0), (1e-170, 5.0)) == pytest.approx(10)
    assert welch_df((0.0, 4.0), (0.0, 7.0)) == 4
