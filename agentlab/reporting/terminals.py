"""Terminals in a report: each agent at each number of sessions, and what an added session costs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..plots import words
from ..plots.memory_runs import both_figures, measured
from ..plots.rows import Row, read_rows
from .blocks import Block, never_fails, sentences, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def measures_memory(recs: Recordings) -> bool:
    """Say whether memory was sampled in any run.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    bool
    """
    return len(recs.table("memory")) > 0


def rows_by_sessions(recs: Recordings) -> list[list[str]]:
    """Give a row for each arm and number of sessions; the levels of metrics over its eligible runs.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    list of list of str
        The head first; ``-`` where nothing is known.
    """
    rows: list[list[str]] = []
    for n in sorted(int(n) for n in recs.runs["n_sessions"].dropna().unique()):
        some = recs.where(n_sessions=n)
        levels = {(row.arm, row.metric): _number(row.estimate) for row in _levels(some, *_COLUMNS)}
        for row in some.coverage():
            cells = [levels.get((row["arm"], name), _UNKNOWN) for name in _COLUMNS]
            rows.append([row["arm"], f"{n}", f"{row['n_used']} of {row['n_runs']}", *cells])
    head = ["arm", "sessions", "runs", *_COLUMNS.values()]
    return [head, *sorted(rows, key=lambda row: recs.arms.index(row[0]))]


def said_of_sessions(recs: Recordings) -> list[str]:
    """Say what an added session costs, and what runs under memory pressure would change.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    list of str
        Plain text; empty when neither is known.
    """
    return [*_each_session(recs), *_under_pressure(recs)]


def _levels(recs: Recordings, *metrics: str) -> list[Row]:
    from ..errors import UnstableWarning
    from ..stats.compare import compare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # the rows themselves say it
        return [row for row in read_rows(compare(recs, *metrics)) if row.kind == "level"]


def _number(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    return f"{value:,.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"


def _each_session(recs: Recordings) -> list[str]:
    """Say the slope and the intercept of each arm that was measured at several numbers."""
    if recs.runs["n_sessions"].nunique() < 2:
        return []
    said: list[str] = []
    rows = {(row.arm, row.metric): row for row in _levels(recs, "MEM_SLOPE", "MEM_INTERCEPT")}
    for arm in recs.arms:
        each, once = rows[arm, "MEM_SLOPE"], rows[arm, "MEM_INTERCEPT"]
        doubts = f" ({', '.join(found)})" if (found := words.doubts(each)) else ""
        said.append(
            f"{arm}: each added session {words.estimate(each)} {words.interval(each)} anonymous, "
            f"files once {words.estimate(once)}{doubts}".replace("  ", " ")
        )
    return said


def _under_pressure(recs: Recordings) -> list[str]:
    said = both_figures(measured(recs).curves)
    return [f"settled totals without and with runs under memory pressure: {'; '.join(said)}"] if said else []


@never_fails
def memory(recs: Recordings) -> Block:
    """Show memory and start-up by arm and number of sessions; nothing where memory was not sampled.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    if not measures_memory(recs) or recs.runs["n_sessions"].isna().all():
        return sentences([])
    head, *rows = rows_by_sessions(recs)
    notes = [
        "Settled samples, medians of runs; start to first paint, and to the first input on the rendered "
        "screen. How sure a number is, only the estimates say.",
        *said_of_sessions(recs),
    ]
    return table(head, rows, right=tuple(range(1, len(head))), notes=notes)


def memory_figures(recs: Recordings) -> Iterator[Axes]:
    """Draw the ramp, and over several numbers of sessions the fit.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Yields
    ------
    matplotlib.axes.Axes
    """
    from ..plots.memory import plot_memory

    if measures_memory(recs):
        yield plot_memory(recs)
        if recs.runs["n_sessions"].nunique() > 1:
            yield plot_memory(recs, kind="marginal")
