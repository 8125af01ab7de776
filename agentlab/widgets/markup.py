"""Small pieces of HTML that survive an untrusted notebook and both themes.

JupyterLab removes ``<style>``, ``<script>`` and inline ``<svg>`` from the outputs of a notebook it does not
trust; ``style=`` attributes, tables and images as data URIs stay. Text inherits the theme's colour, and
backgrounds are half transparent, so that a card is readable on white and on black.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

LINE = "rgba(128,128,128,0.35)"
WASH = "rgba(128,128,128,0.14)"
GOOD = "#2a8fd0"
DOUBT = "#d98a00"
BAD = "#d5552a"


def text(value: object) -> str:
    """Escape text; a dollar sign gets an element of its own, because notebooks read ``$...$`` as mathematics.

    Parameters
    ----------
    value : object
        Anything that can be written.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> text("a < b")
    'a &lt; b'
    """
    return html.escape(str(value), quote=True).replace("$", "<span>$</span>")


def badge(label: str, color: str = DOUBT) -> str:
    """Frame a short doubt.

    Parameters
    ----------
    label : str
        Plain text.
    color : str
        Of the frame; the text keeps the theme's colour.

    Returns
    -------
    str
    """
    style = f"border:1px solid {color};border-radius:3px;padding:0px 4px;white-space:nowrap;font-size:85%"
    return f'<span style="{style}">{text(label)}</span>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
    whole: Sequence[int] = (),
    narrow: bool = False,
) -> str:
    """Write a table; the first column names its rows.

    Parameters
    ----------
    head : sequence of str
        Plain text of the header.
    rows : iterable of sequence of str
        HTML of the cells.
    right : sequence of int
        Columns that are aligned to the right.
    whole : sequence of int
        Columns whose text is never broken into lines.
    narrow : bool
        Whether the first column is as narrow as any other.

    Returns
    -------
    str
    """
    cell = f"padding:2px 12px 2px 0px;border-bottom:1px solid {LINE};vertical-align:middle"

    def look(column: int) -> str:
        name = ";min-width:130px;max-width:320px" if column == 0 and not narrow else ""
        wrap = ";white-space:nowrap" if column in whole else ""
        return f"{cell};text-align:{'right' if column in right else 'left'}{wrap}{name}"

    heading = "font-weight:bold;opacity:0.72;white-space:nowrap"
    lines = [f'<th style="{look(i)};{heading}">{text(name)}</th>' for i, name in enumerate(head)]
    body = ["".join(f'<td style="{look(i)}">{value}</td>' for i, value in enumerate(cells)) for cells in rows]
    trs = "".join(f'<tr style="background-color:transparent">{line}</tr>' for line in ["".join(lines), *body])
    return f'<table style="border-collapse:collapse;margin:2px 0px 6px 0px;font-size:100%">{trs}</table>'


def card(title: str, parts: Iterable[str]) -> str:
    """Put parts below a title.

    Parameters
    ----------
    title : str
        Plain text.
    parts : iterable of str
        HTML.

    Returns
    -------
    str
    """
    style = f"border:1px solid {LINE};border-radius:4px;padding:8px 12px;max-width:980px;overflow-x:auto"
    heading = f'<div style="font-weight:bold;margin-bottom:4px">{text(title)}</div>'
    return f'<div style="{style};line-height:1.45">{heading}{"".join(parts)}</div>'


def notes(sentences: Iterable[str]) -> str:
    """Write sentences below a table.

    Parameters
    ----------
    sentences : iterable of str
        Plain text.

    Returns
    -------
    str
    """
    lines = "<br>".join(text(sentence) for sentence in sentences)
    return f'<div style="opacity:0.72;font-size:88%;margin-top:2px">{lines}</div>' if lines else ""


def progress(done: int, doubtful: int, running: int, planned: int) -> str:
    """Write a bar of runs: used, discarded, under way, still to come.

    Parameters
    ----------
    done, doubtful, running, planned : int
        Runs.

    Returns
    -------
    str
    """
    share = [100 * n / max(planned, done + doubtful + running, 1) for n in (done, doubtful, running)]
    colors = (GOOD, DOUBT, "rgba(42,143,208,0.4)")
    pieces = "".join(
        f'<span style="display:inline-block;height:10px;width:{width:.1f}%;background-color:{color}"></span>'
        for width, color in zip(share, colors, strict=True)
        if width
    )
    style = f"width:180px;height:10px;line-height:10px;background-color:{WASH};overflow:hidden"
    return f'<div style="{style};white-space:nowrap;font-size:0px">{pieces}</div>'


def whisker(
    estimate: float | None,
    lower: float | None,
    upper: float | None,
    scale: tuple[float, float],
    *,
    baseline: float | None = None,
) -> str:
    """Draw an interval with nothing but boxes.

    Parameters
    ----------
    estimate : float or None
        The point; hollow when there is no interval.
    lower, upper : float or None
        The ends; None is open and reaches the edge.
    scale : (float, float)
        What the left and the right edge stand for.
    baseline : float, optional
        Where to draw a line, e.g. 0 for a difference.

    Returns
    -------
    str
    """
    if estimate is None or not math.isfinite(estimate) or not scale[0] < scale[1]:
        return ""
    known = any(end is not None and math.isfinite(end) for end in (lower, upper))
    boxes: list[str] = []
    if baseline is not None:
        boxes.append(_box(_at(baseline, scale), "1px", 0, 16, "background-color:rgba(128,128,128,0.9)"))
    if known:
        left, right = _at(lower, scale, 0.0), _at(upper, scale, 100.0)
        boxes.append(
            _box(left, f"{max(right - left, 0.5):.1f}%", 6, 4, f"background-color:{GOOD};opacity:0.55")
        )
    fill = f"background-color:{GOOD}" if known else "background-color:transparent"
    point = f"{fill};border:2px solid {GOOD};border-radius:5px;margin-left:-5px;box-sizing:border-box"
    boxes.append(_box(_at(estimate, scale), "10px", 3, 10, point))
    outer = "position:relative;width:160px;height:16px;margin:0px 4px;overflow:hidden"
    return f'<div style="{outer};background-color:{WASH}">{"".join(boxes)}</div>'


def _at(value: float | None, scale: tuple[float, float], edge: float = 0.0) -> float:
    if value is None or not math.isfinite(value):
        return edge
    return min(100.0, max(0.0, 100 * (value - scale[0]) / (scale[1] - scale[0])))


def _box(left: float, width: str, top: int, height: int, look: str) -> str:
    place = f"position:absolute;left:{left:.1f}%;top:{top}px;width:{width};height:{height}px"
    return f'<div style="{place};{look}"></div>'
