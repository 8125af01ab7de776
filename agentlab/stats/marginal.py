"""marginal_fit(): memory as what sessions share, and what each of them adds."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from .bootstrap import Floats
    from .methods import Method
    from .outcome import Outcome
    from .runs import Runs, TableSource
    from .units import Mask

#: part -> column of the table ``memory``
_PARTS = {"anon": "anon_bytes", "file": "file_bytes", "total": "total_bytes"}


def marginal_fit(
    recs: TableSource, *, level: float = 0.95, n_resamples: int = 4999, seed: int = 0
) -> pd.DataFrame:
    """Fit settled memory over the number of sessions: what all sessions share, and what each of them adds.

    Each run gives one value, the median of its settled samples; the line goes through the runs of all numbers
    of sessions. File pages are shared (their line is flat), anonymous memory is not, so one number for both
    depends on how many sessions somebody happened to start. Runs that were discarded (a session that never
    became ready, a machine under memory pressure) are not in it. Whole blocks, one run of every number of
    sessions, are the independent units and are what is resampled; a study without blocks has its first runs,
    its second runs and so on in their place.

    In simulations with 3 to 10 blocks, noise that grows with the number of sessions and up to one run in
    seven discarded, 95 % of the 95 % intervals hold the truth; with noise as skewed as a lognormal of sigma
    0.8, 86 % at 5 blocks and 92 % at 10, as for every mean of few skewed values.

    Parameters
    ----------
    recs : Recordings
        A study in which ``sessions`` is swept, e.g. ``Terminal("codex", sessions=(1, 4, 10))``.
    level : float
        Nominal coverage, 0 < level < 1. Only 0.95 is tested.
    n_resamples : int
        Resamples, at least 100.
    seed : int
        Seed of the draws, >= 0.

    Returns
    -------
    pandas.DataFrame
        One row per arm and part (``anon``, ``file``, ``total``): sessions, slope_bytes and intercept_bytes
        with the ends of their intervals (t over blocks united with an expanded percentile interval), r2,
        residual_bytes, coverage, status, flags and reason as in :func:`agentlab.compare`. Flags beside those
        of there: ``few_blocks`` (3 or 4), ``curved`` (blocks agree that it is no line), ``swapped`` (a part
        of the anonymous memory was in swap and is in ``total`` only).

    Raises
    ------
    ConfigError
        An argument is wrong.

    Examples
    --------
    >>> import tempfile
    >>> import agentlab as al
    >>> from agentlab.testing.memory import write_memory_study
    >>> recs = al.load(write_memory_study(tempfile.mkdtemp() + "/s", runs=5))
    >>> fit = al.marginal_fit(recs).query("arm == 'single' and part == 'anon'").iloc[0]
    >>> f"{fit.slope_bytes / 2**20:.0f} MiB for each of {fit.sessions} sessions, {fit.n_blocks} blocks"
    '113 MiB for each of 1,4,10 sessions, 5 blocks'
    """
    from .bootstrap import Draws
    from .compare import check_options
    from .methods import Method
    from .runs import Runs

    check_options(level=level, n_resamples=n_resamples, seed=seed)
    runs = Runs(recs, by="marginal_fit")
    method = Method("auto", float(level), Draws(int(seed), int(n_resamples)))
    rows = [_row(runs, arm, part, column, method) for arm in runs.arms for part, column in _PARTS.items()]
    return _frame(rows)


def _row(runs: Runs, arm: str, part: str, column: str, method: Method) -> dict[str, Any]:
    from .line import around, is_curved
    from .reduce import measure
    from .rows import level

    of_slope, of_intercept = _metrics(part, column)
    measured = measure(runs, of_slope)
    slope = level(runs, of_slope, measured, arm, method)
    intercept = level(runs, of_intercept, measure(runs, of_intercept), arm, method).outcome
    told = slope.outcome if slope.outcome.status != "ok" else intercept
    flags = slope.outcome.flags | intercept.flags
    used = (runs.arm == arm) & measured.usable & measured.has_data
    r2 = residual = None
    if measured.points is not None and slope.outcome.estimate is not None:
        r2, residual = around(measured.points, used, slope.outcome.estimate, intercept.estimate or 0.0)
        flags |= {"curved"} if is_curved(measured.points, used, method.level) else set()
    if part == "anon" and _swapped(runs, used):
        flags |= {"swapped"}
    return {
        "arm": arm,
        "part": part,
        "sessions": None if measured.points is None else _listed(measured.points.x[used]),
        **_ends("slope", slope.outcome),
        **_ends("intercept", intercept),
        **vars(slope.coverage),
        "interval": told.interval,
        "r2": r2,
        "residual_bytes": residual,
        "level": method.level,
        "n_resamples": told.n_resamples,
        "seed": None if told.n_resamples is None else method.draws.seed,
        "status": told.status,
        "flags": ",".join(sorted(flags)),
        "reason": told.reason,
    }


def _metrics(part: str, column: str) -> tuple[Metric, Metric]:
    slope = Metric(
        name=f"{part}_slope", table="memory", column=column, of="n_sessions", where={"settled": True},
        aggregate="marginal", unit="bytes",
    )  # fmt: skip
    return slope, dataclasses.replace(slope, name=f"{part}_intercept", aggregate="intercept")


def _ends(name: str, outcome: Outcome) -> dict[str, float | None]:
    return {
        f"{name}_bytes": outcome.estimate,
        f"{name}_lower_bytes": outcome.lower,
        f"{name}_upper_bytes": outcome.upper,
    }


def _listed(sessions: Floats) -> str | None:
    return ",".join(str(int(n)) for n in sorted(set(sessions.tolist()))) or None


def _swapped(runs: Runs, used: Mask) -> bool:
    """Say whether settled memory of the used runs was in swap."""
    frame, run = runs.rows("memory")
    swapped = (frame["settled"] & (frame["swap_pss_bytes"] > 0)).to_numpy(dtype=bool, na_value=False)
    return bool(used[run[swapped & (run >= 0)]].any())


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    from ..frames.accessor import register
    from ..frames.marginal import MARGINAL

    register()
    return pd.DataFrame(
        {c.name: pd.Series([row.get(c.name) for row in rows], dtype=c.dtype) for c in MARGINAL}
    )
