"""Tables as literals: fixed columns, fixed nullable dtypes, checked frames, labelled axes."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

Dtype = Literal["string", "Int64", "Float64", "boolean"]

#: What a row may hold for a dtype; ``bool`` is not an ``Int64`` although Python says so.
_TYPES: dict[str, frozenset[type]] = {
    "string": frozenset({str, type(None)}),
    "Int64": frozenset({int, type(None)}),
    "Float64": frozenset({float, int, type(None)}),
    "boolean": frozenset({bool, type(None)}),
}
_UNITS = {
    "_ms": "ms",
    "_s": "s",
    "_ns": "ns",
    "_bytes": "bytes",
    "_tokens": "tokens",
    "_usd": "USD",
    "_pct": "%",
}
#: A word that says too little: is what was cached inside or not?
_BANNED = {"input_tokens"}


@dataclasses.dataclass(frozen=True)
class Column:
    """Describe one column.

    Parameters
    ----------
    name : str
        Lower-case name. Physical columns end in their unit (``_ms _s _ns _bytes _tokens _usd _pct``);
        ratios are 0..1 and have none.
    dtype : {"string", "Int64", "Float64", "boolean"}
        Nullable dtype; NA means unknown, never zero.
    doc : str
        What it means.
    source : str, optional
        Where it comes from (file and event kind, or the columns it is computed from).
    unit : str, optional
        Taken from the suffix when absent.
    title : str, optional
        Words for an axis; made from the name when absent.

    Raises
    ------
    SchemaError
        When the name is banned or says another unit than ``unit``.

    Examples
    --------
    >>> Column("latency_ms", "Float64", "Reply minus send.").label
    'Latency (ms)'
    """

    name: str
    dtype: Dtype
    doc: str
    _: dataclasses.KW_ONLY
    source: str | None = None
    unit: str | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        if self.name in _BANNED:
            raise SchemaError(
                f"column {self.name!r} is ambiguous: say _uncached_, _total_, _read_ or _write_"
            )
        if self.dtype not in _TYPES:
            raise SchemaError(f"column {self.name!r}: dtype {self.dtype!r} is none of {', '.join(_TYPES)}")
        suffix, unit = _suffix(self.name)
        if unit and self.unit not in (None, unit):
            raise SchemaError(f"column {self.name!r} ends in {suffix} but its unit is {self.unit!r}")
        object.__setattr__(self, "unit", self.unit or unit)

    @property
    def label(self) -> str:
        """Words for an axis, with the unit in brackets."""
        suffix, _ = _suffix(self.name)
        words = self.title or self.name.removesuffix(suffix).replace("_", " ").capitalize()
        return f"{words} ({self.unit})" if self.unit else words


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Describe one table: what a row is, what names it, and which rows hang together.

    Parameters
    ----------
    name : str
        Name of the table.
    grain : str
        What one row stands for.
    key : tuple of str
        Columns that name a row inside its study and run.
    columns : tuple of Column
        Columns in order.
    cluster : str, default "run_id"
        Column of the independent unit; rows inside one cluster are not independent.

    Examples
    --------
    >>> table = Table(name="t", grain="run", key=(), columns=(
    ...     Column("study", "string", "Study."), Column("run_id", "string", "Run."),
    ...     Column("x_ms", "Float64", "X.")))
    >>> table.frame([{"study": "s", "run_id": "0", "x_ms": 1}]).dtypes["x_ms"]
    Float64Dtype()
    >>> len(table.frame([]))
    0
    """

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    cluster: str = "run_id"

    def __post_init__(self) -> None:
        names = self.names
        wrong = [f"column {n!r} is given twice" for n in sorted({n for n in names if names.count(n) > 1})]
        wrong += [f"{n!r} is no column" for n in (*self.full_key, self.cluster) if n not in names]
        if wrong:
            raise SchemaError(f"table {self.name}: " + "; ".join(wrong))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def full_key(self) -> tuple[str, ...]:
        """Columns that name a row in joined studies."""
        return ("study", "run_id", *self.key)

    @property
    def digest(self) -> str:
        """Changes when the definition changes; cached tables carry it."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def column(self, name: str) -> Column:
        """Return one column.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Column

        Raises
        ------
        SchemaError
            When the table has none of that name.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"table {self.name} has no column {name!r}; it has {', '.join(self.names)}")

    def label(self, name: str) -> str:
        """Return words for an axis, e.g. ``"TTFT (ms)"``.

        Parameters
        ----------
        name : str
            A column.

        Returns
        -------
        str
        """
        return self.column(name).label

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
        """Build a frame with the table's dtypes and order; a missing key becomes NA.

        Parameters
        ----------
        rows : iterable of mapping
            Plain Python values by column name; zero rows are fine.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        SchemaError
            Lists all violations: unknown keys, values that do not fit, infinities.
        """
        import pandas as pd

        rows = list(rows)
        known = set(self.names)
        unknown = {key for row in rows for key in row if key not in known}
        wrong = [f"{key!r} is no column" for key in sorted(unknown)]
        data: dict[str, Any] = {}
        for column in self.columns:
            values = [row.get(column.name) for row in rows]
            wrong += _misfits(column, values)
            if not wrong:
                data[column.name] = pd.array(values, dtype=column.dtype)
        if wrong:
            raise SchemaError(f"table {self.name}: " + "; ".join(wrong))
        return pd.DataFrame(data, columns=list(self.names))

    def cast(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Give a frame read from a file the table's exact dtypes and order.

        Parameters
        ----------
        frame : pandas.DataFrame
            Holds the table's columns.

        Returns
        -------
        pandas.DataFrame
        """
        return frame[list(self.names)].astype({c.name: c.dtype for c in self.columns})

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Check that a frame fits.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame.

        Returns
        -------
        pandas.DataFrame
            The same frame.

        Raises
        ------
        SchemaError
            Lists all violations at once: missing, extra, misplaced columns; dtypes; unnamed, repeated rows.
        """
        have = [str(name) for name in frame.columns]
        wrong = [f"column {n!r} is missing" for n in self.names if n not in have]
        wrong += [f"column {n!r} is not part of it" for n in have if n not in self.names]
        if not wrong and have != list(self.names):
            wrong.append("columns are in another order")
        for column in self.columns:
            if column.name in have and str(frame[column.name].dtype) != column.dtype:
                wrong.append(f"column {column.name!r} is {frame[column.name].dtype}, not {column.dtype}")
        key = [name for name in self.full_key if name in have]
        if len(key) == len(self.full_key):
            wrong += [f"key column {n!r} has {k} NA" for n in key if (k := int(frame[n].isna().sum()))]
            if repeated := int(frame.duplicated(key).sum()):
                wrong.append(f"{repeated} rows repeat the key {', '.join(key)}")
        if wrong:
            raise SchemaError(f"table {self.name}: " + "; ".join(wrong))
        return frame

    def describe(self) -> str:
        """Return the table's part of the data dictionary.

        Returns
        -------
        str
            Markdown.
        """
        key = ", ".join(f"`{name}`" for name in self.full_key)
        lines = [
            f"## {self.name}",
            "",
            f"One row per {self.grain}. Key: {key}. Independent unit: `{self.cluster}`.",
            "",
            "| column | dtype | unit | meaning | from |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| `{c.name}` | {c.dtype} | {c.unit or ''} | {c.doc} | {c.source or ''} |" for c in self.columns
        ]
        return "\n".join(lines) + "\n"


def _suffix(name: str) -> tuple[str, str | None]:
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            return suffix, unit
    return "", None


def _misfits(column: Column, values: Sequence[Any]) -> list[str]:
    allowed = _TYPES[column.dtype]
    strange = {type(v) for v in values} - allowed
    if strange:
        names = ", ".join(sorted(t.__name__ for t in strange))
        return [f"column {column.name!r} ({column.dtype}) holds {names}"]
    if column.dtype == "Float64" and any(v is not None and v - v != 0 for v in values):
        return [f"column {column.name!r} holds NaN or infinity; unknown is None"]
    if column.dtype == "Int64" and any(v is not None and not -(2**63) <= v < 2**63 for v in values):
        return [f"column {column.name!r} holds a number outside 64 bits"]
    return []
