"""The lanes of a page in a browser: its text, main thread, frames, what is typed, and its heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import words
from .lane import Curve, Lane, spans_of
from .marks import Marks, Tone
from .runtables import RunTables, numbers, true
from .style import INK

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

LONG = Tone("long task (50 ms)", "#d55e00")
TASK = Tone("task", "#8fbcd9")
SHOWN = Tone("frame shown", "#bfe3d0", height=0.5)
LATE = Tone("completed late", "#f2dca2", height=0.6)
PARTIAL = Tone("partly shown", "#e69f00", height=0.75)
DROPPED = Tone("dropped", "#a03000")
DOM = Tone("text in the page", "#56b4e9")
PAINT = Tone("text painted", INK, height=0.6)
KEY = Tone("key to paint", "#cc79a7")
HEAP = Tone("JavaScript heap", "#d9c3d3")

#: In the order of the legend.
TONES = (DOM, PAINT, TASK, LONG, SHOWN, LATE, PARTIAL, DROPPED, KEY, HEAP)
_MIB = float(1 << 20)
#: state of a frame -> how it is drawn
STATES = {"presented": SHOWN, "late": LATE, "partial": PARTIAL, "dropped": DROPPED}
#: A frame covers the time to the next one, but no more than this: then nothing was to be drawn.
_FRAME_S = 0.05


def has_page(tables: RunTables) -> bool:
    """Say whether a run had a page in a browser.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    bool
    """
    return len(tables.page) > 0


def _measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep what is in the measured window; all of it where no window is known."""
    return frame[frame["phase"].isin(["stream", "tail"]) | frame["phase"].isna()]


def _why(tables: RunTables, column: str, why: str) -> str:
    """Give the reason of the run's own summary in words, where there is one."""
    from ..frames.reasons import REASONS

    told = [str(code) for code in tables.page[column].dropna()]
    return next((REASONS.get(code, code) for code in told), why)


def page_text(tables: RunTables) -> Lane:
    """Show when text of the answer came into the page, and when that was painted.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    import numpy as np

    marks: list[Marks] = []
    for tone, column in ((DOM, "dom_ns"), (PAINT, "paint_ns")):
        stamps = tables.seconds(tables.chunks[column].dropna().drop_duplicates().sort_values())
        marks.append(Marks(tone, stamps, stamps))
    note = words.count(len(marks[0]), "update")
    if len(lag := tables.page["dom_lag_p50_ms"].dropna()):
        note += f",\n{words.value(float(np.median(lag)))} ms after arrival"
    return Lane("text:\npage", tuple(marks), note, ticks=True, why="no text was seen growing on the page")


def main_thread(tables: RunTables) -> Lane:
    """Show the tasks of the page's main thread, long ones on top.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    tasks = _measured(tables.tasks)
    begin = tables.seconds(tasks["start_ns"])
    end = begin + numbers(tasks["duration_ms"]) / 1e3
    long = true(tasks["is_long"])
    marks = (spans_of(TASK, begin[~long], end[~long]), spans_of(LONG, begin[long], end[long]))
    note = words.counted(
        len(tasks), "task", {"long": int(long.sum()), "open": int(true(tasks["open"]).sum())}
    )
    known = tasks["duration_ms"].dropna()
    note += f",\nlongest: {words.value(float(known.max()))} ms" if len(known) else ""
    return Lane("main\nthread", marks, note, why=_why(tables, "trace_reason", "no task was recorded"))


def frames(tables: RunTables) -> Lane:
    """Show the frames in which something was to be drawn: until the next one, at most 50 ms.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    shown = _measured(tables.frames)
    spans = frame_spans(tables.seconds(shown["begin_ns"]), shown)
    marks = tuple(spans_of(STATES[state], begin, end) for state, (begin, end) in spans.items())
    n = {state: len(begin) for state, (begin, _) in spans.items()}
    note = words.counted(sum(n.values()), "frame", {"dropped": n["dropped"], "partial": n["partial"]})
    note = note.replace(" dropped", "\u00a0dropped").replace(", ", ",\n", 1)
    why = _why(tables, "frames_reason", "no frame in which something was to be shown")
    return Lane("frames", marks if sum(n.values()) else (), note, why=why)


def frame_spans(begin: Numbers, rows: pd.DataFrame) -> dict[str, tuple[Numbers, Numbers]]:
    """Return by state when frames begin and how long each is what the screen waits for.

    Parameters
    ----------
    begin : array of float
        When each began, seconds.
    rows : pandas.DataFrame
        Rows of the table `frames`: all of a run, or of a part of it.

    Returns
    -------
    dict of str to (array, array)
        Begin and end, seconds: until the next frame, at most 50 ms. Of what counts neither as shown nor as
        dropped there is none.
    """
    import numpy as np

    order = np.argsort(begin, kind="stable")
    after = np.full(len(begin), np.inf)
    after[order[:-1]] = begin[order[1:]]
    end = np.minimum(after, begin + _FRAME_S)
    counted = rows["dropped"].notna().to_numpy(dtype=bool)
    state = rows["state"].fillna("").to_numpy(dtype=str)
    hits = {name: counted & (state == name) for name in STATES}
    return {name: (begin[hit], end[hit]) for name, hit in hits.items()}


def typing(tables: RunTables) -> Lane:
    """Show from each key to the next paint.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    from .marks import rows_of

    typed = _measured(tables.interactions)
    begin = tables.seconds(typed["t_ns"])
    end = begin + numbers(typed["duration_ms"]) / 1e3
    note = words.count(len(typed), "interaction")
    if len(inp := tables.page["inp_ms"].dropna()):
        note += f",\nINP {words.value(float(inp.iloc[0]))} ms"
    return Lane("typing", (spans_of(KEY, begin, end, rows_of(begin, end)),), note)


def heap(tables: RunTables) -> Lane:
    """Show the JavaScript heap, with each change that the trace tells of.

    Parameters
    ----------
    tables : RunTables
        The run.

    Returns
    -------
    Lane
    """
    import numpy as np

    held = _measured(tables.counters)
    held = held[(held["source"] != "gc").fillna(value=True)].sort_values("t_ns")
    at, size = tables.seconds(held["t_ns"]), numbers(held["heap_bytes"]) / _MIB
    known = np.isfinite(at) & np.isfinite(size)
    gaps = int((held["source"] == "gap").sum())
    if not known.any():
        return Lane("heap", why="no sample of the heap at a known time")
    note = f"most: {words.value(float(size[known].max()))} MiB"
    note += f",\n{words.count(gaps, 'gap')}" if gaps else ""
    return Lane("heap", note=note, curve=Curve(HEAP, at[known], size[known]))


#: Of a page, below what the chat tells.
PAGE = (page_text, main_thread, frames, typing, heap)
