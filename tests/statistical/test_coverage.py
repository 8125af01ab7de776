"""Do 95 % intervals hold the truth in 95 % of studies? Simulated studies from pools whose truth is exact.

Everything is seeded. A cell of 700 studies has a standard error of 0.0096 at a coverage of .93; the bounds
below leave 2.5 of them. What is promised is .93 from 10 runs and .92 at 5.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from agentlab.stats.bootstrap import Draws
from agentlab.stats.methods import Method
from agentlab.stats.metrics import Metric
from agentlab.stats.outcome import Outcome
from agentlab.stats.twoarms import TwoArms
from agentlab.stats.units import Sample

STUDIES = 700
POOL = 20_000
SLACK = 2.5 * np.sqrt(0.93 * 0.07 / STUDIES)


def metric(aggregate: str, **fields: object) -> Metric:
    return Metric(name=aggregate, table="t", column="x", aggregate=aggregate, **fields)  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Pool:
    """A finite population of runs."""

    metric: Metric
    a: np.ndarray
    b: np.ndarray
    values: np.ndarray | None = None

    @property
    def truth(self) -> float:
        if self.values is None:
            return self.a.sum() / self.b.sum()
        return float(np.quantile(self.values, self.metric.quantile))

    def sample(self, runs: np.ndarray) -> Sample:
        if self.values is None:
            return Sample(self.a[runs], self.b[runs], None, runs[:0])
        sizes = self.b.astype(int)
        start = np.concatenate([[0], np.cumsum(sizes)])
        values = np.concatenate([self.values[start[run] : start[run + 1]] for run in runs])
        return Sample(self.a[runs], self.b[runs], values, np.repeat(np.arange(len(runs)), sizes[runs]))


def observations(
    rng: np.random.Generator, sizes: np.ndarray, icc: float, block: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal values, the share `icc` of their variance between runs; and their run."""
    run = np.repeat(np.arange(len(sizes)), sizes)
    between = np.sqrt(icc) * rng.normal(size=len(sizes)) + block
    return between[run] + np.sqrt(1 - icc) * rng.normal(size=len(run)), run


def mean_of(values: np.ndarray, run: np.ndarray) -> Pool:
    return Pool(metric("mean"), np.bincount(run, values), np.bincount(run).astype(float))


def skewed(rng: np.random.Generator) -> Pool:
    z, run = observations(rng, rng.integers(3, 51, POOL), 0.5)
    return mean_of(np.exp(0.8 * z), run)


def zero_inflated(rng: np.random.Generator) -> Pool:
    z, run = observations(rng, rng.integers(3, 8, POOL), 0.2)
    return mean_of(np.where(rng.random(len(z)) < 0.4, 0, np.exp(0.5 * z)), run)


def signed(rng: np.random.Generator) -> Pool:
    return mean_of(*observations(rng, rng.integers(3, 8, POOL), 0.3))


def counts(rng: np.random.Generator) -> Pool:
    return Pool(metric("count"), rng.negative_binomial(5, 0.2, POOL).astype(float), np.ones(POOL))


def tokens_per_second(rng: np.random.Generator) -> Pool:
    seconds = rng.lognormal(1, 0.5, POOL)
    return Pool(metric("ratio", of="s"), seconds * rng.lognormal(4, 0.3, POOL), seconds)


def share(mean: float, spread: float) -> Callable[[np.random.Generator], Pool]:
    def make(rng: np.random.Generator) -> Pool:
        sizes = rng.integers(3, 51, POOL)
        p = rng.beta(mean * spread, (1 - mean) * spread, POOL)
        return Pool(metric("share"), rng.binomial(sizes, p).astype(float), sizes.astype(float))

    return make


def cached_tokens(rng: np.random.Generator) -> Pool:
    tokens = rng.lognormal(9, 0.6, (POOL, 5)) * (rng.random((POOL, 5)) < 0.8)
    tokens[:, 0] += 500
    p = rng.beta(38, 2, POOL)[:, None]
    return Pool(metric("share", of="y"), (tokens * p * (rng.random((POOL, 5)) < 0.9)).sum(1), tokens.sum(1))


def slope(rng: np.random.Generator) -> Pool:
    dt = rng.normal(size=(POOL, 6))
    dt -= dt.mean(1, keepdims=True)
    dx = rng.normal(1, 1, (POOL, 1)) * dt + rng.normal(size=(POOL, 6))
    return Pool(metric("slope", of="t"), (dx * dt).sum(1), (dt * dt).sum(1))


def median(rng: np.random.Generator) -> Pool:
    z, run = observations(rng, rng.integers(3, 51, POOL), 0.5)
    sizes = np.bincount(run).astype(float)
    return Pool(metric("median"), np.zeros(POOL), sizes, np.exp(0.8 * z))


POOLS = {
    "skewed mean": skewed,
    "mean with zeros": zero_inflated,
    "signed mean": signed,
    "count": counts,
    "tokens per second": tokens_per_second,
    "share near a quarter": share(0.25, 5),
    "rare share": share(0.03, 20),
    "cached share of tokens": cached_tokens,
    "slope": slope,
    "median": median,
}


@functools.cache
def pool_of(name: str, seed: int = 1) -> Pool:
    return POOLS[name](np.random.default_rng(seed))


def cover(outcomes: list[Outcome], truth: float) -> float:
    """Share of intervals that hold the truth; a study without an interval counts as a miss."""
    held = [o.lower is not None and o.lower <= truth <= (o.upper or 0.0) for o in outcomes]
    return float(np.mean(held))


def levels(pool: Pool, n: int, interval: str) -> float:
    rng = np.random.default_rng(n)
    outcomes = [
        Method(interval, 0.95, Draws(study, 999)).level_of(
            pool.sample(rng.integers(0, POOL, n)), pool.metric, 0
        )  # type: ignore[arg-type]
        for study in range(STUDIES)
    ]
    return cover(outcomes, pool.truth)


