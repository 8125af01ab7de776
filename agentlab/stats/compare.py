"""compare(): metrics of all arms, and of every arm against a reference, with intervals over runs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal, get_args

from ..errors import ConfigError, UnstableWarning
from .metrics import Interval, Metric, named, names

if TYPE_CHECKING:
    import pandas as pd

    from .estimates import Row
    from .runs import TableSource

#: More withheld intervals than these are told by metric.
_NAMED = 6


def compare(
    recs: TableSource,
    *metrics: Metric | str,
    reference: str | None = None,
    paired: bool | Literal["auto"] = "auto",
    level: float = 0.95,
    n_resamples: int = 4999,
    interval: Interval = "auto",
    seed: int = 0,
    baseline: TableSource | None = None,
) -> pd.DataFrame:
    """Estimate metrics of all arms and their differences, with intervals whose unit is the run.

    Rows inside one run are not independent, so whole runs (paired: whole blocks) are what is resampled and
    what degrees of freedom are counted in. Nothing is raised for data that cannot carry an interval: such a
    row has a status other than ``"ok"`` and a reason.

    Parameters
    ----------
    recs : Recordings
        What was recorded, or any object with `runs` and `table(name)`.
    *metrics : Metric or str
        E.g. ``agentlab.metrics.TTFT``, or its name.
    reference : str, optional
        Arm that all others are compared with; default: the first arm of the study.
    paired : bool or "auto"
        Whether arms are compared within blocks. A block with a run that is not eligible leaves the difference
        but stays in the levels. ``"auto"``: yes when all runs of both arms stand in blocks and at least 3
        blocks are complete.
    level : float
        Nominal coverage, 0 < level < 1. Only 0.95 is tested; others are flagged ``level_untested``.
    n_resamples : int
        Resamples, at least 100; the more, the smaller the noise of resampled ends.
    interval : str
        ``"auto"`` is the tested choice. Levels: means, counts, sums per run and ratios log t with CR2
        standard error united with an expanded percentile interval (t in place of log t when a value is below
        0, and for slopes); shares Wilson on the effective sample size; quantiles score inversion, further out
        than a tenth Woodruff's limits united with log t. Differences: Welch t or paired t with CR2; shares of
        independent arms MOVER of their Wilson limits; quantiles t with a bootstrap standard error. Ratios:
        log t united with a bootstrap-t; shares of independent arms MOVER and quantiles t with a bootstrap
        standard error, both on the log scale.
        ``"percentile"``, ``"bca"``, ``"basic"`` and ``"studentized"`` are what they are elsewhere, and cover
        less at few runs. ``"original"`` is the interval of a schema-2 cache report, digit for digit: 2,000
        draws of that report's own generator, whatever `n_resamples` and `seed`.
    seed : int
        Seed of the draws, >= 0. The same seed gives the same frame, whatever the order of its rows.
    baseline : Recordings, optional
        Recordings of one arm, made earlier: they stand as the arm ``"baseline"``, which is the default
        reference. :func:`agentlab.verdicts` says what became better or worse beyond the noise of the runs.

    Returns
    -------
    pandas.DataFrame
        One row per metric, kind (``level``, ``difference``, ``ratio``) and arm, metric by metric:
        metric, unit, better, kind, arm, reference, estimate, lower, upper, level, interval (method really
        used), paired, n_runs, n_blocks, n_blocks_dropped, n_discarded, n_missing (unknown rows), n_rows,
        n_resamples, seed, status (ok, no_data, too_few_runs, degenerate, unsupported, mixed_setup, invalid),
        flags (comma separated), reason. A difference is arm minus reference, a ratio arm over reference.
        ``frame.attrs["agentlab"]`` names the studies. In a notebook it shows itself as a card.

    Raises
    ------
    ConfigError
        An argument is wrong, or a metric, arm or column does not exist; the message names those that do.

    Warns
    -----
    UnstableWarning
        Once, when an interval is withheld because all runs are equal.

    Examples
    --------
    >>> import agentlab as al
    >>> recs = al.load(al.example("cache"))  # doctest: +SKIP
    >>> al.compare(recs, al.metrics.TTFT, "CACHE_HIT_RATE", reference="stable")  # doctest: +SKIP
    """
    chosen = [_metric(metric) for metric in metrics]
    if not chosen:
        raise ConfigError(f"compare() needs at least one metric; there are {', '.join(names())}")
    check_options(level=level, n_resamples=n_resamples, seed=seed)
    _check_choices(paired=paired, level=level, interval=interval)

    from .bootstrap import Draws
    from .estimates import to_frame
    from .frame import Estimates
    from .methods import Method
    from .rows import rows
    from .runs import Runs

    if baseline is not None:
        from .baseline import NAME, Beside

        recs, reference = Beside(recs, baseline), reference or NAME
    runs = Runs(recs)
    if runs.arms and reference is not None and reference not in runs.arms:
        raise ConfigError(f"there is no arm {reference!r} to compare with; there are {', '.join(runs.arms)}")
    if len(runs.arms) > 1 and reference is None:
        reference = runs.arms[0]
    method = Method(interval, float(level), Draws(int(seed), int(n_resamples)))
    made = list(rows(runs, chosen, reference, paired, method))
    equal = [row for row in made if "constant" in row.outcome.flags]
    if equal:
        message = f"all runs are equal, so no interval is given: {_listed(equal)}"
        warnings.warn(message, UnstableWarning, stacklevel=2)
    frame = Estimates(to_frame(made, level=float(level), seed=None if method.parity else int(seed)))
    studies = getattr(recs, "studies", None) or [{"name": name} for name in runs.studies]
    labels = {metric.name: metric.title for metric in chosen}
    frame.attrs["agentlab"] = {"studies": studies, "reference": reference, "labels": labels}
    return frame


def _listed(made: Sequence[Row]) -> str:
    """Name rows of estimates: each of a few, by metric when they are many."""
    if len(made) <= _NAMED:
        return ", ".join(f"{row.metric.name} ({row.kind}, {row.arm})" for row in made)
    counts = Counter(row.metric.name for row in made)
    return ", ".join(f"{name} ({n} estimates)" for name, n in counts.items())


def _metric(metric: object) -> Metric:
    if isinstance(metric, str):
        return named(metric)
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, (list, tuple)):
        raise ConfigError(
            f"a metric is a {type(metric).__name__} of several; unpack it: compare(recs, *CACHE_REPORT)"
        )
    raise ConfigError(f"{metric!r} is no metric; use a Metric or one of the names {', '.join(names())}")


def _check_choices(*, paired: object, level: float, interval: object) -> None:
    if interval not in get_args(Interval):
        raise ConfigError(f"interval is {interval!r}; use one of {', '.join(get_args(Interval))}")
    if paired not in (True, False, "auto"):
        raise ConfigError(f'paired is {paired!r}; use True, False or "auto"')
    if interval == "original" and level != 0.95:
        raise ConfigError(f'interval="original" is a 95 % interval; level is {level!r}')


def check_options(*, level: object, n_resamples: object, seed: object) -> None:
    """Check what every estimate with resamples takes.

    Parameters
    ----------
    level : object
        Nominal coverage, 0 < level < 1.
    n_resamples : object
        Whole number from 100.
    seed : object
        Whole number from 0.

    Raises
    ------
    ConfigError
        One of them is wrong.
    """
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ConfigError(f"level is {level!r}; use a number between 0 and 1, e.g. 0.95")
    for name, value, least in (("n_resamples", n_resamples, 100), ("seed", seed, 0)):
        if not isinstance(value, Integral) or int(value) < least:
            raise ConfigError(f"{name} is {value!r}; use a whole number from {least}")
