"""Small synthetic ESTIMATES frames, for tests, documentation and a first look at a figure.

The numbers are made up: they show how a frame is laid out and drawn, not how anything performs, and their
intervals were not computed from runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: metric -> (unit, better, level of the first arm, growth per arm, half width)
_METRICS: dict[str, tuple[str, str, float, float, float]] = {
    "TTFT": ("ms", "lower", 412.0, 38.0, 21.0),
    "CACHE_HIT_RATE": ("", "higher", 0.912, -0.17, 0.031),
    "COST": ("USD", "lower", 0.0131, 0.0042, 0.0011),
    "ZERO_CACHE_RATE": ("", "lower", 0.061, 0.083, 0.021),
    "TURN_LATENCY": ("ms", "lower", 5230.0, 410.0, 260.0),
}


def estimates_frame(
    *,
    arms: Sequence[str] = ("stable", "volatile"),
    metrics: Sequence[str] = ("TTFT",),
    n_runs: int = 10,
    overrides: Iterable[tuple[dict[str, str], dict[str, Any]]] = (),
) -> pd.DataFrame:
    """Make an ESTIMATES frame: levels of every arm and differences from the first.

    Parameters
    ----------
    arms : sequence of str
        Arms; the first is the reference.
    metrics : sequence of str
        Of ``"TTFT"`` (ms), ``"CACHE_HIT_RATE"`` (0..1), ``"ZERO_CACHE_RATE"`` (0..1), ``"COST"``
        (USD), ``"TURN_LATENCY"`` (ms).
    n_runs : int
        Runs per arm.
    overrides : iterable of (dict, dict)
        Where the first dict fits a row (e.g. ``{"arm": "volatile", "kind": "level"}``), the second is set.

    Returns
    -------
    pandas.DataFrame
        With the columns and dtypes of ESTIMATES.

    Examples
    --------
    >>> estimates_frame()[["kind", "arm", "estimate"]].values.tolist()
    [['level', 'stable', 412.0], ['level', 'volatile', 450.0], ['difference', 'volatile', 38.0]]
    """
    import pandas as pd

    from ..stats.estimates import COLUMNS

    rows = [row for metric in metrics for row in _rows(metric, arms, n_runs)]
    for where, changes in overrides:
        for row in rows:
            if all(row.get(key) == wanted for key, wanted in where.items()):
                row.update(changes)
    columns: dict[str, Any] = {
        name: pd.array([row.get(name) for row in rows], dtype=dtype)  # pyright: ignore[reportCallIssue, reportArgumentType]
        for name, dtype in COLUMNS.items()
    }
    frame = pd.DataFrame(columns)
    frame.attrs["agentlab"] = {"studies": [{"name": "synthetic", "scenario_digest": "0" * 16}]}
    return frame


def _rows(metric: str, arms: Sequence[str], n_runs: int) -> Iterable[dict[str, Any]]:
    unit, better, base, step, half = _METRICS[metric]
    common: dict[str, Any] = {
        "metric": metric, "unit": unit, "better": better, "level": 0.95, "n_runs": n_runs, "n_blocks": n_runs,
        "n_blocks_dropped": 0, "n_discarded": 0, "n_missing": 0, "n_rows": 2 * n_runs, "n_resamples": 4999,
        "seed": 0, "status": "ok", "flags": "", "reason": "",
    }  # fmt: skip
    for i, arm in enumerate(arms):
        middle, spread = base + i * step, half * (1 + 0.15 * i)
        ends = {"estimate": middle, "lower": middle - spread, "upper": middle + 1.2 * spread}
        yield {**common, "kind": "level", "arm": arm, **ends, "interval": "log t, percentile"}
    for i, arm in enumerate(arms[1:], start=1):
        ends = {"estimate": i * step, "lower": i * step - 0.7 * half, "upper": i * step + 0.7 * half}
        yield {
            **common, "kind": "difference", "arm": arm, "reference": arms[0], **ends, "interval": "paired t",
            "paired": True,
        }  # fmt: skip
