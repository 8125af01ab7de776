"""A lane of a run's timeline: marks, or a curve, and the words beside it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from .marks import Marks, Tone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """A quantity in time, of which at least one value is known.

    Parameters
    ----------
    tone : Tone
        What it is.
    at : array of float
        Seconds, increasing.
    value : array of float
        From 0 on, in its own unit; the largest is as high as the lane.
    """

    tone: Tone
    at: Numbers
    value: Numbers


@dataclasses.dataclass(frozen=True)
class Lane:
    """One lane.

    Parameters
    ----------
    name : str
        At its left.
    marks : tuple of Marks
        What is drawn, the last on top; empty ones are left out.
    note : str
        At its right: how many there are.
    ticks : bool
        Whether its marks have no length.
    why : str
        Why there is nothing to draw, in words.
    curve : Curve, optional
        A quantity in time, in place of marks.
    """

    name: str
    marks: tuple[Marks, ...] = ()
    note: str = ""
    ticks: bool = False
    why: str = "nothing recorded"
    curve: Curve | None = None

    def __len__(self) -> int:
        return sum(map(len, self.marks))

    @property
    def tones(self) -> set[Tone]:
        """What occurs in it."""
        return {m.tone for m in self.marks if len(m)} | ({self.curve.tone} if self.curve else set())

    @property
    def ends(self) -> list[float]:
        """First and last time of all that occurs in it, seconds."""
        marks = [m for m in self.marks if len(m)]
        curve = [float(t) for t in self.curve.at[[0, -1]]] if self.curve else []
        return [*(float(m.start.min()) for m in marks), *(float(m.end.max()) for m in marks), *curve]


def spans_of(
    tone: Tone,
    start: Numbers,
    end: Numbers,
    row: NDArray[np.intp] | None = None,
    labels: list[str] | None = None,
) -> Marks:
    """Make marks of what has both ends, in order.

    Parameters
    ----------
    tone : Tone
        What they are.
    start, end : array of float
        Seconds; NaN where unknown.
    row : array of int, optional
        Row of each inside the lane.
    labels : list of str, optional
        One each.

    Returns
    -------
    Marks
    """
    import numpy as np

    known = np.flatnonzero(np.isfinite(start) & np.isfinite(end))
    known = known[np.argsort(start[known], kind="stable")]
    return Marks(
        tone, start[known], np.maximum(start[known], end[known]),
        tuple(labels[i] for i in known) if labels is not None else (),
        None if row is None else row[known],
    )  # fmt: skip
