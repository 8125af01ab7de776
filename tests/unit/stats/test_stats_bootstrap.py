from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from agentlab.stats import bootstrap, pooled
from agentlab.stats.bootstrap import Draws, ratios, sums, tally
from agentlab.stats.pooled import quantile, quantiles

METHODS = {"linear": "linear", "nearest_rank": "inverted_cdf"}


def observations(rng: np.random.Generator, n: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    sizes = rng.integers(0, most, n)
    sizes[0] = max(1, sizes[0])
    owner = rng.permutation(np.repeat(np.arange(n), sizes))
    return np.round(rng.lognormal(size=len(owner)) + 0.2 * owner, 1), owner  # rounded: many ties


def literal(counts: np.ndarray, values: np.ndarray, owner: np.ndarray, p: float, method: str) -> list[float]:
    drawn = (np.repeat(values, row[owner]) for row in counts)
    return [np.quantile(x, p, method=METHODS[method]) if len(x) else np.nan for x in drawn]


@pytest.mark.parametrize("n", [1, 2, 10, 100, 1000])
def test_every_resample_draws_as_many_units_as_there_are(n):
    counts = Draws(0, 500).counts(0, n)
    assert counts.shape == (500, n)
    assert (counts.sum(axis=1) == n).all()


def test_units_are_drawn_alike():
    counts = Draws(3, 20_000).counts(0, 5)
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * np.sqrt(0.8 / 20_000)
    assert abs((counts == 0).mean() - 0.8**5) < 0.005


def test_draws_repeat_by_seed_and_differ_by_stream():
    assert (Draws(1, 100).counts(0, 9) == Draws(1, 100).counts(0, 9)).all()
    assert (Draws(1, 100).counts(0, 9) != Draws(2, 100).counts(0, 9)).any()
    draws = Draws(1, 100)
    assert (draws.counts(0, 9) != draws.counts(1, 9)).any()
    assert draws.counts(1, 9) is draws.counts(1, 9)


def test_tally_counts_each_row():
    assert tally(np.array([[0, 0, 2], [1, 1, 1]], dtype=np.uint16)).tolist() == [[2, 0, 1], [0, 3, 0]]


@pytest.mark.parametrize("n", [1, 3, 40, 700])
def test_sums_are_what_the_drawn_units_add_up_to(n):
    columns = np.random.default_rng(n).lognormal(size=(n, 3))
    counts = Draws(0, 200).counts(0, n)
    expected = [np.repeat(columns, row, axis=0).sum(axis=0) for row in counts]
    np.testing.assert_allclose(sums(counts, columns), expected, rtol=1e-12)


def test_a_ratio_without_denominator_is_unknown():
    counts = np.array([[2, 0], [0, 2]], dtype=np.uint8)
    result = ratios(counts, np.array([1.0, 3.0]), np.array([0.0, 4.0]))
    assert np.isnan(result[0])
    assert result[1] == 0.75


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
@pytest.mark.parametrize(("n", "most"), [(1, 4), (2, 3), (5, 40), (60, 30), (300, 12)])
def test_quantiles_equal_those_of_the_drawn_observations(n, most, p, method):
    values, owner = observations(np.random.default_rng(n), n, most)
    counts = Draws(0, 150).counts(0, n)
    expected = literal(counts, values, owner, p, method)
    np.testing.assert_allclose(quantiles(counts, values, owner, p, method), expected, rtol=1e-14)


def test_resamples_far_from_the_expected_rank_are_exact_too():
    # unit 0 holds every small value: a row that draws only unit 0, or never, lies far outside 7 SE
    owner = np.repeat([0, 1, 2, 3], [40, 4000, 4000, 4000])
    values = np.arange(len(owner), dtype=float)
    counts = np.array([[200, 0, 0, 0], [0, 0, 0, 200], [1, 1, 1, 1]], dtype=np.uint8)
    for method in METHODS:
        expected = literal(counts, values, owner, 0.5, method)
        assert quantiles(counts, values, owner, 0.5, method).tolist() == expected


def test_a_resample_of_empty_units_has_no_quantile():
    counts = np.array([[2, 0], [1, 1]], dtype=np.uint8)
    result = quantiles(counts, np.array([5.0]), np.array([1]), 0.5)
    assert np.isnan(result[0])
    assert result[1] == 5


def test_infinite_values_stay_in_their_rank():
    values = np.array([1.0, np.inf, np.inf, -np.inf])
    assert quantile(np.sort(values), 0.9) == np.inf
    counts = np.ones((1, 4), dtype=np.uint8)
    assert quantiles(counts, values, np.arange(4), 0.5)[0] == np.inf
    assert quantiles(counts, values, np.arange(4), 0.25, "nearest_rank")[0] == -np.inf


def test_chunks_change_nothing(monkeypatch):
    values, owner = observations(np.random.default_rng(1), 30, 20)
    columns = np.random.default_rng(2).normal(size=(30, 2))
    whole = Draws(5, 400).counts(0, 30)
    before = sums(whole, columns), quantiles(whole, values, owner, 0.5)
    monkeypatch.setattr(bootstrap, "_PRODUCT", 700)
    monkeypatch.setattr(pooled, "CHUNK", 700)
    np.testing.assert_allclose(sums(whole, columns), before[0], rtol=1e-12)
    assert (quantiles(whole, values, owner, 0.5) == before[1]).all()


@pytest.mark.parametrize("p", [0.07, 0.5, 0.95])
def test_one_sample_has_the_quantile_of_numpy(p):
    for size in range(1, 101):
        values = np.sort(np.random.default_rng(size).normal(size=size))
        assert quantile(values, p) == pytest.approx(np.quantile(values, p), rel=1e-12)
        rank = math.ceil(Fraction(str(p)) * size)  # 0.07 * 100 is 7, whatever floats say
        assert quantile(values, p, "nearest_rank") == values[rank - 1]
