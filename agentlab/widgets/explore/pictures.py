"""The view's figures as PNG: what :func:`agentlab.plot_estimates` and ``plot_timeline`` draw, never shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ...recording import Recording
    from .scene import Scene

#: Inches.
_TIMELINE = (9.0, 3.6)
#: Pixels an inch: first what the live view shows; a card takes the first one that it has room for.
SIZES = {"estimates": (110, 80, 60), "timeline": (100, 70)}


class Pictures:
    """Figures of what is shown; each is drawn once for as long as it is shown.

    Examples
    --------
    >>> import agentlab as al
    >>> scene = al.explore(al.load(al.example("cache")), "TTFT").scene
    >>> Pictures().estimates(scene)[1:4]
    b'PNG'
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[object, bytes]] = {}

    def estimates(self, scene: Scene, *, dpi: int = SIZES["estimates"][0]) -> bytes:
        """Draw the estimates of a view.

        Parameters
        ----------
        scene : Scene
            What is shown.
        dpi : int
            Pixels an inch.

        Returns
        -------
        bytes
        """
        frame = scene.estimates
        draw = partial(estimates_picture, frame[frame["metric"].isin(list(scene.drawn))], dpi=dpi)
        return self._once("estimates", dpi, scene.asked, draw)

    def timeline(self, scene: Scene, *, dpi: int = SIZES["timeline"][0]) -> bytes:
        """Draw the run that is picked out; nothing when there is none.

        Parameters
        ----------
        scene : Scene
            What is shown.
        dpi : int
            Pixels an inch.

        Returns
        -------
        bytes
        """
        if scene.run is None:
            return b""
        return self._once("timeline", dpi, scene.view.run, partial(timeline_picture, scene.run, dpi=dpi))

    def _once(self, what: str, dpi: int, about: object, draw: Callable[[], bytes]) -> bytes:
        before = self._kept.get((what, dpi))
        if before is None or before[0] != about:
            self._kept[what, dpi] = before = (about, draw())
        return before[1]


def estimates_picture(frame: pd.DataFrame, *, dpi: int) -> bytes:
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


def timeline_picture(run: Recording, *, dpi: int) -> bytes:
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
