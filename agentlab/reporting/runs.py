"""Which runs count, why others do not, and which one is shown in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..issues import CODES
from ..plots import words
from .blocks import Block, never_fails, sentences, table

if TYPE_CHECKING:
    from ..recording import Recording, Recordings

_MOST = 12
_TURNS = ("turns used", "warm-up turns")


def read(study: list[str], kept: list[str] | None = None) -> Recordings:
    """Read the runs of a report.

    Parameters
    ----------
    study : list of str
        Paths, as for :func:`agentlab.load`.
    kept : list of str, optional
        Ids of the runs to show; all when absent.

    Returns
    -------
    Recordings
    """
    from ..recording import load

    recs = load(study)
    return recs if kept is None else recs.where(run_id=kept)


@never_fails
def coverage(recs: Recordings) -> Block:
    """Show how many runs of each arm are used, and why the others are not.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    arms = recs.coverage()
    if not arms:
        return sentences(["There is no run."])
    turns = recs.turns
    rows: list[list[str]] = []
    for arm in arms:
        own = turns[(turns["arm"] == arm["arm"]) & turns["eligible"].fillna(value=False)]
        because = ", ".join(f"{code} {n:,}" for code, n in arm["reasons"].items())
        counts = [f"{arm[name]:,}" for name in ("n_runs", "n_used", "n_discarded")]
        warm = int(own["warmup"].fillna(value=False).sum())
        prompted = [f"{len(own) - warm:,}", f"{warm:,}"] if len(turns) else []
        rows.append([arm["arm"], *counts, because or "none", *prompted])
    head = ["arm", "runs", "used", "discarded", "because", *(_TURNS if len(turns) else ())]
    return table(head, rows, right=(1, 2, 3, 5, 6), notes=_discarded(recs))


def _discarded(recs: Recordings) -> list[str]:
    """Name the discarded runs, with their reasons."""
    lost = [run for run in recs if not run.eligible]
    lines = [f"{run.run_id}: {', '.join(run.info.discard_codes) or run.info.status}" for run in lost[:_MOST]]
    more = [f"and {len(lost) - _MOST:,} more"] if len(lost) > _MOST else []
    return ["Discarded: " + "; ".join([*lines, *more]) + "."] if lost else ["No run was discarded."]


@never_fails
def issues(recs: Recordings) -> Block:
    """Explain every code that occurs.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    frame = recs.issues
    if frame.empty:
        return sentences(["No run carries an issue."])
    rows: list[list[str]] = []
    frame = frame.assign(discard=frame["discard"].fillna(value=False)).sort_values("discard", ascending=False)
    for (discard, code), own in frame.groupby(["discard", "code"], sort=False):
        runs = own.drop_duplicates(["study", "run_id"])
        by_arm = ", ".join(f"{arm} {n:,}" for arm, n in runs["arm"].value_counts(sort=False).items())
        details = [str(detail) for detail in own["detail"].dropna().unique()]
        example = f"e.g. {details[0][:200]}" if details else ""
        meaning = CODES.get(str(code), "a code of the driver")
        rows.append(
            [str(code), f"{len(runs):,}", by_arm, "discarded" if discard else "kept", meaning, example]
        )
    head = ["code", "runs", "by arm", "the run is", "meaning", "detail"]
    return table(head, rows[: 2 * _MOST], right=(1,), notes=[_more(len(rows))])


def _more(n: int) -> str:
    return f"{n - 2 * _MOST:,} more codes are in the table issues." if n > 2 * _MOST else ""


def typical(recs: Recordings) -> Recording:
    """Choose the run that is shown in full: of median duration among the used ones of the first arm.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Recording

    Raises
    ------
    ConfigError
        There is no run.
    """
    if not len(recs):
        raise ConfigError("there is no run")
    runs = recs.runs
    used = runs[runs["eligible"].fillna(value=False)]
    pool = used if len(used) else runs
    first = pool[pool["arm"] == next(arm for arm in recs.arms if (pool["arm"] == arm).any())]
    ordered = first.sort_values("duration_s", kind="stable")
    at = (ordered["duration_s"].notna().sum() - 1) // 2
    row = ordered.iloc[max(int(at), 0)]
    return next(run for run in recs if run.info.study == row["study"] and run.run_id == row["run_id"])


@never_fails
def choice(recs: Recordings) -> Block:
    """Say which run is shown in full, and why that one.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    Block
    """
    if not len(recs):
        return sentences(["There is no run."])
    run = typical(recs)
    alike = sum(r.arm == run.arm and r.eligible == run.eligible for r in recs)
    of = f"{words.count(alike, 'run')} of {run.arm}"
    what = f"the used {of}" if run.eligible else f"the {of}, none of which can be used"
    return sentences([f"Run {run.run_id}: the one of median duration among {what}."])
