"""compare(): metrics of all arms, and of every arm against a reference, with intervals over runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from ..errors import ConfigError
from .metrics import Metric, named

if TYPE_CHECKING:
    import pandas as pd

    from .units import TableSource

Interval = Literal["auto", "percentile", "bca", "basic", "studentized", "original"]


def compare(
    recs: TableSource,
    *metrics: Metric | str,
    reference: str | None = None,
    paired: bool | Literal["auto"] = "auto",
    level: float = 0.95,
    n_resamples: int = 4999,
    interval: Interval = "auto",
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate metrics with intervals whose unit is the run."""
    from .bootstrap import Draws
    from .estimates import rows, to_frame
    from .methods import Method
    from .units import Runs

    chosen = [named(metric) if isinstance(metric, str) else metric for metric in metrics]
    runs = Runs(recs)
    if reference is None and len(runs.arms) > 1:
        reference = runs.arms[0]
    method = Method(interval, level, Draws(seed, n_resamples))
    return to_frame(list(rows(runs, chosen, reference, paired, method)), method)
