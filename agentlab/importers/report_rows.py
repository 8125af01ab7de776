"""Tables of a report that was read as a whole: each run's own entry gives its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..frames.build import known

if TYPE_CHECKING:
    import pandas as pd

    from ..frames.evidence import RunInfo


def report_table(
    name: str,
    builders: Mapping[str, Callable[[Any, RunInfo], Iterable[dict[str, Any]]]],
    runs: Iterable[tuple[Any, RunInfo]],
) -> pd.DataFrame:
    """Build one table from the runs of a report.

    Parameters
    ----------
    name : str
        Name of the table; one without a builder is empty.
    builders : mapping
        Table to what gives the rows of one run, without its key.
    runs : iterable of tuple
        Each run as the report tells it, and what the recording knows of it.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ConfigError
        There is no such table.
    """
    table, rows = known(name), builders.get(name)
    return table.frame(
        {**info.key(), **row} for run, info in runs for row in (rows(run, info) if rows else ())
    )
