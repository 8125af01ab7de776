"""The table of exec sessions: one row a scenario, each number a level over an arm's eligible runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .text_table import text_table

if TYPE_CHECKING:
    from ..recording import Recordings
    from ..stats.metrics import Metric

_UNKNOWN = "-"
#: head of a column -> the column of the table's row of the close that is added up.
_SUMS = {"lost bytes": "lost_bytes", "unread input": "lost_typed_bytes", "survivors": "survivors"}
_HEADS = ("report ms", *_SUMS)


def exec_table(recordings: Recordings, scenarios: Sequence[str]) -> str:
    """Write the table as text; intervals and differences are those of ``agentlab compare``.

    Parameters
    ----------
    recordings : Recordings
        A study of exec sessions.
    scenarios : sequence of str
        Names of the rows.

    Returns
    -------
    str
        ``-`` where nothing is known.
    """
    levels = _levels(recordings, scenarios)
    heads = [(head, arm) for head in _HEADS for arm in recordings.arms]
    first = recordings.arms[0]
    rows = [["scenario", *(head if arm == first else "" for head, arm in heads)]]
    rows += [["", *(arm for _, arm in heads)]]
    rows += [[name, *(_cell(levels, name, *head) for head in heads)] for name in scenarios]
    return text_table(rows)


def _cell(levels: Mapping[Any, float], scenario: str, head: str, arm: str) -> str:
    value = levels.get((arm, f"{scenario} {head}"))
    return _UNKNOWN if value is None else f"{value:.0f}" if head in _SUMS else f"{value:.1f}"


def _levels(recordings: Recordings, scenarios: Sequence[str]) -> dict[Any, float]:
    import warnings

    from ..errors import UnstableWarning
    from ..stats.compare import compare

    metrics = [metric for name in scenarios for metric in _metrics(name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # of intervals, which are not shown
        found = compare(recordings, *metrics, n_resamples=200)
    levels = found[found["kind"] == "level"].set_index(["arm", "metric"])["estimate"].dropna()
    return {key: float(value) for key, value in levels.to_dict().items()}


def _metrics(name: str) -> list[Metric]:
    from ..stats.metrics import Metric

    told = Metric(
        name=f"{name} report ms", table="exec", column="end_delay_ms", aggregate="median",
        where={"scenario": name},
    )  # fmt: skip
    closed = {"scenario": name, "op": "close"}
    return [told] + [
        Metric(name=f"{name} {head}", table="exec", column=column, aggregate="sum", where=closed)
        for head, column in _SUMS.items()
    ]
