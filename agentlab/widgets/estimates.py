"""The card of estimates."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..plots import words
from ..plots.captions import estimates_caption, noted
from ..plots.rows import Row, read_rows
from . import markup
from .bundle import MOST_BYTES, Bundle, columns, never_raises

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 120
_BARS = (
    "Small bars: levels stand on one scale, differences on another with a line at 0, ratios with one at 1."
)


@never_raises
def estimates_card(frame: pd.DataFrame, *, figure: bool = False) -> Bundle:
    """Show estimates with unit, interval, coverage and doubts in words.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`agentlab.compare` returns it.
    figure : bool, default False
        Whether the figure of :func:`agentlab.plot_estimates` is in it (in place of small bars), as an image
        inside the HTML and as ``image/png`` for readers that show no HTML. It costs about half a second.

    Returns
    -------
    dict
        ``text/plain``, ``text/html`` and perhaps ``image/png``.
    """
    rows = read_rows(frame)
    shown = rows[:_MOST_ROWS]
    notes = [*estimates_caption(rows, drawn=False), *noted(frame)]
    if len(shown) < len(rows):
        notes.insert(0, f"{len(rows) - len(shown):,} more rows are in the frame.")
    metrics = [
        [row for row in shown if row.metric == metric] for metric in dict.fromkeys(r.metric for r in shown)
    ]
    title = "Estimates" if rows else "Estimates: nothing could be estimated, there is no run with data"
    plain = [line for own in metrics for line in (title_of(own), *columns([_head(own), *map(cells_of, own)]))]
    parts = [_table(own, bars=not figure) for own in metrics]
    room = MOST_BYTES - 10_000 - sum(map(len, [*parts, *notes]))
    picture = picture_of(frame, room) if figure and rows else ""
    if picture:
        parts.append(f'<img alt="figure of the estimates" src="data:image/png;base64,{picture}">')
    explained = [_BARS, *notes] if not figure and any(row.kind != "level" for row in shown) else notes
    bundle = {
        "text/plain": "\n".join([title, *plain, *notes]),
        "text/html": markup.card(title, [*parts, markup.notes(explained)]),
    }
    return {**bundle, "image/png": picture} if picture else bundle


def _head(rows: Sequence[Row]) -> list[str]:
    levels = {row.level for row in rows if row.level is not None}
    percent = f"{100 * levels.pop():g} % interval" if len(levels) == 1 else "interval"
    return ["arm", "estimate", percent, "stands on", "doubts"]


def _table(rows: Sequence[Row], *, bars: bool) -> str:
    head, drawn = _head(rows), whiskers(rows)
    cells: list[list[str]] = []
    for row, bar in zip(rows, drawn, strict=True):
        arm, estimate, interval, stands_on, _ = map(markup.text, cells_of(row))
        cells.append([arm, f"<b>{estimate}</b>", interval, *([bar] if bars else []), stands_on, badges(row)])
    if bars:
        head.insert(3, "")
    heading = f'<div style="margin-top:4px">{markup.text(title_of(rows))}</div>'
    return heading + markup.table(head, cells, right=(1,), whole=(1, 2))


def title_of(rows: Sequence[Row]) -> str:
    """Name the metric of some rows, with its unit and what is better.

    Parameters
    ----------
    rows : sequence of Row
        Estimates of one metric.

    Returns
    -------
    str
    """
    unit = words.unit_of([row for row in rows if row.kind == "level"], "level")
    better = next((f"{row.better} is better" for row in rows if row.better), "")
    return " · ".join(part for part in (words.metric_label(rows[0].metric), unit, better) if part)


def cells_of(row: Row) -> list[str]:
    """Write an estimate: arm, number, interval, what it stands on, doubts.

    Parameters
    ----------
    row : Row
        The estimate.

    Returns
    -------
    list of str
        Five texts.
    """
    sign = {"difference": "−", "ratio": "/"}.get(row.kind)
    arm = _clip(row.arm, 34 if sign else 60) or "(no arm)"
    name = f"{arm} {sign} {_clip(row.reference or 'unknown', 34)}" if sign else arm
    doubts = ", ".join(words.doubts(row))
    return [name, words.estimate(row), words.interval(row) or "none", words.coverage(row), doubts]


def _clip(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def badges(row: Row) -> str:
    """Frame what is doubtful about an estimate.

    Parameters
    ----------
    row : Row
        The estimate.

    Returns
    -------
    str
        HTML.
    """
    color = markup.BAD if row.status in ("no_data", "invalid") else markup.DOUBT
    return " ".join(markup.badge(doubt, color) for doubt in words.doubts(row))


def whiskers(rows: Sequence[Row]) -> list[str]:
    """Draw levels on one scale and differences on another.

    Parameters
    ----------
    rows : sequence of Row
        Estimates of one metric.

    Returns
    -------
    list of str
        HTML of each.
    """
    scales = {
        kind: _scale([row for row in rows if row.kind == kind], kind) for kind in {row.kind for row in rows}
    }
    baseline = {"difference": 0.0, "ratio": 1.0}
    return [
        markup.whisker(row.estimate, row.lower, row.upper, scales[row.kind], baseline=baseline.get(row.kind))
        for row in rows
    ]


def _scale(rows: Sequence[Row], kind: str) -> tuple[float, float]:
    ends = [
        e for row in rows for e in (row.estimate, row.lower, row.upper) if e is not None and math.isfinite(e)
    ]
    ends += {"difference": [0.0], "ratio": [1.0]}.get(kind, [])
    if not ends:
        return 0.0, 0.0
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - margin, high + margin


def picture_of(frame: pd.DataFrame, room: int) -> str:
    """Draw the figure, so small that it has room in the card; nothing where there is no such size.

    Parameters
    ----------
    frame : pandas.DataFrame
        Estimates.
    room : int
        Characters.

    Returns
    -------
    str
        A PNG in base64.
    """
    from ..plots.estimates import hidden_estimates
    from ..plots.export import png

    drawn = hidden_estimates(frame)
    for dpi in (110, 80, 60):
        picture = base64.b64encode(png(drawn, dpi=dpi)).decode("ascii")
        if len(picture) <= room:
            return picture
    return ""
