"""The view's figures as PNG: what :func:`agentlab.plot_estimates` and ``plot_timeline`` draw, never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ...recording import Recording

#: Inches.
_TIMELINE = (9.0, 3.6)


def estimates_picture(frame: pd.DataFrame, *, dpi: int = 100) -> bytes:
    """Draw estimates.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`agentlab.compare` returns it.
    dpi : int
        Pixels an inch.

    Returns
    -------
    bytes
    """
    from ...plots.estimates import estimates_png

    return estimates_png(frame, dpi=dpi)


def timeline_picture(run: Recording, *, dpi: int = 100) -> bytes:
    """Draw one run in time.

    Parameters
    ----------
    run : Recording
        The run.
    dpi : int
        Pixels an inch.

    Returns
    -------
    bytes
    """
    from ...plots.canvas import new_figure
    from ...plots.export import png
    from ...plots.timeline import plot_timeline

    return png(plot_timeline(run, ax=new_figure(*_TIMELINE, shown=False).add_subplot()), dpi=dpi)
