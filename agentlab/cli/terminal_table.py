"""The table of terminal agents: one row a tool and number of sessions, and what each added session costs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..plots import words
from ..plots.memory_runs import both_figures, measured
from ..plots.rows import read_rows
from .text_table import text_table

if TYPE_CHECKING:
    from ..plots.rows import Row
    from ..recording import Recordings

_UNKNOWN = "-"
#: metric -> head of its column
_COLUMNS = {
    "PSS_TOTAL": "total MiB",
    "ANON_TOTAL": "anon",
    "FILE_TOTAL": "file",
    "PAINT": "paint ms",
    "FIRST_INPUT": "input ms",
    "FIRST_INPUT_CPU": "input CPU s",
}


def terminal_table(recordings: Recordings) -> str:
    """Write the table as text; intervals are those of ``agentlab compare``.

    Parameters
    ----------
    recordings : Recordings
        A study of terminals.

    Returns
    -------
    str
        ``-`` where nothing is known.
    """
    runs = recordings.runs
    rows = [["tool", "sessions", "runs", *_COLUMNS.values()]]
    for n in sorted(int(n) for n in runs["n_sessions"].dropna().unique()):
        some = recordings.where(n_sessions=n)
        levels = _levels(some)
        for row in some.coverage():
            cells = [levels.get((row["arm"], name), _UNKNOWN) for name in _COLUMNS]
            rows.append([row["arm"], f"{n}", f"{row['n_used']} of {row['n_runs']}", *cells])
    rows[1:] = sorted(rows[1:], key=lambda row: recordings.arms.index(row[0]))
    return "\n".join([text_table(rows), *_each_session(recordings), *_under_pressure(recordings)])


def _levels(recordings: Recordings) -> dict[tuple[str, str], str]:
    return {(row.arm, row.metric): _number(row.estimate) for row in _compare(recordings, *_COLUMNS)}


def _compare(recordings: Recordings, *metrics: str) -> list[Row]:
    from ..errors import UnstableWarning
    from ..stats.compare import compare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # the rows themselves say it
        return [row for row in read_rows(compare(recordings, *metrics)) if row.kind == "level"]


def _number(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    return f"{value:,.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"


def _each_session(recordings: Recordings) -> list[str]:
    """Say the slope and the intercept of each tool that was measured at several numbers."""
    if recordings.runs["n_sessions"].nunique() < 2:
        return []
    said: list[str] = []
    rows = {(row.arm, row.metric): row for row in _compare(recordings, "MEM_SLOPE", "MEM_INTERCEPT")}
    for arm in recordings.arms:
        each, once = rows[arm, "MEM_SLOPE"], rows[arm, "MEM_INTERCEPT"]
        doubts = f" ({', '.join(found)})" if (found := words.doubts(each)) else ""
        said.append(
            f"{arm}: each added session {words.estimate(each)} {words.interval(each)} anonymous, "
            f"files once {words.estimate(once)}{doubts}".replace("  ", " ")
        )
    return said


def _under_pressure(recordings: Recordings) -> list[str]:
    said = both_figures(measured(recordings).curves)
    return [f"settled totals without and with runs under memory pressure: {'; '.join(said)}"] if said else []
