"""One panel of estimates: a line per arm with marker, interval, open ends, and what stands behind it."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from typing import TYPE_CHECKING

from . import words
from .rows import Row
from .style import FAINT, INK, MUTED, ArmStyle, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BASELINE = {"difference": 0.0, "ratio": 1.0}
_NAME_CHARS, _NOTE_CHARS, _TITLE_CHARS = 26, 28, 28
_NAME_SIZE, _NOTE_SIZE, _SPACING = 8.0, 6.8, 1.25


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

    @property
    def name_lines(self) -> list[str]:
        """The label in at most two lines."""
        lines = textwrap.wrap(self.label, _NAME_CHARS) or ["no run"]
        return lines if len(lines) <= 2 else [lines[0], lines[1][: _NAME_CHARS - 2].rstrip() + " …"]

    @property
    def note_lines(self) -> list[str]:
        """Coverage and doubts, in lines."""
        if self.row is None:
            return []
        doubts = words.doubts(self.row) if self.row.estimate is not None else []
        told = [words.coverage(self.row), " · ".join(doubt.replace(" ", "\u00a0") for doubt in doubts)]
        return [
            line for text in told if text for line in textwrap.wrap(text, _NOTE_CHARS, break_long_words=False)
        ]

    @property
    def height(self) -> float:
        """Inches that the line needs."""
        points = len(self.name_lines) * _NAME_SIZE + len(self.note_lines) * _NOTE_SIZE
        return max(0.4, (points * _SPACING + 8) / 72)


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
    ax.set_ylim(len(slots) - 0.45, -0.55)
    limits = _limits(rows, kind)
    if limits is None:
        ax.set_xlim(0, 1)
        ax.set_xticks([])
    else:
        ax.set_xlim(*limits)
        ax.locator_params(axis="x", nbins=5)
        if kind in _BASELINE:
            ax.axvline(_BASELINE[kind], color=MUTED, linewidth=0.9, zorder=1)
    for y, slot in enumerate(slots):
        _draw_slot(ax, y, slot, styles[slot.arm], limits or (0.0, 1.0))
    _label_lines(ax, slots, beside=beside)
    _label_axis(ax, rows, kind=kind, metric=metric, beside=beside)


def _limits(rows: list[Row], kind: str) -> tuple[float, float] | None:
    """Hold all finite ends, and room for arrows beside them; None if there is nothing."""
    ends = [
        e for row in rows for e in (row.estimate, row.lower, row.upper) if e is not None and math.isfinite(e)
    ]
    if not ends:
        return None
    if kind in _BASELINE:
        ends.append(_BASELINE[kind])
    low, high = min(ends), max(ends)
    span = high - low or abs(high) * 0.2 or 1.0
    return low - 0.09 * span, high + 0.09 * span


def _draw_slot(ax: Axes, y: int, slot: Slot, look: ArmStyle, limits: tuple[float, float]) -> None:
    row = slot.row
    if row is None or row.estimate is None or not math.isfinite(row.estimate):
        _say(ax, y, "reference" if slot.is_reference else _why_nothing(row))
        return
    if row.has_interval:
        margin = 0.012 * (limits[1] - limits[0])
        left, right = _finite(row.lower, limits[0] + margin), _finite(row.upper, limits[1] - margin)
        ax.plot([left, right], [y, y], color=look.color, linewidth=1.6, linestyle=look.line, zorder=2)
        for end, is_open, arrow in ((left, row.open_lower, "<"), (right, row.open_upper, ">")):
            ax.plot(
                [end], [y], marker=arrow if is_open else "|", markersize=6 if is_open else 11,
                linestyle="none", color=look.color, markeredgewidth=1.6, zorder=2, clip_on=False,
            )  # fmt: skip
    ax.plot(
        [row.estimate], [y], marker=look.marker, markersize=6.5, linestyle="none", color=look.color,
        markerfacecolor=look.color if row.has_interval else "white", markeredgewidth=1.3,
        markeredgecolor=INK if row.has_interval else look.color, zorder=3, clip_on=False,
    )  # fmt: skip


def _say(ax: Axes, y: int, text: str) -> None:
    ax.text(
        0.5, y, text, transform=ax.get_yaxis_transform(), ha="center", va="center", color=MUTED, fontsize=7.5,
        fontstyle="italic", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def _why_nothing(row: Row | None) -> str:
    return "not compared" if row is None else "; ".join(words.doubts(row)) or "unknown"


def _finite(end: float | None, edge: float) -> float:
    return end if end is not None and math.isfinite(end) else edge


def _label_lines(ax: Axes, slots: list[Slot], *, beside: bool) -> None:
    """Write names (as tick labels, so that they can be changed) and below each what stands behind it."""
    named = not beside or any(slot.label != slot.arm for slot in slots)
    side = "right" if beside else "left"
    if beside:
        ax.yaxis.tick_right()
    ax.tick_params(axis="y", length=0, labelsize=_NAME_SIZE, pad=4)
    labels = ["\n".join(slot.name_lines) if named else "" for slot in slots]
    ax.set_yticks(range(len(slots)), labels=labels, va="bottom" if named else "center", linespacing=_SPACING)
    for y, slot in enumerate(slots):
        ax.annotate(
            "\n".join(slot.note_lines), (1.0 if beside else 0.0, y), xycoords=ax.get_yaxis_transform(),
            xytext=(4 if beside else -4, 0), textcoords="offset points", fontsize=_NOTE_SIZE, color=MUTED,
            ha="left" if beside else "right", va="top" if named else "center", linespacing=_SPACING,
            annotation_clip=False,
        )  # fmt: skip
        if y:
            ax.axhline(y - 0.5, color=FAINT, linewidth=0.4, zorder=0)
    ax.spines[side].set_visible(False)
    ax.spines["left"].set_visible(False)


def _label_axis(ax: Axes, rows: list[Row], *, kind: str, metric: str, beside: bool) -> None:
    references = list(dict.fromkeys(row.reference for row in rows if row.reference))
    what = {"difference": "difference", "ratio": "ratio"}.get(kind, "")
    if what and len(references) == 1:
        reference = textwrap.shorten(references[0], 24, placeholder=" …")
        what += f" {'from' if kind == 'difference' else 'to'} {reference}"
    name = "\n".join(
        textwrap.wrap(textwrap.shorten(words.metric_label(metric), 90, placeholder=" …"), _TITLE_CHARS)
    )
    title = what if beside and what else f"{name}\n{what}" if what else name
    ax.set_title(title, fontweight="normal" if beside else "bold", loc="left")
    ax.set_xlabel(_axis_label(rows, kind))


def _axis_label(rows: list[Row], kind: str) -> str:
    unit = words.unit_of(rows, kind)
    better = next((row.better for row in rows if row.better), "")
    if better not in ("lower", "higher"):
        return unit
    if kind == "level":
        return ", ".join(part for part in (unit, f"{better} is better") if part)
    return f"{unit}   {'← better' if better == 'lower' else 'better →'}".strip()
