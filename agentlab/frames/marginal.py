"""The columns of what one more session costs, as :func:`agentlab.marginal_fit` gives them."""

from __future__ import annotations

from .schema import Column

MARGINAL: tuple[Column, ...] = (
    Column("arm", "string", "Condition."),
    Column("part", "string", "anon (of PSS), file (of PSS), total (PSS + SwapPSS)."),
    Column("sessions", "string", "Numbers of sessions that the line goes through, comma-separated."),
    Column("slope_bytes", "Float64", "What each added session takes; NA when no line can be fitted."),
    Column("slope_lower_bytes", "Float64", "Lower end of its interval; NA when it is not known."),
    Column("slope_upper_bytes", "Float64", "Upper end of its interval; NA when it is not known."),
    Column("intercept_bytes", "Float64", "What sessions share: the line at none; NA likewise."),
    Column("intercept_lower_bytes", "Float64", "Lower end of its interval; NA when it is not known."),
    Column("intercept_upper_bytes", "Float64", "Upper end of its interval; NA when it is not known."),
    Column("level", "Float64", "Nominal coverage, 0..1."),
    Column("interval", "string", "Method really used."),
    Column(
        "r2",
        "Float64",
        "Share of the runs' variation that the line explains; NA as below, or they are equal.",
    ),
    Column("residual_bytes", "Float64", "Standard deviation of runs around the line; NA: two runs or fewer."),
    Column("n_runs", "Int64", "Runs used."),
    Column("n_blocks", "Int64", "Blocks of those runs: the independent units; 0 when the study has none."),
    Column("n_discarded", "Int64", "Runs that are not eligible."),
    Column("n_missing", "Int64", "Settled samples of eligible runs with an unknown value."),
    Column("n_rows", "Int64", "Settled samples used."),
    Column("n_resamples", "Int64", "Resamples of whole blocks."),
    Column("seed", "Int64", "Seed of the resamples; NA without any."),
    Column(
        "status", "string", "As in estimates; of the slope, or of the intercept when that of the slope is ok."
    ),
    Column("flags", "string", "Doubts, comma-separated codes."),
    Column("reason", "string", "Why there is no interval or no number."),
)
