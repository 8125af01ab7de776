"""A line through whole runs: what one more session costs, and what all of them share."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Floats, Ints
from .distributions import t_ppf
from .intervals import two_sided
from .linear import fit
from .metrics import Metric
from .units import Mask, Measured, Points, totals

#: Runs off a line by less than this share of what it rises by are no curve, however well blocks agree.
_CURVED = 0.05


def fitted(measured: Measured, metric: Metric, points: Points, arm: NDArray[Any]) -> Measured:
    """Turn one value a run into sums whose ratio over blocks is the slope, or the intercept, of an arm.

    A block holds a run of every setting of an arm; its runs give a line of their own by least squares. The
    arm's slope is the mean of these, weighted by the blocks' sums of squares (equal when no run is missing):
    least squares with an intercept per block. Its intercept is the mean of theirs, weighted by the inverse of
    their variance for equal noise, 1 / (1/n + mean^2 / Sxx). The block is the independent unit: however much
    more a large run varies than a small one, and however blocks differ, the lines of blocks are alike, so
    that what holds for means of units holds for them.

    Parameters
    ----------
    measured : Measured
        Its counts are kept.
    metric : Metric
        ``"marginal"`` or ``"intercept"``.
    points : Points
        Setting and value of each run.
    arm : ndarray of object, shape (runs,)
        Arm of each run.

    Returns
    -------
    Measured
        With data where a run can be used and another of its block has another setting.
    """
    used = measured.usable & (measured.n_rows > 0) & np.isfinite(points.x) & np.isfinite(points.y)
    code = np.unique(arm.astype(str), return_inverse=True)[1]
    block = np.unique(np.stack([code, points.block]), axis=1, return_inverse=True)[1].ravel()
    x, y = np.where(used, points.x, 0.0), np.where(used, points.y, 0.0)
    n, middle, dx, sxx = _centred(x, used, block)
    has_line = used & (sxx > 0)
    if metric.aggregate == "marginal":
        a, b = dx * (y - _over(block, y, used) / n), dx * dx
    else:
        spread = np.where(has_line, sxx, 1.0)
        weight = 1 / (1 / n + middle * middle / spread)
        a, b = weight * (1 / n - middle * dx / spread) * y, weight / n
    return dataclasses.replace(
        measured,
        a=np.where(has_line, a, 0.0),
        b=np.where(has_line, b, 0.0),
        has_data=has_line,
        points=dataclasses.replace(points, block=block),
    )


def _over(block: Ints, x: Floats, used: Mask) -> Floats:
    """Sum over the used runs of each run's block."""
    return totals(block[used], x[used], len(block))[block]


def _centred(x: Floats, used: Mask, block: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Return size and mean of each run's block, its distance from that, and the block's sum of squares."""
    n = np.maximum(_over(block, np.ones(len(block)), used), 1)
    middle = _over(block, x, used) / n
    dx = x - middle
    return n, middle, dx, _over(block, dx * dx, used)


def around(points: Points, used: Mask, slope: float, intercept: float) -> tuple[float | None, float | None]:
    """Say how far runs lie from a line.

    Parameters
    ----------
    points : Points
        Setting and value of each run.
    used : ndarray of bool, shape (runs,)
        Which runs.
    slope, intercept : float
        The line.

    Returns
    -------
    tuple of float or None
        Share of the variation that it explains, and standard deviation of the runs around it (n - 2); None
        where all values are equal, and for fewer than three runs.
    """
    x, y = points.x[used], points.y[used]
    if len(x) < 3:
        return None, None
    off = float(((y - intercept - slope * x) ** 2).sum())
    whole = float(((y - y.mean()) ** 2).sum())
    r2 = 1 - off / whole if whole > 0 else None
    return r2, math.sqrt(off / (len(x) - 2))


def is_curved(points: Points, used: Mask, level: float) -> bool:
    """Say whether blocks agree that their runs are on no line.

    In each block the values are compared with the part of the squared setting that no line explains; the
    coefficient's t interval over blocks must leave out 0, and the bend be worth a twentieth of the rise.

    Parameters
    ----------
    points : Points
        Setting and value of each run.
    used : ndarray of bool, shape (runs,)
        Which runs.
    level : float
        Nominal coverage of the interval.

    Returns
    -------
    bool
        False for fewer than three blocks with three settings.
    """
    x, y = np.where(used, points.x, 0.0), np.where(used, points.y, 0.0)
    n, _, dx, sxx = _centred(x, used, points.block)
    square = x * x - _over(points.block, x * x, used) / n
    bend = square - dx * _over(points.block, dx * square, used) / np.where(sxx > 0, sxx, 1.0)
    own = np.unique(points.block[used], return_inverse=True)[1]
    size = int(own.max(initial=-1)) + 1
    a, b = (totals(own, part[used], size) for part in (bend * y, bend * bend))
    a, b = a[b > 1e-9], b[b > 1e-9]
    if len(b) < 3:
        return False
    quadratic = fit(a, b)
    sure = abs(quadratic.estimate) > t_ppf(two_sided(level), quadratic.df) * quadratic.se
    rise = np.ptp(y[used])
    return bool(sure and np.abs(bend[used]).max() * abs(quadratic.estimate) > _CURVED * rise > 0)
