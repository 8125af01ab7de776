"""One run's tables, with times in seconds since its first prompt."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ..recording import Recording

    Numbers = NDArray[np.float64]


class RunTables:
    """A run's tables, with times in seconds since its first prompt.

    Parameters
    ----------
    run : Recording
        The run.
    """

    def __init__(self, run: Recording) -> None:
        self.run = run
        self.turns = run.table("turns")
        sent = self.turns["send_ns"].dropna()
        self.n_prompts = len(sent)
        self.zero_ns = int(sent.min()) if len(sent) else self._first_event()

    def _first_event(self) -> int | None:
        stamps = [*self.events["t_ns"].dropna(), *self.page["begin_ns"].dropna()]
        return min(map(int, stamps), default=None)

    @cached_property
    def requests(self) -> pd.DataFrame:
        """Its requests."""
        return self.run.table("requests")

    @cached_property
    def chunks(self) -> pd.DataFrame:
        """Its chunks."""
        return self.run.table("chunks")

    @cached_property
    def tools(self) -> pd.DataFrame:
        """Its tool calls."""
        return self.run.table("tools")

    @cached_property
    def issues(self) -> pd.DataFrame:
        """Its issues."""
        return self.run.table("issues")

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """Its sessions."""
        return self.run.table("sessions")

    @cached_property
    def exec(self) -> pd.DataFrame:
        """Its calls on commands."""
        return self.run.table("exec")

    @cached_property
    def memory(self) -> pd.DataFrame:
        """Its samples of memory."""
        return self.run.table("memory")

    @cached_property
    def page(self) -> pd.DataFrame:
        """Its page in a browser in numbers: one row, or none."""
        return self.run.table("page")

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """The tasks of its page's main thread."""
        return self.run.table("tasks")

    @cached_property
    def frames(self) -> pd.DataFrame:
        """The frames of its page."""
        return self.run.table("frames")

    @cached_property
    def interactions(self) -> pd.DataFrame:
        """What was typed into its page."""
        return self.run.table("interactions")

    @cached_property
    def counters(self) -> pd.DataFrame:
        """What its page held over time."""
        return self.run.table("counters")

    @cached_property
    def events(self) -> pd.DataFrame:
        """Its events, but for the streamed pieces: those are `chunks`."""
        events = self.run.table("events")
        return events[~events["kind"].isin(["chunk", "request.chunk"])]

    @cached_property
    def end(self) -> float:
        """Last stamp of the run, seconds."""
        stamps = [*self.events["t_ns"].dropna(), *self.issues["t_ns"].dropna()]
        return (max(map(int, stamps)) - (self.zero_ns or 0)) / 1e9 if stamps else 0.0

    def seconds(self, stamps: pd.Series) -> Numbers:  # pyright: ignore[reportMissingTypeArgument]
        """Convert stamps.

        Parameters
        ----------
        stamps : pandas.Series
            CLOCK_MONOTONIC ns.

        Returns
        -------
        array of float
            Seconds since the first prompt; NaN where it is unknown.
        """
        return (stamps.to_numpy(dtype=float, na_value=float("nan")) - (self.zero_ns or 0)) / 1e9


def numbers(column: pd.Series) -> Numbers:  # pyright: ignore[reportMissingTypeArgument]
    """Give a column as numbers, NaN where it is NA.

    Parameters
    ----------
    column : pandas.Series
        Of a nullable dtype, in its own unit.

    Returns
    -------
    array of float
    """
    return column.to_numpy(dtype=float, na_value=float("nan"))


def true(column: pd.Series) -> NDArray[np.bool_]:  # pyright: ignore[reportMissingTypeArgument]
    """Give a column as truth values, False where it is NA.

    Parameters
    ----------
    column : pandas.Series
        Of a nullable dtype.

    Returns
    -------
    array of bool
    """
    return column.to_numpy(dtype=bool, na_value=False)
