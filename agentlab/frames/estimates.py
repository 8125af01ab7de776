"""The columns of estimates, as :func:`agentlab.compare` gives them."""

from __future__ import annotations

from .schema import Column

ESTIMATES: tuple[Column, ...] = (
    Column("metric", "string", "Name of the metric."),
    Column("unit", "string", "Unit of estimate, lower and upper; empty for a number between 0 and 1."),
    Column("better", "string", "lower or higher; NA when neither is better."),
    Column(
        "kind", "string", "level of an arm, difference (arm minus reference), ratio (arm over reference)."
    ),
    Column("arm", "string", "Condition."),
    Column("reference", "string", "Arm that it is compared with; NA for a level."),
    Column("estimate", "Float64", "The number; NA when no used run has data."),
    Column("lower", "Float64", "Lower end of the interval; NA when it is not known."),
    Column("upper", "Float64", "Upper end of the interval; NA when it is not known."),
    Column("level", "Float64", "Nominal coverage, 0..1."),
    Column("interval", "string", "Method really used."),
    Column("paired", "boolean", "Compared within blocks; NA for a level."),
    Column("n_runs", "Int64", "Runs used, of both arms for a difference."),
    Column("n_blocks", "Int64", "Blocks of those runs; 0 when the study has none."),
    Column("n_blocks_dropped", "Int64", "Blocks that a paired difference lost."),
    Column("n_discarded", "Int64", "Runs that are not eligible."),
    Column("n_missing", "Int64", "Rows of eligible runs with an unknown value."),
    Column("n_rows", "Int64", "Rows used."),
    Column("n_resamples", "Int64", "Resamples; NA when the interval needs none."),
    Column("seed", "Int64", "Seed of the resamples."),
    Column("status", "string", "ok, no_data, too_few_runs, degenerate, unsupported, mixed_setup, invalid."),
    Column("flags", "string", "Doubts, comma-separated codes."),
    Column("reason", "string", "Why there is no interval or no number."),
)
