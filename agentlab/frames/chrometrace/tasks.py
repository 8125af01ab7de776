"""The tasks of a trace as a frame."""

from __future__ import annotations

import dataclasses
from os import PathLike
from typing import TYPE_CHECKING, Any

from ...errors import ImportFormatError
from ..schema import Column
from .reader import Page, Trace, read_task_slices
from .slices import Slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from pandas.api.extensions import ExtensionArray

LONG_MS = 50.0
_T = "trace: RunTask"

#: What is known of a task; where a duration is NA, `reason` says why.
TASK_COLUMNS = (
    Column("start_ns", "Int64", "Begin, CLOCK_MONOTONIC.", source=_T),
    Column("duration_ms", "Float64", "Time from begin to end: what the user felt.", source=_T),
    Column("cpu_ms", "Float64", "CPU time of the thread in it: what the code cost.", source=_T),
    Column("pid", "Int64", "Process.", source=_T),
    Column("tid", "Int64", "Thread.", source=_T),
    Column("thread", "string", "Name of the thread.", source="trace: thread_name"),
    Column("is_page_main", "boolean", "On the page's main thread; NA when that is unknown.", source="trace"),
    Column("is_long", "boolean", "50 ms or longer.", source="duration_ms"),
    Column("open", "boolean", "Without an end: it was running when the trace ended.", source=_T),
    Column("top_function", "string", "What most of it was spent on, from CPU samples.", source="profile"),
    Column("reason", "string", "Why the duration is NA: `task_open`, `negative_duration`.", source=_T),
)


def read_tasks(path: str | PathLike[str], *, all_threads: bool = False, page: Page = None) -> pd.DataFrame:
    """Read the tasks of a trace of Chrome: the main thread's work, piece by piece.

    Parameters
    ----------
    path : path
        Trace from DevTools, Chrome, Puppeteer or agentlab: JSON object or array, plain or gzip, whole or cut.
    all_threads : bool, default False
        Tasks of all threads of all processes instead of the page's main thread only.
    page : tuple of int or str, optional
        The page's main thread where the trace does not tell it: (pid, tid), or the name of a
        ``performance.mark`` that was set on it.

    Returns
    -------
    pandas.DataFrame
        The columns of `TASK_COLUMNS`, in the order of time: ``start_ns`` (CLOCK_MONOTONIC ns),
        ``duration_ms``, ``cpu_ms``, ``pid``, ``tid``, ``thread``, ``is_page_main``, ``is_long`` (>= 50 ms),
        ``open``, ``top_function`` (NA), ``reason``. A negative duration is NA with a reason.

    Raises
    ------
    RecordingError
        It cannot be read.
    ImportFormatError
        It is no trace of Chrome, or the page's main thread is unknown; the message names the candidates.

    Examples
    --------
    >>> import json, tempfile
    >>> task = {"name": "RunTask", "ph": "X", "ts": 1000, "dur": 60000, "pid": 1, "tid": 1, "args": {}}
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write(json.dumps({"traceEvents": [task]}))
    ...     file.flush()
    ...     read_tasks(file.name)[["start_ns", "duration_ms", "is_long"]].values.tolist()
    [[1000000, 60.0, True]]
    """
    trace = read_task_slices(path, page=page)
    if not all_threads:
        if trace.page is None:
            raise ImportFormatError(f"{path}: {_which(trace)}")
        trace = dataclasses.replace(trace, slices=trace.tasks.on(trace.page))  # the others are let go
    return task_frame(trace, trace.tasks)


def task_frame(trace: Trace, tasks: Slices) -> pd.DataFrame:
    """Build the frame of some tasks.

    Parameters
    ----------
    trace : Trace
        Where they are from.
    tasks : Slices
        Some of its tasks.

    Returns
    -------
    pandas.DataFrame
        The columns of `TASK_COLUMNS`, in the order of time.
    """
    import numpy as np
    import pandas as pd

    tasks = tasks.ordered()
    n = len(tasks)
    known = tasks.duration_ns >= 0
    duration_ms = tasks.duration_ns / 1e6
    reason = np.where(tasks.open, 1, np.where(tasks.negative, 2, 0))
    threads, place = trace.threads, tasks.thread
    columns = {
        "start_ns": _ints(tasks.start_ns, np.ones(n, bool)),
        "duration_ms": _floats(duration_ms, known),
        "cpu_ms": _floats(tasks.cpu_ns / 1e6, tasks.cpu_ns >= 0),
        "pid": _ids([thread.pid for thread in threads], place),
        "tid": _ids([thread.tid for thread in threads], place),
        "thread": _words([*(thread.name for thread in threads), None], place),
        "is_page_main": _bools(place == (-1 if trace.page is None else trace.page), trace.page is not None),
        "is_long": _bools(duration_ms >= LONG_MS, known),
        "open": _bools(tasks.open, True),
        "top_function": _words([None], np.zeros(n, np.int32)),
        "reason": _words([None, "task_open", "negative_duration"], reason),
    }
    return pd.DataFrame(columns, columns=[column.name for column in TASK_COLUMNS])


def _ints(values: NDArray[np.int64], known: NDArray[np.bool_]) -> pd.arrays.IntegerArray:
    import numpy as np
    import pandas as pd

    return pd.arrays.IntegerArray(np.where(known, values, 0), ~known)


def _ids(by_thread: Sequence[int | None], place: NDArray[np.int32]) -> pd.arrays.IntegerArray:
    import numpy as np

    values = np.array([0 if one is None else one for one in by_thread] or [0], np.int64)
    known = np.array([one is not None for one in by_thread] or [False])
    return _ints(values[place], known[place])


def _words(words: Sequence[str | None], place: NDArray[np.integer[Any]]) -> ExtensionArray:
    """Return the words at some places; few words for many rows are looked up once each."""
    import pandas as pd

    return pd.array(words, dtype="string").take(place)


def _floats(values: NDArray[np.float64], known: NDArray[np.bool_]) -> pd.arrays.FloatingArray:
    import numpy as np
    import pandas as pd

    return pd.arrays.FloatingArray(np.where(known, values, 1.0), ~known)


def _bools(values: NDArray[np.bool_], known: NDArray[np.bool_] | bool) -> pd.arrays.BooleanArray:
    import numpy as np
    import pandas as pd

    known = np.broadcast_to(np.asarray(known), values.shape)
    return pd.arrays.BooleanArray(values & known, ~known)


def _which(trace: Trace) -> str:
    """Say which threads could be the page's."""
    import numpy as np

    tasks = trace.tasks
    if not len(tasks):
        return (
            "the trace holds no RunTask: was it recorded with the category "
            "disabled-by-default-devtools.timeline?"
        )
    spent = np.bincount(tasks.thread, np.maximum(tasks.duration_ns, 0), minlength=len(trace.threads))
    most = np.argsort(-spent, kind="stable")[:5].tolist()
    named = (trace.threads[i] for i in most if spent[i] > 0)
    listed = ", ".join(f"({t.pid}, {t.tid}) {t.name or 'without a name'}" for t in named)
    return (
        "which thread is the page's main thread is not told in it. Name it, page=(pid, tid), or take all, "
        f"all_threads=True. Busiest are {listed}"
    )
