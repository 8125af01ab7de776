"""Two lanes of a run's timeline: how terminal sessions started, and what all processes held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import words
from .lane import Curve, Lane, spans_of
from .marks import Tone, rows_of
from .runtables import RunTables, numbers, true

if TYPE_CHECKING:
    import pandas as pd

PAINT = Tone("start to first paint", "#f0e4b2")
INPUT = Tone("first paint to first input", "#b08d00")
MEMORY = Tone("memory (PSS + SwapPSS)", "#8fbcd4")
TONES = (PAINT, INPUT, MEMORY)

_MIB = float(1 << 20)


def terminals(tables: RunTables) -> Lane:
    """Show how long each session on a terminal took until it painted, and until it took input.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    import numpy as np

    sessions = started(tables)
    start = tables.seconds(sessions["spawn_ns"])
    paint = start + numbers(sessions["paint_ms"]) / 1e3
    ready = start + numbers(sessions["first_input_ms"]) / 1e3
    row = rows_of(start, np.fmax(np.fmax(paint, ready), start))
    marks = (spans_of(PAINT, start, np.fmin(paint, ready), row), spans_of(INPUT, paint, ready, row))
    parts = {"never ready": int(np.isnan(ready).sum())}
    return Lane("sessions", marks, words.counted(len(sessions), "session", parts), why="none painted")


def started(tables: RunTables) -> pd.DataFrame:
    """Return the sessions that were started on a terminal.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    pandas.DataFrame
        Rows of the table `sessions`.
    """
    sessions = tables.sessions
    return sessions[sessions["spawn_ns"].notna()]


def memory(tables: RunTables) -> Lane:
    """Show the total of all processes, where it is known.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    import numpy as np

    slow = tables.memory[(tables.memory["lane"] == "slow").fillna(value=False)]
    at, total = tables.seconds(slow["t_ns"]), numbers(slow["total_bytes"]) / _MIB
    known = np.isfinite(at) & np.isfinite(total)
    lost = len(slow) - int(known.sum())
    note = words.counted(len(slow), "sample", {"with an unknown process": lost})
    if not known.any():
        return Lane("memory", note=note, why="no sample in which every process is known")
    settled = total[known & true(slow["settled"])]
    note += f",\nmost: {words.value(float(total[known].max()))} MiB"
    note += f", settled: {words.value(float(np.median(settled)))}" if len(settled) else ""
    return Lane("memory", note=note, curve=Curve(MEMORY, at[known], total[known]))
