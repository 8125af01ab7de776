"""What figures of memory draw: each run's samples in MiB and seconds, and what is said of the runs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from . import words

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

MIB = float(1 << 20)
#: The issue that discards a run for the machine's sake: such a run is drawn apart, and both figures are said.
PRESSURE = "memory_pressure"
_NEEDED = {"arm", "run_id", "t_ms", "pss_bytes"}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RunCurve:
    """The memory of one run in time.

    Parameters
    ----------
    arm : str
        Its arm.
    n_sessions : int or None
        How many sessions it had.
    seconds : array of float
        Since its sessions were launched, or since it began where that is not told.
    parts : dict of str to array of float
        ``total`` (PSS + SwapPSS), ``anon``, ``file``; MiB, NaN where unknown.
    settled : array of bool
        Which samples are of the plateau.
    ready_s, settled_s : float or None
        When all sessions were ready, and the first sample of the plateau.
    pressed : bool
        Discarded for nothing but memory pressure.
    """

    arm: str
    n_sessions: int | None
    seconds: Numbers
    parts: dict[str, Numbers]
    settled: NDArray[np.bool_]
    ready_s: float | None
    settled_s: float | None
    pressed: bool

    def known(self, part: str) -> tuple[Numbers, Numbers]:
        """Return seconds and MiB of a part where it is known.

        Parameters
        ----------
        part : {"total", "anon", "file"}
            Which.

        Returns
        -------
        tuple of array
        """
        import numpy as np

        there = np.isfinite(self.parts[part]) & np.isfinite(self.seconds)
        return self.seconds[there], self.parts[part][there]

    def level(self, part: str) -> float | None:
        """Return the median of a part over the settled samples that are known, MiB; None without any.

        Parameters
        ----------
        part : {"total", "anon", "file"}
            Which.

        Returns
        -------
        float or None
        """
        import numpy as np

        values = self.parts[part][self.settled]
        known = values[np.isfinite(values)]
        return float(np.median(known)) if len(known) else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """All that is drawn.

    Parameters
    ----------
    curves : list of RunCurve
        Of the runs that are used, and of those discarded for memory pressure alone.
    arms : list of str
        All arms, in the order of the study.
    coverage : list of str
        Sentences for the caption.
    studies : list of dict
        For the provenance.
    """

    curves: list[RunCurve]
    arms: list[str]
    coverage: list[str]
    studies: list[dict[str, Any]]


def measured(frame_or_recs: Any) -> Measured:  # noqa: ANN401
    """Read recordings or a table of memory.

    Parameters
    ----------
    frame_or_recs : Recordings or pandas.DataFrame
        As given to :func:`agentlab.plot_memory`.

    Returns
    -------
    Measured

    Raises
    ------
    ConfigError
        It is neither.
    """
    memory, runs = _tables(frame_or_recs)
    spawned = {} if runs is None else _spawned(frame_or_recs)
    stated = () if runs is None else getattr(frame_or_recs, "arms", ())
    arms = list(dict.fromkeys(map(str, [*stated, *(runs if runs is not None else memory)["arm"]])))
    keys = [key for key in ("study", "run_id") if key in memory]
    pressed = _pressed(runs, keys)
    slow = memory[(memory["lane"] == "slow").fillna(value=False)] if "lane" in memory else memory
    if "phase" in slow:  # its sessions are being ended
        slow = slow[(slow["phase"] != "end").fillna(value=True)]
    eligible = _true(slow, "eligible", default=True)
    curves = [
        _curve(own, spawned.get(key), pressed=key in pressed)
        for key, own in slow.groupby(keys, sort=False, dropna=False)
        if eligible[own.index].all() or key in pressed
    ]
    return Measured(
        curves=curves, arms=arms, coverage=_coverage(runs, memory, arms, keys), studies=_studies(memory)
    )


def both_figures(curves: Sequence[RunCurve]) -> list[str]:
    """Say the settled totals with and without the runs under memory pressure, where there are such runs.

    Parameters
    ----------
    curves : sequence of RunCurve
        Of :func:`measured`.

    Returns
    -------
    list of str
        One for each arm and number of sessions that has any, in MiB.
    """
    said: list[str] = []
    for arm, n in dict.fromkeys((curve.arm, curve.n_sessions) for curve in curves if curve.pressed):
        own = [curve for curve in curves if (curve.arm, curve.n_sessions) == (arm, n)]
        name = arm if n is None else f"{arm}, {words.count(n, 'session')}"
        without = _middle([curve for curve in own if not curve.pressed])
        n_pressed = sum(curve.pressed for curve in own)
        said.append(f"{name}: {without} without, {_middle(own)} with {n_pressed:,}")
    return said


def _middle(curves: Sequence[RunCurve]) -> str:
    levels = [level for curve in curves if (level := curve.level("total")) is not None]
    return f"{words.value(statistics.median(levels))} MiB" if levels else "no run"


def _tables(given: Any) -> tuple[pd.DataFrame, pd.DataFrame | None]:  # noqa: ANN401
    import pandas as pd

    is_recs = hasattr(given, "coverage") and hasattr(given, "table")
    memory = given.table("memory") if is_recs else given
    if not isinstance(memory, pd.DataFrame) or not set(memory.columns) >= _NEEDED:
        raise ConfigError(
            f"plot_memory({type(given).__name__}): give Recordings, or their table `memory` (with "
            f"{', '.join(sorted(_NEEDED))} ...); a study under way is awaited first"
        )
    return memory.reset_index(drop=True), given.runs if is_recs else None


def _true(frame: pd.DataFrame, column: str, *, default: bool) -> pd.Series[bool]:
    import pandas as pd

    if column not in frame:
        return pd.Series(default, index=frame.index, dtype=bool)
    return frame[column].astype("boolean").fillna(value=default).astype(bool)


def _pressed(runs: pd.DataFrame | None, keys: list[str]) -> set[Any]:
    if runs is None:
        return set()
    own = runs[(runs["reason"] == PRESSURE).fillna(value=False) & (runs["status"] == "complete")]
    return set(own[keys].itertuples(index=False, name=None))


def _spawned(recs: Any) -> dict[Any, float]:  # noqa: ANN401
    """Return when the first session of each run was spawned, CLOCK_MONOTONIC ns."""
    sessions = recs.table("sessions")
    known = sessions[sessions["spawn_ns"].notna()]
    first = known.groupby(["study", "run_id"], sort=False)["spawn_ns"].min()
    return {key: float(t) for key, t in first.items()}


def _curve(rows: pd.DataFrame, spawn_ns: float | None, *, pressed: bool) -> RunCurve:
    arm, counts = str(rows["arm"].iloc[0]), rows["n_sessions"].dropna() if "n_sessions" in rows else ()
    rows = rows.sort_values("t_ms")
    at = _numbers(rows["t_ms"]) / 1e3
    phase = [str(name) for name in rows["phase"]] if "phase" in rows else [""] * len(rows)
    begin = _begin(rows, at, phase, spawn_ns)
    total = rows["total_bytes"] if "total_bytes" in rows else rows["pss_bytes"] + rows["swap_pss_bytes"]
    parts = {"total": total, **{name: rows[f"{name}_bytes"] for name in ("anon", "file")}}
    ready = _first(at, [name not in ("", "launch", "<NA>") for name in phase])
    settled = _first(at, list(_true(rows, "settled", default=False)))
    return RunCurve(
        arm=arm,
        n_sessions=next((int(n) for n in counts), None),
        seconds=at - begin,
        parts={name: _numbers(column) / MIB for name, column in parts.items()},
        ready_s=None if ready is None else ready - begin,
        settled=_true(rows, "settled", default=False).to_numpy(),
        settled_s=None if settled is None else settled - begin,
        pressed=pressed,
    )


def _begin(rows: pd.DataFrame, at: Numbers, phase: list[str], spawn_ns: float | None) -> float:
    """Return the launch in seconds of the samples' own axis: the spawn, else the first sample after it."""
    if spawn_ns is not None and rows["t_ns"].notna().any():
        stamps = (_numbers(rows["t_ns"]) - spawn_ns) / 1e9
        return next((float(t - s) for t, s in zip(at, stamps, strict=True) if t - s == t - s), 0.0)
    return _first(at, [name == "launch" for name in phase]) or 0.0