def contrasts(
    pools: tuple[Pool, Pool],
    n: tuple[int, int],
    *,
    paired: bool,
    interval: str = "auto",
    kind: Literal["difference", "ratio"] = "difference",
) -> float:
    """Paired pools hold the same blocks at the same places."""
    rng = np.random.default_rng(n)
    outcomes = []
    for study in range(STUDIES):
        runs = [rng.integers(0, POOL, size) for size in n]
        if paired:
            runs[1] = runs[0]
        first, second = (pool.sample(chosen) for pool, chosen in zip(pools, runs, strict=True))
        method = Method(interval, 0.95, Draws(study, 499))  # type: ignore[arg-type]
        streams = (9, 9) if paired else (0, 1)
        outcomes.append(method.contrast_of(kind, TwoArms((first, second), pools[0].metric, streams)))
    one, two = pools[0].truth, pools[1].truth
    return cover(outcomes, one - two if kind == "difference" else one / two)


#: A tenth of the requests misses the cache entirely, and one study of 5 runs in nine sees none of them.
KNOWN_WEAK = {("cached share of tokens", 5): 0.86}


def promised(n: int, name: str = "") -> float:
    return KNOWN_WEAK.get((name, n), 0.93 if n >= 10 else 0.92) - SLACK


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("name", POOLS)
def test_levels_cover(name, n):
    assert levels(pool_of(name), n, "auto") >= promised(n, name)


@pytest.mark.parametrize("name", ["skewed mean", "count", "share near a quarter", "median"])
def test_the_plain_percentile_interval_fails_the_same_test(name):
    """So the test above can fail: this is the interval that most tools draw."""
    for n in (5, 10):
        assert levels(pool_of(name), n, "percentile") < promised(n)


@pytest.mark.parametrize("n", [(5, 5), (10, 10), (20, 20), (5, 20)])
@pytest.mark.parametrize("name", ["skewed mean", "share near a quarter", "median", "slope"])
def test_differences_of_independent_arms_cover(name, n):
    pools = (pool_of(name), pool_of(name, 2))
    # the facts for 5 runs against 20: .90 on skewed data
    least = promised(min(n)) if n[0] == n[1] else 0.90 - SLACK
    assert contrasts(pools, n, paired=False) >= least


@pytest.mark.parametrize("n", [(5, 5), (10, 10)])
@pytest.mark.parametrize("name", ["skewed mean", "tokens per second", "share near a quarter", "median"])
def test_ratios_of_independent_arms_cover(name, n):
    pools = (pool_of(name), pool_of(name, 2))
    assert contrasts(pools, n, paired=False, kind="ratio") >= promised(min(n))


@pytest.mark.parametrize(("n", "least"), [(10, 0.91), (20, 0.93)])
@pytest.mark.parametrize("p", [0.05, 0.75, 0.95])
def test_other_quantiles_cover(n, p, least):
    """Of p95 no more is promised: .94 at 10 and .95 at 20 on average, lowest population .85 and .88."""
    rng = np.random.default_rng(4)
    z, run = observations(rng, rng.integers(8, 51, POOL), 0.3)
    sizes = np.bincount(run).astype(float)
    pool = Pool(metric("quantile", p=p), np.zeros(POOL), sizes, np.exp(0.8 * z))
    assert levels(pool, n, "auto") >= least - SLACK


def blocks(rng: np.random.Generator, kind: str) -> tuple[Pool, Pool]:
    """Two arms that share what makes a block slow; the second is slower by a fifth."""
    block, shape = rng.normal(size=POOL), (POOL, 2)
    made = []
    for shift, sizes in zip((0.0, 0.2), rng.integers(3, 12, shape).T, strict=True):
        z, run = observations(rng, sizes, 0.2, block)
        if kind == "share":
            made.append(
                dataclasses.replace(mean_of((z > 1 - shift).astype(float), run), metric=metric("share"))
            )
        else:
            made.append(mean_of(np.exp(0.5 * z + shift), run))
        if kind == "median":
            made[-1] = Pool(metric("median"), made[-1].a, made[-1].b, np.exp(0.5 * z + shift))
    return made[0], made[1]


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("kind", ["mean", "share", "median"])
def test_differences_within_blocks_cover(kind, n):
    assert contrasts(blocks(np.random.default_rng(3), kind), (n, n), paired=True) >= 0.90 - SLACK + 0.03 * (
        n > 5
    )


@pytest.mark.parametrize("kind", ["mean", "share", "median"])
def test_ratios_within_blocks_cover(kind):
    pools = blocks(np.random.default_rng(3), kind)
    assert contrasts(pools, (10, 10), paired=True, kind="ratio") >= promised(10)


def test_percentile_differences_fail():
    pools = blocks(np.random.default_rng(3), "mean")
    assert contrasts(pools, (5, 5), paired=True, interval="percentile") < 0.90 - SLACK


def test_an_exact_bound_covers_a_rare_share_that_no_run_showed():
    """All runs at 0: one observation a run covers, counting rows would not."""
    pool = share(0.03, 4)(np.random.default_rng(5))
    rng = np.random.default_rng(6)
    held, rows_held = [], []
    for study in range(4000):
        sample = pool.sample(rng.integers(0, POOL, 10))
        if sample.a.any():
            continue
        outcome = Method("auto", 0.95, Draws(study, 100)).level_of(sample, pool.metric, 0)
        held.append((outcome.upper or 0) >= pool.truth)
        rows_held.append(1 - 0.025 ** (1 / sample.b.sum()) >= pool.truth)
    assert len(held) > 20
    assert np.mean(held) == 1
    assert np.mean(rows_held) < 0.5
