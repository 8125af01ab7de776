"""The distribution of a value over all rows, with a band over runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .bootstrap import Draws, Floats

#: Fewer runs show too little of how runs differ for a band.
LEAST_RUNS = 5
_POINTS = 400


@dataclasses.dataclass(frozen=True, eq=False)
class Ecdf:
    """Shares of rows at or below some values.

    Parameters
    ----------
    value : array of float
        Rising, in the unit of the rows.
    share : array of float
        Of all rows, 0..1.
    lower, upper : array of float or None
        Band, 0..1; None below :data:`LEAST_RUNS` runs.
    n_runs, n_rows : int
        What is behind it.
    """

    value: Floats
    share: Floats
    lower: Floats | None
    upper: Floats | None
    n_runs: int
    n_rows: int


def ecdf(
    values: Floats,
    run: NDArray[np.integer[Any]],
    *,
    level: float = 0.95,
    n_resamples: int = 999,
    seed: int = 0,
) -> Ecdf:
    """Compute a distribution and, at each value by itself, a percentile band from resampling whole runs.

    Parameters
    ----------
    values : array of float
        Known values, one a row.
    run : array of int
        Run of each row.
    level : float
        Level of the band at one value, 0..1.
    n_resamples : int
        Resamples.
    seed : int
        Same seed, same band.

    Returns
    -------
    Ecdf
        Of more than 400 distinct values, 400 evenly by rank and the ends.

    Raises
    ------
    ConfigError
        `level` is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> ecdf(np.array([1.0, 3.0, 2.0, 3.0]), np.array([0, 0, 1, 1])).share
    array([0.25, 0.5 , 1.  ])
    """
    if not 0 < level < 1:
        raise ConfigError(f"ecdf(level={level!r}): must be between 0 and 1")
    _, owner = np.unique(run, return_inverse=True)
    n_runs = int(owner.max()) + 1 if len(owner) else 0
    grid = np.unique(values)
    if len(grid) > _POINTS:
        grid = grid[np.unique(np.linspace(0, len(grid) - 1, _POINTS).round().astype(np.intp))]
    # rows of each run at or below each value
    below = np.zeros((n_runs, len(grid)))
    np.add.at(below, (owner, np.minimum(np.searchsorted(grid, values), len(grid) - 1)), 1.0)
    below = below.cumsum(axis=1)
    sizes = np.bincount(owner, minlength=n_runs).astype(float)
    share = below.sum(axis=0) / max(1.0, sizes.sum())
    lower = upper = None
    if n_runs >= LEAST_RUNS:
        drawn = Draws(seed, n_resamples).counts(0, n_runs).astype(float)
        shares = (drawn @ below) / (drawn @ sizes)[:, None]
        lower, upper = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Ecdf(grid, share, lower, upper, n_runs, len(values))
