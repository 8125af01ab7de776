"""One look for all figures, applied by context and never left behind in ``rcParams``.

Decisions, with their reasons:

- The background is opaque white. Axis text cannot follow a notebook's theme, and dark text on a transparent
  background disappears in a dark one; a white sheet is readable in both and is what gets printed.
- Colours are Okabe and Ito's (safe for colour-blind readers), ordered so that neighbours differ in luminance.
  Each arm also has its own marker and line style, so that a greyscale print tells arms apart.
- PDF embeds TrueType (type 42): publishers refuse Type 3. SVG draws letters as paths, because text in an SVG
  is set again by each viewer with the fonts it has, and labels would move. A fixed salt makes the ids in an
  SVG, and so its bytes, the same at every run.
- Names of arms are text, never mathematics: ``$`` stays ``$``. They may be in any script (:mod:`.fonts`).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from .fonts import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1a1a1a"
MUTED = "#595959"
FAINT = "#c8c8c8"

_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
_LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))

_RC: Any = {
    "font.size": 8.5,
    "axes.formatter.useoffset": False,  # 10.004 is read at once, 0.004 with +1e1 in a corner is not
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "white",
    "axes.unicode_minus": True,
    "figure.facecolor": "white",
    "figure.edgecolor": "white",
    "figure.dpi": 100,
    "savefig.facecolor": "white",
    "savefig.edgecolor": "white",
    "savefig.transparent": False,
    "savefig.dpi": 300,
    "text.color": INK,
    "text.parse_math": False,
    "text.usetex": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "pdf.use14corefonts": False,
    "pdf.compression": 6,
    "svg.fonttype": "path",
    "svg.hashsalt": "agentlab",
    "svg.image_inline": True,
    "path.simplify": True,
}


@dataclasses.dataclass(frozen=True)
class ArmStyle:
    """How one arm is drawn.

    Parameters
    ----------
    color : str
        Hexadecimal colour.
    marker : str
        Matplotlib marker.
    line : str or tuple
        Matplotlib line style.
    """

    color: str
    marker: str
    line: Any


@contextlib.contextmanager
def style() -> Generator[None]:
    """Draw in the style of agentlab inside the ``with`` block.

    Matplotlib's settings are back to what they were when the block ends, but for its interactive mode: the
    first figure of a notebook loads the notebook's backend, which switches that on for good; without it no
    later figure of the notebook would be shown.

    Yields
    ------
    None

    Examples
    --------
    >>> import matplotlib
    >>> before = matplotlib.rcParams["pdf.fonttype"]
    >>> with style():
    ...     matplotlib.rcParams["pdf.fonttype"]
    42
    >>> matplotlib.rcParams["pdf.fonttype"] == before
    True
    """
    import matplotlib

    interactive = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context({**_RC, "font.family": families()}):
            try:
                yield
            finally:
                interactive = matplotlib.is_interactive()
    finally:
        matplotlib.interactive(interactive)


def arm_styles(arms: Sequence[str]) -> dict[str, ArmStyle]:
    """Give each arm a colour, a marker and a line style.

    Parameters
    ----------
    arms : sequence of str
        Names in their order; the first 70 get pairs of colour and marker that differ.

    Returns
    -------
    dict of str to ArmStyle

    Examples
    --------
    >>> arm_styles(["a", "b"])["b"].marker
    's'
    """
    return {
        arm: ArmStyle(_COLORS[i % len(_COLORS)], _MARKERS[i % len(_MARKERS)], _LINES[i % len(_LINES)])
        for i, arm in enumerate(dict.fromkeys(arms))
    }


def dress(ax: Axes) -> None:
    """Fix the look of an Axes' ticks and grid, also of ticks that are made later, outside :func:`style`.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The Axes; changed in place.
    """
    ax.tick_params(labelsize=8, labelcolor=INK, color=MUTED, width=0.7, length=3)
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="x", color="#e4e4e4", linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        ax.spines[side].set(color=MUTED, linewidth=0.7)
