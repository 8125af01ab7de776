"""The runs behind an estimate: what each says alone, and whether the estimate stands on it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...stats.metrics import Metric

if TYPE_CHECKING:
    from ...recording import Recording, Recordings
    from ...stats.runs import Runs

Key = tuple[str, str]

_DROPPED = "block dropped"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run behind an estimate.

    Parameters
    ----------
    key : (str, str)
        Study and run id.
    arm : str
        Condition.
    block : int or None
        0-based.
    n_sessions : int or None
        Its number of sessions, a value that is swept.
    value : float or None
        The metric of this run alone.
    state : str
        ``used``, or why the estimate does not stand on it.
    issues : tuple of str
        Codes of its issues.
    """

    key: Key
    arm: str
    block: int | None
    n_sessions: int | None
    value: float | None
    state: str
    issues: tuple[str, ...]


def run_values(runs: Runs, metric: Metric) -> dict[Key, float]:
    """Compute a metric of each run alone; of a line through runs what the line goes through.

    Parameters
    ----------
    runs : Runs
        All runs.
    metric : Metric
        What to compute.

    Returns
    -------
    dict
        A run without a known value is not in it.
    """
    from ...stats.reduce import measure

    alone = dataclasses.replace(metric, per_run=True)
    if metric.across is not None:
        alone = dataclasses.replace(alone, aggregate="median", of=None)
    got = measure(runs, alone)
    studies = [str(study) for study in runs.frame["study"]]
    pairs = zip(studies, runs.run_id, got.a / got.b.clip(1e-300), got.has_data, strict=True)
    return {(study, str(run)): float(v) for study, run, v, known in pairs if known and math.isfinite(v)}


def runs_behind(
    recs: Recordings,
    arms: Sequence[str],
    *,
    values: Mapping[Key, float],
    left_out: Mapping[Key, tuple[str, ...]],
    paired: bool,
    discarded: bool = False,
) -> list[RunRow]:
    """List runs as they were recorded.

    Parameters
    ----------
    recs : Recordings
        All runs.
    arms : sequence of str
        Arms of the estimate.
    values : mapping
        What each run says alone.
    left_out : mapping
        Runs that the filter leaves out, with the codes that do it.
    paired : bool
        Whether the estimate is a difference within blocks: runs of an incomplete block are not in it.
    discarded : bool
        Whether the metric counts discarded runs, too.

    Returns
    -------
    list of RunRow
    """
    runs = [run for run in recs if run.arm in arms]
    again = _done_again(runs)
    rows = [_row(run, values, left_out, taken=discarded and _key(run) not in again) for run in runs]
    if not paired:
        return rows
    blocks: dict[tuple[str, int | None], list[RunRow]] = {}
    for row in rows:
        if row.key not in again:  # it spoils nothing
            blocks.setdefault((row.key[0], row.block), []).append(row)
    complete = {
        place
        for place, own in blocks.items()
        if place[1] is not None
        and {row.arm for row in own} == set(arms)
        and all(row.state == "used" for row in own)
    }
    return [
        row
        if row.state != "used" or (row.key[0], row.block) in complete
        else dataclasses.replace(row, state=_DROPPED)
        for row in rows
    ]


def _done_again(runs: Sequence[Recording]) -> set[Key]:
    """Name the runs that do not stand for their repetition: an eligible one does, else the last."""
    stands: dict[tuple[str, str, int | None], Recording] = {}
    for run in runs:
        before = stands.get(_repeat(run))
        if before is None or not before.eligible:
            stands[_repeat(run)] = run
    return {_key(run) for run in runs if stands[_repeat(run)] is not run}


def _key(run: Recording) -> Key:
    return run.info.study, run.run_id


def _repeat(run: Recording) -> tuple[str, str, int | None]:
    return run.info.study, run.arm, run.info.run_index


def _row(
    run: Recording, values: Mapping[Key, float], left_out: Mapping[Key, tuple[str, ...]], *, taken: bool
) -> RunRow:
    key = _key(run)
    value = values.get(key)
    used = run.eligible or taken
    state = "used" if used else "discarded: " + ", ".join(run.info.discard_codes)
    if key in left_out:
        state = "left out: " + ", ".join(left_out[key])
    elif used and value is None:
        state = "no value"
    codes = tuple(dict.fromkeys(issue.code for issue in run.issues))
    swept = run.info.raw.get("n_sessions")
    return RunRow(
        key=key,
        arm=run.arm,
        block=run.info.block,
        n_sessions=swept if isinstance(swept, int) else None,
        value=value,
        state=state,
        issues=codes,
    )
