"""The estimates frame: one row per metric, arm and kind, with coverage beside every number."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..frames.estimates import ESTIMATES
from .metrics import Metric
from .outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

#: Column -> nullable dtype, in order.
COLUMNS = {column.name: column.dtype for column in ESTIMATES}

Kind = Literal["level", "difference", "ratio"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coverage:
    """What stands behind a number.

    Parameters
    ----------
    n_runs : int
        Runs used, of both arms for a difference.
    n_blocks : int
        Blocks of those runs; 0 when the study has none.
    n_blocks_dropped : int
        Blocks left out of a paired difference, because a run of theirs cannot be used.
    n_discarded : int
        Runs that are not eligible.
    n_missing : int
        Rows of eligible runs with an unknown value.
    n_rows : int
        Rows used.
    """

    n_runs: int = 0
    n_blocks: int = 0
    n_blocks_dropped: int = 0
    n_discarded: int = 0
    n_missing: int = 0
    n_rows: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One row before it is written into the frame."""

    metric: Metric
    kind: Kind
    arm: str | None = None
    reference: str | None = None
    paired: bool | None = None
    outcome: Outcome
    coverage: Coverage = Coverage()


def to_frame(rows: Sequence[Row], *, level: float, seed: int | None) -> pd.DataFrame:
    """Write rows into a frame with the columns and dtypes of :data:`COLUMNS`.

    Parameters
    ----------
    rows : sequence of Row
        In the order of the frame.
    level : float
        Nominal coverage.
    seed : int or None
        Seed of the draws; stands only in rows whose interval comes from resampling.
    """
    import pandas as pd

    from ..frames.accessor import register

    register()
    records = [_record(row, level, seed) for row in rows]
    columns = {name: [record[name] for record in records] for name in COLUMNS}
    return pd.DataFrame({name: pd.Series(columns[name], dtype=dtype) for name, dtype in COLUMNS.items()})


def _record(row: Row, level: float, seed: int | None) -> dict[str, object]:
    outcome = row.outcome
    return {
        **vars(row.coverage),
        **vars(outcome),
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "better": row.metric.better,
        "kind": row.kind,
        "arm": row.arm,
        "reference": row.reference,
        "paired": row.paired,
        "level": level,
        "seed": seed if outcome.n_resamples is not None else None,
        "flags": ",".join(sorted(outcome.flags)),
    }
