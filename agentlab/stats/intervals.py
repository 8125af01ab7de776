"""Closed-form intervals of one arm, and the parts they are made of.

The rule and its coverage are described in the docs of :func:`agentlab.compare`; the sources stand at each
function.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .bootstrap import Counts, Floats, ratios
from .distributions import normal_cdf, normal_ppf, t_ppf
from .linear import Fit
from .outcome import Outcome

#: How much further out the expanded percentile reads for n runs; fitted to reach 95 % on skewed populations.
_EXPANSION = 4.5


def two_sided(level: float) -> float:
    """Return the probability of the upper end of a two-sided interval, e.g. 0.975."""
    return (1 + level) / 2


def linear_t(fit: Fit, level: float) -> tuple[float, float]:
    """Return R -+ t SE."""
    reach = t_ppf(two_sided(level), fit.df) * fit.se
    return fit.estimate - reach, fit.estimate + reach


def log_t(fit: Fit, level: float) -> tuple[float, float]:
    """Return R exp(-+ t SE / R), for R > 0."""
    reach = t_ppf(two_sided(level), fit.df) * fit.se / fit.estimate
    return fit.estimate * math.exp(-reach), fit.estimate * math.exp(min(reach, 700.0))


def expanded_percentile(replicates: Floats, n: int, level: float) -> tuple[float, float, int]:
    """Return quantiles of the bootstrap further out than nominal, and the replicates that have a value.

    After Hesterberg (2015), who corrects for the bootstrap's too small variance at few units; this goes
    further out, since skewness costs coverage too.
    """
    valid = replicates[~np.isnan(replicates)]
    tail = max(normal_cdf(-normal_ppf(two_sided(level)) * (1 + _EXPANSION / n)), 1 / len(valid))
    lower, upper = np.quantile(valid, [tail, 1 - tail])
    return float(lower), float(upper), len(valid)


def united(fit: Fit, a: Floats, b: Floats, counts: Counts, level: float, *, signed: bool = False) -> Outcome:
    """Unite a t interval with the expanded percentile interval: the lower of the lower ends, and so on.

    The t interval is on the log scale unless the metric may be negative by nature (`signed`) or is here.
    """
    on_log_scale = not signed and bool((a >= 0).all()) and fit.estimate > 0
    low_t, high_t = log_t(fit, level) if on_log_scale else linear_t(fit, level)
    low, high, n_valid = expanded_percentile(ratios(counts, a, b), fit.n, level)
    return Outcome(
        estimate=fit.estimate,
        lower=min(low_t, low),
        upper=max(high_t, high),
        interval="log t, percentile" if on_log_scale else "t, percentile",
        n_resamples=n_valid,
    )


def share(fit: Fit, a: Floats, b: Floats, level: float) -> Outcome:
    """Return the Wilson interval on the effective sample size, or an exact bound when all are 0 or 1."""
    low, high, exact = share_limits(fit, a, b, level)
    outcome = Outcome(estimate=fit.estimate, lower=low, upper=high, interval="exact" if exact else "wilson")
    return outcome.flagged(*share_flags(a, b))


def share_flags(a: Floats, b: Floats) -> list[str]:
    """Say whether a share is all 0 or 1, or rests on hits or misses of fewer than 3 units."""
    if bound := at_bound(a, b):
        return [bound]
    few = min(int((a > 0).sum()), int((a < b).sum())) < 3
    return ["few_events"] if few else []


def share_limits(
    fit: Fit, a: Floats, b: Floats, level: float, *, df: float | None = None
) -> tuple[float, float, bool]:
    """Return the limits of a share, and whether they are exact bounds.

    Wilson limits with n_e = R (1 - R) / SE^2, made smaller by (z / t)^2 for the unknown variance (Korn and
    Graubard 1998; Franco et al. 2019). A share of 0 or 1 in all n units gets the Clopper-Pearson bound of n
    observations: one per unit, since units may differ in ways that none of them shows.
    """
    alpha = 1 - level
    bound = (alpha / 2) ** (1 / fit.n)
    if at := at_bound(a, b):
        return (0.0, 1 - bound, True) if at == "all_zero" else (bound, 1.0, True)
    r, z = fit.estimate, normal_ppf(two_sided(level))
    effective = float(b.sum()) if fit.se == 0 else min(r * (1 - r) / fit.se**2, float(b.sum()))
    effective *= (z / t_ppf(two_sided(level), max(df or 0.0, fit.df))) ** 2
    return *wilson(r, effective, z), False


def wilson(r: float, n: float, z: float) -> tuple[float, float]:
    """Return the Wilson score limits of a share r of n observations."""
    centre = (r + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(r * (1 - r) / n + z * z / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def at_bound(a: Floats, b: Floats) -> str | None:
    """Say whether no unit has a hit (``"all_zero"``) or none a miss (``"all_one"``)."""
    if not a.any():
        return "all_zero"
    return "all_one" if (a == b).all() else None


@dataclasses.dataclass(frozen=True)
class Limits:
    """An estimate with limits of its own, to be combined with another's."""

    estimate: float
    lower: float
    upper: float


def mover(first: Limits, second: Limits, r: float = 0.0) -> tuple[float, float]:
    """Return limits of first - second from the limits of each.

    MOVER: method of variance estimates recovery (Zou and Donner 2008; Newcombe 1998).

    Parameters
    ----------
    first, second : Limits
        The two estimates.
    r : float
        Their correlation.
    """
    down = (first.estimate - first.lower, second.upper - second.estimate)
    up = (first.upper - first.estimate, second.estimate - second.lower)
    difference = first.estimate - second.estimate
    return difference - _hypotenuse(*down, r), difference + _hypotenuse(*up, r)


def _hypotenuse(x: float, y: float, r: float) -> float:
    return math.sqrt(max(0.0, x * x + y * y - 2 * r * x * y))
