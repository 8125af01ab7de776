"""Intervals of four metrics by resampling whole runs, against vectorised scipy.stats.bootstrap."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from agentlab.metrics import CACHE_REPORT
from agentlab.stats.bootstrap import Draws
from agentlab.stats.compare import compare
from agentlab.stats.methods import Method
from agentlab.stats.reduce import measure as measure_metric
from agentlab.stats.runs import Runs

from . import Row, median, print_conditions, print_rows, verdict

GOAL = 20.0
LIMIT_MS = 8.0
RESAMPLES = 2000

Ends = list[tuple[float, float]]


class Study:
    """Synthetic recordings of one arm: 3 to 50 requests and turns a run, no warm-up."""

    def __init__(self, n_runs: int, *, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        sizes = rng.integers(3, 51, n_runs)
        self.owner = np.repeat(np.arange(n_runs), sizes)
        self.total = rng.integers(1000, 30_000, len(self.owner))
        self.read = np.where(rng.random(len(self.owner)) < 0.2, 0, (self.total * 0.9).astype(int))
        slow = rng.normal(0, 0.3, n_runs)[self.owner]
        self.ttft, self.latency = (np.exp(slow + rng.normal(m, 0.5, len(self.owner))) for m in (6, 8))
        self.runs = self._frame(np.arange(n_runs))
        self._rows = self._frame(
            self.owner,
            chain=pd.array(["main"] * len(self.owner), dtype="string"),
            cache_read_tokens=pd.array(self.read, dtype="Int64"),
            input_total_tokens=pd.array(self.total, dtype="Int64"),
            ttft_ms=pd.array(self.ttft, dtype="Float64"),
            latency_ms=pd.array(self.latency, dtype="Float64"),
        )

    @staticmethod
    def _frame(run: np.ndarray, **columns: Any) -> pd.DataFrame:  # noqa: ANN401
        keys = {"study": "s", "arm": "a", "run_index": run, "block": run, "eligible": True}
        frame = pd.DataFrame(keys | columns)
        return frame.assign(run_id=[f"{index:05d}" for index in run])

    def table(self, name: str) -> pd.DataFrame:
        """Return the rows; turns and requests alike."""
        return self._rows


def ends_of(outcomes: Any) -> Ends:  # noqa: ANN401
    """Read the ends of intervals."""
    return [(float(outcome.lower), float(outcome.upper)) for outcome in outcomes]


def with_agentlab(study: Study) -> Callable[[int], Ends]:
    """Resample what the runs were reduced to: the part that scipy does too."""
    runs = Runs(study)
    everyone = np.arange(len(runs))
    samples = [(measure_metric(runs, metric).sample(everyone), metric) for metric in CACHE_REPORT]

    def measure(seed: int) -> Ends:
        method = Method("percentile", 0.95, Draws(seed, RESAMPLES))
        return ends_of(method.level_of(sample, metric, 0) for sample, metric in samples)

    return measure


def with_compare(study: Study) -> Callable[[int], Ends]:
    """Call compare(), from the tables to the frame of estimates."""

    def measure(seed: int) -> Ends:
        frame = compare(study, *CACHE_REPORT, interval="percentile", n_resamples=RESAMPLES, seed=seed)
        return ends_of(frame.itertuples())

    return measure


def with_scipy(study: Study) -> Callable[[int], Ends]:
    """Call scipy.stats.bootstrap for each metric, with statistics written for its vectorised form."""
    n = int(study.owner[-1]) + 1
    sizes = np.bincount(study.owner)
    sums = {
        "zero": np.bincount(study.owner, study.read == 0),
        "read": np.bincount(study.owner, study.read),
        "total": np.bincount(study.owner, study.total),
    }

    def ratio(a: np.ndarray, b: np.ndarray) -> Callable[..., np.ndarray]:
        return lambda index, axis: a[index].sum(axis) / b[index].sum(axis)

    def pooled_median(values: np.ndarray) -> Callable[..., np.ndarray]:
        order = np.argsort(values)
        ordered, owner = values[order], study.owner[order]

        def statistic(index: np.ndarray, axis: int) -> np.ndarray:
            rows = np.atleast_2d(index)
            offsets = np.arange(len(rows))[:, None] * n
            counts = np.bincount((rows + offsets).ravel(), minlength=len(rows) * n).reshape(len(rows), n)
            need = np.ceil(0.5 * (counts @ sizes))
            running = counts[:, owner].cumsum(axis=1)
            found = ordered[(running < need[:, None]).sum(axis=1)]
            return found if index.ndim > 1 else found[0]

        return statistic

    statistics = [
        ratio(sums["zero"], sizes),
        ratio(sums["read"], sums["total"]),
        pooled_median(study.ttft),
        pooled_median(study.latency),
    ]

    def measure(seed: int) -> Ends:
        rng = np.random.default_rng(seed)
        results = [
            stats.bootstrap(
                (np.arange(n),), s, vectorized=True, method="percentile", n_resamples=RESAMPLES, rng=rng
            )
            for s in statistics
        ]
        return [tuple(map(float, result.confidence_interval)) for result in results]

    return measure


METHODS = {"agentlab": with_agentlab, "agentlab compare()": with_compare, "scipy": with_scipy}


def rows(*, sizes: tuple[int, ...] = (10, 100, 1000), repeats: int = 9) -> list[Row]:
    """Measure all methods in turn, `repeats` times for each number of runs; return medians.

    ``ratio`` is wall time against agentlab's resampling alone. ``off`` is the largest distance from scipy's
    ends in widths of the interval: other draws, so some hundredths.
    """
    found: list[Row] = []
    for size in sizes:
        study = Study(size)
        measures = {name: make(study) for name, make in METHODS.items()}
        ends = {name: measure(0) for name, measure in measures.items()}
        wall: dict[str, list[float]] = {name: [] for name in measures}
        cpu: dict[str, list[float]] = {name: [] for name in measures}
        for seed in range(1, repeats + 1):
            for name, measure in measures.items():
                started, used = time.perf_counter(), time.process_time()
                measure(seed)
                wall[name].append((time.perf_counter() - started) * 1e3)
                cpu[name].append((time.process_time() - used) * 1e3)
        found += [
            {
                "method": name,
                "runs": size,
                "resamples": RESAMPLES,
                "wall_ms": median(wall[name]),
                "cpu_ms": median(cpu[name]),
                "ratio": median(wall[name]) / median(wall["agentlab"]),
                "off": _distance(ends[name], ends["scipy"]),
            }
            for name in measures
        ]
    return found


def _distance(ours: Ends, theirs: Ends) -> float:
    apart = [
        max(abs(low - their_low), abs(high - their_high)) / (their_high - their_low)
        for (low, high), (their_low, their_high) in zip(ours, theirs, strict=True)
    ]
    return max(apart)


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks bootstrap", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 runs only, few repeats")
    quick = parser.parse_args(argv).quick
    print_conditions("numpy", "pandas", "scipy")
    found = rows(sizes=(100,), repeats=5) if quick else rows()
    print_rows(found)
    at_100 = {row["method"]: row for row in found if row["runs"] == 100}
    print(f"4 metrics, 100 runs: {at_100['agentlab']['wall_ms']:.1f} ms (to inform: {LIMIT_MS:g} ms)")
    goal = f"scipy takes at least {GOAL:g} times as long for 4 metrics, 100 runs, {RESAMPLES} resamples"
    return verdict(goal, at_100["scipy"]["ratio"] >= GOAL and max(row["off"] for row in found) < 0.2)
