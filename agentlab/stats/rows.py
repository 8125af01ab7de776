"""Make the rows of the estimates frame: levels of all arms, then every arm against the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from .estimates import Coverage, Row
from .methods import Method
from .metrics import Metric
from .outcome import Outcome
from .pairing import count_blocks, pair
from .reduce import measure
from .runs import Runs
from .twoarms import TwoArms
from .units import Mask, Measured


def rows(
    runs: Runs,
    metrics: Sequence[Metric],
    reference: str | None,
    paired: bool | Literal["auto"],
    method: Method,
) -> Iterator[Row]:
    """Compute every row.

    Parameters
    ----------
    runs : Runs
        The study.
    metrics : sequence of Metric
        What to compute.
    reference : str or None
        Arm that the others are compared with; None for levels only.
    paired : bool or "auto"
        Whether differences are taken within blocks.
    method : Method
        How intervals are made.
    """
    for metric in metrics:
        if not runs.arms:
            yield Row(metric=metric, kind="level", outcome=_no_data("no runs"))
            continue
        measured = measure(runs, metric)
        for arm in runs.arms:
            yield level(runs, metric, measured, arm, method)
        for arm in runs.arms:
            if reference is not None and arm != reference:
                yield from _against(runs, metric, measured, (arm, reference), paired, method)


def level(runs: Runs, metric: Metric, measured: Measured, arm: str, method: Method) -> Row:
    """Compute the level of one arm.

    Parameters
    ----------
    runs : Runs
        The study.
    metric : Metric
        What to compute.
    measured : Measured
        As :func:`agentlab.stats.reduce.measure` returns it.
    arm : str
        The arm.
    method : Method
        How intervals are made.
    """
    eligible = (runs.arm == arm) & measured.usable
    used = eligible if method.parity else eligible & measured.has_data
    outcome = _refusal(runs, metric, measured, arm, parity=method.parity)
    if outcome is None:
        outcome = method.level_of(measured.sample(measured.units(used)), metric, runs.arms.index(arm))
    outcome = _with_doubts(outcome, runs, metric, (arm,), n_empty=int((eligible & ~used).sum()))
    coverage = _coverage(runs, measured, used, (arm,), n_blocks=count_blocks(runs, used))
    return Row(metric=metric, kind="level", arm=arm, outcome=outcome, coverage=coverage)


def _against(
    runs: Runs,
    metric: Metric,
    measured: Measured,
    arms: tuple[str, str],
    paired: bool | Literal["auto"],
    method: Method,
) -> Iterator[Row]:
    pairing = pair(runs, measured, arms, paired)
    refusal = (
        _refusal(runs, metric, measured, arms[0], parity=method.parity)
        or _refusal(runs, metric, measured, arms[1], parity=method.parity)
        or _no_common_block(pairing.used, arms)
    )
    eligible = np.isin(runs.arm, arms) & measured.usable
    n_empty = 0 if pairing.paired else int((eligible & ~pairing.used).sum())
    coverage = _coverage(
        runs,
        measured,
        pairing.used,
        arms,
        n_blocks=pairing.n_blocks,
        n_blocks_dropped=pairing.n_blocks_dropped,
    )
    for kind in ("difference", "ratio"):
        outcome = refusal
        if outcome is None:
            samples = (measured.sample(pairing.units[0]), measured.sample(pairing.units[1]))
            outcome = method.contrast_of(kind, TwoArms(samples, metric, pairing.streams))
        yield Row(
            metric=metric,
            kind=kind,
            arm=arms[0],
            reference=arms[1],
            paired=pairing.paired,
            outcome=_with_doubts(outcome, runs, metric, arms, n_empty=n_empty),
            coverage=coverage,
        )


def _no_data(reason: str, *, parity: bool = False) -> Outcome:
    return Outcome(status="no_data", reason=reason, n_resamples=0 if parity else None)


def _no_common_block(used: Mask, arms: tuple[str, str]) -> Outcome | None:
    if used.any():
        return None
    return _no_data(f"arms {arms[0]!r} and {arms[1]!r} share no complete block")


def _refusal(runs: Runs, metric: Metric, measured: Measured, arm: str, *, parity: bool) -> Outcome | None:
    """Say why nothing can be computed for an arm, or return None."""
    mine = runs.arm == arm
    eligible = mine & measured.usable
    used = eligible & measured.has_data
    if not eligible.any():
        return _no_data(f"arm {arm!r} has no eligible run: {int(mine.sum())} discarded", parity=parity)
    if measured.impossible[eligible].any() and not parity:
        return Outcome(status="invalid", reason=_what_is_impossible(runs, metric, measured, eligible))
    if not measured.in_table[eligible].any():
        reason = f"table {metric.table!r} has no row for arm {arm!r}: it was not measured"
        return _no_data(reason, parity=parity)
    if metric.where and not (measured.n_rows + measured.n_missing)[eligible].any():
        said = " and ".join(f"{column}={value!r}" for column, value in dict(metric.where).items())
        return _no_data(f"table {metric.table!r} has no row with {said} for arm {arm!r}", parity=parity)
    if metric.across is not None and not used.any() and measured.n_rows[eligible].any():
        reason = f"no block of arm {arm!r} has runs of two {metric.across}: a line needs them"
        return _no_data(reason, parity=parity)
    if not used.any():
        missing = int(measured.n_missing[eligible].sum())
        return _no_data(f"no run of arm {arm!r} has a known value ({missing} unknown)", parity=parity)
    if not measured.b[used].sum() > 0:
        return _no_data(f"the denominator of arm {arm!r} is 0 in all runs", parity=parity)
    return None


def _what_is_impossible(runs: Runs, metric: Metric, measured: Measured, eligible: Mask) -> str:
    bad = eligible & measured.impossible
    example = runs.run_id[bad][0]
    what = f"{metric.column} infinite"
    if metric.aggregate == "share" and metric.of:
        what = f"{metric.column} above {metric.of}, below 0 or infinite"
    elif metric.aggregate == "ratio":
        what = f"{metric.of} below 0, or a value infinite"
    return f"{int(bad.sum())} runs have a row with {what}, e.g. run {example}"


def _with_doubts(
    outcome: Outcome, runs: Runs, metric: Metric, arms: tuple[str, ...], *, n_empty: int
) -> Outcome:
    if outcome.estimate is None:
        return outcome
    for arm in arms:
        if mixed := runs.mixed(arm, but=metric.across):
            refused = outcome.refused("mixed_setup", mixed.reason)
            return dataclasses.replace(refused, estimate=None) if mixed.in_size else refused
    if len(recorders := runs.recorders(arms)) > 1:
        said = f"pages were recorded in different ways, which cost them differently: {'; '.join(recorders)}"
        outcome = dataclasses.replace(outcome.flagged("unlike_recorders"), reason=_also(outcome, said))
    if not n_empty:
        return outcome
    alone = "" if metric.across is None else f", or without one of another {metric.across} in their block,"
    note = f"{n_empty} {'run' if n_empty == 1 else 'runs'} without a known value{alone} left out"
    return dataclasses.replace(outcome.flagged("empty_runs"), reason=_also(outcome, note))


def _also(outcome: Outcome, said: str) -> str:
    return f"{outcome.reason}; {said}" if outcome.reason else said


def _coverage(
    runs: Runs,
    measured: Measured,
    used: Mask,
    arms: tuple[str, ...],
    *,
    n_blocks: int,
    n_blocks_dropped: int = 0,
) -> Coverage:
    mine = np.isin(runs.arm, arms)
    return Coverage(
        n_runs=int(used.sum()),
        n_blocks=n_blocks,
        n_blocks_dropped=n_blocks_dropped,
        n_discarded=int((mine & ~measured.usable).sum()),
        n_missing=int(measured.n_missing[mine & measured.usable].sum()),
        n_rows=int(measured.n_rows[used].sum()),
    )
