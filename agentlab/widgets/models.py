"""What a live view leaves in the kernel when it ends: the models of its widgets."""

from __future__ import annotations

from typing import Any


def models(widget: Any) -> list[Any]:  # noqa: ANN401
    """List a widget, its children, and the layout and style models that they own.

    Parameters
    ----------
    widget : ipywidgets.Widget
        The outermost one.

    Returns
    -------
    list of ipywidgets.Widget
        Close them all: a widget that is closed leaves the others open.
    """
    below = [model for child in getattr(widget, "children", ()) for model in models(child)]
    owned = [getattr(widget, name, None) for name in ("layout", "style")]
    return [*below, widget, *(model for model in owned if model is not None)]
