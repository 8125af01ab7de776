"""The estimates frame: one row per metric, arm and kind, with coverage beside every number."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from .bootstrap import Ints
from .methods import Method
from .metrics import Metric
from .outcome import Outcome
from .units import Mask, Measured, Runs

if TYPE_CHECKING:
    import pandas as pd

#: Column -> nullable dtype, in order.
COLUMNS = {
    "metric": "string",
    "unit": "string",
    "better": "string",
    "kind": "string",
    "arm": "string",
    "reference": "string",
    "estimate": "Float64",
    "lower": "Float64",
    "upper": "Float64",
    "level": "Float64",
    "interval": "string",
    "paired": "boolean",
    "n_runs": "Int64",
    "n_blocks": "Int64",
    "n_blocks_dropped": "Int64",
    "n_discarded": "Int64",
    "n_missing": "Int64",
    "n_rows": "Int64",
    "n_resamples": "Int64",
    "seed": "Int64",
    "status": "string",
    "flags": "string",
    "reason": "string",
}

#: Blocks shared by two arms are drawn from one stream, independent arms from streams of their own.
_PAIRED_STREAM = 1_000_000
#: Fewer complete blocks than this are not worth pairing on.
_MIN_BLOCKS = 3

Kind = Literal["level", "difference", "ratio"]


@dataclasses.dataclass(frozen=True)
class Row:
    """One row before it is written into the frame."""

    metric: Metric
    kind: Kind
    arm: str | None
    reference: str | None
    outcome: Outcome
    paired: bool | None = None
    n_runs: int = 0
    n_blocks: int = 0
    n_blocks_dropped: int = 0
    n_discarded: int = 0
    n_missing: int = 0
    n_rows: int = 0


def to_frame(rows: Sequence[Row], method: Method) -> pd.DataFrame:
    """Write rows into a frame with the columns and dtypes of :data:`COLUMNS`."""
    import pandas as pd

    records = [_record(row, method) for row in rows]
    return pd.DataFrame(
        {
            column: pd.array([record[column] for record in records], dtype=dtype)  # pyright: ignore[reportCallIssue, reportArgumentType]
            for column, dtype in COLUMNS.items()
        }
    )


def _record(row: Row, method: Method) -> dict[str, object]:
    outcome, metric = row.outcome, row.metric
    own_seed = outcome.n_resamples is not None and method.interval != "original"
    return {
        **{field.name: getattr(row, field.name) for field in dataclasses.fields(row)},
        **{field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)},
        "metric": metric.name,
        "unit": metric.unit,
        "better": metric.better,
        "level": method.level,
        "seed": method.draws.seed if own_seed else None,
        "flags": ",".join(sorted(outcome.flags)),
    }


def rows(
    runs: Runs,
    metrics: Sequence[Metric],
    reference: str | None,
    paired: bool | Literal["auto"],
    method: Method,
) -> Iterator[Row]:
    """Compute every row: levels of all arms, then differences and ratios against the reference."""
    for metric in metrics:
        if not runs.arms:
            yield Row(metric, "level", None, None, Outcome(status="no_data", reason="no runs"))
            continue
        measured = runs.measure(metric)
        for arm in runs.arms:
            yield _level(runs, metric, measured, arm, method)
        for arm in runs.arms:
            if reference is not None and arm != reference:
                yield from _against(runs, metric, measured, (arm, reference), paired, method)


def _level(runs: Runs, metric: Metric, measured: Measured, arm: str, method: Method) -> Row:
    eligible = (runs.arm == arm) & runs.eligible
    used = eligible if method.interval == "original" else eligible & measured.has_data
    outcome = _refusal(runs, metric, measured, arm)
    if outcome is None:
        stream = runs.arms.index(arm)
        outcome = method.level_of(measured.sample(_number(used)), metric, stream)
    outcome = _noted(outcome, runs, (arm,), n_empty=int((eligible & ~measured.has_data).sum()))
    blocks = np.unique(runs.block[used & (runs.block >= 0)])
    return Row(
        metric, "level", arm, None, outcome, n_blocks=len(blocks), **_coverage(runs, measured, used, (arm,))
    )


def _against(
    runs: Runs,
    metric: Metric,
    measured: Measured,
    arms: tuple[str, str],
    paired: bool | Literal["auto"],
    method: Method,
) -> Iterator[Row]:
    blocks = _shared_blocks(runs, measured, arms)
    pair = len(blocks.kept) >= _MIN_BLOCKS and blocks.covers_all if paired == "auto" else paired
    masks = [(runs.arm == arm) & runs.eligible & measured.has_data for arm in arms]
    if pair:
        masks = [mask & np.isin(runs.block, blocks.kept) for mask in masks]
        units = [np.where(mask, np.searchsorted(blocks.kept, runs.block), -1) for mask in masks]
        streams = (_PAIRED_STREAM, _PAIRED_STREAM)
    else:
        units = [_number(mask) for mask in masks]
        streams = (runs.arms.index(arms[0]), runs.arms.index(arms[1]))
    used = masks[0] | masks[1]
    n_blocks = len(blocks.kept) if pair else len(np.unique(runs.block[used & (runs.block >= 0)]))
    refusal = _refusal(runs, metric, measured, *arms)
    if refusal is None and pair and not len(blocks.kept):
        refusal = Outcome(
            status="no_data", reason=f"arms {arms[0]!r} and {arms[1]!r} share no complete block"
        )
    n_empty = 0 if pair else int(((runs.arm == arms[0]) | (runs.arm == arms[1]))[runs.eligible & ~used].sum())
    for kind in ("difference", "ratio"):
        outcome = refusal
        if outcome is None:
            first, second = (measured.sample(unit) for unit in units)
            outcome = method.contrast_of(kind, first, second, metric, streams)
        yield Row(
            metric,
            kind,
            *arms,
            _noted(outcome, runs, arms, n_empty=n_empty),
            paired=pair,
            n_blocks=n_blocks,
            n_blocks_dropped=blocks.n_seen - len(blocks.kept) if pair else 0,
            **_coverage(runs, measured, used, arms),
        )


@dataclasses.dataclass(frozen=True)
class _Blocks:
    kept: Ints
    n_seen: int
    covers_all: bool


def _shared_blocks(runs: Runs, measured: Measured, arms: tuple[str, str]) -> _Blocks:
    """Find the blocks in which every run of both arms can be used."""
    mine = [(runs.arm == arm) & ~runs.superseded for arm in arms]
    usable = runs.eligible & measured.has_data
    inside = runs.block >= 0
    both = np.intersect1d(runs.block[mine[0] & inside], runs.block[mine[1] & inside])
    spoiled = runs.block[(mine[0] | mine[1]) & ~usable]
    seen = np.unique(runs.block[(mine[0] | mine[1]) & inside])
    covers_all = bool(inside[mine[0] | mine[1]].all())
    return _Blocks(np.setdiff1d(both, spoiled), len(seen), covers_all)


def _refusal(runs: Runs, metric: Metric, measured: Measured, *arms: str) -> Outcome | None:
    """Say why nothing can be computed for one of the arms, or return None."""
    for arm in arms:
        mine = runs.arm == arm
        eligible = mine & runs.eligible
        if not eligible.any():
            reason = f"arm {arm!r} has no eligible run: all {int(mine.sum())} are discarded"
            return Outcome(status="no_data", reason=reason)
        if measured.impossible[eligible].any():
            return Outcome(status="invalid", reason=_impossible_reason(runs, metric, measured, eligible))
        if not measured.in_table[eligible].any():
            reason = f"table {metric.table!r} has no row for arm {arm!r}: not measured"
            return Outcome(status="no_data", reason=reason)
        if not (eligible & measured.has_data).any():
            missing = int(measured.n_missing[eligible].sum())
            reason = f"no run of arm {arm!r} has a known value ({missing} rows unknown)"
            return Outcome(status="no_data", reason=reason)
        if measured.values is None and not measured.b[eligible & measured.has_data].sum() > 0:
            return Outcome(status="no_data", reason=f"the denominator of arm {arm!r} is 0")
    return None


def _impossible_reason(runs: Runs, metric: Metric, measured: Measured, eligible: Mask) -> str:
    bad = eligible & measured.impossible
    example = runs.frame["run_id"].to_numpy(dtype=object)[bad][0]
    what = f"{metric.column} infinite"
    if metric.of:
        what = f"{metric.column} above {metric.of}, below 0 or infinite"
        if metric.aggregate != "share":
            what = f"{metric.of} below 0, or a value infinite"
    return f"{int(bad.sum())} runs hold a row with {what}, e.g. run {example}"


def _noted(outcome: Outcome, runs: Runs, arms: tuple[str, ...], *, n_empty: int) -> Outcome:
    if outcome.estimate is None:
        return outcome
    for arm in arms:
        if mixed := runs.mixed(arm):
            return outcome.refused("mixed_setup", mixed)
    if not n_empty:
        return outcome
    note = f"{n_empty} eligible runs without a known value left out"
    reason = f"{outcome.reason}; {note}" if outcome.reason else note
    return dataclasses.replace(outcome.flagged("empty_runs"), reason=reason)


def _coverage(runs: Runs, measured: Measured, used: Mask, arms: tuple[str, ...]) -> dict[str, int]:
    mine = np.isin(runs.arm, arms)
    return {
        "n_runs": int(used.sum()),
        "n_discarded": int((mine & ~runs.eligible).sum()),
        "n_missing": int(measured.n_missing[mine & runs.eligible].sum()),
        "n_rows": int(measured.n_rows[used].sum()),
    }


def _number(used: Mask) -> Ints:
    """Number the used runs from 0; -1 for the others."""
    return np.where(used, np.cumsum(used) - 1, -1)
