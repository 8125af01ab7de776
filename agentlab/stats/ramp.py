"""The middle of curves that were sampled at times of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .bootstrap import Floats


def median_curve(curves: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the median of several curves at each time where all of them are known.

    Between two samples of a curve its value is taken to change evenly; before its first and after its last
    sample it is not known.

    Parameters
    ----------
    curves : sequence of (array, array)
        Times, increasing, and values of each curve; those without a sample are left out.

    Returns
    -------
    tuple of array
        Times and medians; empty when the curves have no time in common.

    Examples
    --------
    >>> import numpy as np
    >>> flat = np.array([0.0, 4.0]), np.array([1.0, 1.0])
    >>> rising = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    >>> times, middle = median_curve([flat, rising])
    >>> times.tolist(), middle.tolist()
    ([0.0, 2.0], [1.0, 3.0])
    """
    known = [(t, x) for t, x in curves if len(t)]
    if not known:
        return np.empty(0), np.empty(0)
    low, high = max(t[0] for t, _ in known), min(t[-1] for t, _ in known)
    times = np.unique(np.concatenate([t for t, _ in known]))
    times = times[(times >= low) & (times <= high)]
    return times, np.median([np.interp(times, t, x) for t, x in known], axis=0)
