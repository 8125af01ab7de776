"""What a number is: which rows, reduced how, in which unit, and which direction is better.

Importing this module loads neither numpy nor pandas.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from ..errors import ConfigError

Interval = Literal["auto", "percentile", "bca", "basic", "studentized", "original"]
Aggregate = Literal[
    "mean", "median", "quantile", "share", "ratio", "count", "sum", "max", "slope", "marginal", "intercept"
]
QuantileMethod = Literal["linear", "nearest_rank"]

#: aggregation -> what it needs and may have beside a table
_FIELDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "mean": (frozenset({"column"}), frozenset()),
    "median": (frozenset({"column"}), frozenset({"quantile_method"})),
    "quantile": (frozenset({"column", "p"}), frozenset({"quantile_method"})),
    "share": (frozenset({"column"}), frozenset({"of", "equals", "among"})),
    "ratio": (frozenset({"column", "of"}), frozenset()),
    "count": (frozenset(), frozenset({"column", "equals", "among"})),
    "sum": (frozenset({"column"}), frozenset()),
    "max": (frozenset({"column"}), frozenset()),
    "slope": (frozenset({"column", "of"}), frozenset()),
    "marginal": (frozenset({"column", "of"}), frozenset()),
    "intercept": (frozenset({"column", "of"}), frozenset()),
}
#: Those of a line through whole runs, over a setting that differs between them.
_ACROSS = ("marginal", "intercept")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric:
    """Define a number that can be computed for every arm.

    It pools all rows of an arm's eligible runs that are not warm-up (see `discarded`); the run stays the unit
    of every interval. Unknown values (NA, NaN) are dropped and counted in ``n_missing``, never read as 0.

    Parameters
    ----------
    name : str
        Name in the ``metric`` column of the estimates.
    table : str
        Table that holds the rows, e.g. ``"turns"``.
    aggregate : str
        ``"mean"``; ``"median"``; ``"quantile"`` (needs `p`); ``"share"`` of rows (those that are true, or
        equal `equals`), or with `of` the share of one total in another that bounds it row by row (cached
        tokens in all input tokens); ``"ratio"`` of the sums of `column` and `of`; ``"count"`` of rows per
        run; ``"sum"`` and ``"max"`` per run; ``"slope"`` of `column` over `of` within runs, by least squares
        with an intercept per run; ``"marginal"`` and ``"intercept"`` of a line through runs: the median of
        `column` in each run, over the run's `of`, by least squares with an intercept per block (see
        :func:`agentlab.marginal_fit`).
    column : str, optional
        Column that is reduced. Only ``"count"`` can do without: it then counts all rows.
    of : str, optional
        Denominator of a share or ratio; time or size of a slope; setting of a run for a line through runs.
    p : float, optional
        Which quantile, 0 < p < 1.
    equals : object, optional
        What makes a row of a share or count a hit; default: the column is true.
    among : tuple, optional
        Values of `column` that are answers; every other value is unknown. Default: all but NA.
    where : mapping or tuple of pairs, optional
        Rows to use: column -> value.
    unit : str
        Unit of the result, e.g. ``"ms"``; empty for a number between 0 and 1.
    better : str, optional
        ``"lower"`` or ``"higher"``; None when neither is better.
    scale : float
        How many units of the column make one of the result, > 0: 1048576 for MiB of bytes.
    per_run : bool
        Reduce each run to one number first and average those: every run then weighs the same. This is
        another quantity than the pooled one, which weighs runs by their rows.
    discarded : bool
        Take the runs that are not eligible as well, but for those that were cut short and done again: for
        what became of runs, which the eligible ones alone would make look better than it is.
    quantile_method : str
        ``"linear"`` between the two neighbours (as in numpy and pandas: the median of 10 and 20 is 15) or
        ``"nearest_rank"`` (an observed value: 10).
    label : str, optional
        For axes; default: the name.

    Raises
    ------
    ConfigError
        A field is missing, superfluous or out of range.

    Examples
    --------
    >>> Metric(name="p90", table="turns", column="latency_ms", aggregate="quantile", p=0.9, unit="ms").per_run
    False
    """

    name: str
    table: str
    aggregate: Aggregate
    column: str | None = None
    of: str | None = None
    p: float | None = None
    equals: object = None
    among: tuple[object, ...] = ()
    where: Mapping[str, object] | tuple[tuple[str, object], ...] = ()
    unit: str = ""
    scale: float = 1.0
    better: Literal["lower", "higher"] | None = None
    per_run: bool = False
    discarded: bool = False
    quantile_method: QuantileMethod = "linear"
    label: str | None = None

    def __post_init__(self) -> None:
        pairs = self.where.items() if isinstance(self.where, Mapping) else self.where
        object.__setattr__(self, "where", tuple((str(column), value) for column, value in pairs))
        object.__setattr__(self, "among", tuple(self.among))
        if self.aggregate not in _FIELDS:
            raise self._error(f"aggregate is {self.aggregate!r}; use one of {', '.join(_FIELDS)}")
        for field in ("name", "table"):
            if not getattr(self, field):
                raise self._error(f"{field} is empty")
        if self.better not in ("lower", "higher", None):
            raise self._error(f'better is {self.better!r}; use "lower", "higher" or None')
        if self.quantile_method not in ("linear", "nearest_rank"):
            raise self._error(f'quantile_method is {self.quantile_method!r}; use "linear" or "nearest_rank"')
        self._check_fields()
        if self.p is not None and not 0 < self.p < 1:
            raise self._error(f"p is {self.p!r}; a quantile needs 0 < p < 1")
        if not 0 < self.scale < float("inf"):
            raise self._error(f"scale is {self.scale!r}; use a number above 0")
        if self.scale != 1 and self.aggregate in ("share", "count"):
            raise self._error(f"a {self.aggregate} has no unit to scale")

    def _check_fields(self) -> None:
        needed, allowed = _FIELDS[self.aggregate]
        defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(self)}
        optional = ("column", "of", "p", "equals", "among", "quantile_method")
        given = {field for field in optional if getattr(self, field) != defaults[field]}
        if missing := sorted(needed - given):
            raise self._error(f"a {self.aggregate} needs {' and '.join(missing)}")
        if extra := sorted(given - needed - allowed):
            raise self._error(f"a {self.aggregate} takes no {' or '.join(extra)}")
        if "of" in given and given & {"equals", "among"}:
            raise self._error("a share of totals takes no equals or among")
        if "column" not in given and given & {"equals", "among"}:
            raise self._error("equals and among need a column")

    def _error(self, what: str) -> ConfigError:
        return ConfigError(f"Metric {self.name!r}: {what}")

    @property
    def quantile(self) -> float | None:
        """The quantile that is meant (0.5 for a median), or None when the metric is made of sums."""
        return 0.5 if self.aggregate == "median" else self.p

    @property
    def across(self) -> str | None:
        """The setting that its runs are meant to differ in, e.g. ``n_sessions``; None: in none."""
        return self.of if self.aggregate in _ACROSS else None

    @property
    def title(self) -> str:
        """Label and unit, for axes."""
        label = self.label or self.name
        return f"{label} ({self.unit})" if self.unit else label
