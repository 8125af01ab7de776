"""The live view: widgets say what was clicked, the loop changes the view and shows what follows, in place."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from .. import markup
from ..estimates import cells_of, title_of
from ..twin import LiveOutput
from . import pieces
from .parts import Parts
from .pump import Loop, Pump
from .scene import PAGE, Scene, key
from .static import static_bundle

if TYPE_CHECKING:
    from .explorer import Explorer


def open_live(explorer: Explorer) -> Live | None:
    """Show a live view below the cell that runs.

    Parameters
    ----------
    explorer : Explorer
        What is shown and changed.

    Returns
    -------
    Live or None
        None where no loop runs or ipywidgets is not there.
    """
    try:
        return Live(explorer, asyncio.get_running_loop())
    except (RuntimeError, ImportError):
        return None


class Live:
    """A view in widgets. Handlers only ask the pump; all else happens on the notebook's loop.

    Parameters
    ----------
    explorer : Explorer
        What is shown and changed.
    loop : Loop
        The notebook's.
    """

    def __init__(self, explorer: Explorer, loop: Loop) -> None:
        self._explorer = explorer
        self._pump = Pump(
            loop, numbers=self._numbers, figures=self._figures, rest=self._keep, failed=self._failed
        )
        self._drawn: dict[str, object] = {}  # part -> what it shows
        self._parts = Parts(explorer.study, self)
        self._numbers()
        self._output = LiveOutput(self._parts.box, static_bundle(explorer, figures=False))
        self.refresh()

    def refresh(self) -> None:
        """Show the explorer's view."""
        self._pump.put(lambda: None)

    def close(self) -> None:
        """Put a card in the place of the widgets."""
        self._pump.close()
        self._output.close(static_bundle(self._explorer))

    # -- what was clicked: on any thread

    def ask(self, field: str, value: object) -> None:
        """Ask for another value of a field of the view."""
        self._pump.put(partial(self._change, field, value))

    def turn_page(self, step: int) -> None:
        """Ask for the page of runs before (-1) or after (1)."""
        self._pump.put(lambda: self._change("page", self._explorer.scene.first // PAGE + step))

    def save(self) -> None:
        """Ask for the figure's files."""
        self._pump.put(self._save)

    def leave(self) -> None:
        """Ask for the end of the live view."""
        self._pump.put(self._explorer.close)

    # -- what follows: on the loop

    def _change(self, field: str, value: object) -> None:
        view, changes = self._explorer.view, {field: value}
        if field == "arms" and isinstance(value, tuple) and view.reference not in value:
            if not value:
                raise ConfigError("choose at least one arm")
            changes["reference"] = value[0]  # who leaves the reference out wants another one
        if getattr(view, field) != value:
            self._explorer.look(view.but(**changes))

    def _save(self) -> None:
        self._parts.saved.value = markup.notes([repr(self._explorer.save(self._parts.stem.value))])

    def _failed(self, error: Exception | None) -> None:
        said = f"{type(error).__name__}: {error}" if error is not None else ""
        style = f"border-left:4px solid {markup.BAD};padding:4px 8px"
        self._parts.message.value = f'<div style="{style}">{markup.text(said)}</div>' if said else ""

    def _numbers(self) -> None:
        parts, scene = self._parts, self._explorer.scene
        for name, control in (*parts.checks.items(), *parts.choices.items()):
            control.show(getattr(scene.view, name))
        parts.title.value = f"<b>{markup.text(scene.title)}</b>"
        parts.notes.value = _tight(markup.notes(scene.notes))
        parts.estimates.show(_estimate_rows(scene))
        self._show_runs(scene)
        self._show_run(scene)
        if self._drawn.get("code") != scene.asked:
            parts.code.value = self._explorer.code()
            self._drawn["code"] = scene.asked

    def _show_runs(self, scene: Scene) -> None:
        parts = self._parts
        parts.runs_box.layout.display = None if scene.view.estimate else "none"
        parts.runs.show(_run_rows(scene))
        parts.about_runs.value = f"<b>{markup.text(scene.about_runs)}</b>"
        last = scene.first + len(scene.page)
        parts.place.value = f"{min(scene.first + 1, last)} to {last} of {len(scene.runs)}"
        parts.back.disabled, parts.on.disabled = scene.first == 0, last == len(scene.runs)

    def _show_run(self, scene: Scene) -> None:
        parts = self._parts
        if self._drawn.get("run") == scene.view.run:
            return
        parts.timeline.layout.display = "none"  # until its own is drawn
        self._drawn.pop("timeline", None)
        parts.run.value = parts.tables.value = ""
        if scene.run is not None:
            title, lines = pieces.run_head(scene.run)
            parts.run.value = _tight(f"<b>{markup.text(title)}</b>{markup.notes(lines)}")
            parts.tables.value = _tight(pieces.run_tables(scene.run, events=True))
        self._drawn["run"] = scene.view.run

    def _figures(self) -> None:
        parts, scene = self._parts, self._explorer.scene
        if scene.run is not None and self._drawn.get("timeline") != scene.view.run:
            parts.timeline.value = self._explorer.pictures.timeline(scene)
            parts.timeline.layout.display = None
            self._drawn["timeline"] = scene.view.run
        if self._drawn.get("figure") != scene.asked:
            parts.figure.value = self._explorer.pictures.estimates(scene)
            parts.figure.layout.display = None
            self._drawn["figure"] = scene.asked

    def _keep(self) -> None:
        view = self._explorer.view
        if self._drawn.get("kept") != view:
            self._output.keep(static_bundle(self._explorer))
            self._drawn["kept"] = view


def _estimate_rows(scene: Scene) -> list[tuple[Any, str, str, bool]]:
    rows: list[tuple[Any, str, str, bool]] = []
    for group in scene.groups:
        rows.append((None, "", f'<div style="margin-top:4px">{markup.text(title_of(group))}</div>', False))
        for row, cells in zip(group, pieces.estimate_cells(scene, group), strict=True):
            number, interval, bar, stands_on, doubts = cells
            line = _line(
                ("108px", number), ("150px", interval), ("172px", bar), ("", f"{stands_on} {doubts}")
            )
            rows.append((key(row), cells_of(row)[0], line, key(row) == scene.view.estimate))
    return rows


def _run_rows(scene: Scene) -> list[tuple[Any, str, str, bool]]:
    rows: list[tuple[Any, str, str, bool]] = []
    for row, cells in zip(scene.page, pieces.run_cells(scene, scene.page), strict=True):
        arm, block, value, dot, state = cells
        line = _line(("108px", value), ("172px", dot), ("66px", block), ("110px", arm), ("", state))
        rows.append((row.key, row.key[1], line, row.key == scene.view.run))
    return rows


def _line(*cells: tuple[str, str]) -> str:
    """Put (width, HTML) side by side, below those of the other rows; in a narrow window below each other."""
    shown = "".join(
        f'<div style="flex:{f"0 0 {width}" if width else "1 1 120px"};overflow-wrap:anywhere">{cell}</div>'
        for width, cell in cells
    )
    look = "display:flex;flex-wrap:wrap;align-items:center;gap:0px 8px;line-height:1.25"
    return f'<div style="{look}">{shown}</div>'


def _tight(html: str) -> str:
    return f'<div style="line-height:1.4">{html}</div>'
