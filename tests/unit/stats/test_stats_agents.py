"""The metrics of a comparison of agents, from evidence to intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentlab.errors import UnstableWarning
from agentlab.metrics import (
    ANSWERED,
    CACHE_HIT_RATE,
    CHARGED,
    COST,
    FIRST_REQUEST,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    PREFIX_LOST,
    PREFIX_REUSE,
    REQUESTS,
    START_CPU,
    TOOL_FAILURES,
)
from agentlab.recording import load
from agentlab.stats.compare import compare
from agentlab.testing.recordings import SyntheticRun, SyntheticStudy

ARMS = ("lean", "wasteful")


def record(run: SyntheticRun, *, wasteful: bool, k: int) -> None:
    """Three requests (a fourth is refused), two tool calls, one process."""
    run.emit("session.open", session="s", role="main")
    run.emit("turn.send", session="s", turn=1, message="u", n_chars=1, n_bytes=1)
    run.emit("process.begin", at_ms=1, session="s", turn=1)
    for number in (1, 2, 3):
        size, at = 1000 * number + 10 * k, 100 * number
        shared = size - 1000 if not wasteful else 500
        prefix = (
            {}
            if number == 1
            else {"prefix_bytes": shared, "lost_bytes": size - 1000 - shared, "follows": number - 1}
        )
        begin = {
            "dialect": "chat",
            "n_tools": 4,
            "chain": "main",
            "canonical_bytes": size,
            "reserved_usd": "1",
        }
        run.emit_gateway("request.begin", at_ms=at, request=number, **begin, **prefix)
        cost = f"0.0{number}{k}"
        used: dict[str, Any] = {
            "input_uncached_tokens": size,
            "cache_read_tokens": 0,
            "input_total_tokens": size,
        }
        run.emit_gateway(
            "request.end", at_ms=at + 50, request=number, status=200, terminal_seen=True, output_tokens=7,
            **used, charged_usd=cost, measured_usd=cost, price={"input": "3", "cache_read": "0.3"},
        )  # fmt: skip
    refused = {"canonical_bytes": 9000, "prefix_bytes": 9, "lost_bytes": 7, "follows": 3}  # nothing was sent
    run.emit_gateway("request.begin", at_ms=900, request=4, dialect="chat", chain="main", **refused)
    run.emit_gateway("request.end", at_ms=901, request=4, status=400, refused=True, reason="admission")
    run.emit("process.first_request", at_ms=100 + k, session="s", turn=1, request=1, cpu_s=0.2 + 0.01 * k)
    for call, status in (("1", "completed"), ("2", "error" if wasteful and k % 2 else "completed")):
        run.emit("tool", session="s", call=f"{call}", name="read", status=status, source="stream")
    run.emit("result", session="s", status="answered" if k else "error", answer_chars=3)


@pytest.fixture(scope="module")
def estimates(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path: Path = tmp_path_factory.mktemp("agents") / "study"
    study = SyntheticStudy(path, arms=ARMS)
    for k in range(8):
        for arm in ARMS:
            with study.run(arm, run_index=k, block=k) as run:
                record(run, wasteful=arm == "wasteful", k=k)
    metrics = (ANSWERED, CACHE_HIT_RATE, CHARGED, COST, FIRST_REQUEST, INPUT_TOKENS, OUTPUT_TOKENS,
               PREFIX_LOST, PREFIX_REUSE, REQUESTS, START_CPU, TOOL_FAILURES)  # fmt: skip
    with pytest.warns(UnstableWarning, match="REQUESTS"):  # all runs make three
        return compare(load(path), *metrics, reference="lean", n_resamples=999)


def level(estimates: pd.DataFrame, metric: str, arm: str) -> pd.Series[Any]:
    found = estimates.query("metric == @metric and arm == @arm and kind == 'level'")
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.parametrize(
    ("metric", "lean"),
    [
        ("REQUESTS", 3),
        ("CACHE_HIT_RATE", 0),
        ("INPUT_TOKENS", 6000 + 30 * 3.5),
        ("OUTPUT_TOKENS", 21),
        ("COST", 0.06 + 0.003 * 3.5),
        ("CHARGED", 0.06 + 0.003 * 3.5),
        ("PREFIX_REUSE", (3000 + 20 * 3.5) / (5000 + 20 * 3.5)),
        ("PREFIX_LOST", 0),
        ("TOOL_FAILURES", 0),
        ("ANSWERED", 7 / 8),
        ("START_CPU", 0.235),
        ("FIRST_REQUEST", 102.5),
    ],
)
def test_each_metric_is_what_it_says(estimates: pd.DataFrame, metric: str, lean: float) -> None:
    row = level(estimates, metric, "lean")
    assert row["estimate"] == pytest.approx(lean)
    assert row["n_missing"] == 0 and row["n_runs"] == 8
    if row["status"] == "ok":
        assert row["lower"] <= row["estimate"] <= row["upper"]


def test_differences_have_paired_intervals(estimates: pd.DataFrame) -> None:
    rows: Any = estimates.query("kind == 'difference'").set_index("metric")
    assert rows.loc["PREFIX_REUSE", "estimate"] < 0 and rows.loc["PREFIX_REUSE", "paired"]
    assert rows.loc["PREFIX_REUSE", "upper"] < 0
    assert rows.loc["PREFIX_LOST", "lower"] > 0
    assert rows.loc["TOOL_FAILURES", "estimate"] == 0.25
    assert rows.loc["REQUESTS", "estimate"] == 0


def test_an_uncertain_request_leaves_the_cost_unknown_and_the_charge_known(tmp_path: Path) -> None:
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    for k in range(5):
        with study.run("a", run_index=k) as run:
            run.emit_gateway("request.begin", at_ms=1, request=1, dialect="chat", reserved_usd="0.5")
            run.emit_gateway(
                "request.end", at_ms=2, request=1, status=200, fault="cut", uncertain=True, charged_usd="0.5"
            )
    with pytest.warns(UnstableWarning, match="CHARGED"):
        frame = compare(load(study.path), COST, CHARGED).set_index("metric")
    assert frame.loc["COST", "status"] == "no_data" and frame.loc["COST", "n_missing"] == 5
    assert frame.loc["CHARGED", "estimate"] == 0.5


def test_runs_that_failed_count_as_not_answered(tmp_path: Path) -> None:
    study = SyntheticStudy(tmp_path / "study", arms=ARMS)
    fates = ["answered", "answered", "error", "limit", "timeout", "budget", "stopped"]
    for k, fate in enumerate(fates):
        failed = {} if fate == "answered" else {"status": "failed"}
        with study.run("lean", run_index=k, block=k, **failed) as run:
            record(run, wasteful=False, k=1)
            run.emit("result", session="s", status=fate, answer_chars=3)
            if failed:
                run.issue("turn_error", discard=True)
        with study.run("wasteful", run_index=k, block=k) as run:
            record(run, wasteful=True, k=1)
    with pytest.warns(UnstableWarning):
        found = compare(load(study.path), ANSWERED, REQUESTS, reference="wasteful", n_resamples=100)
    row = level(found, "ANSWERED", "lean")
    assert (row["estimate"], row["n_runs"], row["n_discarded"]) == (pytest.approx(2 / 5), 5, 0)
    assert row["n_missing"] == 2 and "empty_runs" in row["flags"]  # ended from outside: unknown
    assert level(found, "REQUESTS", "lean")["n_discarded"] == 5
    difference = found.query("metric == 'ANSWERED' and kind == 'difference'").iloc[0]
    assert difference["estimate"] == pytest.approx(-3 / 5)


def test_what_was_cut_short_and_done_again_counts_once(tmp_path: Path) -> None:
    study = SyntheticStudy(tmp_path / "study", arms=("lean",))
    for status, fate in (("cancelled", "error"), ("complete", "answered")):
        with study.run("lean", status=status) as run:
            record(run, wasteful=False, k=1)
            run.emit("result", session="s", status=fate, answer_chars=3)
    row = level(compare(load(study.path), ANSWERED), "ANSWERED", "lean")
    assert (row["estimate"], row["n_runs"], row["n_discarded"]) == (1, 1, 1)
