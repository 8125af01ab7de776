"""The view without widgets: HTML with figures inside, a PNG twin, and text for terminals."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from .. import markup
from ..bundle import MOST_BYTES, Bundle, columns, never_raises
from ..estimates import cells_of, title_of
from . import pieces
from .pictures import SIZES
from .scene import PAGE, Scene, key

if TYPE_CHECKING:
    from ...plots.rows import Row
    from .explorer import Explorer
    from .runs import RunRow

_NAMES = ["arm", "estimate", "interval", "", "stands on", "doubts"]
_RUNS = ["run", "arm", "block", "value", "", "state"]
#: A timeline's share of the room for pictures, base64 characters.
_TIMELINE_BYTES = 60_000
#: The share of the tables of estimates, characters.
_TABLES_BYTES = 70_000


@never_raises
def static_bundle(explorer: Explorer, *, figures: bool = True) -> Bundle:
    """Show a view where nobody can click: executed notebooks, exports, and after the live view is closed.

    Parameters
    ----------
    explorer : Explorer
        The view.
    figures : bool
        Whether its figures are in it; drawing them takes half a second and more.

    Returns
    -------
    dict
        ``text/plain``, ``text/html`` and, with figures and data, ``image/png``.
    """
    scene = explorer.scene
    parts, unlisted = _listed([_estimates(scene, rows) for rows in scene.groups])
    later = [_runs(scene)] if scene.runs else []
    timeline = ""
    if scene.run is not None:
        title, lines = pieces.run_head(scene.run)
        timeline = _timeline(explorer) if figures else ""
        later += [_heading(title), markup.notes(lines), timeline, pieces.run_tables(scene.run, events=False)]
    notes = [*scene.notes, *unlisted]
    room = MOST_BYTES - 12_000 - sum(map(len, [*parts, *later, *notes]))
    picture = _fitting("estimates", explorer, room) if figures and scene.groups else ""
    if picture:
        parts.append(_image(picture, "figure of the estimates"))
    html = markup.card(scene.title, [*parts, markup.notes(notes), *later])
    bundle = {"text/plain": text(scene), "text/html": html}
    return {**bundle, "image/png": picture} if picture else bundle


def text(scene: Scene) -> str:
    """Write a view in columns of text.

    Parameters
    ----------
    scene : Scene
        What is shown.

    Returns
    -------
    str
    """
    lines = [scene.title]
    for rows in scene.groups:
        cells = [cells_of(row) for row in rows]
        table = [[*own[:3], scene.stands_on[key(row)], own[4]] for row, own in zip(rows, cells, strict=True)]
        lines += [title_of(rows), *columns([[name for name in _NAMES if name], *table])]
    lines += scene.notes
    if scene.runs:
        table = [_plain(scene, row) for row in scene.page]
        lines += [scene.about_runs, *columns([["run", "arm", "value", "state", "issues"], *table])]
        lines += _more(scene)
    if scene.run is not None:
        title, said = pieces.run_head(scene.run)
        lines += [title, *(f"  {line}" for line in said)]
    return "\n".join(lines)


def _plain(scene: Scene, row: RunRow) -> list[str]:
    return [row.key[1], row.arm, pieces.run_value(scene, row), row.state, ", ".join(row.issues)]


def _more(scene: Scene) -> list[str]:
    last = scene.first + len(scene.page)
    return [f"Runs {scene.first + 1} to {last} of {len(scene.runs)}."] if len(scene.runs) > PAGE else []


def _listed(tables: list[str]) -> tuple[list[str], list[str]]:
    """Take the tables that leave room for a figure, and say how many do not."""
    n = max(1, sum(end <= _TABLES_BYTES for end in itertools.accumulate(map(len, tables))))
    unlisted = len(tables) - n
    return tables[:n], [f"{unlisted:,} more metrics are in the frame."] if unlisted > 0 else []


def _estimates(scene: Scene, rows: Sequence[Row]) -> str:
    picked = scene.view.estimate
    names = [("▸ " if key(row) == picked else "") + cells_of(row)[0] for row in rows]
    cells = pieces.estimate_cells(scene, rows)
    table = [[markup.text(name), *own] for name, own in zip(names, cells, strict=True)]
    return _heading(title_of(rows), bold=False) + markup.table(_NAMES, table, right=(1,), whole=(1, 2))


def _runs(scene: Scene) -> str:
    names = [("▸ " if row.key == scene.view.run else "") + row.key[1] for row in scene.page]
    cells = pieces.run_cells(scene, scene.page)
    table = [[markup.text(name), *own] for name, own in zip(names, cells, strict=True)]
    return (
        _heading(scene.about_runs)
        + markup.table(_RUNS, table, right=(3,), whole=(2, 3))
        + markup.notes(_more(scene))
    )


def _heading(said: str, *, bold: bool = True) -> str:
    return f'<div style="margin-top:6px{";font-weight:bold" if bold else ""}">{markup.text(said)}</div>'


def _timeline(explorer: Explorer) -> str:
    picture = _fitting("timeline", explorer, _TIMELINE_BYTES)
    return _image(picture, f"timeline of run {(explorer.view.run or ('', ''))[1]}") if picture else ""


def _fitting(what: Literal["estimates", "timeline"], explorer: Explorer, room: int) -> str:
    """Draw a figure in base64, so small that it has room in the card; nothing where there is no such size."""
    draw = getattr(explorer.pictures, what)
    for dpi in SIZES[what]:
        picture = base64.b64encode(draw(explorer.scene, dpi=dpi)).decode("ascii")
        if len(picture) <= room:
            return picture
    return ""


def _image(picture: str, what: str) -> str:
    return f'<img alt="{markup.text(what)}" style="max-width:100%" src="data:image/png;base64,{picture}">'
