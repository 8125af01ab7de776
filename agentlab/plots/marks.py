"""Draw marks in time, each in the width of a pixel at least: as many as there are cost what a few cost."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .style import INK

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from .lane import Curve

    Numbers = NDArray[np.float64]

_DPI = 100  # a column is one pixel of a figure on the screen, so that none is lost between two pixels
_FLOOR = 0.16  # height of a column in which anything is, of the lane's height
_ROWS = 4

#: Marks of a lane that are drawn one by one; more are counted by column.
MANY = 1500
#: Height of a lane, of the distance between lanes.
HEIGHT = 0.74


@dataclasses.dataclass(frozen=True)
class Tone:
    """What a mark means, and its look.

    Parameters
    ----------
    name : str
        In the legend.
    color : str
        Fill; those of one lane differ in luminance, so that a greyscale print tells them apart.
    hatch : str
        Matplotlib hatch, for what went wrong.
    height : float
        Share of the lane's height, 0..1.
    """

    name: str
    color: str
    hatch: str = ""
    height: float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Marks:
    """Equal things of one lane, in any order.

    Parameters
    ----------
    tone : Tone
        What they are.
    start, end : array of float
        Seconds.
    labels : tuple of str
        One a mark, written where it fits; or none at all.
    row : array of int, optional
        Row of each inside the lane, 0-based; all in one when absent.
    """

    tone: Tone
    start: Numbers
    end: Numbers
    labels: tuple[str, ...] = ()
    row: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        sizes = {len(self.start), len(self.end), *((len(self.labels),) if self.labels else ())}
        if len(sizes | ({len(self.row)} if self.row is not None else set[int]())) > 1:
            raise ValueError(f"marks {self.tone.name!r}: starts, ends, labels and rows differ in number")

    def __len__(self) -> int:
        return len(self.start)


def n_columns(ax: Axes) -> int:
    """Return the columns in which many marks are counted: pixels of the Axes on a screen.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where they are drawn.

    Returns
    -------
    int
    """
    figure: Any = ax.figure
    return max(60, int(ax.get_position().width * figure.get_figwidth() * _DPI))


def busy(start: Numbers, end: Numbers, low: float, high: float, n: int) -> tuple[Numbers, Numbers]:
    """Count marks by column.

    Parameters
    ----------
    start, end : array of float
        Of the marks, seconds.
    low, high : float
        Ends of the axis, seconds.
    n : int
        Columns.

    Returns
    -------
    tuple of array
        By column: the share of time under marks, 0..1 (overlapping ones count once each, cut at 1), and the
        number of marks that begin in it or reach into it.
    """
    import numpy as np

    width = (high - low) / n
    a = np.clip((start - low) / width, 0, n)
    b = np.clip((end - low) / width, a, n)
    first = np.minimum(a.astype(np.intp), n - 1)
    last = np.minimum(b.astype(np.intp), n - 1)
    touched = np.bincount(first, minlength=n + 1)[: n + 1] - np.bincount(last + 1, minlength=n + 1)[: n + 1]
    # under marks: whole columns between both ends, less what lies outside of the first and the last
    share = np.cumsum(touched)[:n].astype(float)
    share -= np.bincount(first, weights=a - first, minlength=n)
    share -= np.bincount(last, weights=last + 1 - b, minlength=n)
    return np.clip(share, 0.0, 1.0), np.cumsum(touched)[:n].astype(float)


def rows_of(start: Numbers, end: Numbers) -> NDArray[np.intp]:
    """Put what overlaps under each other.

    Parameters
    ----------
    start, end : array of float
        Of the marks, seconds.

    Returns
    -------
    array of int
        The row of each mark, 0-based; beyond 4 rows marks share the last one. Too many to be drawn one by one
        stay in one row.
    """
    import numpy as np

    row = np.zeros(len(start), dtype=np.intp)
    if len(start) > MANY:
        return row
    free = [-np.inf] * _ROWS
    for i in np.argsort(start, kind="stable"):
        row[i] = next((at for at, until in enumerate(free) if until <= start[i]), _ROWS - 1)
        free[row[i]] = max(free[row[i]], float(end[i]))
    return row


def draw_bars(ax: Axes, y: float, marks: Marks, n_rows: int) -> None:
    """Draw marks one by one, as bars.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set; the axis grows downwards.
    y : float
        Bottom of the lane, which is :data:`HEIGHT` high.
    marks : Marks
        What.
    n_rows : int
        Rows of the lane.
    """
    import numpy as np
    from matplotlib.collections import PolyCollection

    pitch, tone = HEIGHT / n_rows, marks.tone
    row = np.zeros(len(marks)) if marks.row is None else marks.row
    bottom = y - HEIGHT + pitch * (row + 1) - 0.06 * pitch
    top = bottom - 0.88 * pitch * tone.height
    corners = np.stack(
        [
            np.column_stack(c)
            for c in ((marks.start, bottom), (marks.start, top), (marks.end, top), (marks.end, bottom))
        ],
        axis=1,
    )
    edge = INK if tone.hatch else tone.color
    ax.add_collection(
        PolyCollection(
            list(corners), facecolors=tone.color, edgecolors=edge, linewidths=0.6, hatch=tone.hatch or None
        ),
        autolim=False,
    )
    _label_bars(ax, marks, (bottom + top) / 2)


def draw_ticks(ax: Axes, y: float, marks: list[Marks]) -> None:
    """Draw marks without length one by one, as lines with their labels where there is room.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set.
    y : float
        Bottom of the lane.
    marks : list of Marks
        All of the lane.
    """
    for mark in marks:
        ax.vlines(mark.start, y - HEIGHT * mark.tone.height, y, colors=mark.tone.color, linewidth=1.0)
    free, high = ax.get_xlim()
    labelled = sorted((float(x), label) for m in marks for x, label in zip(m.start, m.labels, strict=False))
    for i, (x, label) in enumerate(labelled):
        until = labelled[i + 1][0] if i + 1 < len(labelled) else high
        side = "left" if _fits(ax, label, until - x) else "right" if _fits(ax, label, x - free) else None
        if side is not None:
            text = f" {label} "
            ax.text(x, y - HEIGHT / 2, text, ha=side, va="center", fontsize=6.6, color=INK, clip_on=True)
        free = x + _width(ax, label) if side == "left" else x


def draw_shares(ax: Axes, y: float, marks: list[Marks]) -> None:
    """Draw many marks as the share of each pixel's time that is under them, tone upon tone.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set.
    y : float
        Bottom of the lane.
    marks : list of Marks
        All of the lane; the last tone is at the bottom.
    """
    low, high = ax.get_xlim()
    found = [busy(mark.start, mark.end, low, high, n_columns(ax)) for mark in marks]
    _draw_stack(ax, y, [share for share, _ in found], [n > 0 for _, n in found], marks)


def draw_counts(ax: Axes, y: float, marks: list[Marks]) -> float:
    """Draw the number of marks in each pixel's time, tone upon tone.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set.
    y : float
        Bottom of the lane.
    marks : list of Marks
        All of the lane; the last tone is at the bottom.

    Returns
    -------
    float
        The highest number, which is as high as the lane.
    """
    found = [counts(ax, mark) for mark in marks]
    most = max(1.0, float(sum(found).max()))  # pyright: ignore[reportAttributeAccessIssue]
    _draw_stack(ax, y, [count / most for count in found], [count > 0 for count in found], marks)
    return most


def draw_curve(ax: Axes, y: float, curve: Curve) -> None:
    """Draw a quantity in time, as high as the lane where it is largest.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where; the y axis grows downwards.
    y : float
        Bottom of the lane.
    curve : Curve
        What.
    """
    top = y - HEIGHT * curve.value / max(float(curve.value.max()), 1e-12)
    ax.fill_between(curve.at, y, top, color=curve.tone.color, linewidth=0, zorder=1)
    ax.plot(curve.at, top, color=INK, linewidth=0.7, zorder=1.5)


def counts(ax: Axes, marks: Marks) -> Numbers:
    """Count marks without length by column.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set.
    marks : Marks
        What.

    Returns
    -------
    array of float
    """
    import numpy as np

    low, high = ax.get_xlim()
    n = n_columns(ax)
    at = np.clip((marks.start - low) * (n / (high - low)), 0, n - 1).astype(np.intp)
    return np.bincount(at, minlength=n).astype(float)


def _draw_stack(
    ax: Axes, y: float, shares: list[Numbers], there: list[NDArray[np.bool_]], marks: list[Marks]
) -> None:
    """Draw the sums first and the last one on top of them, which shows each above the next."""
    for i, mark in enumerate(marks):
        total = sum(shares[i + 1 :], start=shares[i])
        _draw_columns(ax, y, total, there[i], mark.tone)


def _draw_columns(ax: Axes, y: float, share: Numbers, there: NDArray[np.bool_], tone: Tone) -> None:
    """Draw columns as high as their shares; one in which anything is stays visible."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    low, high = ax.get_xlim()
    edges = np.linspace(low, high, len(share) + 1)
    height = np.where(there, _FLOOR + (1 - _FLOOR) * np.minimum(share, 1.0), 0.0) * HEIGHT
    # one polygon a stretch of filled columns: hundreds of corners, whatever the number of marks
    ends = np.flatnonzero(np.diff(np.r_[0, there.astype(np.int8), 0]))
    shapes: list[Any] = []
    for a, b in zip(ends[::2], ends[1::2], strict=True):
        tops = np.r_[0.0, np.repeat(height[a:b], 2), 0.0]
        shapes.append(np.column_stack([np.repeat(edges[a : b + 1], 2), y - tops]))
    ax.add_collection(
        PolyCollection(shapes, facecolors=tone.color, edgecolors=tone.color, linewidths=0.3), autolim=False
    )


def _label_bars(ax: Axes, marks: Marks, middle: Numbers) -> None:
    look: dict[str, Any] = {"color": "white" if _dark(marks.tone.color) else INK}
    if marks.tone.hatch:
        look["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    for label, a, b, y in zip(marks.labels, marks.start, marks.end, middle, strict=bool(marks.labels)):
        if _fits(ax, label, b - a):
            ax.text((a + b) / 2, y, label, ha="center", va="center", fontsize=6.6, clip_on=True, **look)


def _fits(ax: Axes, label: str, seconds: float) -> bool:
    return seconds > _width(ax, label)


def _width(ax: Axes, label: str) -> float:
    """Estimate the width of a label, seconds."""
    low, high = ax.get_xlim()
    return (6.0 * len(label) + 5) * (high - low) / n_columns(ax)


def _dark(color: str) -> bool:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
