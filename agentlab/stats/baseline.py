"""A baseline beside a study: recordings made earlier, as one more arm to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .runs import TableSource, check_source

if TYPE_CHECKING:
    import pandas as pd

#: Name of the arm that the baseline becomes.
NAME = "baseline"


class Beside:
    """The tables of a study, with those of a baseline as one more arm of a study of its own.

    Runs of two studies share no block, so what is compared with a baseline is never paired.

    Parameters
    ----------
    recs : TableSource
        What was recorded.
    baseline : TableSource
        What it is compared with: runs of one arm.

    Raises
    ------
    ConfigError
        The baseline is no recordings, has none or several arms, or `recs` has an arm of that name.
    """

    def __init__(self, recs: TableSource, baseline: TableSource) -> None:
        check_source(recs, "compare")
        check_source(baseline, "compare", argument="baseline=")
        named = [str(arm) for arm in dict.fromkeys(baseline.runs["arm"])]
        if len(named) != 1:
            listed = ", ".join(named) or "none"
            raise ConfigError(
                f"compare(baseline=...): it must be of one arm, and has {listed}; choose one with "
                "load(...).where(arm=...)"
            )
        self._recs, self._baseline = recs, baseline
        runs = recs.runs
        own = list(dict.fromkeys([*getattr(recs, "arms", ()), *map(str, runs["arm"])]))
        if NAME in own:
            raise ConfigError(
                f"compare(baseline=...): there is an arm {NAME!r} already; use reference={NAME!r}"
            )
        self.arms = (*own, NAME)
        self.runs = self._both(runs, baseline.runs)

    @property
    def studies(self) -> list[dict[str, Any]]:
        """Studies of both, for the provenance."""
        found = [*getattr(self._recs, "studies", ())]
        return found + [{**study, "baseline": True} for study in getattr(self._baseline, "studies", ())]

    def table(self, name: str) -> pd.DataFrame:
        """Return one table.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        pandas.DataFrame
            Rows of both.
        """
        return self._both(self._recs.table(name), self._baseline.table(name))

    def _both(self, mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        # a study of one name may be both, at two places
        theirs = theirs.assign(study=NAME + ": " + theirs["study"], arm=NAME)
        theirs = theirs.astype({name: mine[name].dtype for name in ("study", "arm")})
        parts = [part for part in (mine, theirs) if len(part)]
        return pd.concat(parts, ignore_index=True) if parts else mine
