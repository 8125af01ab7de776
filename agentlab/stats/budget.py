"""Budgets: numbers that must not be exceeded, checked against estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ConfigError, did_you_mean
from .metrics import Metric, named

if TYPE_CHECKING:
    import pandas as pd

    from .runs import TableSource

#: Column -> dtype of what :func:`check` returns.
COLUMNS = {
    "metric": "string",
    "unit": "string",
    "arm": "string",
    "bound": "string",
    "budget": "Float64",
    "estimate": "Float64",
    "lower": "Float64",
    "upper": "Float64",
    "n_runs": "Int64",
    "n_discarded": "Int64",
    "status": "string",
    "sure": "boolean",
    "reason": "string",
}
_NEEDED = frozenset({"metric", "unit", "better", "kind", "arm", "estimate", "lower", "upper"})


Budgets: TypeAlias = Mapping[str, float] | Mapping[Metric, float] | Mapping[str | Metric, float]


def check(estimates_or_recs: pd.DataFrame | TableSource, budgets: Budgets) -> pd.DataFrame:
    """Check the numbers of each arm against budgets.

    Parameters
    ----------
    estimates_or_recs : pandas.DataFrame or Recordings
        What :func:`agentlab.compare` returned; or Recordings, which are compared by the metrics of `budgets`.
    budgets : mapping of str or Metric to float
        Metric, or its name -> the most it may be, in its own unit; the least where higher is better. Exactly
        the budget is within it.

    Returns
    -------
    pandas.DataFrame
        One row per budget and arm: metric, unit, arm, bound (``at most``, ``at least``), budget, estimate and
        its interval, n_runs, n_discarded; ``status``: ``pass``, ``fail``, or ``unknown`` when there is no
        number, which is no pass; ``sure``: whether the whole interval says the same (NA without one); reason.

    Raises
    ------
    ConfigError
        A budget is no number, its metric does not exist, is not among the estimates, or has no better
        direction.

    Examples
    --------
    >>> from agentlab.testing.estimates import estimates_frame
    >>> found = check(estimates_frame(), {"TTFT": 1e6})
    >>> set(found["status"])
    {'pass'}
    """
    import pandas as pd

    given: Any = budgets  # whatever it really is
    if not isinstance(given, Mapping):
        raise ConfigError('check(budgets=...): give a limit to each metric, e.g. {"LONG_TASKS": 5}')
    limits = [_limit(name, value) for name, value in budgets.items()]
    if not limits:
        raise ConfigError('check(..., {}): give at least one budget, e.g. {"LONG_TASKS": 5}')
    levels = _levels(estimates_or_recs, [metric for metric, _ in limits])
    rows = [
        _row(level, metric, budget)
        for metric, budget in limits
        for level in levels
        if level["metric"] == _name(metric)
    ]
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in COLUMNS.items()}
    )


def _name(metric: Metric | str) -> str:
    return metric if isinstance(metric, str) else metric.name


def _limit(metric: object, value: object) -> tuple[Metric | str, float]:
    if not isinstance(metric, str | Metric):
        raise ConfigError(f"check: {metric!r} is no metric; use a Metric or its name")
    try:
        budget = float(value) if not isinstance(value, bool | str) else float("nan")  # type: ignore[arg-type]
    except (TypeError, ValueError):
        budget = float("nan")
    if not abs(budget) < float("inf"):
        raise ConfigError(f"check: the budget of {_name(metric)} is {value!r}; give a number")
    return metric, budget


def _levels(given: Any, metrics: list[Metric | str]) -> list[dict[Any, Any]]:  # noqa: ANN401
    import pandas as pd

    if not isinstance(given, pd.DataFrame):
        from .compare import compare

        given = compare(given, *metrics)
    elif not set(given.columns) >= _NEEDED:
        raise ConfigError("check(DataFrame): give what compare() returned, or Recordings")
    have = dict.fromkeys(map(str, given["metric"]))
    names = {metric for metric in metrics if isinstance(metric, str)}
    for metric in map(_name, metrics):
        if metric not in have:
            if metric in names:
                named(metric)  # what no metric is called is said first
            near = did_you_mean(metric, have)
            raise ConfigError(
                f"check: {metric} is not among the estimates; there are {', '.join(have)}{near}"
            )
    return given[given["kind"] == "level"].to_dict("records")


def _row(level: dict[Any, Any], metric: Metric | str, budget: float) -> dict[str, Any]:
    better = level["better"] if isinstance(level["better"], str) else None
    if better is None:
        raise ConfigError(
            f"check: of {_name(metric)} neither more nor less is better, so that it has no budget"
        )
    sign = 1 if better == "lower" else -1
    estimate, lower, upper = (_number(level[name]) for name in ("estimate", "lower", "upper"))
    ends = [sign * end for end in (lower, upper) if end is not None]
    status, sure = "unknown", None
    if estimate is not None:
        status = "pass" if sign * estimate <= sign * budget else "fail"
        if len(ends) == 2:
            sure = max(ends) <= sign * budget if status == "pass" else min(ends) > sign * budget
    reason = level.get("reason")
    return {
        **{name: level.get(name) for name in ("metric", "unit", "arm", "n_runs", "n_discarded")},
        "bound": "at most" if better == "lower" else "at least",
        "budget": budget,
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "status": status,
        "sure": sure,
        "reason": reason if isinstance(reason, str) else None,
    }


def _number(value: Any) -> float | None:  # noqa: ANN401
    import pandas as pd

    return None if value is None or pd.isna(value) else float(value)
