"""Where figures come from, what stands under them, and what they remember of their origin."""

from __future__ import annotations

import sys
import textwrap
import unicodedata
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .rows import Row

_CAPTION_SIZE = 7.0
_origins: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def new_figure(width: float, height: float, *, shown: bool = True) -> Figure:
    """Make a figure.

    In IPython it is made through pyplot, so that a notebook shows it below the cell like any other figure
    (and closes it). Anywhere else it is a plain figure: nothing is registered, nothing has to be closed, and
    no window opens.

    Parameters
    ----------
    width, height : float
        Inches.
    shown : bool
        False for a figure that is only turned into bytes, e.g. inside a card.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if shown and _in_ipython():
        from matplotlib import pyplot as plt

        return plt.figure(figsize=(width, height), layout="constrained")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _in_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def root_figure(artist: Any) -> Figure | None:  # noqa: ANN401
    """Find the whole figure something belongs to, also from inside a subfigure.

    Parameters
    ----------
    artist : Axes, Figure or SubFigure
        Anything of a figure.

    Returns
    -------
    matplotlib.figure.Figure or None
        None for what is not of matplotlib, or was removed from its figure.
    """
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    found: Any = artist.figure if isinstance(artist, Artist) else None
    while found is not None and found.figure is not None and found.figure is not found:
        found = found.figure
    return found if isinstance(found, Figure) else None


def remember(ax: Axes, function: str, origin: dict[str, Any]) -> None:
    """Note where a figure's content comes from; :func:`agentlab.save` writes it into the files.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Any Axes of the figure.
    function : str
        What drew it.
    origin : dict
        Plain JSON data; several drawings on one figure are kept side by side.
    """
    figure = root_figure(ax)
    if figure is not None:
        _origins.setdefault(figure, {"drawn_by": []})["drawn_by"].append({"function": function, **origin})


def origin_of(figure: Figure) -> dict[str, Any]:
    """Return what :func:`remember` noted.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.

    Returns
    -------
    dict
        Empty for a figure that agentlab did not draw.
    """
    return _origins.get(figure, {})


def caption(ax: Axes, sentences: list[str], *, own: bool) -> None:
    """Write the coverage under a figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Any Axes of the figure.
    sentences : list of str
        One paragraph each.
    own : bool
        Whether the figure is ours: then the text runs below the whole figure and room is made for it.
        Otherwise it hangs below the label of this Axes, as wide as the Axes.
    """
    figure = root_figure(ax)
    if figure is None:
        return
    width = figure.get_figwidth() if own else max(2.0, ax.get_position().width * figure.get_figwidth())
    text = wrap(sentences, width)
    look: dict[str, Any] = {"fontsize": _CAPTION_SIZE, "color": "#404040", "linespacing": 1.35}
    if own:
        figure.supxlabel(text, x=0.008, ha="left", **look)
    else:
        ax.annotate(
            text, (0, 0), xycoords=("axes fraction", ax.xaxis.label), xytext=(0, -6),
            textcoords="offset points", va="top", ha="left", annotation_clip=False, **look,
        )  # fmt: skip


def wrap(sentences: list[str], width: float) -> str:
    """Break paragraphs into lines of a caption.

    Parameters
    ----------
    sentences : list of str
        One paragraph each.
    width : float
        Inches.

    Returns
    -------
    str
    """
    chars = max(24, int(width * 72 / (_CAPTION_SIZE * 0.56)))
    return "\n".join("\n".join(textwrap.wrap(s, _fitting(s, chars))) for s in sentences)


def _fitting(text: str, chars: int) -> int:
    """Return how many letters of a text are as wide as so many usual ones; those of East Asia take two."""
    wide = sum(1 for letter in text if unicodedata.east_asian_width(letter) in "WF")
    return max(12, chars * len(text) // (len(text) + wide)) if wide else chars


def caption_height(sentences: list[str], width: float) -> float:
    """Estimate the height of a caption.

    Parameters
    ----------
    sentences : list of str
        One paragraph each.
    width : float
        Inches.

    Returns
    -------
    float
        Inches.
    """
    lines = wrap(sentences, width).count("\n") + 1
    return lines * _CAPTION_SIZE * 1.35 * 1.2 / 72 + 0.1


def estimates_origin(frame_attrs: dict[Any, Any], rows: list[Row]) -> dict[str, Any]:
    """Collect the provenance of drawn estimates.

    Parameters
    ----------
    frame_attrs : dict
        ``DataFrame.attrs``; ``attrs["agentlab"]`` holds what :func:`agentlab.compare` noted (studies,
        digests).
    rows : list of Row
        What is drawn.

    Returns
    -------
    dict
        Plain JSON data.
    """
    noted = frame_attrs.get("agentlab")
    return {
        **(dict(noted) if isinstance(noted, dict) else {}),
        "metrics": list(dict.fromkeys(r.metric for r in rows)),
        "arms": list(dict.fromkeys(r.arm for r in rows)),
        "intervals": sorted({r.interval for r in rows if r.interval}),
        "levels": sorted({r.level for r in rows if r.level is not None}),
        "seeds": sorted({r.seed for r in rows if r.seed is not None}),
    }