def _first(at: Numbers, hits: list[bool]) -> float | None:
    return next((float(t) for t, hit in zip(at, hits, strict=True) if hit and t == t), None)


def _numbers(column: pd.Series[Any]) -> Numbers:
    return column.to_numpy(dtype=float, na_value=float("nan"))


def _studies(memory: pd.DataFrame) -> list[dict[str, Any]]:
    if "study" not in memory:
        return []
    return [{"name": name} for name in dict.fromkeys(map(str, memory["study"].dropna()))]


def _coverage(runs: pd.DataFrame | None, memory: pd.DataFrame, arms: list[str], keys: list[str]) -> list[str]:
    """Say the runs used, discarded and by what, and the processes that could not be read."""
    table = runs if runs is not None else memory.drop_duplicates(keys)
    parts = [_arm_coverage(table[table["arm"] == arm], arm) for arm in arms]
    said = [f"Runs used: {'; '.join(parts)}." if parts else "There is no run."]
    if "n_unreadable" in memory:
        used = memory[_true(memory, "eligible", default=True)]
        unread = used[used["n_unreadable"].fillna(0) > 0]
        if len(unread):
            names = ", ".join(dict.fromkeys(map(str, unread["arm"])))
            said.append(
                f"Samples with processes that could not be read, whose memory is not in the sums: "
                f"{len(unread):,} of {len(used):,} ({names})."
            )
    return said


def _arm_coverage(own: pd.DataFrame, arm: str) -> str:
    eligible = _true(own, "eligible", default=True)
    said = f"{arm} {int(eligible.sum()):,}"
    lost = own[~eligible]
    if len(lost):
        codes = lost["reason"].fillna("unknown").value_counts() if "reason" in own else {}
        because = ", ".join(f"{code} {n:,}" for code, n in codes.items())
        said += f" ({len(lost):,} discarded{f': {because}' if because else ''})"
    return said
