"""Intervals that have a textbook equal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from agentlab.stats.compare import compare
from agentlab.stats.distributions import t_ppf
from agentlab.stats.metrics import Metric

MEAN = Metric(name="mean", table="turns", column="latency_ms", aggregate="mean", unit="ms")
RNG = np.random.default_rng(20)
A, B = RNG.normal(100, 10, 12), RNG.normal(90, 25, 12)


def runs_of(*columns: np.ndarray, names: str = "ab") -> dict[str, list[list[float]]]:
    return {name: [[float(x)] for x in column] for name, column in zip(names, columns, strict=True)}


def ends(frame, kind: str) -> tuple[float, float]:
    row = frame[frame["kind"] == kind].iloc[0]
    return row["lower"], row["upper"]


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_one_observation_a_run_gives_welch(values, level):
    frame = compare(values(runs_of(A, B[:9])), MEAN, paired=False, level=level)
    expected = stats.ttest_ind(B[:9], A, equal_var=False).confidence_interval(level)
    assert ends(frame, "difference") == pytest.approx(tuple(expected), rel=1e-12)


def test_one_observation_a_block_gives_the_paired_t_test(values):
    frame = compare(values(runs_of(A, B)), MEAN)
    assert frame["paired"].tolist()[2:] == [True, True]
    expected = stats.ttest_rel(B, A).confidence_interval()
    assert ends(frame, "difference") == pytest.approx(tuple(expected), rel=1e-12)


def test_a_signed_mean_holds_the_t_interval(values):
    x = A - 100
    row = compare(values(runs_of(x, names="a")), MEAN).iloc[0]
    expected = stats.ttest_1samp(x, 0).confidence_interval()
    assert row["interval"] == "t, percentile"
    assert row["lower"] == pytest.approx(min(expected.low, row["lower"]))
    assert row["upper"] >= expected.high * (1 - 1e-12)


def test_a_positive_mean_holds_the_t_interval_on_the_log_scale(values):
    row = compare(values(runs_of(B, names="a")), MEAN).iloc[0]
    reach = t_ppf(0.975, 11.0) * B.std(ddof=1) / np.sqrt(12) / B.mean()
    assert row["interval"] == "log t, percentile"
    assert row["lower"] <= B.mean() * np.exp(-reach) * (1 + 1e-12)
    assert row["upper"] >= B.mean() * np.exp(reach) * (1 - 1e-12)


def test_swapping_arms_negates_a_difference_and_inverts_a_ratio(values):
    recs = values({"a": [[x, 2 * x] for x in A], "b": [[x] for x in B]})
    for interval in ("auto", "percentile", "basic", "bca", "studentized"):
        for paired in (True, False):
            one = compare(recs, MEAN, reference="a", interval=interval, paired=paired, seed=4)
            two = compare(recs, MEAN, reference="b", interval=interval, paired=paired, seed=4)
            low, high = ends(one, "difference")
            # a bootstrap-t reads whole replicates and BCa counts them, so theirs agree to a replicate or so
            rel = 1e-9 if interval in ("auto", "percentile", "basic") else 2e-2
            assert ends(two, "difference") == pytest.approx((-high, -low), rel=rel)
            if interval == "percentile":
                low, high = ends(one, "ratio")
                assert ends(two, "ratio") == pytest.approx((1 / high, 1 / low), rel=1e-4)


def scipy_bootstrap(data, statistic, method, *, paired=False):
    return stats.bootstrap(
        data,
        statistic,
        method=method,
        paired=paired,
        n_resamples=9999,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).confidence_interval


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_named_methods_agree_with_scipy(values, method):
    """Other draws, so to Monte Carlo error: 4 standard errors of a 2.5 % point are 3 % of the width."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 9, 25)
    recs = values({"a": [list(rng.lognormal(1, 1, m)) for m in sizes]})
    turns = recs.table("turns")
    sums = turns.groupby("run_id")["latency_ms"].sum().to_numpy(dtype=float)
    row = compare(recs, MEAN, interval=method, n_resamples=9999).iloc[0]
    low, high = scipy_bootstrap(
        (sums, sizes), lambda a, b, axis: a.sum(axis) / b.sum(axis), method, paired=True
    )
    assert (row["lower"], row["upper"]) == pytest.approx((low, high), abs=0.03 * (high - low))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_named_differences_agree_with_scipy(values, method, paired):
    frame = compare(values(runs_of(A, B)), MEAN, interval=method, paired=paired, n_resamples=9999)
    low, high = scipy_bootstrap((B, A), lambda x, y, axis: x.mean(axis) - y.mean(axis), method, paired=paired)
    assert ends(frame, "difference") == pytest.approx((low, high), abs=0.03 * (high - low))


def test_studentized_is_the_bootstrap_t(values):
    """Against a literal one, resample by resample."""
    rng = np.random.default_rng(8)
    x = rng.lognormal(0, 1, 15)
    row = compare(values(runs_of(x, names="a")), MEAN, interval="studentized", n_resamples=9999).iloc[0]
    drawn = x[rng.integers(0, 15, (9999, 15))]
    t = (drawn.mean(1) - x.mean()) / (drawn.std(1) / np.sqrt(15))
    se = x.std() / np.sqrt(15)
    high, low = np.quantile(t, [0.025, 0.975])
    width = (low - high) * se
    expected = (x.mean() - low * se, x.mean() - high * se)
    assert (row["lower"], row["upper"]) == pytest.approx(expected, abs=0.08 * width)
