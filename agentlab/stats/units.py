"""Reduce tables to independent units: what each run, or each block of an arm, says about one metric."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .bootstrap import Floats, Ints, quantile
from .metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Mask = NDArray[np.bool_]


class TableSource(Protocol):
    """What can be compared: recordings, or anything that has their tables."""

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: study, arm, run_id, run_index, block, eligible, ..."""
        ...

    def table(self, name: str) -> pd.DataFrame:
        """Return one table; each row names its study and run_id."""
        ...


@dataclasses.dataclass(frozen=True)
class Sample:
    """What independent units say about one metric.

    Parameters
    ----------
    a, b : ndarray of float, shape (n,)
        Per-unit sums; the metric is sum(a) / sum(b). For a quantile `b` counts the observations.
    values : ndarray of float, shape (N,), or None
        Pooled observations of a quantile; None for a metric made of sums.
    owner : ndarray of int, shape (N,)
        Unit of each observation.
    """

    a: Floats
    b: Floats
    values: Floats | None
    owner: Ints

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.b)


@dataclasses.dataclass(frozen=True)
class Measured:
    """One metric, reduced to every run of a study (eligible or not).

    Parameters
    ----------
    a, b : ndarray of float, shape (runs,)
        Per-run sums.
    values, owner : ndarray
        Pooled observations of a quantile and their run; None for a metric made of sums.
    n_rows, n_missing : ndarray of int, shape (runs,)
        Rows with a known and with an unknown value; warm-up rows are in neither.
    has_data : ndarray of bool, shape (runs,)
        Whether the run takes part.
    in_table : ndarray of bool, shape (runs,)
        Whether the run has any row, warm-up included: without one in the whole arm nothing was measured.
    impossible : ndarray of bool, shape (runs,)
        Whether a row of the run cannot be right: infinite in a sum, or a part above its whole.
    """

    a: Floats
    b: Floats
    values: Floats | None
    owner: Ints
    n_rows: Ints
    n_missing: Ints
    has_data: Mask
    in_table: Mask
    impossible: Mask

    def sample(self, unit_of_run: Ints) -> Sample:
        """Group runs into units.

        Parameters
        ----------
        unit_of_run : ndarray of int, shape (runs,)
            0 to n - 1; -1 leaves a run out.
        """
        n = int(unit_of_run.max(initial=-1)) + 1
        used = unit_of_run >= 0
        sums = [np.bincount(unit_of_run[used], weights=x[used], minlength=n) for x in (self.a, self.b)]
        if self.values is None:
            return Sample(sums[0], sums[1], None, self.owner[:0])
        unit = unit_of_run[self.owner]
        return Sample(sums[0], sums[1], self.values[unit >= 0], unit[unit >= 0])


class Runs:
    """The runs of a study in a fixed order, whatever order their frame has.

    Parameters
    ----------
    source : TableSource
        Recordings.
    """

    def __init__(self, source: TableSource) -> None:
        frame = source.runs
        self._source = source
        self._tables: dict[str, tuple[pd.DataFrame, Ints]] = {}
        self.arms: list[str] = [str(arm) for arm in frame["arm"].dropna().unique()]
        self.frame = frame.sort_values(["study", "run_index", "run_id"], kind="stable")
        self.arm: NDArray[Any] = self.frame["arm"].to_numpy(dtype=object)
        self.eligible: Mask = self.frame["eligible"].to_numpy(dtype=bool, na_value=False)
        self.block: Ints = _block_codes(self.frame)
        self.superseded: Mask = _superseded(self.frame, self.eligible)

    def __len__(self) -> int:
        return len(self.frame)

    def mixed(self, arm: str) -> str | None:
        """Say how the eligible runs of an arm differ in what was measured, or None when they do not."""
        runs = self.frame[(self.arm == arm) & self.eligible]
        for column in ("driver", "version", "model"):
            if column in runs and len(seen := runs[column].value_counts()) > 1:
                listed = ", ".join(f"{value} ({count} runs)" for value, count in seen.items())
                return f"runs of arm {arm!r} differ in {column}: {listed}; select with where({column}=...)"
        return None

    def rows(self, table: str) -> tuple[pd.DataFrame, Ints]:
        """Return a table and the run (position, -1 if unknown) of each of its rows."""
        if table not in self._tables:
            frame = self._source.table(table)
            index = _keys(self.frame).get_indexer(_keys(frame))
            self._tables[table] = frame, np.asarray(index, dtype=np.int64)
        return self._tables[table]

    def measure(self, metric: Metric) -> Measured:
        """Reduce a metric to every run.

        Parameters
        ----------
        metric : Metric
            What to compute.

        Raises
        ------
        ConfigError
            The table lacks a column, or the column does not fit the aggregation.
        """
        frame, run = self.rows(metric.table)
        keep = (run >= 0) & _selected(frame, metric)
        x, y, known = _values(frame, metric)
        n = len(self)
        table = _PerRun(run[keep], n)
        used = _PerRun(run[keep & known], n)
        x, y = x[keep & known], y[keep & known]
        return _reduce(metric, used, x, y, in_table=np.bincount(run[run >= 0], minlength=n) > 0, rows=table)


class _PerRun:
    """Rows that belong to runs, with sums over each run."""

    def __init__(self, run: Ints, n: int) -> None:
        self.run = run
        self.n = n
        self.count: Ints = np.bincount(run, minlength=n)

    def sum(self, x: Floats) -> Floats:
        return np.bincount(self.run, weights=x, minlength=self.n)

    def centred(self, x: Floats) -> Floats:
        return x - (self.sum(x) / np.maximum(self.count, 1))[self.run]

    def any(self, x: Mask) -> Mask:
        return np.bincount(self.run[x], minlength=self.n) > 0


