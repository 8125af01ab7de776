"""What each added session costs: settled memory over the number of sessions, with the fitted lines."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from . import words
from .canvas import caption, caption_height, new_figure
from .memory_runs import MIB, PRESSURE, Measured, RunCurve, both_figures
from .published import Published, draw_published, note, only_up_to
from .rows import split_flags
from .style import INK, MUTED, ArmStyle, arm_styles, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..recording import Recordings

_WIDTH, _HEIGHT = 7.4, 3.6
#: part -> line style and whether its markers are filled; a greyscale print tells them apart
_PARTS: dict[str, tuple[Any, bool]] = {"anon": ("-", True), "file": ((0, (4, 2)), False)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Line:
    """The fit of one part of one arm, MiB; None is unknown."""

    arm: str
    part: str
    slope: float | None
    slope_ends: tuple[float | None, float | None]
    intercept: float | None
    intercept_ends: tuple[float | None, float | None]
    status: str
    flags: tuple[str, ...]
    reason: str

    @property
    def said(self) -> str:
        if self.slope is None or self.intercept is None:
            return f"{self.arm}, {self.part}: {words.STATUSES.get(self.status, self.status or 'unknown')}"
        each = f"{_with_ends(self.slope, self.slope_ends)} MiB per session"
        once = f"{_with_ends(self.intercept, self.intercept_ends)} MiB once"
        found = [words.FLAGS[flag][0] for flag in self.flags if flag in words.FLAGS]
        if self.status != "ok":
            found.insert(0, words.STATUSES.get(self.status, self.status))
        doubts = f" ({', '.join(found)})" if found else ""
        return f"{self.arm}, {self.part}: {each}, {once}{doubts}"


def _with_ends(value: float, ends: tuple[float | None, float | None]) -> str:
    low, high = ends
    if low is None or high is None:
        return words.value(value)
    said = [words.value(number, like=high - low) for number in (value, low, high)]
    return f"{said[0]} [{said[1]}, {said[2]}]"


def draw_marginal(
    recs: Any,  # noqa: ANN401
    measured: Measured,
    published: list[Published] | None,
    ax: Axes | None,
) -> Axes:
    """Draw settled anonymous and file memory of each run, and the fit.

    Parameters
    ----------
    recs : Recordings
        What was recorded.
    measured : Measured
        Its runs.
    published : list of Published or None
        Figures of others (totals); None when none were wanted.
    ax : matplotlib.axes.Axes or None
        Where to draw; a figure of its own when None.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ConfigError
        It is a lone table, which does not know the runs that were discarded.
    """
    if not hasattr(recs, "coverage"):
        raise ConfigError(
            "plot_memory(kind='marginal'): give Recordings; a lone table does not know which runs were "
            "discarded, so that nothing can be fitted to it"
        )
    lines, level = _fit(recs)
    points = [one for one in measured.curves if one.n_sessions is not None and one.level("anon") is not None]
    if published is not None:
        published = only_up_to(published, max((p.n_sessions for p in points if p.n_sessions), default=0))
    notes = _notes(points, lines, level, measured, published)
    target = ax
    if target is None:
        height = _HEIGHT + 0.16 * len(lines) + caption_height(notes, _WIDTH)
        target = new_figure(_WIDTH, height).add_subplot()
    if not points:
        return _empty(target, notes, own=ax is None)
    dress(target)
    target.grid(visible=True, axis="y", color="#e4e4e4", linewidth=0.6)
    styles = arm_styles(measured.arms)
    _draw_points(target, points, styles)
    for line in lines:
        _draw_line(target, line, points, styles[line.arm])
    draw_published(target, published or [], styles)
    if published:
        _draw_totals(target, points, styles)
    _axes(target, points, published or [])
    _legend(target, lines, styles)
    caption(target, notes, own=ax is None)
    return target


def _fit(recs: Recordings) -> tuple[list[_Line], float]:
    from ..stats.marginal import marginal_fit

    frame = marginal_fit(recs)
    lines = [_line(row) for row in frame.to_dict("records") if row["part"] in _PARTS]
    return lines, 0.95


def _line(row: dict[Any, Any]) -> _Line:
    def mib(name: str) -> float | None:
        value = row.get(name)
        return None if value is None or value != value else float(value) / MIB

    return _Line(
        arm=str(row["arm"]),
        part=str(row["part"]),
        slope=mib("slope_bytes"),
        slope_ends=(mib("slope_lower_bytes"), mib("slope_upper_bytes")),
        intercept=mib("intercept_bytes"),
        intercept_ends=(mib("intercept_lower_bytes"), mib("intercept_upper_bytes")),
        status=str(row.get("status", "ok")),
        flags=split_flags(row.get("flags")),
        reason=reason if isinstance(reason := row.get("reason"), str) else "",
    )


def _draw_points(ax: Axes, points: list[RunCurve], styles: dict[str, ArmStyle]) -> None:
    for part, (_, filled) in _PARTS.items():
        for at, one in enumerate(points):
            y = one.level(part)
            if y is None or one.n_sessions is None:
                continue
            look = styles[one.arm]
            shift = ((at * 0.618) % 1 - 0.5) * 0.12  # so that equal runs stay visible
            ax.plot(
                [one.n_sessions + shift], [y], linestyle="none", marker="x" if one.pressed else look.marker,
                markersize=4.2, color=look.color if filled else "white", markeredgewidth=0.9,
                markeredgecolor=look.color, alpha=0.85, zorder=3,
            )  # fmt: skip


def _draw_line(ax: Axes, line: _Line, points: list[RunCurve], look: ArmStyle) -> None:
    """Draw the line over the numbers that were measured, and the slopes of its interval about its middle."""
    import numpy as np

    own = [p.n_sessions for p in points if p.arm == line.arm and not p.pressed and p.n_sessions is not None]
    if line.slope is None or line.intercept is None or len(set(own)) < 2:
        return
    x = np.array([min(own), max(own)], dtype=float)
    style, _ = _PARTS[line.part]
    ax.plot(x, line.intercept + line.slope * x, linestyle=style, color=look.color, linewidth=1.6, zorder=2)
    low, high = line.slope_ends
    if low is not None and high is not None:
        middle = statistics.fmean(own)
        y = line.intercept + line.slope * middle
        wide = np.linspace(x[0], x[1], 60)
        turned = [y + slope * (wide - middle) for slope in (low, high)]
        ax.fill_between(wide, *turned, color=look.color, alpha=0.15, linewidth=0, zorder=1)


def _draw_totals(ax: Axes, points: list[RunCurve], styles: dict[str, ArmStyle]) -> None:
    """Draw medians of the totals, which is what others published."""
    by_count: dict[tuple[str, int], list[float]] = {}
    for one in points:
        if not one.pressed and one.n_sessions is not None and (y := one.level("total")) is not None:
            by_count.setdefault((one.arm, one.n_sessions), []).append(y)
    for (arm, n), values in by_count.items():
        ax.plot(
            [n], [statistics.median(values)], linestyle="none", marker="_", markersize=13,
            markeredgewidth=2.2, color=styles[arm].color, zorder=3.5,
        )  # fmt: skip


def _axes(ax: Axes, points: list[RunCurve], published: list[Published]) -> None:
    counts = {p.n_sessions for p in points if p.n_sessions is not None}
    counts |= {n for one in published for n, _ in one.points}
    ax.set_xlim(0, max(counts) + max(0.4, 0.06 * max(counts)))
    ax.set_xticks(sorted(counts))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("sessions")
    ax.set_ylabel("settled memory (MiB)")


def _legend(ax: Axes, lines: list[_Line], styles: dict[str, ArmStyle]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], linestyle=_PARTS[line.part][0], color=styles[line.arm].color, linewidth=1.6,
            markersize=4.2, marker=styles[line.arm].marker, markeredgecolor=styles[line.arm].color,
            markerfacecolor=styles[line.arm].color if _PARTS[line.part][1] else "white", label=line.said,
        )
        for line in lines
    ]  # fmt: skip
    if handles:
        ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=1, fontsize=7.2, frameon=False,
            borderaxespad=0.2, labelspacing=0.25, handlelength=2.6, labelcolor=INK,
        )  # fmt: skip


def _notes(
    points: list[RunCurve],
    lines: list[_Line],
    level: float,
    measured: Measured,
    published: list[Published] | None,
) -> list[str]:
    said = "Marker: a run, median of its settled samples; filled: anonymous, hollow: of files."
    if any(line.slope_ends[0] is not None for line in lines):
        said += (
            f" In brackets: {100 * level:g} % intervals over runs. Band: the interval of the slope, turned "
            "about the middle of the runs."
        )
    if published:
        said += " Bar: median total, which is what others publish."
    n_pressed = sum(point.pressed for point in points)
    pressed = (
        f"Crosses: {words.count(n_pressed, 'run')} discarded for {PRESSURE} alone, not in the fit. "
        f"Median settled total: {'; '.join(both_figures(points))}."
    )
    reasons = dict.fromkeys(f"{line.arm}: {line.reason}." for line in lines if line.reason)
    flags = dict.fromkeys(flag for line in lines for flag in line.flags if flag in words.FLAGS)
    meant = "; ".join(f"{words.FLAGS[flag][0]} = {words.FLAGS[flag][1]}" for flag in flags)
    return [
        said,
        *([pressed] if n_pressed else []),
        *reasons,
        *([f"Flags: {meant}."] if meant else []),
        *measured.coverage,
        *note(published or [], asked=published is not None),
    ]


def _empty(ax: Axes, notes: list[str], *, own: bool) -> Axes:
    ax.set_axis_off()
    ax.text(
        0.5, 0.5, "Nothing to draw: no run with settled memory and a number of sessions.", ha="center",
        va="center", transform=ax.transAxes, color=MUTED,
    )  # fmt: skip
    caption(ax, notes, own=own)
    return ax
