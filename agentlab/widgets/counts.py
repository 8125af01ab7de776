"""What a card counts of each arm: turns and requests of conversations, sessions and samples on terminals."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ..recording import Recordings


@dataclasses.dataclass(frozen=True)
class Counted:
    """One table that is counted.

    Parameters
    ----------
    table : str
        Its name.
    heads : tuple of str
        Of the columns for all, and for those that are unknown.
    column : str
        NA: unknown.
    by_run : bool
        Count runs that have nothing known, in place of rows.
    """

    table: str
    heads: tuple[str, str]
    column: str
    by_run: bool = False


TALK = (
    Counted("turns", ("turns", "TTFT unknown"), "ttft_ms"),
    Counted("requests", ("requests", "tokens unknown"), "input_total_tokens"),
)
TERMINAL = (
    Counted("sessions", ("sessions", "input unknown"), "first_input_ms"),
    Counted("memory", ("samples settled", "runs without"), "total_bytes", by_run=True),
)
EXEC = (Counted("exec", ("calls", "delay unknown"), "delay_ms"),)


def counted(recs: Recordings) -> tuple[Counted, ...]:
    """Choose what is counted: terminals and exec sessions where there are any, and then nothing else.

    Parameters
    ----------
    recs : Recordings
        What was measured.

    Returns
    -------
    tuple of Counted
    """
    drivers = {str(run.info.part("identity").get("driver")) for run in recs}
    swept = any((run.info.raw.get("n_sessions") or 1) > 1 for run in recs)
    found = TERMINAL if swept or "terminal" in drivers else ()
    found += EXEC if "exec" in drivers else ()
    silent = recs.scenario is not None and not recs.scenario.get("turns")
    alone = drivers <= {"terminal", "exec"} or silent
    return found if found and alone else (*TALK, *found)


def counts(recs: Recordings, what: tuple[Counted, ...]) -> dict[str, dict[str, int]]:
    """Count rows of used runs by arm.

    Parameters
    ----------
    recs : Recordings
        What was measured.
    what : tuple of Counted
        What.

    Returns
    -------
    dict
        Arm to head to number; a table that is not read yet, or cannot be, leaves its heads out.
    """
    found: dict[str, dict[str, int]] = {arm: {} for arm in recs.arms}
    for one in what:
        try:
            if not recs.at_hand(one.table):
                continue
            frame = recs.table(one.table)
            used = frame[frame["eligible"].fillna(value=False).astype(bool)]
            for arm, cells in found.items():
                cells.update(zip(one.heads, _of_arm(recs, used[used["arm"] == arm], one, arm), strict=True))
        except Exception:  # a table may be damaged; the card still shows the others
            continue
    return found


def _of_arm(recs: Recordings, own: pd.DataFrame, one: Counted, arm: str) -> tuple[int, int]:
    if not one.by_run:
        return len(own), int(own[one.column].isna().sum())
    settled = own[own["settled"].fillna(value=False).astype(bool) & own[one.column].notna()]
    n_used = sum(run.eligible for run in recs if run.arm == arm)
    return len(settled), n_used - len(settled.drop_duplicates(["study", "run_id"]))
