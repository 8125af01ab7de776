"""Which runs a study has, in which order, and which of them are still to be made."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError, RecordingError
from ..jsonfile import read_json

Order = Literal["interleaved", "sequential"]
#: A run with one of these is never repeated; others (cancelled, unfinished) are done again.
FINISHED = ("complete", "failed")


@dataclasses.dataclass(frozen=True)
class Slot:
    """One run to be made.

    Parameters
    ----------
    arm : str
        Name of its arm.
    index : int
        0-based inside the arm.
    block : int or None
        0-based when arms are interleaved.
    n_sessions : int or None
        Its value of a swept setting; None: nothing is swept.
    """

    arm: str
    index: int
    block: int | None
    n_sessions: int | None = None


def swept(name: str, driver: object) -> tuple[int | None, ...]:
    """Return the values of ``sessions`` that a driver sweeps.

    Parameters
    ----------
    name : str
        Name of the arm.
    driver : object
        A driver; one without ``sessions`` sweeps nothing.

    Returns
    -------
    tuple of int or None
        Each value is a run of its own in every block; ``(None,)``: nothing is swept.

    Raises
    ------
    ConfigError
        It gives something else than whole numbers above 0, each once.

    Examples
    --------
    >>> swept("plain", object())
    (None,)
    """
    values: Any = getattr(driver, "sessions", None)
    if values is None:
        return (None,)
    whole = isinstance(values, tuple) and all(type(v) is int and v > 0 for v in values)  # pyright: ignore[reportUnknownVariableType]
    if not whole or not values or len(set(values)) < len(values):
        raise ConfigError(f"arm {name!r}: sessions={values!r}; give numbers above 0, each once: (1, 4, 10)")
    return values


def slots(sweeps: Mapping[str, Sequence[int | None]], runs: int, order: Order, seed: int) -> Iterator[Slot]:
    """Yield all runs in order of execution; the same seed gives the same order, also when extended.

    Parameters
    ----------
    sweeps : mapping
        Arm to its swept values, as :func:`swept` returns them.
    runs : int
        Runs of each arm and value.
    order : {"interleaved", "sequential"}
        Blocks of one run of every arm and value in random order, or arm after arm and value after value.
    seed : int
        Of the order.

    Yields
    ------
    Slot
    """
    if order == "sequential":
        for arm, values in sweeps.items():
            for at, value in enumerate(values):
                yield from (Slot(arm, run * len(values) + at, None, value) for run in range(runs))
        return
    for block in range(runs):
        cells = [
            Slot(arm, block * len(values) + at, block, value)
            for arm, values in sweeps.items()
            for at, value in enumerate(values)
        ]
        random.Random(f"{seed}:{block}").shuffle(cells)
        yield from cells


def recorded(folder: Path) -> list[dict[str, Any]]:
    """Read the state of all runs of a study.

    Parameters
    ----------
    folder : Path
        Study folder.

    Returns
    -------
    list of dict
        Each ``run.json``, in order of execution; one that cannot be read, or is none, is left out.
    """
    found: list[dict[str, Any]] = []
    for file in sorted((folder / "runs").glob("*/run.json")):
        with contextlib.suppress(RecordingError):
            run = read_json(file)
            if isinstance(run.get("arm"), str) and {"run_index", "status"} <= run.keys():
                found.append(run)
    return found


def missing(wanted: Iterator[Slot], folder: Path) -> list[Slot]:
    """List the runs that are still to be made, in order.

    Parameters
    ----------
    wanted : iterator of Slot
        All runs.
    folder : Path
        Study folder.

    Returns
    -------
    list of Slot
    """
    done = [(run["arm"], run["run_index"]) for run in recorded(folder) if run["status"] in FINISHED]
    known = {pair for pair in done if isinstance(pair[1], int)}
    return [slot for slot in wanted if (slot.arm, slot.index) not in known]


def has_finished(folder: Path, arm: str) -> bool:
    """Say whether a run of an arm has come to its end, well or not.

    Parameters
    ----------
    folder : Path
        Study folder.
    arm : str
        Its name.

    Returns
    -------
    bool
    """
    return any(run["arm"] == arm and run["status"] in FINISHED for run in recorded(folder))


def next_sequence(folder: Path) -> int:
    """Return the next free number of a run folder, also after crashes.

    Parameters
    ----------
    folder : Path
        Study folder.

    Returns
    -------
    int
    """
    numbers = [int(m[0]) for p in (folder / "runs").glob("*") if (m := re.match(r"\d+", p.name))]
    return max(numbers, default=-1) + 1
