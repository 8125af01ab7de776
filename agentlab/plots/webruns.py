"""What figures of a page in a browser draw: rows of one table by arm and run, and what is said of runs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class WebRuns:
    """The rows of the runs that are used.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows of one table, of eligible runs.
    arms : list of str
        All arms, in the order of the study.
    coverage : list of str
        Sentences for the caption.
    studies : list of dict
        For the provenance.
    """

    rows: pd.DataFrame
    arms: list[str]
    coverage: list[str]
    studies: list[dict[str, Any]]

    def of(self, arm: str) -> tuple[pd.DataFrame, NDArray[np.intp], int]:
        """Return the rows of an arm, the run of each, and the number of runs that have any.

        Parameters
        ----------
        arm : str
            Its name.

        Returns
        -------
        tuple of DataFrame, array of int and int
        """
        import numpy as np

        own = self.rows[(self.rows["arm"] == arm).fillna(value=False)]
        groups = own.groupby(_keys(own), sort=False, dropna=False).ngroup()
        run = np.asarray(groups, dtype=np.intp)
        return own, run, int(run.max()) + 1 if len(run) else 0

    def streamed(self, arm: str) -> tuple[pd.DataFrame, NDArray[np.intp], int]:
        """Return what :meth:`of` does, but only rows that begin while the answer streams; runs stay counted.

        Parameters
        ----------
        arm : str
            Its name.

        Returns
        -------
        tuple of DataFrame, array of int and int
        """
        own, run, n_runs = self.of(arm)
        if "phase" not in own:
            return own, run, n_runs
        chosen = (own["phase"] == "stream").fillna(value=False).to_numpy(dtype=bool)
        return own[chosen], run[chosen], n_runs

    def doubts(self) -> list[str]:
        """Say how many rows of the stream have no end in the trace.

        Returns
        -------
        list of str
        """
        if "open" not in self.rows:
            return []
        counts = {arm: int(self.streamed(arm)[0]["open"].fillna(value=False).sum()) for arm in self.arms}
        said = [f"{arm} {n:,}" for arm, n in counts.items() if n]
        return [f"Without an end in the trace: {', '.join(said)}."] if said else []


def web_runs(given: Any, table: str, needed: tuple[str, ...], function: str) -> WebRuns:  # noqa: ANN401
    """Read recordings or one of their tables.

    Parameters
    ----------
    given : Recordings or pandas.DataFrame
        What a figure was given.
    table : str
        Name of the table.
    needed : tuple of str
        Columns that it must have.
    function : str
        Who asks, for the message.

    Returns
    -------
    WebRuns

    Raises
    ------
    ConfigError
        It is neither.
    """
    import pandas as pd

    is_recs = hasattr(given, "coverage") and hasattr(given, "table")
    frame: Any = given.table(table) if is_recs else given
    if not isinstance(frame, pd.DataFrame) or not set(frame.columns) >= set(needed):
        raise ConfigError(
            f"{function}({type(given).__name__}): give Recordings, or their table `{table}` (with "
            f"{', '.join(needed)}); a study under way is awaited first"
        )
    runs: pd.DataFrame | None = given.runs if is_recs else None
    stated = given.arms if is_recs else ()
    arms = list(dict.fromkeys(map(str, [*stated, *frame["arm"]])))
    used = frame[_eligible(frame)].reset_index(drop=True)
    studies = list(dict.fromkeys(map(str, frame["study"].dropna()))) if "study" in frame else []
    return WebRuns(
        rows=used,
        arms=arms,
        coverage=_coverage(frame, runs, arms),
        studies=[{"name": name} for name in studies],
    )


def _keys(frame: pd.DataFrame) -> list[str]:
    return [key for key in ("study", "run_id") if key in frame]


def _eligible(frame: pd.DataFrame) -> pd.Series[bool]:
    import pandas as pd

    if "eligible" not in frame:
        return pd.Series(True, index=frame.index, dtype=bool)
    return frame["eligible"].astype("boolean").fillna(value=True).astype(bool)


def _coverage(frame: pd.DataFrame, runs: pd.DataFrame | None, arms: list[str]) -> list[str]:
    table = runs if runs is not None else frame.drop_duplicates(_keys(frame))
    parts = [_arm_coverage(frame, table[(table["arm"] == arm).fillna(value=False)], arm) for arm in arms]
    return [f"Runs used: {'; '.join(parts)}." if parts else "There is no run."]


def _arm_coverage(frame: pd.DataFrame, own: pd.DataFrame, arm: str) -> str:
    """Say the runs of an arm that are used, those without any such row, and those discarded and by what."""
    eligible = own[_eligible(own)]
    have = set(frame[_keys(frame)].itertuples(index=False, name=None))
    without = sum(key not in have for key in eligible[_keys(frame)].itertuples(index=False, name=None))
    said = f"{arm} {len(eligible) - without:,}"
    parts = [f"{without:,} not recorded in this way"] if without else []
    lost = own[~_eligible(own)]
    if len(lost):
        codes = lost["reason"].fillna("unknown").value_counts() if "reason" in own else {}
        because = ", ".join(f"{code} {n:,}" for code, n in codes.items())
        parts.append(f"{len(lost):,} discarded{f': {because}' if because else ''}")
    return said + (f" ({'; '.join(parts)})" if parts else "")
