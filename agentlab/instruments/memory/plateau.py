"""When memory has settled: the same processes holding the same, for long enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

#: Fewer samples say nothing of a window, however long they took.
MIN_SAMPLES = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """One slow sample.

    Parameters
    ----------
    t : int
        CLOCK_MONOTONIC, ns.
    total : int or None
        PSS + SwapPSS of all readable processes, bytes; None: none could be read.
    ids : frozenset of (int, int)
        Process id and start of each.
    """

    t: int
    total: int | None
    ids: frozenset[tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """Say whether the end of some samples is a plateau.

    Parameters
    ----------
    reached : bool
        Whether it is.
    reason : {"few_samples", "empty", "processes", "unreadable", "growing"} or None
        Why not.
    since, until : int or None
        First and last sample that were judged, ns; None: there were too few.
    n_samples : int
        Samples judged.
    change : float or None
        (largest - smallest) / largest total, as far as it is known.
    """

    reached: bool
    reason: str | None = None
    since: int | None = None
    until: int | None = None
    n_samples: int = 0
    change: float | None = None

    def told(self) -> dict[str, Any]:
        """Return what a ``memory.plateau`` record says of it: what is unknown is left out."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}


def plateau(points: Sequence[Point], *, window_s: float = 3.0, tolerance: float = 0.01) -> Plateau:
    """Judge the last samples: as few as span the window, and at least three.

    Where a sweep is so dear that the sampler's duty bound makes it rare, the three samples span more than
    the window.

    Parameters
    ----------
    points : sequence of Point
        Slow samples in the order of time.
    window_s : float, default 3.0
        Least time from the first to the last sample, s.
    tolerance : float, default 0.01
        Largest change inside it, as a share of the largest total.

    Returns
    -------
    Plateau

    Examples
    --------
    >>> same = frozenset({(10, 5)})
    >>> plateau([Point(s * 10**9, 100_000 + s, same) for s in range(4)]).reached
    True
    >>> plateau([Point(s * 10**9, 100_000 << s, same) for s in range(4)]).reason
    'growing'
    """
    judged = _window(points, window_s)
    if not judged:
        return Plateau(reached=False, reason="few_samples")
    totals = [point.total for point in judged if point.total is not None]
    change = (max(totals) - min(totals)) / max(totals) if totals and max(totals) else None
    reason = None
    if not all(point.ids for point in judged):
        reason = "empty"
    elif any(point.ids != judged[0].ids for point in judged):
        reason = "processes"
    elif len(totals) < len(judged) or change is None:
        reason = "unreadable"
    elif change > tolerance:
        reason = "growing"
    return Plateau(
        reached=reason is None,
        reason=reason,
        since=judged[0].t,
        until=judged[-1].t,
        n_samples=len(judged),
        change=change,
    )


def _window(points: Sequence[Point], window_s: float) -> Sequence[Point]:
    for first in range(len(points) - MIN_SAMPLES, -1, -1):
        if points[-1].t - points[first].t >= window_s * 1e9:
            return points[first:]
    return ()
