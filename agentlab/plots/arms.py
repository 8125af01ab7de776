"""What figures of several arms share: their legend, and an axis of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .style import INK, ArmStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOG_FROM = 20.0


def time_scale(ax: Axes, values: Sequence[float]) -> None:
    """Set the x axis for times since the prompt: logarithmic when they span a factor of more than 20.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where the times are drawn.
    values : sequence of float
        All times, ms; at least one.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    label = "ms after the prompt was sent"
    if min(values) > 0 and max(values) / min(values) > _LOG_FROM:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(values) / min(values) < 300 else (1,)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
        label += " (log scale)"
    else:
        ax.set_xlim(left=min(0.0, *values))
    ax.set_xlabel(label)


def arm_legend(ax: Axes, arms: list[str], styles: dict[str, ArmStyle], *, lines: bool = False) -> None:
    """Name the arms above a figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where they are drawn.
    arms : list of str
        Their names.
    styles : dict of str to ArmStyle
        Their look.
    lines : bool
        Whether they are lines, not markers.
    """
    from matplotlib.lines import Line2D

    def handle(arm: str) -> Line2D:
        look = styles[arm]
        if lines:
            return Line2D([], [], linestyle=look.line, color=look.color, linewidth=1.6, label=arm)
        return Line2D([], [], linestyle="none", marker=look.marker, color=look.color, markersize=6.5,
                      markeredgecolor=INK, label=arm)  # fmt: skip

    columns = max(1, min(len(arms), 88 // (max(map(len, arms)) + (9 if lines else 6))))
    ax.legend(
        handles=[handle(arm) for arm in arms], loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns,
        borderaxespad=0.3, handletextpad=0.6 if lines else 0.2, columnspacing=1.4, frameon=False,
    )  # fmt: skip
