"""The ramp: how much memory a run's processes held, from launch on."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING

from . import words
from .arms import arm_legend
from .canvas import caption, caption_height, new_figure
from .memory_runs import PRESSURE, Measured, RunCurve, both_figures
from .published import Published, draw_levels, note, only_at
from .style import INK, MUTED, ArmStyle, arm_styles, dress

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_WIDTH, _HEIGHT = 7.4, 3.4
_ANON, _FILE = 0.34, 0.14  # opacity of the two areas; they differ in a greyscale print


@dataclasses.dataclass(frozen=True, eq=False)
class _Group:
    """Runs of one arm with one number of sessions."""

    arm: str
    n_sessions: int | None
    curves: list[RunCurve]

    @property
    def used(self) -> list[RunCurve]:
        return [curve for curve in self.curves if not curve.pressed]

    def median(self, part: str = "total") -> tuple[Numbers, Numbers]:
        from ..stats.ramp import median_curve

        return median_curve([curve.known(part) for curve in self.used])

    @property
    def name(self) -> str:
        return "" if self.n_sessions is None else words.count(self.n_sessions, "session")


def draw_ramp(measured: Measured, published: list[Published] | None, ax: Axes | None) -> Axes:
    """Draw the total of each run thin, the median of each arm and number of sessions bold.

    Parameters
    ----------
    measured : Measured
        Runs.
    published : list of Published or None
        Figures of others, as levels at the right; None when none were wanted.
    ax : matplotlib.axes.Axes or None
        Where to draw; a figure of its own when None.

    Returns
    -------
    matplotlib.axes.Axes
    """
    groups = _groups(measured)
    if published is not None:
        published = only_at(published, [(group.arm, group.n_sessions) for group in groups])
    if not groups:
        return _empty(measured.coverage, ax)
    notes = _notes(groups, measured, published)
    target = ax
    if target is None:
        target = new_figure(_WIDTH, _HEIGHT + caption_height(notes, _WIDTH)).add_subplot()
    dress(target)
    target.grid(visible=True, axis="y", color="#e4e4e4", linewidth=0.6)
    styles = arm_styles(measured.arms)
    several = len({group.arm for group in groups}) > 1
    ends: list[tuple[float, str]] = []
    for group in groups:
        end = _draw_group(target, group, styles[group.arm], areas=len(groups) == 1)
        if end is not None:
            ends.append((end, f"{group.arm}, {group.name}" if several and group.name else group.name))
    target.set_ylim(bottom=0)
    target.set_xlim(left=0)
    draw_levels(target, published or [], styles)
    name_ends(target, ends)
    target.set_xlabel("s since launch")
    target.set_ylabel("PSS + SwapPSS (MiB)")
    arm_legend(target, list(dict.fromkeys(group.arm for group in groups)), styles, lines=True)
    caption(target, notes, own=ax is None)
    return target


def _groups(measured: Measured) -> list[_Group]:
    """Sort the runs; those in which nothing is known at a known time are left out."""
    found: dict[tuple[str, int | None], list[RunCurve]] = {}
    for curve in measured.curves:
        if len(curve.known("total")[0]):
            found.setdefault((curve.arm, curve.n_sessions), []).append(curve)
    order = sorted(found, key=lambda key: (measured.arms.index(key[0]), key[1] or 0))
    return [_Group(*key, found[key]) for key in order]


def _draw_group(ax: Axes, group: _Group, look: ArmStyle, *, areas: bool) -> float | None:
    """Draw one group; return the height of its last median, None without one."""
    for curve in group.curves:
        at, total = curve.known("total")
        ax.plot(
            at, total, color=look.color, linewidth=0.7, alpha=0.55, zorder=2,
            linestyle=(0, (1, 2)) if curve.pressed else "-",
        )  # fmt: skip
    at, middle = group.median()
    if not len(at):
        return None
    if areas:
        _draw_areas(ax, group, look)
    ax.plot(at, middle, color=look.color, linestyle=look.line, linewidth=2.0, zorder=3)
    for name, marker in (("ready_s", ">"), ("settled_s", "o")):
        known = [t for curve in group.used if (t := getattr(curve, name)) is not None]
        if len(known) == len(group.used):
            _mark(ax, statistics.median(known), at, middle, marker, look)
    return float(middle[-1])


def _mark(ax: Axes, t: float, at: Numbers, middle: Numbers, marker: str, look: ArmStyle) -> None:
    import numpy as np

    if at[0] <= t <= at[-1]:
        ax.plot(
            [t], [float(np.interp(t, at, middle))], linestyle="none", marker=marker, markersize=6.5, zorder=4,
            color="white", markeredgecolor=look.color if marker == ">" else INK, markeredgewidth=1.3,
        )  # fmt: skip


def _draw_areas(ax: Axes, group: _Group, look: ArmStyle) -> None:
    """Show what is anonymous and what is file, where there is room for it: of one group alone."""
    import numpy as np

    (at, anon), (there, file) = group.median("anon"), group.median("file")
    if not len(at) or not np.array_equal(at, there):
        return
    ax.fill_between(at, 0, anon, color=look.color, alpha=_ANON, linewidth=0, zorder=1)
    ax.fill_between(at, anon, anon + file, color=look.color, alpha=_FILE, linewidth=0, zorder=1)
    for low, high, name in ((0.0 * anon, anon, "anon"), (anon, anon + file, "file")):
        i = 3 * len(at) // 4
        ax.text(
            float(at[i]), float(low[i] + high[i]) / 2, name, ha="center", va="center", fontsize=7, color=INK
        )


def name_ends(ax: Axes, ends: list[tuple[float, str]], *, size: float = 6.8) -> None:
    """Write what lines are at their right ends, one below the other where they are close.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where, with its limits set.
    ends : list of (float, str)
        Height of each line's end, and its name; empty names are left out.
    size : float
        Of the letters, points.
    """
    figure = ax.figure
    low, high = ax.get_ylim()
    height = ax.get_position().height * figure.get_figheight() * 72  # pyright: ignore[reportAttributeAccessIssue]
    least = 1.25 * size / max(height, 1.0) * (high - low)
    free = -float("inf")
    for y, name in sorted(ends):
        if name:
            free = max(y, free + least)
            ax.annotate(
                name, (1.0, free), xycoords=ax.get_yaxis_transform(), xytext=(5, 0),
                textcoords="offset points", va="center", ha="left", fontsize=size, color=MUTED,
                annotation_clip=False,
            )  # fmt: skip


def _notes(groups: list[_Group], measured: Measured, published: list[Published] | None) -> list[str]:
    said = "Thin: a run. Bold: median of the runs where all are sampled."
    if any(curve.ready_s is not None for group in groups for curve in group.used):
        said += " Triangle: all sessions ready (median). Circle: settled, first sample of the plateau."
    if len(groups) == 1:
        said += " Areas: anonymous memory, and above it pages of files."
    pressed = _pressure(measured)
    sources = note(published or [], asked=published is not None)
    return [said, *pressed, *measured.coverage, *sources]


def _pressure(measured: Measured) -> list[str]:
    said = both_figures(measured.curves)
    if not said:
        return []
    return [
        f"Dotted: runs discarded for {PRESSURE} alone, not in the median. Median settled total: "
        f"{'; '.join(said)}."
    ]


def _empty(coverage: list[str], ax: Axes | None) -> Axes:
    target = ax if ax is not None else new_figure(_WIDTH, 1.4).add_subplot()
    target.set_axis_off()
    target.text(
        0.5, 0.5, "Nothing to draw: no run with sampled memory at a known time.", ha="center", va="center",
        transform=target.transAxes, color=INK,
    )  # fmt: skip
    caption(target, coverage, own=ax is None)
    return target
