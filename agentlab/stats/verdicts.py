"""What a comparison says: better or worse only where the difference is beyond the noise of the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

#: Column -> dtype of what :func:`verdicts` returns.
COLUMNS = {
    "metric": "string",
    "unit": "string",
    "arm": "string",
    "reference": "string",
    "before": "Float64",
    "now": "Float64",
    "change": "Float64",
    "lower": "Float64",
    "upper": "Float64",
    "n_runs": "Int64",
    "verdict": "string",
    "reason": "string",
    "original_change": "Float64",
    "original_mark": "string",
}
_NEEDED = ("metric", "unit", "better", "kind", "arm", "reference", "estimate", "lower", "upper", "reason")


def verdicts(estimates: pd.DataFrame) -> pd.DataFrame:
    """Say of each difference whether it is an improvement, a loss, or no more than the noise of the runs.

    Parameters
    ----------
    estimates : pandas.DataFrame
        As :func:`agentlab.compare` returns it.

    Returns
    -------
    pandas.DataFrame
        One row per difference: metric, unit, arm, reference, before and now (levels of both), change with its
        interval, n_runs, and ``verdict``: ``improved`` or ``worse`` when the interval excludes 0 (``differs``
        where neither direction is better), ``no difference seen`` when it holds 0, ``unknown`` without an
        interval, with the reason. ``original_change`` and ``original_mark`` are the readings of the original
        web-chat script: now minus before in 2 digits, and ``improved`` or ``WORSE`` for any change at all.

    Raises
    ------
    ConfigError
        If it is no frame of estimates.

    Examples
    --------
    >>> from agentlab.testing.estimates import estimates_frame
    >>> sorted(set(verdicts(estimates_frame())["verdict"])) != []
    True
    """
    import pandas as pd

    if not set(_NEEDED) <= set(getattr(estimates, "columns", ())):
        raise ConfigError(
            f"verdicts({type(estimates).__name__}): give what compare() returned, with all its columns"
        )
    levels = {
        (row["metric"], row["arm"]): _number(row["estimate"])
        for row in estimates[estimates["kind"] == "level"].to_dict("records")
    }
    differences = estimates[estimates["kind"] == "difference"].to_dict("records")
    rows = [_row(row, levels) for row in differences]
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in COLUMNS.items()}
    )


def _row(row: dict[Any, Any], levels: dict[tuple[Any, Any], float | None]) -> dict[str, Any]:
    before, now = (levels.get((row["metric"], row[side])) for side in ("reference", "arm"))
    better = row["better"] if isinstance(row["better"], str) else None
    verdict = _verdict(_number(row["lower"]), _number(row["upper"]), better)
    reason = row["reason"] if isinstance(row["reason"], str) else None
    if verdict == "unknown" and reason is None:
        reason = "there is no interval"
    change = None if before is None or now is None else round(now - before, 2)
    return {
        **{name: row[name] for name in ("metric", "unit", "arm", "reference")},
        "before": before,
        "now": now,
        "change": _number(row["estimate"]),
        "lower": _number(row["lower"]),
        "upper": _number(row["upper"]),
        "n_runs": row.get("n_runs"),
        "verdict": verdict,
        "reason": reason,
        "original_change": change,
        "original_mark": _original_mark(change, better),
    }


def _verdict(lower: float | None, upper: float | None, better: str | None) -> str:
    if lower is None or upper is None:
        return "unknown"
    if lower <= 0 <= upper:
        return "no difference seen"
    if better is None:
        return "differs"
    return "improved" if (upper < 0) == (better == "lower") else "worse"


def _original_mark(change: float | None, better: str | None) -> str | None:
    if not change or better is None:
        return None
    return "improved" if (change < 0) == (better == "lower") else "WORSE"


def _number(value: Any) -> float | None:  # noqa: ANN401
    import pandas as pd

    return None if pd.isna(value) else float(value)
