"""The runs of one or several studies, and which run each row of a table belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .bootstrap import Ints
from .units import Mask

if TYPE_CHECKING:
    import pandas as pd

_Key = TypeVar("_Key", bound=Hashable)


class TableSource(Protocol):
    """What can be compared: recordings, or anything that has their tables."""

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: study, arm, run_id, run_index, block, eligible, ..."""
        ...

    def table(self, name: str) -> pd.DataFrame:
        """Return one table; each row names its study and run_id."""
        ...


class Runs:
    """The runs of a study in a fixed order, whatever order their frame has.

    Parameters
    ----------
    source : TableSource
        Recordings.

    Attributes
    ----------
    studies, arms : list of str
        Studies in order of appearance, arms in the study's order where `source.arms` states it.
    run_id, arm : ndarray of object, shape (runs,)
        Id and arm of each run.
    eligible : ndarray of bool, shape (runs,)
        Whether it can be used.
    superseded : ndarray of bool, shape (runs,)
        Whether it was cut short and done again under a new id (a resumed study keeps both).
    block : ndarray of int, shape (runs,)
        Number of its block, over all studies; -1 for a run outside any block.
    """

    def __init__(self, source: TableSource) -> None:
        _check_source(source)
        self._source = source
        self._mixed: dict[str, str | None] = {}
        self._tables: dict[str, tuple[pd.DataFrame, Ints]] = {}
        runs = source.runs
        study, run_id, arm = (_strings(runs, name) for name in ("study", "run_id", "arm"))
        index, block = (_whole(runs, name) for name in ("run_index", "block"))
        self.studies: list[str] = list(dict.fromkeys(study))
        # Blocks are shuffled, so the order of the runs says nothing; the study states one.
        stated: list[str] = [name for name in getattr(source, "arms", ()) if name in set(arm)]
        self.arms: list[str] = list(dict.fromkeys([*stated, *arm]))
        order = sorted(range(len(run_id)), key=lambda k: (study[k], index[k], run_id[k]))
        self.frame = runs.iloc[order]
        self.run_id: NDArray[Any] = np.array([run_id[k] for k in order], dtype=object)
        self.arm: NDArray[Any] = np.array([arm[k] for k in order], dtype=object)
        self.eligible: Mask = self.frame["eligible"].to_numpy(dtype=bool, na_value=False)
        repeats = [(study[k], arm[k], index[k]) for k in order]
        done = {key for key, eligible in zip(repeats, self.eligible, strict=True) if eligible}
        self.superseded: Mask = ~self.eligible & np.array([key in done for key in repeats], dtype=bool)
        blocks = [(study[k], block[k]) if block[k] >= 0 else None for k in order]
        self.block: Ints = np.array([-1 if key is None else code for key, code in _coded(blocks)], np.int64)
        self._position = {(study[k], run_id[k]): at for at, k in enumerate(order)}

    def __len__(self) -> int:
        return len(self.frame)

    def mixed(self, arm: str) -> str | None:
        """Say how the eligible runs of an arm differ in what was measured, or None when they do not."""
        if arm not in self._mixed:
            self._mixed[arm] = self._differences(arm)
        return self._mixed[arm]

    def _differences(self, arm: str) -> str | None:
        runs = self.frame[(self.arm == arm) & self.eligible]
        for column in ("driver", "version", "model"):
            if column in runs and runs[column].nunique() > 1:
                seen = runs[column].value_counts()
                listed = ", ".join(f"{value} ({count} runs)" for value, count in seen.items())
                return f"runs of arm {arm!r} differ in {column}: {listed}; select with where({column}=...)"
        return None

    def rows(self, table: str) -> tuple[pd.DataFrame, Ints]:
        """Return a table and the run (position, -1 if unknown) of each of its rows."""
        if table not in self._tables:
            frame = self._source.table(table)
            keys = zip(_strings(frame, "study"), _strings(frame, "run_id"), strict=True)
            run = np.array([self._position.get(key, -1) for key in keys], dtype=np.int64)
            self._tables[table] = frame, run
        return self._tables[table]


def _check_source(source: object) -> None:
    if hasattr(source, "runs") and hasattr(source, "table"):
        return
    kind = type(source).__name__
    advice = {
        "Running": "await it first: recs = await record(...)",
        "Recording": "one run cannot be compared; give all: compare(recs, ...)",
        "DataFrame": "give the Recordings it came from",
    }
    say = advice.get(kind, "give Recordings, e.g. compare(load('studies/cache'), ...)")
    raise ConfigError(f"compare({kind}): {say}")


def _strings(frame: pd.DataFrame, name: str) -> list[str]:
    return [str(value) for value in frame[name].tolist()]


def _whole(frame: pd.DataFrame, name: str) -> list[int]:
    return frame[name].to_numpy(dtype=np.int64, na_value=-1).tolist()


def _coded(keys: list[_Key]) -> Iterator[tuple[_Key, int]]:
    """Number equal keys alike, from 0 in order of appearance."""
    codes: dict[_Key, int] = {}
    for key in keys:
        yield key, codes.setdefault(key, len(codes))
