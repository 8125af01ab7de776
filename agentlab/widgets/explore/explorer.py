"""explore(): one object that is live in a notebook, a card when executed headless, and text in a terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ...surroundings import front_end
from .pictures import Pictures
from .scene import Scene, compose
from .study import Study
from .view import View

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ...plots.export import Saved
    from ...recording import Recordings
    from ...stats.metrics import Metric
    from .live import Live


def explore(recs: Recordings, *metrics: Metric | str, reference: str | None = None) -> Explorer:
    """Compare arms by looking: estimates with intervals, the runs behind them, one run in time.

    As the last line of a cell it is a view to click in; where a notebook is executed without anybody
    looking (papermill, nbclient, nbconvert) it is a card with its figure, and in a terminal it is text. The
    figure and the code that makes it can be taken out. An open view lives as long as its kernel; then, and in
    a notebook that was saved while it was open, the card stands in its place. Close it (its button, or
    ``close()``) and the card stands there at once.

    Parameters
    ----------
    recs : Recordings
        What was recorded.
    *metrics : Metric or str
        Shown first; default: time to first token, turn latency, cached share and cost, where they have data.
    reference : str, optional
        Arm that the others are compared with; default: the first arm of the study.

    Returns
    -------
    Explorer

    Raises
    ------
    ConfigError
        There is no such metric or arm; the message names those that exist.

    Examples
    --------
    >>> import agentlab as al
    >>> view = explore(al.load(al.example("cache")), "TTFT")
    >>> view.show(reference="volatile").view.reference
    'volatile'
    """
    if not hasattr(recs, "coverage"):
        raise ConfigError(
            f"explore({type(recs).__name__}): give Recordings, e.g. explore(load('studies/cache')); "
            "a study under way is awaited first"
        )
    if reference is not None and reference not in recs.arms:
        raise ConfigError(f"there is no arm {reference!r} to compare with; there are {', '.join(recs.arms)}")
    study = Study(recs, metrics)
    first = reference or next(iter(recs.arms), None)
    return Explorer(study, View(metrics=study.first, arms=recs.arms, reference=first))


class Explorer:
    """A comparison that can be looked at, changed and taken out. Made by :func:`explore`.

    Parameters
    ----------
    study : Study
        Recordings and metrics.
    view : View
        What is looked at first.

    Examples
    --------
    >>> import agentlab as al
    >>> view = al.explore(al.load(al.example("cache")), "TTFT")
    >>> print(view.show(estimate=("TTFT", "level", "stable")).scene.about_runs)
    time to first token, median of stable: 10 runs, 10 used
    """

    def __init__(self, study: Study, view: View) -> None:
        self.study = study
        self._view = view
        self._live: Live | None = None
        self._scene = compose(study, view)
        self.pictures = Pictures()

    @property
    def view(self) -> View:
        """What is looked at now; the live view changes it with each click."""
        return self._view

    @property
    def scene(self) -> Scene:
        """What is shown now, as plain values."""
        if self._scene.view != self._view:
            self._scene = compose(self.study, self._view)
        return self._scene

    @property
    def estimates(self) -> pd.DataFrame:
        """Estimates of the view, as :func:`agentlab.compare` gives them; a copy."""
        return self.study.estimates(self._view).copy()

    def show(self, **changes: Any) -> Explorer:  # noqa: ANN401
        """Look at something else, as clicks do.

        Parameters
        ----------
        **changes
            Fields of :class:`View` and their new values, e.g. ``reference="volatile"``,
            ``without=("not_quiet",)``, ``estimate=("TTFT", "level", "stable")``, ``run="0003-stable"`` (its
            id; or study and id).

        Returns
        -------
        Explorer
            Itself.

        Raises
        ------
        ConfigError
            A field, metric, arm or run does not exist; what is looked at stays.
        """
        if isinstance(changes.get("run"), str):
            changes["run"] = self.study.key_of(changes["run"])
        self.look(self._view.but(**changes))
        if self._live is not None:
            self._live.refresh()
        return self

    def look(self, view: View) -> None:
        """Take a view as a whole.

        Parameters
        ----------
        view : View
            What to look at.

        Raises
        ------
        ConfigError
            A metric, arm or run does not exist; what is looked at stays.
        """
        self.study.check(view)
        self._scene = compose(self.study, view)
        self._view = view

    def figure(self) -> Axes:
        """Draw the figure of the estimates.

        Returns
        -------
        matplotlib.axes.Axes
            As :func:`agentlab.plot_estimates` returns it; the caption names the filter.
        """
        from ...plots.estimates import plot_estimates

        return plot_estimates(self.study.estimates(self._view))

    def save(self, stem: str | os.PathLike[str]) -> Saved:
        """Save the figure as PDF, SVG and PNG, and the estimates as CSV and Parquet.

        Parameters
        ----------
        stem : path
            Path without an extension, e.g. ``"figures/cache"``.

        Returns
        -------
        Saved
            The paths.

        Raises
        ------
        ConfigError
            It cannot be written there.
        """
        from ...plots.estimates import hidden_estimates
        from ...plots.export import save

        frame = self.study.estimates(self._view)
        return save(hidden_estimates(frame), stem, data=frame)

    def code(self) -> str:
        """Return the code cell that makes the estimates and the figure of the view.

        Returns
        -------
        str
            ``print`` it, or run it: its ``estimates`` equal those of the view.
        """
        from .code import code_cell

        return code_cell(self.study, self._view)

    def close(self) -> None:
        """Put a card with the figure in the place of the live view: what a saved notebook can keep."""
        live, self._live = self._live, None
        if live is not None:
            live.close()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        where = front_end()
        if where == "terminal":
            print(self)
            return
        self.close()
        if where == "live":
            from .live import open_live

            self._live = open_live(self)
        if self._live is None:
            display(self._repr_mimebundle_(), raw=True)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from .static import static_bundle

        return static_bundle(self)

    def __repr__(self) -> str:
        from .static import text

        return text(self.scene)
