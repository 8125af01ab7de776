"""What must hold for any data: scales, orders and swaps change an estimate only as they should."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.stats.bootstrap import Draws
from agentlab.stats.compare import compare
from agentlab.stats.estimates import COLUMNS
from agentlab.stats.intervals import wilson
from agentlab.stats.linear import fit
from agentlab.stats.methods import Method
from agentlab.stats.metrics import Metric
from agentlab.stats.pooled import quantiles
from agentlab.stats.twoarms import TwoArms
from agentlab.stats.units import Sample

KINDS = {
    kind: Metric(name=kind, table="t", column="x", aggregate=kind) for kind in ("mean", "sum", "median")
} | {
    "share": Metric(name="share", table="t", column="hit", aggregate="share"),
    "count": Metric(name="count", table="t", aggregate="count"),
    "p95": Metric(name="p95", table="t", column="x", aggregate="quantile", p=0.95),
}
INTERVALS = ("auto", "percentile", "bca", "basic", "studentized")

values = st.one_of(
    st.none(), st.just(math.nan), st.sampled_from([0.0, 1.0, 5.0]), st.floats(-1e6, 1e6), st.floats(0, 1)
)
run = st.lists(st.tuples(values, st.booleans(), st.booleans()), max_size=6)
arm = st.lists(st.tuples(run, st.booleans()), max_size=9)


class Recs:
    def __init__(self, arms: dict[str, list], order: np.random.Generator | None = None) -> None:
        runs, rows = [], []
        for name, recorded in arms.items():
            for index, (row_values, eligible) in enumerate(recorded):
                keys = ("s", name, f"{name}-{index}", index, index, eligible)
                runs.append(keys)
                rows += [(*keys, *row) for row in row_values]
        names = ["study", "arm", "run_id", "run_index", "block", "eligible"]
        self.runs = self._typed(pd.DataFrame(runs, columns=names))
        self._table = self._typed(pd.DataFrame(rows, columns=[*names, "x", "hit", "warmup"]))
        if order is not None:
            self._table = self._table.iloc[order.permutation(len(rows))]

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        whole = dict.fromkeys(["run_index", "block"], "Int64")
        flags = dict.fromkeys(["eligible", "hit", "warmup"], "boolean")
        text = dict.fromkeys(["study", "arm", "run_id"], "string")
        dtypes = whole | flags | text | {"x": "Float64"}
        return frame.astype({name: dtypes[name] for name in frame})

    def table(self, name: str) -> pd.DataFrame:
        return self._table


def quietly(recs: Recs, *metrics: Metric, **options: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare(recs, *metrics, n_resamples=100, **options)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), arm, max_size=3), st.sampled_from(INTERVALS), st.data())
def test_any_data_gives_a_whole_frame(arms, interval, data):
    recs = Recs(arms)
    frame = quietly(
        recs, *KINDS.values(), interval=interval, paired=data.draw(st.sampled_from([True, False, "auto"]))
    )
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == COLUMNS
    counts = [name for name in COLUMNS if name.startswith("n_") and name != "n_resamples"]
    assert (frame[counts] >= 0).all(axis=None)
    plain = frame.astype({"estimate": float, "lower": float, "upper": float})
    has = frame["lower"].notna()
    assert (has == frame["upper"].notna()).all()
    assert (has == (frame["status"] == "ok")).all()
    assert (plain[has]["lower"] <= plain[has]["upper"]).all()
    assert frame[~has]["reason"].notna().all()
    auto_ends = plain[has & (frame["interval"] != "basic") & (interval == "auto")]
    slack = 1e-9 * auto_ends["estimate"].abs()
    assert (auto_ends["lower"] <= auto_ends["estimate"] + slack).all()
    assert (auto_ends["estimate"] <= auto_ends["upper"] + slack).all()
    shares = plain[(frame["metric"] == "share") & (frame["kind"] == "level") & has & (interval == "auto")]
    assert shares[["lower", "upper"]].stack().between(0, 1).all()


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from("ab"), arm, min_size=1, max_size=2),
    st.sampled_from(INTERVALS),
    st.integers(0, 99),
)
def test_the_order_of_rows_changes_no_estimate(arms, interval, seed):
    one = quietly(Recs(arms), *KINDS.values(), interval=interval)
    two = quietly(Recs(arms, np.random.default_rng(seed)), *KINDS.values(), interval=interval)
    pd.testing.assert_frame_equal(one, two, rtol=1e-9, atol=1e-6)


samples = st.integers(3, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0.01, 100), min_size=n, max_size=n),
        st.lists(st.integers(1, 40), min_size=n, max_size=n),
    )
)


def sample(drawn: tuple[list[float], list[int]]) -> Sample:
    means, sizes = (np.array(x, dtype=float) for x in drawn)
    return Sample(means * sizes, sizes, None, np.zeros(0, dtype=np.int64))


def ends(metric: Metric, first: Sample, second: Sample | None = None, *, paired: bool = False) -> np.ndarray:
    method = Method("auto", 0.95, Draws(0, 200))
    if second is None:
        outcome = method.level_of(first, metric, 0)
    else:
        outcome = method.contrast_of(
            "difference", TwoArms((first, second), metric, (9, 9) if paired else (0, 1))
        )
    return np.array([outcome.estimate, outcome.lower, outcome.upper], dtype=float)  # None is NaN


@given(samples, st.floats(1e-6, 1e6))
def test_scaling_the_values_scales_every_end(drawn, scale):
    one = sample(drawn)
    two = Sample(one.a * scale, one.b, None, one.owner)
    np.testing.assert_allclose(ends(KINDS["mean"], two), scale * ends(KINDS["mean"], one), rtol=1e-9)


@given(samples, samples, st.booleans())
def test_swapping_arms_negates_every_end(drawn, other, paired):
    n = min(len(drawn[0]), len(other[0]))
    cut = [sample((means[:n], sizes[:n])) for means, sizes in (drawn, other)]
    forth, back = (ends(KINDS["mean"], *pair, paired=paired) for pair in (cut, cut[::-1]))
    np.testing.assert_allclose(forth, -back[[0, 2, 1]], rtol=1e-9, atol=1e-9)


@given(samples, samples, st.integers(0, 99))
def test_permuting_runs_changes_no_closed_form_end(drawn, other, seed):
    one = sample(drawn)
    order = np.random.default_rng(seed).permutation(one.n)
    two = Sample(one.a[order], one.b[order], None, one.owner)
    forth, back = fit(one.a, one.b), fit(two.a, two.b)
    assert (forth.estimate, forth.se, forth.df) == pytest.approx((back.estimate, back.se, back.df), rel=1e-9)
    shares = [Sample(np.floor(s.b / 2), s.b, None, s.owner) for s in (one, two)]
    np.testing.assert_allclose(*(ends(KINDS["share"], s) for s in shares), rtol=1e-9)
    fixed = sample(other)
    forth, back = (ends(KINDS["mean"], s, fixed) for s in (one, two))
    np.testing.assert_allclose(forth, back, rtol=1e-9, atol=1e-7)


@given(st.floats(0, 1), st.floats(0.5, 1e6))
def test_wilson_limits_hold_the_share_and_stay_inside(r, n):
    low, high = wilson(r, n, 1.96)
    assert 0 <= low <= r + 1e-12
    assert r - 1e-12 <= high <= 1


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.5, 7.25]), max_size=9), min_size=1, max_size=12),
    st.floats(0.02, 0.98),
    st.sampled_from(["linear", "nearest_rank"]),
)
def test_resampled_quantiles_are_those_of_the_repeated_observations(units, p, method):
    owner = np.repeat(np.arange(len(units)), [len(unit) for unit in units])
    pooled = np.array([x for unit in units for x in unit])
    counts = Draws(0, 40).counts(0, len(units))
    got = quantiles(counts, pooled, owner, p, method)
    numpy_name = {"linear": "linear", "nearest_rank": "inverted_cdf"}[method]
    for row, value in zip(counts, got, strict=True):
        drawn = np.repeat(pooled, row[owner])
        if len(drawn) == 0:
            assert np.isnan(value)
        elif abs(p * len(drawn) - round(p * len(drawn))) > 1e-6:  # else the two round apart
            assert value == pytest.approx(np.quantile(drawn, p, method=numpy_name), rel=1e-12)
