"""Ratios of arms, tail quantiles, and the smooth weights behind a bootstrap-t that never breaks."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from agentlab.stats.bootstrap import Draws
from agentlab.stats.compare import compare
from agentlab.stats.metrics import Metric

RNG = np.random.default_rng(14)
MEAN = Metric(name="mean", table="turns", column="latency_ms", aggregate="mean")
MEDIAN = Metric(name="median", table="turns", column="latency_ms", aggregate="median")
COUNT = Metric(name="count", table="turns", aggregate="count")
OK = Metric(name="ok", table="turns", column="ok", aggregate="share")
SLOPE = Metric(name="slope", table="turns", column="x", of="t", aggregate="slope")


def quantile(p: float, **fields: object) -> Metric:
    return Metric(name="q", table="turns", column="latency_ms", aggregate="quantile", p=p, **fields)  # type: ignore[arg-type]


def lognormal(n: int, rows: int = 4) -> list[list[float]]:
    return [list(RNG.lognormal(1, 1, rows)) for _ in range(n)]


def ratio(frame: pd.DataFrame) -> pd.Series:
    return frame[frame["kind"] == "ratio"].iloc[0]


def test_smooth_weights_have_the_moments_of_counts_and_never_vanish():
    weights = Draws(0, 4000).weights(0, 8)
    np.testing.assert_allclose(weights.mean(axis=1), 1)
    assert abs(weights.var() - 1) < 0.1  # scaling to mean 1 takes about 1 / n of it
    assert (np.sort(weights, axis=1)[:, 1] > 0).all()
    raw = np.random.default_rng(0).beta(0.5, 1.5, (4000, 8))
    scaled = raw * (8 / raw.sum(axis=1, keepdims=True))
    assert stats.ks_2samp(weights[:, 0], scaled[:, 0]).pvalue > 0.001


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("metric", "interval"),
    [(MEAN, "log t, studentized"), (COUNT, "log t, studentized"), (MEDIAN, "t, bootstrap se")],
)
def test_swapping_arms_inverts_every_end(values, metric, interval, paired):
    arms = {name: [list(RNG.lognormal(1, 0.5, m)) for m in RNG.integers(2, 9, 9)] for name in "ab"}
    one, two = (ratio(compare(values(arms), metric, reference=r, paired=paired)) for r in "ab")
    assert one["interval"].endswith(interval)
    assert one["n_resamples"] == 4999
    forth, back = ([row[end] for end in ("estimate", "lower", "upper")] for row in (one, two))
    assert forth == pytest.approx([1 / back[0], 1 / back[2], 1 / back[1]], rel=5e-3)
    assert forth[1] < forth[0] < forth[2]


def test_scaling_an_arm_scales_its_ratio(values):
    a, b = lognormal(8), lognormal(8)
    one = ratio(compare(values({"a": a, "b": b}), MEAN))
    two = ratio(compare(values({"a": a, "b": [[1000 * x for x in run] for run in b]}), MEAN))
    for end in ("estimate", "lower", "upper"):
        assert two[end] == pytest.approx(1000 * one[end], rel=1e-6)


def test_shares_use_their_limits_on_the_log_scale(recs):
    arms = {
        name: [[{"ok": bool(x)} for x in RNG.random(6) < p] for _ in range(10)]
        for name, p in (("a", 0.3), ("b", 0.7))
    }
    row = ratio(compare(recs(arms), OK, paired=False))
    assert (row["status"], row["interval"]) == ("ok", "log mover")
    assert 1 < row["lower"] < row["estimate"] < row["upper"]


def test_a_share_of_one_in_all_runs_has_a_ratio(recs):
    some = [[{"ok": bool(x)} for x in RNG.random(6) < 0.6] for _ in range(10)]
    row = ratio(compare(recs({"some": some, "all": [[{"ok": True}] * 6] * 10}), OK))
    assert (row["status"], row["interval"], row["flags"]) == ("ok", "log mover", "all_one")


def test_signs_and_slopes_have_no_ratio(values, recs):
    mixed = ratio(compare(values({"a": [[-1.0], [5.0], [4.0]], "b": lognormal(3)}), MEAN))
    assert (mixed["status"], mixed["reason"]) == ("unsupported", "a ratio of arms needs values of one sign")
    rows = [[{"t": t, "x": k + t * RNG.normal(3, 1)} for t in (0.0, 1.0, 2.0)] for k in range(6)]
    slopes = ratio(compare(recs({"a": rows, "b": rows[::-1]}), SLOPE))
    assert (slopes["status"], pd.isna(slopes["lower"])) == ("unsupported", True)


def test_a_ratio_that_hangs_on_one_run_has_no_end(values):
    row = ratio(compare(values({"a": [[0.0], [0.0], [5.0], [0.0]], "b": lognormal(4)}), MEAN))
    assert row["status"] == "degenerate"
    assert row["reason"].startswith("without one of its runs")
    assert row["estimate"] > 0


@pytest.mark.parametrize(("p", "end", "largest"), [(0.95, "upper", max), (0.05, "lower", min)])
def test_a_tail_that_the_observations_do_not_reach_is_open(values, p, end, largest):
    runs = lognormal(10, rows=4)
    row = compare(values({"a": runs}), quantile(p)).iloc[0]
    assert set(row["flags"].split(",")) == {"open", "tail"}
    beyond = row[end] >= max(map(max, runs)) if p > 0.5 else row[end] <= min(map(min, runs))
    assert beyond


def test_a_tail_with_many_observations_is_closed_and_contains_it(values):
    row = compare(values({"a": lognormal(30, rows=60)}), quantile(0.95)).iloc[0]
    assert (row["status"], row["flags"], row["interval"]) == ("ok", "", "beta, log t")
    truth = math.exp(1 + stats.norm.ppf(0.95))
    assert row["lower"] < truth < row["upper"]
    assert (row["upper"] - row["lower"]) < 0.5 * truth


def test_a_tail_of_values_around_zero_is_not_put_on_the_log_scale(values):
    row = compare(values({"a": [list(RNG.normal(size=30)) for _ in range(12)]}), quantile(0.9)).iloc[0]
    assert row["status"] == "ok"
    assert row["lower"] < row["estimate"] < row["upper"]


def test_tied_medians_show_no_variation_of_their_difference(values):
    """A clock of whole milliseconds: the level is sure of its tick, the difference has no standard error."""
    a, b = ([[18.0] * 5 + [x] for x in RNG.normal(18, 3, 8)] for _ in "ab")
    frame = compare(values({"a": a, "b": [[x * (1 + 1e-15) for x in run] for run in b]}), MEDIAN)
    level, contrasts = frame[frame["kind"] == "level"], frame[frame["kind"] != "level"]
    assert level["lower"].tolist() == pytest.approx([18, 18])
    assert set(level["status"]) == {"ok"}
    assert set(contrasts["status"]) == {"degenerate"}
    assert contrasts["reason"].str.contains("tied").all()


def test_quantiles_in_the_middle_invert_the_score(values):
    row = compare(values({"a": lognormal(12, rows=20)}), quantile(0.75)).iloc[0]
    assert row["interval"] == "score"
    assert row["lower"] < row["estimate"] < row["upper"]
