"""``frame.agentlab``: what a frame of agentlab is, what its columns mean, and whether it still fits.

Registered where frames are made; this module is never imported before pandas is.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..errors import SchemaError
from .estimates import ESTIMATES
from .marginal import MARGINAL
from .schema import Column
from .tables import TABLES

#: Frames that are no tables of recordings: their columns, and what one must hold to be taken for it.
_OTHERS = {
    "estimates": (ESTIMATES, frozenset({"metric", "kind", "arm", "estimate"})),
    "marginal": (MARGINAL, frozenset({"arm", "part", "slope_bytes", "intercept_bytes"})),
}


class TableAccessor:
    """Tell which table of agentlab a frame is; anything else raises on ``frame.agentlab``.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of recordings, estimates or a marginal fit, whole or in part.

    Raises
    ------
    AttributeError
        The frame is none of these.

    Examples
    --------
    >>> import agentlab as al
    >>> turns = al.load(al.example("cache")).turns
    >>> turns.agentlab.table, turns.agentlab.units["ttft_ms"]
    ('turns', 'ms')
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self._name = _recognised([str(name) for name in frame.columns])

    @property
    def table(self) -> str:
        """Name of the table: a key of ``docs/tables.md``, ``"estimates"`` or ``"marginal"``."""
        return self._name

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that has one."""
        return {column.name: column.unit for column in self._present() if column.unit}

    def label(self, column: str) -> str:
        """Return words for an axis, e.g. ``"TTFT (ms)"``.

        Parameters
        ----------
        column : str
            A column of the table.

        Returns
        -------
        str

        Raises
        ------
        SchemaError
            The table has no such column.
        """
        found = {known.name: known for known in _columns(self._name)}
        if column not in found:
            raise SchemaError(f"table {self._name} has no column {column!r}; it has {', '.join(found)}")
        return found[column].label

    def describe(self) -> pd.DataFrame:
        """Say what the frame's columns mean.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``column``: ``dtype``, ``unit``, ``meaning``, ``source``, ``n_unknown`` (rows that are
            NA). A column that was added has only the last.
        """
        known = {column.name: column for column in _columns(self._name)}
        rows: list[dict[str, object]] = []
        for position, name in enumerate(map(str, self._frame.columns)):
            column = known.get(name)
            rows.append(
                {
                    "column": name,
                    "dtype": str(self._frame.dtypes.iloc[position]),
                    "unit": column.unit if column else None,
                    "meaning": column.doc if column else None,
                    "source": column.source if column else None,
                    "n_unknown": int(self._frame.iloc[:, position].isna().sum()),
                }
            )
        return pd.DataFrame(rows).set_index("column")

    def validate(self) -> pd.DataFrame:
        """Check that the frame still is what its table says.

        Returns
        -------
        pandas.DataFrame
            The frame itself, so that a pipeline can go on.

        Raises
        ------
        SchemaError
            All violations at once: columns that are missing, added or misplaced, dtypes, repeated or unnamed
            rows.

        Examples
        --------
        >>> import agentlab as al
        >>> runs = al.load(al.example("cache")).runs
        >>> runs.agentlab.validate() is runs
        True
        >>> runs.drop(columns="status").astype({"block": float}).agentlab.validate()
        Traceback (most recent call last):
        agentlab.errors.SchemaError: table runs: column 'status' is missing; column 'block' is float64...
        """
        if self._name in TABLES:
            return TABLES[self._name].check(self._frame)
        have = [str(name) for name in self._frame.columns]
        columns = _columns(self._name)
        names = [column.name for column in columns]
        wrong = [f"column {name!r} is missing" for name in names if name not in have]
        wrong += [f"column {name!r} is not part of it" for name in have if name not in names]
        wrong += [
            f"column {column.name!r} is {self._frame[column.name].dtype}, not {column.dtype}"
            for column in columns
            if column.name in have and str(self._frame[column.name].dtype) != column.dtype
        ]
        if wrong:
            raise SchemaError(f"{self._name}: " + "; ".join(wrong))
        return self._frame

    def _present(self) -> list[Column]:
        have = set(map(str, self._frame.columns))
        return [column for column in _columns(self._name) if column.name in have]

    def __repr__(self) -> str:
        rows, own = len(self._frame), len(self._present())
        return f"<agentlab table {self._name}: {rows:,} rows, {own} of {len(_columns(self._name))} columns>"


def _columns(name: str) -> tuple[Column, ...]:
    return TABLES[name].columns if name in TABLES else _OTHERS[name][0]


def _recognised(have: Sequence[str]) -> str:
    """Name the table that shares most columns; its key must be there, or more than half of its columns."""
    given = set(have)
    tables = {name: set(table.names) for name, table in TABLES.items()}
    tables = {
        name: names
        for name, names in tables.items()
        if set(TABLES[name].full_key) <= given or len(given & names) > len(names) / 2
    }
    for name, (columns, needed) in _OTHERS.items():
        if given >= needed:
            tables[name] = {column.name for column in columns}
    # of two that share as many the smaller: it is more of it
    shared = {name: (len(given & names), -len(names)) for name, names in tables.items()}
    if not shared:
        raise AttributeError(
            f"this frame is no table of agentlab ({', '.join([*TABLES, *_OTHERS])}): "
            "it lacks the columns that name a row, e.g. study and run_id"
        )
    return max(shared, key=lambda name: shared[name])


def register() -> None:
    """Make ``frame.agentlab`` available on every DataFrame; a second call does nothing."""
    if not hasattr(pd.DataFrame, "agentlab"):
        pd.api.extensions.register_dataframe_accessor("agentlab")(TableAccessor)
