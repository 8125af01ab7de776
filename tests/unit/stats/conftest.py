"""Recordings made of plain rows: what compare() sees, without a study on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

KEYS = {
    "study": "string",
    "arm": "string",
    "run_id": "string",
    "run_index": "Int64",
    "block": "Int64",
    "eligible": "boolean",
}
ROWS = {
    "chain": "string",
    "counted": "boolean",
    "warmup": "boolean",
    "ttft_ms": "Float64",
    "latency_ms": "Float64",
    "cache_read_tokens": "Int64",
    "input_total_tokens": "Int64",
    "status": "string",
    "ok": "boolean",
    "t": "Float64",
    "x": "Float64",
}


class Recs:
    def __init__(self, runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> None:
        self.runs = runs
        self._tables = tables

    def table(self, name: str) -> pd.DataFrame:
        return self._tables[name]


def build(
    arms: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]],
    *,
    table: str = "turns",
    discarded: Sequence[tuple[str, int]] = (),
    blocks: bool = True,
    study: str = "study",
    **columns: Mapping[str, Sequence[Any]],
) -> Recs:
    """Build recordings.

    `arms` holds for each arm its runs, each a list of rows of the table; `columns` are further columns of
    runs, per arm.
    """
    runs: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for arm, recorded in arms.items():
        for index, run in enumerate(recorded):
            keys = {
                "study": study,
                "arm": arm,
                "run_id": f"{arm}-{index:04d}",
                "run_index": index,
                "block": index if blocks else None,
                "eligible": (arm, index) not in discarded,
            }
            runs.append(keys | {name: values[arm][index] for name, values in columns.items()})
            rows.extend(keys | {"chain": "main", "counted": True, "warmup": False} | dict(row) for row in run)
    return Recs(_frame(runs, KEYS | dict.fromkeys(columns, "string")), {table: _frame(rows, KEYS | ROWS)})


def _frame(rows: list[dict[str, Any]], dtypes: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame({c: pd.array([row.get(c) for row in rows], dtype=d) for c, d in dtypes.items()})


@pytest.fixture
def recs() -> Callable[..., Recs]:
    return build


@pytest.fixture
def values() -> Callable[..., Recs]:
    """Recordings with the given values of one column, run by run: values({"a": [[1, 2], [3]]})."""

    def make(
        arms: Mapping[str, Sequence[Sequence[float | None]]], column: str = "latency_ms", **options: object
    ) -> Recs:
        as_rows = {arm: [[{column: x} for x in run] for run in runs] for arm, runs in arms.items()}
        return build(as_rows, **options)  # type: ignore[arg-type]

    return make
