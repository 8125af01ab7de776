"""Published figures of others as tables: each with its source, version, machine and method beside it.

They come from different machines, versions and methods: a row stands beside a measurement, and no statistic
compares the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, did_you_mean
from .schema import Column

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = Path(__file__).resolve().parent.parent / "data" / "reference"

#: The columns of a table of published figures: one row a figure.
PUBLISHED: tuple[Column, ...] = (
    Column("source", "string", "Who published it."),
    Column("source_version", "string", "Which edition; NA: not said."),
    Column("tool", "string", "Agent, by the name that agentlab gives it where it knows it."),
    Column("version", "string", "Its version as published; NA: not said."),
    Column("sessions", "Int64", "Sessions at the same time; NA for what is per added session."),
    Column(
        "measure",
        "string",
        "pss, rss, pss_per_added, rss_peak, tree_rss_mean, tree_rss_peak, footprint, footprint_peak; "
        "first_frame, first_input, first_output, startup, end_to_end.",
    ),
    Column("value", "Float64", "The figure as published; NA where only a range was."),
    Column("unit", "string", "MB (1e6 bytes or MiB: the sources do not say), ms or s."),
    Column("low", "Float64", "Lower end of a published range."),
    Column("high", "Float64", "Upper end of a published range."),
    Column("n", "Int64", "Launches behind it; NA: not said."),
    Column("machine", "string", "Machine; NA: not said."),
    Column("os", "string", "Operating system; NA: not said."),
    Column("method", "string", "How it was measured; NA: not said."),
    Column("note", "string", "What else belongs to it."),
)


def reference(name: str) -> pd.DataFrame:
    """Read published figures of others, to stand beside what was measured here.

    Parameters
    ----------
    name : str
        ``"terminal"``: memory, start-up and end-to-end times of terminal agents by seven publications.

    Returns
    -------
    pandas.DataFrame
        One row a figure: source, source_version, tool, version, sessions, measure, value, unit, low, high, n,
        machine, os, method, note. Rows of different sources are of different machines, versions and methods.

    Raises
    ------
    ConfigError
        There is no such table.

    Examples
    --------
    >>> rows = reference("terminal")
    >>> rows.query("tool == 'codex' and measure == 'pss_per_added'")["value"].tolist()
    [21.6, 119.6, 44.2]
    """
    known = sorted(path.stem for path in _FOLDER.glob("*.csv"))
    if name not in known:
        near = did_you_mean(name, known)
        raise ConfigError(f"there are no published figures {name!r}; there are {', '.join(known)}{near}")
    import pandas as pd

    types: dict[Any, Any] = {column.name: column.dtype for column in PUBLISHED}
    frame = pd.read_csv(_FOLDER / f"{name}.csv", dtype=types, keep_default_na=False, na_values=[""])
    return frame[list(types)]
