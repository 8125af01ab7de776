"""A live output and its twin: the card that takes its place once no kernel stands behind it.

A notebook that is saved while widgets are open, and read without their kernel, shows "model not found" where
they were. So a card stands in the notebook below them. The widgets bring the rule that hides it, and the rule
goes with them: when the page is opened anew, and as soon as the kernel has ended.
"""

from __future__ import annotations

import uuid
from typing import Any

from .bundle import Bundle
from .models import models

#: A class of JupyterLab and Notebook: these widgets have lost their kernel.
_LOST = "jupyter-widgets-disconnected"
_OUTPUT = ".jp-OutputArea-child"


class LiveOutput:
    """Widgets below the cell that runs, and the card that a reader without their kernel sees.

    Parameters
    ----------
    box : ipywidgets.Box
        The outermost widget; it gets one more child, which is never seen.
    card : dict
        MIME bundle without widgets.
    """

    def __init__(self, box: Any, card: Bundle) -> None:  # noqa: ANN401
        import ipywidgets as w
        from IPython.display import display

        self._box, self._name = box, f"agentlab-{uuid.uuid4().hex[:12]}"
        box.add_class(self._name)
        box.children = (*box.children, w.HTML(_rules_of_widgets(self._name), layout={"display": "none"}))
        widgets = {**box._repr_mimebundle_(), "text/plain": "A live view; below is what it shows."}
        self._live: Any = display(widgets, raw=True, display_id=True)
        self._twin: Any = display(self._named(card), raw=True, display_id=True)

    def keep(self, card: Bundle) -> None:
        """Change what a reader without the kernel sees.

        Parameters
        ----------
        card : dict
            MIME bundle without widgets.
        """
        self._twin.update(self._named(card), raw=True)

    def close(self, card: Bundle) -> None:
        """Put a card in the place of the widgets, and of their twin.

        Parameters
        ----------
        card : dict
            MIME bundle without widgets.
        """
        self._live.update(card, raw=True)
        self._twin.update({}, raw=True)
        for model in models(self._box):
            model.close()

    def _named(self, card: Bundle) -> Bundle:
        html = f'<div class="{self._name}-card">{card["text/html"]}</div>'
        return {**card, "text/html": html + _rule_of_card(self._name)}


def _rules_of_widgets(name: str) -> str:
    """While they live no card is seen; when they have lost their kernel they are not."""
    alive, card = f"body:has(.{name}:not(.{_LOST}))", f".{name}-card"
    return (
        f"<style>{alive} {card}, {alive} {_OUTPUT}:has({card}), .{name}.{_LOST} {{display: none !important}}"
        "</style>"
    )


def _rule_of_card(name: str) -> str:
    """Where no widgets stand above the card, the message that they are missing is not seen."""
    return (
        f"<style>{_OUTPUT}:not(:has(.{name})):has(+ {_OUTPUT} .{name}-card) {{display: none !important}}"
        "</style>"
    )
