"""The runs of one or several studies, and which run each row of a table belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

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


class Mixed(NamedTuple):
    """How runs of an arm differ: in size, so that their mean is a number of nothing, or in what they ran."""

    in_size: bool
    reason: str


class Runs:
    """The runs of a study in a fixed order, whatever order their frame has.

    Parameters
    ----------
    source : TableSource
        Recordings.
    by : str
        Name of the function that was given them, for what it says to a slip.

    Attributes
    ----------
    studies, arms : list of str
        Studies in order of appearance, arms in the study's order where `source.arms` states it.
    run_id, arm : ndarray of object, shape (runs,)
        Id and arm of each run.
    eligible : ndarray of bool, shape (runs,)
        Whether it can be used.
    superseded : ndarray of bool, shape (runs,)
        Whether it was done again under a new id, because it was cut short or the machine was under memory
        pressure (a study keeps all attempts).
    block : ndarray of int, shape (runs,)
        Number of its block, over all studies; -1 for a run outside any block.
    group : ndarray of int, shape (runs,)
        Runs that say something together, one of each setting of an arm: its block; outside of blocks the
        first runs of each setting, the second ones, and so on.
    """

    def __init__(self, source: TableSource, *, by: str = "compare") -> None:
        check_source(source, by)
        self._source = source
        self._mixed: dict[tuple[str, str | None], Mixed | None] = {}
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
        self.superseded: Mask = ~self.eligible & _done_again(repeats, self.eligible)
        blocks = [(study[k], block[k]) if block[k] >= 0 else None for k in order]
        self.block: Ints = np.array([-1 if key is None else code for key, code in _coded(blocks)], np.int64)
        setting = _whole(self.frame, "n_sessions") if "n_sessions" in self.frame else [-1] * len(order)
        self.group: Ints = self._groups(list(zip(repeats, setting, strict=True)))
        self._position = {(study[k], run_id[k]): at for at, k in enumerate(order)}

    def __len__(self) -> int:
        return len(self.frame)

    def _groups(self, settings: list[tuple[tuple[str, str, int], int]]) -> Ints:
        counts: dict[tuple[str, str, int], int] = {}
        keys: list[tuple[object, ...]] = []
        for ((study, arm, _), setting), block, superseded in zip(
            settings, self.block.tolist(), self.superseded.tolist(), strict=True
        ):
            if block >= 0:
                keys.append(("block", block))
                continue
            nth = counts.get((study, arm, setting), 0)
            counts[study, arm, setting] = nth + (not superseded)
            keys.append(("repetition", study, nth))
        return np.array([code for _, code in _coded(keys)], np.int64)

    def mixed(self, arm: str, *, but: str | None = None) -> Mixed | None:
        """Say how the eligible runs of an arm differ in what was measured, or None when they do not.

        Parameters
        ----------
        arm : str
            The arm.
        but : str, optional
            A setting that is meant to differ.
        """
        if (arm, but) not in self._mixed:
            self._mixed[arm, but] = self._differences(arm, but)
        return self._mixed[arm, but]

    def _differences(self, arm: str, but: str | None) -> Mixed | None:
        runs = self.frame[(self.arm == arm) & self.eligible]
        for column in ("driver", "version", "model", "recorder", "n_sessions"):
            if column in runs and column != but and runs[column].nunique() > 1:
                seen = runs[column].value_counts().sort_index()
                listed = ", ".join(f"{value} ({count} runs)" for value, count in seen.items())
                said = f"runs of arm {arm!r} differ in {column}: {listed}; select with where({column}=...)"
                return Mixed(column == "n_sessions", said)
        return None

    def recorders(self, arms: Sequence[str]) -> list[str]:
        """Return how pages of the eligible runs of some arms were recorded, each way once."""
        if "recorder" not in self.frame:
            return []
        runs = self.frame[np.isin(self.arm, arms) & self.eligible]
        return sorted(runs["recorder"].dropna().unique())

    def rows(self, table: str) -> tuple[pd.DataFrame, Ints]:
        """Return a table and the run (position, -1 if unknown) of each of its rows."""
        if table not in self._tables:
            frame = self._source.table(table)
            keys = zip(_strings(frame, "study"), _strings(frame, "run_id"), strict=True)
            run = np.array([self._position.get(key, -1) for key in keys], dtype=np.int64)
            self._tables[table] = frame, run
        return self._tables[table]


def _done_again(repeats: list[tuple[str, str, int]], eligible: Mask) -> Mask:
    """Say which runs are not the one that stands for their repetition: an eligible one, else the last."""
    stands: dict[tuple[str, str, int], int] = {}
    for at, key in enumerate(repeats):
        if key not in stands or not eligible[stands[key]]:
            stands[key] = at
    return np.array([stands[key] != at for at, key in enumerate(repeats)], dtype=bool)


def check_source(source: object, by: str, *, argument: str = "") -> None:
    """Refuse what has no tables of runs.

    Parameters
    ----------
    source : object
        What a function was given.
    by : str
        Name of the function, for the message.
    argument : str
        How the argument is written there, if it is not the first: ``"baseline="``.

    Raises
    ------
    ConfigError
        It has none; the message says what to give.
    """
    if hasattr(source, "runs") and hasattr(source, "table"):
        return
    kind = type(source).__name__
    advice = {
        "Running": "await it first: recs = await record(...)",
        "Recording": f"one run cannot be compared; give all: {by}({argument}recs, ...)",
        "DataFrame": "give the Recordings it came from",
    }
    say = advice.get(kind, f"give Recordings, e.g. {by}({argument}load('studies/cache'), ...)")
    raise ConfigError(f"{by}({argument}{kind}): {say}")


def _strings(frame: pd.DataFrame, name: str) -> list[str]:
    return [str(value) for value in frame[name].tolist()]


def _whole(frame: pd.DataFrame, name: str) -> list[int]:
    return frame[name].to_numpy(dtype=np.int64, na_value=-1).tolist()


def _coded(keys: list[_Key]) -> Iterator[tuple[_Key, int]]:
    """Number equal keys alike, from 0 in order of appearance."""
    codes: dict[_Key, int] = {}
    for key in keys:
        yield key, codes.setdefault(key, len(codes))
