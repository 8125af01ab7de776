from __future__ import annotations

import pytest
from scipy import stats

from agentlab.stats.distributions import beta_cdf, beta_ppf, normal_cdf, normal_ppf, t_ppf


@pytest.mark.parametrize("df", [0.5, 0.8, 1, 1.3, 2, 3, 4.7, 9, 19, 50, 300, 999, 1001, 5000, 1e5, 1e8])
@pytest.mark.parametrize("q", [1e-4, 0.2, 0.6, 0.9, 0.975, 0.995, 0.9995])
def test_t_quantiles_are_those_of_scipy(q, df):
    assert t_ppf(q, df) == pytest.approx(stats.t.ppf(q, df), rel=1e-10)


def test_the_median_of_t_is_zero():
    assert t_ppf(0.5, 7.0) == 0


@pytest.mark.parametrize("a", [0.5, 1, 2.3, 10, 100, 5000])
@pytest.mark.parametrize("b", [0.5, 1, 3.3, 17, 200, 9000])
@pytest.mark.parametrize("q", [0.0005, 0.025, 0.5, 0.975, 0.9999])
def test_beta_quantiles_are_those_of_scipy(q, a, b):
    assert beta_ppf(q, a, b) == pytest.approx(stats.beta.ppf(q, a, b), rel=1e-10)
    assert beta_cdf(0.3, a, b) == pytest.approx(stats.beta.cdf(0.3, a, b), rel=1e-9, abs=1e-300)


def test_ends_of_the_range():
    assert (beta_ppf(0, 2, 3), beta_ppf(1, 2, 3), beta_cdf(0, 2, 3), beta_cdf(1, 2, 3)) == (0, 1, 0, 1)


@pytest.mark.parametrize("q", [1e-6, 0.025, 0.5, 0.8, 0.9999])
def test_normal_quantiles_are_those_of_scipy(q):
    assert normal_ppf(q) == pytest.approx(stats.norm.ppf(q), rel=1e-12, abs=1e-15)
    assert normal_cdf(normal_ppf(q)) == pytest.approx(q, rel=1e-12)