def _reduce(
    metric: Metric, used: _PerRun, x: Floats, y: Floats, *, in_table: Mask, rows: _PerRun
) -> Measured:
    kind, ones = metric.aggregate, np.ones(used.n)
    pooled = metric.quantile is not None
    impossible = np.zeros(used.n, dtype=bool) if pooled else used.any(_impossible(metric, x, y))
    if impossible.any():
        x, y = np.nan_to_num(x, posinf=0, neginf=0), np.nan_to_num(y, posinf=0, neginf=0)
    n_missing = rows.count - used.count
    has_data = used.count > 0
    if kind in ("count", "sum"):
        a, b, has_data = used.sum(x), ones, n_missing == 0
    elif kind == "slope":
        dx, dy = used.centred(x), used.centred(y)
        a, b = used.sum(dx * dy), used.sum(dy * dy)
        has_data = b > 0
    else:
        a, b = used.sum(x), used.sum(y)
    if pooled and not metric.per_run:
        return Measured(a, b, x, used.run, used.count, n_missing, has_data, in_table, impossible)
    if metric.per_run:
        has_data = has_data & (b > 0)
        a = _run_quantiles(metric, used, x) if pooled else a / np.where(b > 0, b, 1)
        b = ones
        if pooled:
            impossible = np.isinf(a)
    return Measured(a, b, None, used.run[:0], used.count, n_missing, has_data, in_table, impossible)


def _impossible(metric: Metric, x: Floats, y: Floats) -> Mask:
    wrong = ~(np.isfinite(x) & np.isfinite(y))
    if metric.aggregate == "share" and metric.of is not None:
        wrong |= (x > y) | (x < 0)
    if metric.aggregate == "ratio":
        wrong |= y < 0
    return wrong


def _run_quantiles(metric: Metric, used: _PerRun, x: Floats) -> Floats:
    p = metric.quantile or 0.5
    order = np.lexsort((x, used.run))
    groups = np.split(x[order], np.cumsum(used.count)[:-1])
    return np.array([quantile(g, p, metric.quantile_method) if len(g) else 0.0 for g in groups])


def _selected(frame: pd.DataFrame, metric: Metric) -> Mask:
    """Rows that are not warm-up and fit the metric's `where`."""
    keep = np.ones(len(frame), dtype=bool)
    if "warmup" in frame:
        keep &= ~frame["warmup"].to_numpy(dtype=bool, na_value=False)
    for column, value in dict(metric.where).items():
        keep &= _equal(_column(frame, metric, column), value)
    return keep


def _values(frame: pd.DataFrame, metric: Metric) -> tuple[Floats, Floats, Mask]:
    """Numerator and denominator of each row, and whether both are known."""
    ones = np.ones(len(frame))
    if metric.column is None:
        return ones, ones, ones > 0
    if metric.aggregate == "count" or (metric.aggregate == "share" and metric.of is None):
        column = _column(frame, metric, metric.column)
        hits, known = _hits(column, metric)
        return hits.astype(np.float64), ones, known
    x = _numbers(frame, metric, metric.column)
    y = _numbers(frame, metric, metric.of) if metric.of else ones
    return x, y, ~(np.isnan(x) | np.isnan(y))


def _hits(column: pd.Series[Any], metric: Metric) -> tuple[Mask, Mask]:
    known = column.notna().to_numpy(dtype=bool)
    if metric.among:
        known = known & np.any([_equal(column, value) for value in metric.among], axis=0)
    if metric.equals is not None:
        return _equal(column, metric.equals), known
    if len(column) and str(column.dtype) not in ("bool", "boolean"):
        raise ConfigError(
            f"Metric {metric.name!r}: {metric.table}.{metric.column} is {column.dtype}, not true or false; "
            f"say with equals= what counts as a hit"
        )
    return column.to_numpy(dtype=bool, na_value=False), known


def _equal(column: pd.Series[Any], value: object) -> Mask:
    return (column == value).to_numpy(dtype=bool, na_value=False)


def _numbers(frame: pd.DataFrame, metric: Metric, name: str) -> Floats:
    column = _column(frame, metric, name)
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise ConfigError(
            f"Metric {metric.name!r}: {metric.table}.{name} is {column.dtype}, not numbers"
        ) from None


def _column(frame: pd.DataFrame, metric: Metric, name: str) -> pd.Series[Any]:
    if name not in frame:
        raise ConfigError(
            f"Metric {metric.name!r}: table {metric.table!r} has no column {name!r}; "
            f"it has {', '.join(map(str, frame.columns))}"
        )
    return frame[name]


def _keys(frame: pd.DataFrame) -> pd.Index[Any]:
    import pandas as pd

    return pd.Index(frame["study"].astype("string") + "\0" + frame["run_id"].astype("string"))


def _block_codes(frame: pd.DataFrame) -> Ints:
    """Number the blocks over all studies; -1 for a run outside any block."""
    key = frame["study"].astype("string") + "\0" + frame["block"].astype("string")
    codes, _ = key.factorize(use_na_sentinel=True)
    return np.asarray(codes, dtype=np.int64)


def _superseded(frame: pd.DataFrame, eligible: Mask) -> Mask:
    """Mark runs that were cut short and done again under a new id (a resumed study keeps both)."""
    done = frame.assign(eligible=eligible).groupby(["study", "arm", "run_index"])["eligible"].transform("any")
    return ~eligible & done.to_numpy(dtype=bool, na_value=False)
