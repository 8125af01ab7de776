"""The widgets of the live view that hold rows and choices; made once and changed in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Picked = Callable[[Any], None]
#: Looks like one, and does not begin mathematics: the text beside a box is read for it, even inside HTML.
_DOLLAR = "\N{FULLWIDTH DOLLAR SIGN}"


class Checks:
    """A column of check boxes under a heading; it scrolls when it is long.

    Parameters
    ----------
    heading : str
        Plain text.
    labels : mapping
        Value -> text beside its box.
    changed : callable
        Gets the values that are now chosen, in the order of `labels`; called on any thread.
    """

    def __init__(self, heading: str, labels: Mapping[str, str], changed: Picked) -> None:
        import ipywidgets as w

        look = {"width": "auto", "height": "22px", "margin": "0", "flex": "0 0 auto"}
        self._boxes = {
            value: w.Checkbox(
                description=label.replace("$", _DOLLAR),
                indent=False,
                layout=w.Layout(**look),
                tooltip=label,
            )
            for value, label in labels.items()
        }
        self._changed, self._showing = changed, False
        for box in self._boxes.values():
            box.observe(self._tell, "value")
        column = w.VBox(tuple(self._boxes.values()), layout=w.Layout(max_height="136px", overflow="auto"))
        self.widget = w.VBox([w.Label(heading, style={"font_weight": "bold"}), column])

    def _tell(self, _: Any) -> None:  # noqa: ANN401
        if self._showing:  # it is the view that changed, and not somebody who clicked
            return
        self._changed(tuple(value for value, box in self._boxes.items() if box.value))

    def show(self, chosen: Sequence[str]) -> None:
        """Check the boxes of these values and no others."""
        self._showing = True
        for value, box in self._boxes.items():
            box.value = value in chosen
        self._showing = False


class Choice:
    """A drop-down under a heading.

    Parameters
    ----------
    heading : str
        Plain text.
    labels : mapping
        Text -> value.
    changed : callable
        Gets the value; called on any thread.
    """

    def __init__(self, heading: str, labels: Mapping[str, Any], changed: Picked) -> None:
        import ipywidgets as w

        self._values, self._changed, self._showing = dict(labels), changed, False
        self._drop = w.Dropdown(options=tuple(labels), layout=w.Layout(width="13em"))
        self._drop.observe(self._tell, "value")
        self.widget = w.VBox([w.Label(heading, style={"font_weight": "bold"}), self._drop])

    def _tell(self, change: Any) -> None:  # noqa: ANN401
        if not self._showing:
            self._changed(self._values[change["new"]])

    def show(self, value: Any) -> None:  # noqa: ANN401
        """Choose a value; one that is not offered (set by code) leaves what stands there."""
        text = next((text for text, own in self._values.items() if own == value), None)
        self._showing = True
        if text is not None:
            self._drop.value = text
        self._showing = False


class Rows:
    """Rows that begin with a button; more are made when they are needed, and none is thrown away.

    Parameters
    ----------
    picked : callable
        Gets the key of the row whose button was clicked; called on any thread.
    width : str
        Of the buttons.
    """

    def __init__(self, picked: Picked, *, width: str) -> None:
        import ipywidgets as w

        self._picked, self._width = picked, width
        self._rows: list[tuple[Any, Any, Any]] = []
        self._keys: list[Any] = []
        self.widget = w.VBox(layout=w.Layout(overflow="visible"))

    def show(self, rows: Sequence[tuple[Any, str, str, bool]]) -> None:
        """Show rows.

        Parameters
        ----------
        rows : sequence of (key, str, str, bool)
            Key (None: a heading without button), text of the button, HTML beside it, whether it is picked.
        """
        while len(self._rows) < len(rows):
            self._add()
        self._keys = [row[0] for row in rows]
        for at, (box, button, html) in enumerate(self._rows):
            here = at < len(rows)
            box.layout.display = None if here else "none"
            if not here:
                continue
            name, label, shown, picked = rows[at]
            button.layout.display = "none" if name is None else None
            button.description, button.tooltip = label, label
            button.button_style = "primary" if picked else ""
            html.value = shown

    def _add(self) -> None:
        import ipywidgets as w

        button = w.Button(
            layout=w.Layout(width=self._width, height="24px", margin="1px 8px 1px 0", flex="0 0 auto")
        )
        html = w.HTML(layout=w.Layout(margin="0", flex="1 1 auto", min_width="0"))
        at = len(self._rows)
        button.on_click(lambda _: self._click(at))
        box = w.HBox([button, html], layout=w.Layout(align_items="center", overflow="visible"))
        self._rows.append((box, button, html))
        self.widget.children = (*self.widget.children, box)

    def _click(self, at: int) -> None:
        if at < len(self._keys) and self._keys[at] is not None:
            self._picked(self._keys[at])
