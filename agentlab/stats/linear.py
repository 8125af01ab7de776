"""Ratios of sums over independent units: estimate, bias-reduced standard error and degrees of freedom.

A mean is sum(x) / rows, a share hits / rows, a count per run rows / runs, a slope Sxy / Sxx.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .bootstrap import Floats

#: Deviations below this share of the largest value are rounding, not variation.
_ROUNDING = 1e-12


@dataclasses.dataclass(frozen=True)
class Fit:
    """What n units say about R = sum(a) / sum(b).

    Parameters
    ----------
    estimate : float
        R.
    se, df : float
        CR2 standard error and its Satterthwaite degrees of freedom; `se` is exactly 0 for equal units.
    residual : ndarray of float, shape (n,)
        a - R b.
    weight : ndarray of float, shape (n,)
        b / sum(b).
    dominated : bool
        A few units carry most of sum(b).
    """

    estimate: float
    se: float
    df: float
    residual: Floats
    weight: Floats
    dominated: bool

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.weight)


def fit(a: Floats, b: Floats, *, g: float | None = None) -> Fit:
    """Estimate R = sum(a) / sum(b) with a CR2 standard error.

    Bias-reduced linearisation (Bell and McCaffrey 2002; Pustejovsky and Tipton 2018) under the working
    variance v = b^g. `g` is 1, or 1.5 when Kish's effective number of units is below n / 2.

    Parameters
    ----------
    a, b : ndarray of float, shape (n,)
        Per-unit sums, b >= 0, at least two of them > 0.
    g : float, optional
        Exponent of the working variance; chosen as above when absent.

    Returns
    -------
    Fit
    """
    total = b.sum()
    h = b / total
    estimate = float(a.sum() / total)
    residual = a - estimate * b
    if np.abs(residual).max() <= _ROUNDING * max(np.abs(a).max(), np.abs(estimate * b).max()):
        residual = np.zeros_like(residual)
    dominated = is_dominated(h)
    k, df = correction(h, g=g or (1.5 if dominated else 1.0))
    se = math.sqrt(float((k * residual * residual).sum())) / total
    return Fit(estimate, float(se), df, residual, h, dominated)


def is_dominated(weight: Floats) -> bool:
    """Say whether a few of n units (with weights that sum to 1) carry so much that fewer than n/2 count."""
    return bool(1 / (weight * weight).sum() < len(weight) / 2)


def correction(h: Floats, *, g: float) -> tuple[Floats, float]:
    """Return the CR2 factor of each squared residual, and the Satterthwaite degrees of freedom.

    Parameters
    ----------
    h : ndarray of float, shape (n,)
        Weights that sum to 1.
    g : float
        Exponent of the working variance.
    """
    v = h**g
    total = v.sum()
    expected = v * (1 - 2 * h) + h * h * total
    k = np.divide(v, expected, out=np.ones_like(v), where=expected > 0)
    # sum over all pairs of k_i k_j C_ij^2 without an n x n matrix, then the diagonal put right
    khh, kvv, khv = (k * h * h).sum(), (k * v * v).sum(), (k * h * v).sum()
    pairs = 2 * khh * kvv + 2 * khv**2 - 4 * total * khh * khv + (total * khh) ** 2
    off = k * (total * h * h - 2 * h * v)
    diagonal = k * expected
    df = total**2 / (pairs + (diagonal**2 - off**2).sum())
    return k, float(df)


def welch_df(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the degrees of freedom of a difference of two (se, df)."""
    largest = max(first[0], second[0])
    if largest == 0:
        return min(first[1], second[1])
    v1, v2 = (first[0] / largest) ** 2, (second[0] / largest) ** 2
    return (v1 + v2) ** 2 / (v1**2 / first[1] + v2**2 / second[1])
