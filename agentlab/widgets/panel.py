"""The live panel of a study: progress per arm, and Cancel."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ..progress import duration, reasons, until, waiting
from .cards import left_card, running_card, short_path
from .twin import LiveOutput

if TYPE_CHECKING:
    from ..host.running import Running

State = dict[str, Any]


class Panel:
    """Show a study in a live notebook; a static card takes its place at the end.

    Widgets are made once and changed in place. A saved notebook or an export has no live widgets, so the last
    output holds none; a notebook that was left before the end shows a card in their place.

    Parameters
    ----------
    running : Running
        The study. Its Cancel button only sets a flag there: a handler may run on any thread.
    """

    def __init__(self, running: Running) -> None:
        import ipywidgets as w

        self._running = running
        self._head, self._now = w.HTML(), w.HTML()
        self._cancel = w.Button(description="Cancel", icon="stop", layout=w.Layout(width="9em"))
        self._cancel.on_click(lambda _: running.cancel())
        self._bars: dict[str, Any] = {}
        self._counts: dict[str, Any] = {}
        rows: list[Any] = []
        width = f"{min(14.0, 1 + 0.7 * max(map(len, running.study.planned))):g}em"
        for name, planned in running.study.planned.items():
            label = w.HTML(_clipped(name), layout=w.Layout(width=width))
            self._bars[name] = w.IntProgress(max=planned, layout=w.Layout(width="16em"))
            self._counts[name] = w.HTML()
            rows.append(w.HBox([label, self._bars[name], self._counts[name]]))
        arms = w.VBox(rows, layout=w.Layout(max_height="22em", overflow="auto"))
        self._box = w.VBox([self._head, arms, w.HBox([self._cancel, self._now])])
        state = running.state()
        self._show(state)
        self._kept = state["finished"]
        self._output = LiveOutput(self._box, left_card(state))

    def update(self, state: State) -> None:
        """Show a state; only what differs is sent to the front end."""
        self._show(state)
        if self._kept != state["finished"]:
            self._kept = state["finished"]
            self._output.keep(left_card(state))

    def _show(self, state: State) -> None:
        said = [
            f"<b>{state['finished']} of {state['planned']} runs</b>",
            None if state["elapsed_s"] is None else duration(state["elapsed_s"]),
            f"<code>{escape(short_path(state['folder']))}</code>",
            until(state),
        ]
        self._head.value = " &nbsp; ".join(part for part in said if part)
        for name, counts in state["arms"].items():
            self._bars[name].value = counts["finished"]
            self._counts[name].value = _counts(counts)
        self._now.value = _now(state, blocking=self._running.blocking)
        cancelled = self._running.cancelled
        self._cancel.description = "Cancelling" if cancelled else "Cancel"
        self._cancel.disabled = cancelled or self._running.blocking

    def close(self, state: State) -> None:
        """Replace the panel by a card without widgets."""
        self._output.close(running_card(state))


def _counts(counts: State) -> str:
    text = f"{counts['finished']}/{counts['planned']}, {counts['eligible']} eligible"
    if counts["discarded"]:
        text += f", {counts['discarded']} discarded ({escape(reasons([counts]))})"
    return f"&nbsp; {text}"


def _now(state: State, *, blocking: bool) -> str:
    current = state["current"]
    if current is not None:
        text = f"now: {escape(current['arm'])}, run {current['run_index'] + 1}"
    elif (quiet := waiting(state)) is not None:
        text = escape(quiet)
    else:
        text = "starting" if state["finished"] == 0 else "between runs"
    if blocking:  # the cell waits in .result(): a click would be handled only after it
        alone = until(state) is not None
        text += "; an interrupt stops only the waiting" if alone else "; to cancel, interrupt the kernel"
    return f"&nbsp; {text}"


def _clipped(name: str) -> str:
    style = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
    return f'<div style="{style}" title="{escape(name)}">{escape(name)}</div>'
