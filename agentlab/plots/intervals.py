"""One panel of estimates: a line per arm with marker, interval, open ends, and what stands behind it."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from typing import TYPE_CHECKING, Any

from . import words
from .rows import Row
from .style import FAINT, INK, MUTED, ArmStyle, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BASELINE = {"difference": 0.0, "ratio": 1.0}
_NAME = 26


@dataclasses.dataclass(frozen=True)
class Slot:
    """One line of a panel.

    Parameters
    ----------
    label : str
        What the line is called.
    arm : str
        Whose look it has.
    row : Row, optional
        Its estimate, if there is one.
    is_reference : bool
        Whether others are compared with it here.
    """

    label: str
    arm: str
    row: Row | None
    is_reference: bool = False


def draw_panel(
    ax: Axes, slots: list[Slot], *, kind: str, metric: str, styles: dict[str, ArmStyle], beside: bool
) -> None:
    """Draw the estimates of one metric and one kind.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where; its limits are set.
    slots : list of Slot
        The lines, from the top.
    kind : {"level", "difference", "ratio"}
        What the numbers are.
    metric : str
        Title.
    styles : dict of str to ArmStyle
        Look of each arm.
    beside : bool
        Whether the panel stands right of another of the same metric: then its text goes to the right.
    """
    rows = [slot.row for slot in slots if slot.row is not None]
    dress(ax)
    low, high = _limits(rows, kind)
    ax.set_xlim(low, high)
    ax.set_ylim(len(slots) - 0.45, -0.55)
    if kind in _BASELINE:
        ax.axvline(_BASELINE[kind], color=MUTED, linewidth=0.9, zorder=1)
    for y, slot in enumerate(slots):
        _draw_slot(ax, y, slot, styles[slot.arm], low, high)
    _label_lines(ax, slots, beside=beside)
    _label_axis(ax, slots, kind=kind, metric=metric, beside=beside)


def _limits(rows: list[Row], kind: str) -> tuple[float, float]:
    """Hold all finite ends, and room for arrows beside them."""
    ends = [
        e for row in rows for e in (row.estimate, row.lower, row.upper) if e is not None and math.isfinite(e)
    ]
    if kind in _BASELINE:
        ends.append(_BASELINE[kind])
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    span = high - low or abs(high) * 0.2 or 1.0
    return low - 0.09 * span, high + 0.09 * span


def _draw_slot(ax: Axes, y: int, slot: Slot, look: ArmStyle, low: float, high: float) -> None:
    row = slot.row
    if row is None or row.estimate is None or not math.isfinite(row.estimate):
        text = (
            "reference"
            if slot.is_reference
            else ""
            if row is None
            else "; ".join(words.doubts(row)) or "unknown"
        )
        ax.text(0.5, y, text, ha="center", va="center", color=MUTED, fontsize=7.5, style="italic",
                transform=ax.get_yaxis_transform())  # fmt: skip
        return
    if row.has_interval:
        margin = 0.012 * (high - low)
        left, right = _finite(row.lower, low + margin), _finite(row.upper, high - margin)
        ax.plot([left, right], [y, y], color=look.color, linewidth=1.6, linestyle=look.line, zorder=2)
        for end, is_open, arrow in ((left, row.open_lower, "<"), (right, row.open_upper, ">")):
            ax.plot(
                [end], [y], marker=arrow if is_open else "|", markersize=6 if is_open else 8, linestyle="none",
                color=look.color, markeredgewidth=1.6, zorder=2, clip_on=False,
            )  # fmt: skip
    ax.plot(
        [row.estimate], [y], marker=look.marker, markersize=6.5, linestyle="none", color=look.color,
        markerfacecolor=look.color if row.has_interval else "white", markeredgewidth=1.3,
        markeredgecolor=INK if row.has_interval else look.color, zorder=3, clip_on=False,
    )  # fmt: skip


def _finite(end: float | None, edge: float) -> float:
    return end if end is not None and math.isfinite(end) else edge


def _label_lines(ax: Axes, slots: list[Slot], *, beside: bool) -> None:
    labels = [_line_label(slot, beside=beside) for slot in slots]
    if beside:
        ax.yaxis.tick_right()
    ax.set_yticks(range(len(slots)), labels=labels, fontsize=7.5, linespacing=1.25)
    ax.tick_params(axis="y", length=0, labelsize=7.5)
    ax.spines["left"].set_visible(False)
    for y in range(len(slots) - 1):
        ax.axhline(y + 0.5, color=FAINT, linewidth=0.4, zorder=0)


def _line_label(slot: Slot, *, beside: bool) -> str:
    lines: list[str] = [] if beside and slot.label == slot.arm else textwrap.wrap(slot.label, _NAME)[:2]
    if len(lines) == 2 and len(" ".join(lines)) < len(slot.label):
        lines[1] = lines[1][: _NAME - 1] + "…"
    if slot.row is not None:
        told = [words.coverage(slot.row), *(words.doubts(slot.row) if slot.row.estimate is not None else [])]
        lines.extend(textwrap.wrap(" · ".join(t for t in told if t), _NAME + 4)[:3])
    return "\n".join(lines)


def _label_axis(ax: Axes, slots: list[Slot], *, kind: str, metric: str, beside: bool) -> None:
    rows: list[Any] = [slot.row for slot in slots if slot.row is not None]
    unit = next((row.unit for row in rows if row.unit), "")
    better = next((row.better for row in rows if row.better), "")
    references = {row.reference for row in rows if row.reference}
    name = metric.replace("_", " ")
    what = {"difference": "difference", "ratio": "ratio"}.get(kind, name)
    title = (
        name if kind == "level" else f"{what} from {next(iter(references))}" if len(references) == 1 else what
    )
    if kind == "ratio" and len(references) == 1:
        title = f"ratio to {next(iter(references))}"
    if not beside and kind != "level":
        title = f"{name}: {title}"
    ax.set_title(textwrap.shorten(title, 60, placeholder="…"), fontweight="normal" if beside else "bold")
    label = words.unit_label(unit, kind)
    hint = {"lower": "lower is better", "higher": "higher is better"}.get(better, "")
    if kind != "level" and better in ("lower", "higher"):
        hint = "← better" if better == "lower" else "better →"
    ax.set_xlabel(f"{what} ({label})   {hint}" if label and label != what else f"{what}   {hint}")
