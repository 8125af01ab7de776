"""The table of agents: one row an arm, one column a metric, each a level over its eligible runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .text_table import text_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..recording import Recordings

_UNKNOWN = "-"


def _number(digits: int, factor: float = 1.0) -> Callable[[float], str]:
    return lambda value: f"{value * factor:.{digits}f}"


#: metric -> head of its column, and how a value is written.
_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "ANSWERED": ("answered", _number(0, 100)),
    "REQUESTS": ("requests", _number(1)),
    "REQUEST_BYTES": ("kB sent", _number(1, 1e-3)),
    "PREFIX_REUSE": ("prefix %", _number(1, 100)),
    "CACHE_HIT_RATE": ("cached %", _number(1, 100)),
    "START_CPU": ("start CPU s", _number(2)),
    "COST": ("USD", _number(4)),
    "TOOL_FAILURES": ("tools failed %", _number(0, 100)),
}


def agents_table(recordings: Recordings) -> str:
    """Write the table as text; intervals and differences are those of ``agentlab compare``.

    Parameters
    ----------
    recordings : Recordings
        A study behind a gateway.

    Returns
    -------
    str
        ``-`` where nothing is known.
    """
    import warnings

    import pandas as pd

    from ..errors import UnstableWarning
    from ..stats.compare import compare
    from ..stats.metrics import named

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # of intervals, which are not shown
        estimates = compare(recordings, *(named(name) for name in _COLUMNS), n_resamples=200)
    levels: dict[Any, Any] = (
        estimates[estimates["kind"] == "level"].set_index(["arm", "metric"])["estimate"].to_dict()
    )
    runs = recordings.runs.groupby("arm")["eligible"]
    used, of = runs.sum(), runs.count()
    rows = [["arm", "runs", *(head for head, _ in _COLUMNS.values())]]
    for arm in recordings.arms:
        row = [arm, f"{used[arm]} of {of[arm]}"]
        for name, (_, write) in _COLUMNS.items():
            value = levels[arm, name]
            row.append(_UNKNOWN if pd.isna(value) else write(float(value)))
        rows.append(row)
    return text_table(rows)
