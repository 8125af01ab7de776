"""The old report's intervals against a literal, slow reading of its description."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pytest

from agentlab.errors import ConfigError
from agentlab.stats.compare import compare
from agentlab.stats.metrics import CACHE_HIT_RATE, CACHE_REPORT
from agentlab.stats.original import generator_states, session_counts

Session = list[dict[str, Any]]


class Source(Protocol):
    runs: pd.DataFrame

    def table(self, name: str) -> pd.DataFrame: ...


def literal(sessions: list[Session], statistic: Callable[[Session], float | None]) -> tuple[Any, ...]:
    """Percentile bootstrap over whole sessions: 2,000 resamples, the generator restarted for each metric."""
    everything = statistic([row for session in sessions for row in session])
    if not sessions or everything is None:
        return None, None, None, 0
    state, found = 0x9E3779B9, []
    for _ in range(2000):
        rows: Session = []
        for _ in range(len(sessions)):
            state = (state * 1664525 + 1013904223) % 2**32
            rows += sessions[math.floor(state / 2**32 * len(sessions))]
        value = statistic(rows)
        if value is not None:
            found.append(value)
    return everything, percentile(found, 2.5), percentile(found, 97.5), len(found)


def percentile(values: list[float], p: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil((p / 100) * len(ordered)) - 1)] if ordered else None


def zero_rate(rows: Session) -> float | None:
    reads = [row["cache_read_tokens"] for row in rows if row["cache_read_tokens"] is not None]
    return sum(read == 0 for read in reads) / len(reads) if reads else None


def coverage(rows: Session) -> float | None:
    known = [r for r in rows if r["cache_read_tokens"] is not None and r["input_total_tokens"] is not None]
    total = sum(row["input_total_tokens"] for row in known)
    read = sum(row["cache_read_tokens"] for row in known)
    return min(1, max(0, read / total)) if total else None


def median_of(column: str) -> Callable[[Session], float | None]:
    return lambda rows: percentile([row[column] for row in rows if row[column] is not None], 50)


STATISTICS = (zero_rate, coverage, median_of("ttft_ms"), median_of("latency_ms"))


def sessions_of(size: int, *, seed: int) -> list[Session]:
    """Requests and turns in one: the first row of each session is warm-up, and a third has nothing else."""
    rng = np.random.default_rng(seed)
    made: list[Session] = []
    for _ in range(size):
        rows: Session = []
        for position in range(1 if rng.random() < 0.3 else rng.integers(2, 7)):
            total = int(rng.integers(1000, 30_000))
            read = int(rng.integers(0, total)) if rng.random() < 0.6 else 0
            rows.append(
                {
                    "warmup": position == 0,
                    "cache_read_tokens": read if rng.random() < 0.9 else None,
                    "input_total_tokens": total,
                    "ttft_ms": float(rng.lognormal(6)) if rng.random() < 0.7 else None,
                    "latency_ms": float(rng.lognormal(8)),
                }
            )
        made.append(rows)
    return made


class Both:
    """The same rows as turns and as requests."""

    def __init__(self, recs: Source) -> None:
        self.runs = recs.runs
        self._rows = recs.table("turns")

    def table(self, name: str) -> pd.DataFrame:
        assert name in ("turns", "requests")
        return self._rows


def intervals_of(recs: Source, **options: object) -> list[tuple[Any, ...]]:
    frame = compare(recs, *CACHE_REPORT, interval="original", **options)
    plain = frame[["estimate", "lower", "upper", "n_resamples"]].astype(object)
    return [
        tuple(None if x is not x or x is frame["reference"][0] else x for x in row) for row in plain.values
    ]


@pytest.mark.parametrize("size", [1, 2, 5, 10, 100])
def test_the_four_intervals_agree_in_every_digit(recs, size):
    sessions = sessions_of(size, seed=40 + size)
    got = intervals_of(Both(recs({"arm": sessions})))
    kept = [[row for row in session if not row["warmup"]] for session in sessions]
    assert got == [literal(kept, statistic) for statistic in STATISTICS]


def test_sessions_left_empty_by_warm_up_stay_in_the_population(recs):
    sessions = sessions_of(10, seed=7)
    sessions[3] = sessions[3][:1]
    recordings = Both(recs({"arm": sessions}))
    assert compare(recordings, *CACHE_REPORT, interval="original")["n_runs"].tolist() == [10] * 4
    kept = [[row for row in session if not row["warmup"]] for session in sessions]
    without = [session for session in kept if session]
    assert intervals_of(recordings)[1] == literal(kept, coverage)
    assert literal(kept, coverage) != literal(without, coverage)


def test_discarded_sessions_take_no_part_and_seed_and_resamples_are_ignored(recs):
    sessions = sessions_of(8, seed=9)
    recordings = Both(recs({"arm": sessions}, discarded=[("arm", 2), ("arm", 5)]))
    kept = [[r for r in s if not r["warmup"]] for k, s in enumerate(sessions) if k not in (2, 5)]
    expected = [literal(kept, statistic) for statistic in STATISTICS]
    assert intervals_of(recordings) == expected
    assert intervals_of(recordings, seed=5, n_resamples=300) == expected


def test_nothing_observed_is_nothing_with_no_samples(recs):
    rows = [[{"warmup": True, "latency_ms": 5.0, "cache_read_tokens": 3, "input_total_tokens": 9}]] * 3
    for recordings in (recs({"arm": rows}), recs({"arm": rows}, discarded=[("arm", k) for k in range(3)])):
        assert intervals_of(Both(recordings)) == [(None, None, None, 0)] * 4
        frame = compare(Both(recordings), *CACHE_REPORT, interval="original")
        assert set(frame["status"]) == {"no_data"}
        assert frame["seed"].isna().all()


def test_an_impossible_share_is_clamped_as_in_the_report_but_says_so(recs):
    rows = [
        [{"cache_read_tokens": 120, "input_total_tokens": 100}],
        [{"cache_read_tokens": 90, "input_total_tokens": 100}],
    ]
    frame = compare(recs({"arm": rows}, table="requests"), CACHE_HIT_RATE, interval="original")
    row = frame.iloc[0]
    assert (row["estimate"], row["upper"], row["flags"], row["status"]) == (1, 1, "clamped", "ok")
    assert row["lower"] == 0.9


def test_differences_have_no_original_interval(recs):
    sessions = sessions_of(6, seed=1)
    frame = compare(Both(recs({"a": sessions, "b": sessions[::-1]})), *CACHE_REPORT, interval="original")
    contrasts = frame[frame["kind"] != "level"]
    assert set(contrasts["status"]) == {"unsupported"}
    assert contrasts["lower"].isna().all()


def test_another_level_is_refused(recs):
    with pytest.raises(ConfigError, match="95 %"):
        compare(Both(recs({"a": sessions_of(3, seed=1)})), *CACHE_REPORT, interval="original", level=0.9)


def test_the_generator_jumps_to_the_same_states():
    state, expected = 0x9E3779B9, []
    for _ in range(10_000):
        state = (state * 1664525 + 1013904223) % 2**32
        expected.append(state)
    assert generator_states(10_000).tolist() == expected
    assert generator_states(3).tolist() == expected[:3]
    assert (session_counts(7).sum(axis=1) == 7).all()
