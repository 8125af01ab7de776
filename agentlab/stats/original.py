"""The interval of the original cache report, digit for digit."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .bootstrap import Counts, row_chunks, tally
from .metrics import Metric
from .outcome import Outcome
from .resampling import estimate, replicate
from .units import Sample

#: The report always draws this many resamples.
RESAMPLES = 2000

_SEED = 0x9E3779B9
_MULTIPLIER = 1664525
_INCREMENT = 1013904223
_BLOCK = 4096


def interval(sample: Sample, metric: Metric) -> Outcome:
    """Return the percentile interval over whole sessions as the report computed it.

    2,000 resamples of a 32-bit linear congruential generator that starts anew for each metric (so all metrics
    of an arm share their draws); nearest-rank ends. Sessions without a row stay in the population that is
    drawn from. One session gives an interval of zero width, and a share of totals is clamped to 0..1: kept
    here so that old numbers can be reproduced, and flagged.

    Parameters
    ----------
    sample : Sample
        All eligible runs, also those without a value.
    metric : Metric
        The metric.

    Returns
    -------
    Outcome
        `n_resamples` is the number of resamples that had a value.
    """
    if not sample.b.sum() > 0:
        return Outcome(n_resamples=0, status="no_data", reason="no observed value")
    point = estimate(sample, metric)
    stars = replicate(sample, metric, session_counts(sample.n))
    stars = np.sort(stars[~np.isnan(stars)])
    lower, upper = (float(stars[_nearest_rank(percent, len(stars))]) for percent in (2.5, 97.5))
    outcome = Outcome(estimate=point, lower=lower, upper=upper, interval="original", n_resamples=len(stars))
    return _clamped(outcome) if metric.aggregate == "share" else outcome


def _clamped(outcome: Outcome) -> Outcome:
    kept = [min(1.0, max(0.0, x or 0.0)) for x in (outcome.estimate, outcome.lower, outcome.upper)]
    if kept == [outcome.estimate, outcome.lower, outcome.upper]:
        return outcome
    reason = "clamped to 0..1 as in the report, which hides a part above its whole"
    clamped = dataclasses.replace(outcome, estimate=kept[0], lower=kept[1], upper=kept[2], reason=reason)
    return clamped.flagged("clamped")


def _nearest_rank(percent: float, n: int) -> int:
    return min(n - 1, math.ceil((percent / 100) * n) - 1)


@functools.lru_cache(maxsize=4)
def session_counts(n: int) -> Counts:
    """Draw `n` sessions with the report's generator.

    Parameters
    ----------
    n : int
        Number of sessions.

    Returns
    -------
    ndarray of uint8, shape (2000, n)
        How often each session was drawn; read-only.
    """
    states = generator_states(RESAMPLES * n).reshape(RESAMPLES, n)
    counts = np.empty((RESAMPLES, n), dtype=np.uint8)
    for rows in row_chunks(RESAMPLES, n, size=32_768):
        counts[rows] = tally((states[rows].astype(np.int64) * n) >> 32)
    counts.flags.writeable = False
    return counts


def generator_states(size: int) -> NDArray[np.uint32]:
    """Return the first states of the generator x -> 1664525 x + 1013904223 mod 2^32 after 0x9e3779b9.

    A block of k states follows from the one before it by a single multiplication, since k steps of a linear
    generator are one linear step.
    """
    jump = _advance(min(size, _BLOCK))
    states = np.empty(size, dtype=np.uint32)
    last = np.uint32(_SEED)
    for start in range(0, size, _BLOCK):
        multiplier, increment = (part[: size - start] for part in jump)
        states[start : start + _BLOCK] = multiplier * last + increment
        last = states[min(start + _BLOCK, size) - 1]
    return states


def _advance(size: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return multiplier and increment of 1 to `size` steps."""
    pairs = list(_steps(size))
    return np.array([m for m, _ in pairs], np.uint32), np.array([c for _, c in pairs], np.uint32)


def _steps(size: int) -> Iterator[tuple[int, int]]:
    multiplier, increment = 1, 0
    for _ in range(size):
        multiplier = multiplier * _MULTIPLIER % 2**32
        increment = (increment * _MULTIPLIER + _INCREMENT) % 2**32
        yield multiplier, increment
