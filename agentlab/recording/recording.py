"""One run, with its evidence and its rows of the tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..frames.evidence import EVENTS, GATEWAY, MEMORY, Event, Issue, RunInfo, read_events

if TYPE_CHECKING:
    import pandas as pd


class Recording:
    """One run.

    Parameters
    ----------
    info : RunInfo
        What it is.
    table : callable
        Gives a table's rows of this run.

    Examples
    --------
    >>> import agentlab as al
    >>> run = al.load(al.example("cache"))[0]
    >>> run.events[0]["kind"], len(run.table("turns"))
    ('run.begin', 3)
    """

    def __init__(self, info: RunInfo, table: Any) -> None:  # noqa: ANN401
        self.info = info
        self._table = table

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self.info.run_id

    @property
    def arm(self) -> str:
        """Condition."""
        return self.info.arm

    @property
    def eligible(self) -> bool:
        """True when the scenario was carried out and no issue discards the run."""
        return self.info.eligible

    @property
    def path(self) -> Path | None:
        """Folder of the run; None in a foreign file."""
        return self.info.path

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Coded doubts."""
        return self.info.issues

    @property
    def events(self) -> list[Event]:
        """Evidence of the agent's side, as it was written."""
        return read_events(self.path / EVENTS) if self.path else []

    @property
    def gateway_events(self) -> list[Event]:
        """Evidence of the gateway's side, as it was written."""
        return read_events(self.path / GATEWAY) if self.path else []

    @property
    def memory_events(self) -> list[Event]:
        """What was sampled of its processes, as it was written."""
        return read_events(self.path / MEMORY) if self.path else []

    def table(self, name: str) -> pd.DataFrame:
        """Return the run's rows of one table.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        pandas.DataFrame
        """
        return self._table(name, self.info)

    def __repr__(self) -> str:
        state = "eligible" if self.eligible else "discarded: " + ", ".join(self.info.discard_codes)
        return f"<Recording {self.info.study}/{self.run_id} arm {self.arm!r}, {self.info.status}, {state}>"
