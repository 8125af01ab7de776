"""Independent units: what each run, or each block of an arm, says about one metric."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Floats, Ints

Mask = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Sample:
    """What independent units say about one metric.

    Parameters
    ----------
    a, b : ndarray of float, shape (n,)
        Per-unit sums; the metric is sum(a) / sum(b). For a quantile `b` counts the observations.
    values : ndarray of float, shape (N,), or None
        Pooled observations of a quantile; None for a metric made of sums.
    owner : ndarray of int, shape (N,)
        Unit of each observation.
    """

    a: Floats
    b: Floats
    values: Floats | None
    owner: Ints

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.b)


@dataclasses.dataclass(frozen=True)
class Points:
    """Runs as points of a line.

    Parameters
    ----------
    x, y : ndarray of float, shape (runs,)
        Setting and value of each run; anything where the run takes no part.
    block : ndarray of int, shape (runs,)
        Runs of one arm and of equal number are a unit: only together they say something.
    """

    x: Floats
    y: Floats
    block: Ints


@dataclasses.dataclass(frozen=True)
class Measured:
    """One metric, reduced to every run of a study (eligible or not).

    Parameters
    ----------
    a, b : ndarray of float, shape (runs,)
        Per-run sums.
    values, owner : ndarray
        Pooled observations of a quantile and their run; None for a metric made of sums.
    n_rows, n_missing : ndarray of int, shape (runs,)
        Rows with a known and with an unknown value; warm-up rows are in neither.
    has_data : ndarray of bool, shape (runs,)
        Whether the run takes part.
    in_table : ndarray of bool, shape (runs,)
        Whether the run has any row, warm-up included: without one in the whole arm nothing was measured.
    impossible : ndarray of bool, shape (runs,)
        Whether a row of the run cannot be right: infinite in a sum, or a part above its whole.
    usable : ndarray of bool, shape (runs,)
        Whether the metric takes such a run: it is eligible, or its eligibility does not matter.
    points : Points or None
        For a line through runs, of which whole blocks are the units; None: each run is one.
    """

    a: Floats
    b: Floats
    values: Floats | None
    owner: Ints
    n_rows: Ints
    n_missing: Ints
    has_data: Mask
    in_table: Mask
    impossible: Mask
    usable: Mask
    points: Points | None = None

    def units(self, used: Mask) -> Ints:
        """Number the independent units of the used runs from 0; -1 for other runs."""
        numbered = np.full(len(used), -1, dtype=np.int64)
        if self.points is None:
            numbered[used] = np.arange(used.sum())
        else:
            numbered[used] = np.unique(self.points.block[used], return_inverse=True)[1]
        return numbered

    def sample(self, unit_of_run: Ints) -> Sample:
        """Group runs into units.

        Parameters
        ----------
        unit_of_run : ndarray of int, shape (runs,)
            0 to n - 1; -1 leaves a run out.
        """
        n = int(unit_of_run.max(initial=-1)) + 1
        used = unit_of_run >= 0
        a, b = (totals(unit_of_run[used], x[used], n) for x in (self.a, self.b))
        if self.values is None:
            return Sample(a, b, None, self.owner[:0])
        unit = unit_of_run[self.owner]
        return Sample(a, b, self.values[unit >= 0], unit[unit >= 0])


def totals(index: Ints, x: Floats, n: int) -> Floats:
    """Sum `x` over equal `index`, 0 to n - 1."""
    return np.bincount(index, weights=x, minlength=n).astype(np.float64)  # int64 when x is empty
