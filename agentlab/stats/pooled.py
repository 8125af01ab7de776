"""Quantiles of pooled observations in every resample, exact and without sorting any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .bootstrap import CHUNK, Counts, Floats, Ints, product, row_chunks


def quantiles(
    counts: Counts,
    values: Floats,
    owner: Ints,
    p: float,
    method: Literal["linear", "nearest_rank"] = "linear",
) -> Floats:
    """Compute a quantile of the pooled observations of each resample.

    Exact, and without sorting any resample: the observations are sorted once; in a resample each has the
    weight of its unit, so the quantile is where the running weight reaches a rank.

    Parameters
    ----------
    counts : ndarray of uint8, shape (resamples, n)
        How often each unit was drawn.
    values : ndarray of float, shape (N,)
        All observations.
    owner : ndarray of int, shape (N,)
        The unit, 0 to n - 1, of each.
    p : float
        0 < p < 1.
    method : str
        ``"linear"`` between neighbours, or ``"nearest_rank"``: the smallest value with at least `p` of the
        observations at or below it.

    Returns
    -------
    ndarray of float, shape (resamples,)
        NaN for a resample without an observation.
    """
    order = np.argsort(values, kind="stable")
    scan = _RankScan(owner[order], counts.shape[1], p)
    result = np.full(len(counts), np.nan)
    for rows in row_chunks(*counts.shape, size=CHUNK // 4):
        running = scan.running(counts[rows])
        filled = np.flatnonzero(running[:, -1])
        ranks, weight = quantile_ranks(running[filled, -1].astype(np.float64), p, method)
        at = [scan.positions(counts[rows], running, filled, rank) for rank in ranks]
        result[rows.start + filled] = mix([values[order[k]] for k in at], weight)
    return result


def quantile(values: Floats, p: float, method: Literal["linear", "nearest_rank"] = "linear") -> float:
    """Compute the quantile of one sorted sample with at least one value.

    Parameters
    ----------
    values : ndarray of float, shape (N,)
        Sorted observations.
    p : float
        0 < p < 1.
    method : str
        As for :func:`quantiles`.

    Returns
    -------
    float
    """
    ranks, weight = quantile_ranks(np.array([float(len(values))]), p, method)
    return float(mix([values[rank.astype(np.int64) - 1] for rank in ranks], weight)[0])


def quantile_ranks(pooled: Floats, p: float, method: str) -> tuple[list[Floats], Floats | None]:
    """Return the ranks (from 1) that make up a quantile of `pooled` observations, and the second's weight."""
    if method == "nearest_rank":
        return [np.clip(np.ceil(p * pooled - 1e-9), 1, pooled)], None
    position = (pooled - 1) * p
    low = np.floor(position)
    return [low + 1, np.minimum(low + 2, pooled)], position - low


def mix(neighbours: Sequence[Floats], weight: Floats | None) -> Floats:
    """Interpolate between two neighbours; equal ones stay what they are, also when infinite."""
    if weight is None:
        return neighbours[0]
    low, high = neighbours
    with np.errstate(invalid="ignore"):
        return np.where((weight == 0) | (low == high), low, low * (1 - weight) + high * weight)


class _RankScan:
    """Find, in each resample, the observation at which the running weight reaches a rank.

    Two levels: a product gives the running weight at a few knots, close together where the answer is to be
    expected (7 standard errors around it), and a short scan finishes inside one gap. The few resamples that
    miss the close knots are scanned one by one, so the answer is exact for all.
    """

    def __init__(self, owner: Ints, n: int, p: float) -> None:
        self.owner = owner
        self.knots, self.width = _place_knots(owner, n, p)
        self.padded = np.concatenate([owner, np.zeros(self.width, dtype=owner.dtype)])
        gap = np.searchsorted(self.knots, np.arange(len(owner)), side="right") - 1
        n_gaps = len(self.knots) - 1
        table = np.bincount(owner * n_gaps + gap, minlength=n * n_gaps).reshape(n, n_gaps)
        # float32 counts exactly up to 2**24; a resample could at worst hold the largest unit n times
        exact = np.float32 if table.sum(axis=1).max() * n < 1 << 24 else np.float64
        before = np.hstack([np.zeros((n, 1)), table.cumsum(axis=1)])
        self.before: NDArray[Any] = before.astype(exact)

    def running(self, counts: Counts) -> NDArray[Any]:
        """Return the weight of the observations before each knot, for each resample."""
        return product(counts, self.before)

    def positions(self, counts: Counts, running: NDArray[Any], rows: Ints, rank: Floats) -> Ints:
        """Return the index of the observation that holds each rank, for the resamples `rows`."""
        gap = (running[rows] < rank[:, None]).sum(axis=1) - 1
        start, stop = self.knots[gap], self.knots[gap + 1]
        missing = rank - running[rows, gap]
        unit = self.padded[start[:, None] + np.arange(self.width)]
        weight = counts.ravel().take(rows[:, None] * counts.shape[1] + unit)
        found = start + (weight.cumsum(axis=1, dtype=np.int32) < missing[:, None]).sum(axis=1)
        for k in np.flatnonzero(stop - start > self.width):
            weight = counts[rows[k], self.owner[start[k] : stop[k]]]
            found[k] = start[k] + np.searchsorted(weight.cumsum(dtype=np.int64), missing[k])
        return found


def _place_knots(owner: Ints, n: int, p: float) -> tuple[Ints, int]:
    size = len(owner)
    centre = int(p * size)
    z = np.bincount(owner[:centre], minlength=n) - p * np.bincount(owner, minlength=n)
    reach = int(7 * np.sqrt((z * z).sum())) + 2
    low, high = max(0, centre - reach), min(size, centre + reach)
    step = max(1, int(np.sqrt(high - low)))
    return np.unique(np.concatenate([[0], np.arange(low, high, step), [high, size]])), step
