"""A lane of a run's timeline: commands that outlive one call, each until its close, and the calls on it."""

from __future__ import annotations

from . import words
from .lane import Lane, spans_of
from .marks import Tone, rows_of
from .runtables import RunTables, numbers

COMMAND = Tone("command to its close", "#c9dcc0")
CALL = Tone("call on a command", "#4d7c3a", height=0.62)
LOST = Tone("its output was lost", "#d55e00", height=0.62)
TONES = (COMMAND, CALL, LOST)


def commands(tables: RunTables) -> Lane:
    """Show each command from its start to its close, and the calls on it.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    import numpy as np

    calls = tables.exec
    begin, end = tables.seconds(calls["begin_ns"]), tables.seconds(calls["end_ns"])
    names, place = np.unique(calls["exec_id"].to_numpy(dtype=str), return_inverse=True)
    start, close = np.full(len(names), np.nan), np.full(len(names), np.nan)
    np.fmin.at(start, place, begin)
    np.fmax.at(close, place, end)
    row = rows_of(start, close)
    lost, closes = numbers(calls["lost_bytes"]) > 0, (calls["op"] == "close").to_numpy(dtype=bool)
    marks = (
        spans_of(COMMAND, start, close, row),
        spans_of(CALL, np.where(closes, np.nan, begin), end, row[place]),
        spans_of(LOST, np.where(closes & lost, begin, np.nan), end, row[place]),
    )
    left = int((numbers(calls["survivors"]) > 0).sum())
    parts = {"lost output": len(np.unique(place[lost])), "left processes": left}
    note = words.counted(len(names), "command", parts) + f",\n{words.count(int((~closes).sum()), 'call')}"
    return Lane("commands", marks, note, why="no command was started")
