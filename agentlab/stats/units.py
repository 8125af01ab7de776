"""Reduce tables to independent units: what each run, or each block of an arm, says about one metric."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .bootstrap import Floats, Ints, quantile
from .metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

Mask = NDArray[np.bool_]
_Key = TypeVar("_Key", bound=Hashable)


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
        a, b = (totals(unit_of_run[used], x[used], n) for x in (self.a, self.b))
        if self.values is None:
            return Sample(a, b, None, self.owner[:0])
        unit = unit_of_run[self.owner]
        return Sample(a, b, self.values[unit >= 0], unit[unit >= 0])


class Runs:
    """The runs of a study in a fixed order, whatever order their frame has.

    Parameters
    ----------
    source : TableSource
        Recordings.

    Attributes
    ----------
    studies, arms : list of str
        In order of appearance.
    run_id, arm : ndarray of object, shape (runs,)
        Id and arm of each run.
    eligible : ndarray of bool, shape (runs,)
        Whether it can be used.
    superseded : ndarray of bool, shape (runs,)
        Whether it was cut short and done again under a new id (a resumed study keeps both).
    block : ndarray of int, shape (runs,)
        Number of its block, over all studies; -1 for a run outside any block.
    """

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._mixed: dict[str, str | None] = {}
        self._tables: dict[str, tuple[pd.DataFrame, Ints]] = {}
        runs = source.runs
        study, run_id, arm = (_strings(runs, name) for name in ("study", "run_id", "arm"))
        index, block = (_whole(runs, name) for name in ("run_index", "block"))
        self.studies: list[str] = list(dict.fromkeys(study))
        self.arms: list[str] = list(dict.fromkeys(arm))
        order = sorted(range(len(run_id)), key=lambda k: (study[k], index[k], run_id[k]))
        self.frame = runs.iloc[order]
        self.run_id: NDArray[Any] = np.array([run_id[k] for k in order], dtype=object)
        self.arm: NDArray[Any] = np.array([arm[k] for k in order], dtype=object)
        self.eligible: Mask = self.frame["eligible"].to_numpy(dtype=bool, na_value=False)
        repeats = [(study[k], arm[k], index[k]) for k in order]
        done = {key for key, eligible in zip(repeats, self.eligible, strict=True) if eligible}
        self.superseded: Mask = ~self.eligible & np.array([key in done for key in repeats], dtype=bool)
        blocks = [(study[k], block[k]) if block[k] >= 0 else None for k in order]
        self.block: Ints = np.array([-1 if key is None else code for key, code in _coded(blocks)], np.int64)
        self._position = {(study[k], run_id[k]): at for at, k in enumerate(order)}

    def __len__(self) -> int:
        return len(self.frame)

    def mixed(self, arm: str) -> str | None:
        """Say how the eligible runs of an arm differ in what was measured, or None when they do not."""
        if arm not in self._mixed:
            self._mixed[arm] = self._differences(arm)
        return self._mixed[arm]

    def _differences(self, arm: str) -> str | None:
        runs = self.frame[(self.arm == arm) & self.eligible]
        for column in ("driver", "version", "model"):
            if column in runs and runs[column].nunique() > 1:
                seen = runs[column].value_counts()
                listed = ", ".join(f"{value} ({count} runs)" for value, count in seen.items())
                return f"runs of arm {arm!r} differ in {column}: {listed}; select with where({column}=...)"
        return None

    def rows(self, table: str) -> tuple[pd.DataFrame, Ints]:
        """Return a table and the run (position, -1 if unknown) of each of its rows."""
        if table not in self._tables:
            frame = self._source.table(table)
            keys = zip(_strings(frame, "study"), _strings(frame, "run_id"), strict=True)
            run = np.array([self._position.get(key, -1) for key in keys], dtype=np.int64)
            self._tables[table] = frame, run
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


def totals(index: Ints, x: Floats, n: int) -> Floats:
    """Sum `x` over equal `index`, 0 to n - 1."""
    return np.bincount(index, weights=x, minlength=n).astype(np.float64)  # int64 when x is empty


class _PerRun:
    """Rows that belong to runs, with sums over each run."""

    def __init__(self, run: Ints, n: int) -> None:
        self.run = run
        self.n = n
        self.count: Ints = np.bincount(run, minlength=n).astype(np.int64)

    def sum(self, x: Floats) -> Floats:
        return totals(self.run, x, self.n)

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


def _strings(frame: pd.DataFrame, name: str) -> list[str]:
    return [str(value) for value in frame[name].tolist()]


def _whole(frame: pd.DataFrame, name: str) -> list[int]:
    return frame[name].to_numpy(dtype=np.int64, na_value=-1).tolist()


def _coded(keys: list[_Key]) -> Iterator[tuple[_Key, int]]:
    """Number equal keys alike, from 0 in order of appearance."""
    codes: dict[_Key, int] = {}
    for key in keys:
        yield key, codes.setdefault(key, len(codes))
