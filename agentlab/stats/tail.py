"""How many rows of a run are at least so large, with a band over runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .bootstrap import Draws, Floats
from .ecdf import LEAST_RUNS

_POINTS = 400


@dataclasses.dataclass(frozen=True, eq=False)
class Tail:
    """Mean number of rows of a run that are at least so large.

    Parameters
    ----------
    value : array of float
        Rising, in the unit of the rows.
    count : array of float
        Rows per run at or above it; never rising.
    lower, upper : array of float or None
        Band, rows per run; None below :data:`~agentlab.stats.ecdf.LEAST_RUNS` runs.
    n_runs, n_rows : int
        What is behind it; a run without such rows counts as 0 of them.
    """

    value: Floats
    count: Floats
    lower: Floats | None
    upper: Floats | None
    n_runs: int
    n_rows: int

    def at(self, value: float) -> float:
        """Return how many rows of a run are at least `value`.

        Parameters
        ----------
        value : float
            One of the values that were asked for, or between two of them.

        Returns
        -------
        float
            Exact at every value that was asked for.
        """
        index = int(np.searchsorted(self.value, value))
        return float(self.count[index]) if index < len(self.value) else 0.0


def tail(
    values: Floats,
    run: NDArray[np.integer[Any]],
    n_runs: int,
    *,
    marks: tuple[float, ...] = (),
    level: float = 0.95,
    n_resamples: int = 999,
    seed: int = 0,
) -> Tail:
    """Count rows per run at or above each value, and a percentile band at each by resampling whole runs.

    Counts per run, and not shares of all rows, so that thousands of tiny rows do not hide the long ones.

    Parameters
    ----------
    values : array of float
        Known values, one a row.
    run : array of int
        Run of each row, from 0.
    n_runs : int
        Runs in which rows could be seen, those without any included.
    marks : tuple of float
        Values at which the count is wanted exactly.
    level : float
        Level of the band at one value, 0..1.
    n_resamples : int
        Resamples.
    seed : int
        Same seed, same band.

    Returns
    -------
    Tail
        At most 400 values, evenly by the logarithm of their rank from the largest, and the marks.

    Raises
    ------
    ConfigError
        `level` is not between 0 and 1, or a row is of no run.

    Examples
    --------
    >>> import numpy as np
    >>> found = tail(np.array([10.0, 60.0, 80.0]), np.array([0, 0, 1]), 4, marks=(50.0,))
    >>> found.at(50.0), found.at(100.0)
    (0.5, 0.0)
    """
    if not 0 < level < 1:
        raise ConfigError(f"tail(level={level!r}): must be between 0 and 1")
    if len(run) and not 0 <= int(run.min()) <= int(run.max()) < n_runs:
        raise ConfigError(f"tail(n_runs={n_runs}): rows name runs from {run.min()} to {run.max()}")
    grid = np.unique(np.r_[_grid(np.unique(values)), np.asarray(marks, dtype=float)])
    # rows of each run at or above each value
    above = np.zeros((n_runs, len(grid) + 1))
    np.add.at(above, (run, np.searchsorted(grid, values, side="right")), 1.0)
    above = above[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    count = above.sum(axis=0) / max(1, n_runs)
    lower = upper = None
    if n_runs >= LEAST_RUNS:
        means = Draws(seed, n_resamples).counts(0, n_runs).astype(float) @ above / n_runs
        lower, upper = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Tail(grid, count, lower, upper, n_runs, len(values))


def _grid(distinct: Floats) -> Floats:
    """Keep the largest values all, and ever fewer of the many small ones."""
    if len(distinct) <= _POINTS:
        return distinct
    ranks = np.unique(np.geomspace(1, len(distinct), _POINTS).round().astype(np.intp))
    return distinct[::-1][ranks - 1][::-1]
