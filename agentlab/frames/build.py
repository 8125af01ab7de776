"""From evidence to frames: one builder per table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .audit import build_audit
from .browser.counters import build_counters
from .browser.cpu import build_callsites, build_cpu
from .browser.frames import build_animation_frames, build_animation_scripts, build_frames
from .browser.input import build_interactions, build_layout_shifts
from .browser.parts import build_page_events
from .browser.summary import build_page
from .browser.tasks import build_tasks
from .chunks import build_chunks
from .events import build_events
from .evidence import EVENTS, GATEWAY, MEMORY, PROFILE, TRACE, RunInfo
from .exec import build_exec
from .issues import build_issues
from .memory import build_memory, build_processes
from .pressure import build_pressure
from .reading import Reading
from .requests import build_requests, doubt_zeros
from .runs import build_runs
from .sessions import build_sessions
from .tables import TABLES
from .tools import build_tools
from .turns import build_turns

if TYPE_CHECKING:
    import pandas as pd

Builder = Callable[[Reading], list[dict[str, Any]]]

BUILDERS: dict[str, Builder] = {
    "runs": build_runs,
    "issues": build_issues,
    "sessions": build_sessions,
    "turns": build_turns,
    "requests": build_requests,
    "chunks": build_chunks,
    "tools": build_tools,
    "events": build_events,
    "pressure": build_pressure,
    "memory": build_memory,
    "processes": build_processes,
    "exec": build_exec,
    "page": build_page,
    "tasks": build_tasks,
    "frames": build_frames,
    "animation_frames": build_animation_frames,
    "animation_scripts": build_animation_scripts,
    "interactions": build_interactions,
    "layout_shifts": build_layout_shifts,
    "page_events": build_page_events,
    "counters": build_counters,
    "cpu": build_cpu,
    "callsites": build_callsites,
    "audit": build_audit,
}

#: Tables in which a row depends on other runs of the study.
_JUDGED_TOGETHER = ("requests",)
#: Tables of what is sampled, in a file of its own.
_SAMPLED = ("memory", "processes")
#: Tables of a page, for which its trace is read.
TRACED = (
    "page",
    "tasks",
    "frames",
    "animation_frames",
    "animation_scripts",
    "interactions",
    "layout_shifts",
    "page_events",
    "counters",
    "cpu",
)
#: Small tables, mostly wanted together, and those of one big file: one reading serves them all.
_TOGETHER = (("runs", "issues", "sessions", "turns", "requests", "tools"), TRACED)
_SMALL = 4_000_000  # bytes
#: Rows that are kept as such before they become a frame: a row takes twenty times as much memory there.
_MANY = 50_000


def build(name: str, runs: Iterable[RunInfo]) -> pd.DataFrame:
    """Build one table from the files of its runs.

    Parameters
    ----------
    name : str
        A key of :data:`agentlab.frames.tables.TABLES`.
    runs : iterable of RunInfo
        Runs with a ``path``.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ConfigError
        There is no such table.
    """
    return build_all((name,), runs)[name]


def build_all(names: Sequence[str], runs: Iterable[RunInfo]) -> dict[str, pd.DataFrame]:
    """Build several tables in one reading of the runs' files.

    Parameters
    ----------
    names : sequence of str
        Keys of :data:`agentlab.frames.tables.TABLES`.
    runs : iterable of RunInfo
        Runs with a ``path``.

    Returns
    -------
    dict
        The tables by name.

    Raises
    ------
    ConfigError
        There is no such table.
    """
    rows: dict[str, list[dict[str, Any]]] = {known(name).name: [] for name in names}
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in names}
    for run in runs:
        read = Reading.of(run)
        for name in names:
            rows[name] += BUILDERS[name](read)
            if len(rows[name]) > _MANY and name not in _JUDGED_TOGETHER:
                parts[name].append(known(name).frame(rows[name]))
                rows[name] = []
    for name in set(names) & set(_JUDGED_TOGETHER):
        doubt_zeros(rows[name])
    return {name: _joined([*parts[name], known(name).frame(rows[name])]) for name in names}


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    parts = [part for part in parts if len(part)] or parts[:1]
    return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)


def built_with(name: str) -> tuple[str, ...]:
    """Return the tables that are best built in one reading.

    Parameters
    ----------
    name : str
        One of them.

    Returns
    -------
    tuple of str
        At least that one.
    """
    return next((names for names in _TOGETHER if name in names), (name,))


def files_of(name: str) -> tuple[str, ...]:
    """Return the files of a run that a table is mostly built from.

    Parameters
    ----------
    name : str
        Name of the table.

    Returns
    -------
    tuple of str
    """
    if name in _SAMPLED:
        return EVENTS, MEMORY
    return (EVENTS, GATEWAY, TRACE, PROFILE) if name in TRACED else (EVENTS, GATEWAY)


def stands_alone(name: str, run: RunInfo) -> bool:
    """Say whether a run's rows are best built from its own files.

    Parameters
    ----------
    name : str
        Name of the table.
    run : RunInfo
        The run.

    Returns
    -------
    bool
        False where rows depend on other runs (``requests``, see :func:`doubt_zeros`), for a foreign file, and
        for files so big that the study's cached table is read faster.
    """
    if name in _JUDGED_TOGETHER or run.path is None:
        return False
    return sum(file.stat().st_size for n in files_of(name) if (file := run.path / n).exists()) < _SMALL


def known(name: str) -> Any:  # noqa: ANN401
    """Return a table by its name.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Table

    Raises
    ------
    ConfigError
        There is no such table.
    """
    if name not in TABLES:
        raise ConfigError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]
