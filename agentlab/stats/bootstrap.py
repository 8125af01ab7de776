"""Resample whole units (runs, or blocks of runs) with numpy alone.

A resample is a row of counts: how often each unit was drawn. Drawn once, the counts serve every metric over
the same units: sums need one matrix product, pooled quantiles a product and a short scan.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.uint8]
Weights = NDArray[np.uint8] | NDArray[np.float64]

#: Entries of a matrix worked on at a time, which keeps memory flat at any number of resamples.
CHUNK = 2_000_000
#: The same for the histogram of draws: it should stay in the processor's cache.
_DRAW_CHUNK = 16_384
#: Entries of the table that weights are drawn from.
_TABLE = 1 << 16
#: Multiplications in a product that BLAS does not spread over threads.
_PRODUCT = 262_144


class Draws:
    """Hold the resampling counts of one comparison.

    Parameters
    ----------
    seed : int
        Same seed, same draws.
    n_resamples : int
        Rows of every matrix of counts.
    """

    def __init__(self, seed: int, n_resamples: int) -> None:
        self.seed = seed
        self.n_resamples = n_resamples
        self._drawn: dict[tuple[int, int], Counts] = {}
        self._weights: dict[tuple[int, int], Floats] = {}

    def counts(self, stream: int, n: int) -> Counts:
        """Return the draws of `n` units.

        Parameters
        ----------
        stream : int
            Independent units (two unpaired arms) need streams of their own; paired arms share one.
        n : int
            Number of units.

        Returns
        -------
        ndarray of uint8, shape (n_resamples, n)
            How often each unit was drawn; each row sums to `n`.
        """
        if (stream, n) not in self._drawn:
            self._drawn[stream, n] = draw(self._generator(stream), n, self.n_resamples)
        return self._drawn[stream, n]

    def weights(self, stream: int, n: int) -> Floats:
        """Return smooth weights of `n` units in place of counts; see :func:`beta_weights`."""
        if (stream, n) not in self._weights:
            self._weights[stream, n] = beta_weights(self._generator(stream), n, self.n_resamples)
        return self._weights[stream, n]

    def _generator(self, stream: int) -> np.random.Generator:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(stream,))
        return np.random.Generator(np.random.SFC64(sequence))


def draw(generator: np.random.Generator, n: int, n_resamples: int) -> Counts:
    """Draw `n` of `n` units with replacement, `n_resamples` times.

    Parameters
    ----------
    generator : numpy.random.Generator
        Source of the draws.
    n, n_resamples : int
        Units, and resamples.

    Returns
    -------
    ndarray of uint8, shape (n_resamples, n)
        How often each unit was drawn.
    """
    dtype = np.uint16 if n <= 1 << 16 else np.uint32
    counts = np.empty((n_resamples, n), dtype=np.uint8)
    for rows in row_chunks(n_resamples, n, size=_DRAW_CHUNK):
        counts[rows] = tally(generator.integers(0, n, (rows.stop - rows.start, n), dtype=dtype))
    return counts


def beta_weights(generator: np.random.Generator, n: int, n_resamples: int) -> Floats:
    """Draw weights of `n` units that are never all on one unit (Owen 2025).

    Beta(1/2, 3/2), scaled to mean 1 in each resample: their variance is 1, as that of counts, but no resample
    is without variation, so that a bootstrap-t built on them has finite ends from 3 units on.

    Returns
    -------
    ndarray of float, shape (n_resamples, n)
    """
    weights = _beta_table()[generator.integers(0, _TABLE, (n_resamples, n), dtype=np.uint16)]
    return weights * (n / weights.sum(axis=1, keepdims=True))


@functools.cache
def _beta_table() -> Floats:
    """Tabulate the quantiles of Beta(1/2, 3/2): for x = sin(u)^2 its cdf is (2 u + sin(2 u)) / pi."""
    u = np.linspace(0, np.pi / 2, 4 * _TABLE)
    middle = (np.arange(_TABLE) + 0.5) / _TABLE
    return np.sin(np.interp(middle, (2 * u + np.sin(2 * u)) / np.pi, u)) ** 2


def tally(indices: NDArray[np.integer]) -> Counts:
    """Count how often each unit stands in each row of drawn indices.

    Parameters
    ----------
    indices : ndarray of int, shape (resamples, n)
        Each from 0 to n - 1.

    Returns
    -------
    ndarray of uint8, shape (resamples, n)
        Counts. (More than 255 of one unit does not happen by chance: its probability is below 1e-300.)
    """
    n_rows, n = indices.shape
    offsets = np.arange(n_rows, dtype=np.int64)[:, None] * n
    return np.bincount((indices + offsets).ravel(), minlength=n_rows * n).reshape(n_rows, n).astype(np.uint8)


def row_chunks(n_rows: int, n: int, *, size: int = CHUNK) -> Iterator[slice]:
    """Cut rows of `n` entries into slices of about `size` entries."""
    step = max(1, size // max(1, n))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def sums(counts: Weights, columns: Floats) -> Floats:
    """Sum each column over the units of each resample.

    Parameters
    ----------
    counts : ndarray, shape (resamples, n)
        How often each unit was drawn, or its weight.
    columns : ndarray of float, shape (n, k)
        Per-unit sums; those of several metrics side by side cost little more than one.

    Returns
    -------
    ndarray of float, shape (resamples, k)
    """
    return product(counts, columns)


def product(counts: Weights, columns: NDArray[Any]) -> NDArray[Any]:
    """Multiply in slices so small that BLAS stays in this thread: handing over costs more than the work.

    Parameters
    ----------
    counts : ndarray, shape (resamples, n)
        Converted slice by slice to the type of `columns`.
    columns : ndarray of float, shape (n, k)
        Right factor.
    """
    result = np.empty((len(counts), columns.shape[1]), dtype=columns.dtype)
    for rows in row_chunks(len(counts), columns.size, size=max(_PRODUCT, 16 * columns.size)):
        np.matmul(counts[rows].astype(columns.dtype), columns, out=result[rows])
    return result


def ratios(counts: Counts, a: Floats, b: Floats) -> Floats:
    """Compute sum(a) / sum(b) of each resample; NaN where sum(b) is 0.

    Parameters
    ----------
    counts : ndarray of uint8, shape (resamples, n)
        How often each unit was drawn.
    a, b : ndarray of float, shape (n,)
        Per-unit sums.

    Returns
    -------
    ndarray of float, shape (resamples,)
    """
    total = sums(counts, np.column_stack([a, b]))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total[:, 1] > 0, total[:, 0] / total[:, 1], np.nan)
