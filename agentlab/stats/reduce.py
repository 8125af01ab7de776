"""Reduce the rows of a table to what each run says about a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError
from .bootstrap import Floats, Ints
from .line import fitted
from .metrics import Metric
from .pooled import quantile
from .runs import Runs
from .units import Mask, Measured, Points, totals

if TYPE_CHECKING:
    import pandas as pd


def measure(runs: Runs, metric: Metric) -> Measured:
    """Reduce a metric to every run.

    Parameters
    ----------
    runs : Runs
        The study.
    metric : Metric
        What to compute.

    Raises
    ------
    ConfigError
        The table lacks a column, or the column does not fit the aggregation.
    """
    frame, run = runs.rows(metric.table)
    n = len(runs)
    keep = (run >= 0) & _selected(frame, metric)
    x, y, known = _values(frame, metric)
    used = _PerRun(run[keep & known], n)
    in_table = np.bincount(run[run >= 0], minlength=n) > 0
    usable = ~runs.superseded if metric.discarded else runs.eligible
    rows = _PerRun(run[keep], n)
    x, y = x[keep & known], y[keep & known]
    made = _reduce(metric, used, x, y, in_table=in_table, usable=usable, rows=rows)
    if metric.across is None:
        return made
    settings = np.divide(used.sum(y), used.count, out=np.zeros(n), where=used.count > 0)
    return fitted(made, metric, Points(settings, _run_quantiles(metric, used, x), runs.group), runs.arm)


class _PerRun:
    """Rows that belong to runs, with sums over each run."""

    def __init__(self, run: Ints, n: int) -> None:
        self.run = run
        self.n = n
        self.count: Ints = np.bincount(run, minlength=n).astype(np.int64)

    def sum(self, x: Floats) -> Floats:
        return totals(self.run, x, self.n)

    def max(self, x: Floats) -> Floats:
        largest = np.full(self.n, -np.inf)
        np.maximum.at(largest, self.run, x)
        return np.where(self.count > 0, largest, 0.0)

    def centred(self, x: Floats) -> Floats:
        return x - (self.sum(x) / np.maximum(self.count, 1))[self.run]

    def any(self, x: Mask) -> Mask:
        return np.bincount(self.run[x], minlength=self.n) > 0


def _reduce(
    metric: Metric, used: _PerRun, x: Floats, y: Floats, *, in_table: Mask, usable: Mask, rows: _PerRun
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
    elif kind == "max":
        a, b, has_data = used.max(x), ones, has_data & (n_missing == 0)  # the unknown may be the largest
    elif kind == "slope":
        dx, dy = used.centred(x), used.centred(y)
        a, b = used.sum(dx * dy), used.sum(dy * dy)
        has_data = b > 0
    else:
        a, b = used.sum(x), used.sum(y)
    if pooled and not metric.per_run:
        return Measured(a, b, x, used.run, used.count, n_missing, has_data, in_table, impossible, usable)
    if metric.per_run:
        has_data = has_data & (b > 0)
        a = _run_quantiles(metric, used, x) if pooled else a / np.where(b > 0, b, 1)
        b = ones
        if pooled:
            impossible = np.isinf(a)
    return Measured(a, b, None, used.run[:0], used.count, n_missing, has_data, in_table, impossible, usable)


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
    x = _numbers(frame, metric, metric.column) / metric.scale
    y = _numbers(frame, metric, metric.of) if metric.of else ones
    return x, y, ~(np.isnan(x) | np.isnan(y))


def _hits(column: pd.Series[Any], metric: Metric) -> tuple[Mask, Mask]:
    known = _equal(column, column)  # neither NA nor NaN equals itself
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
