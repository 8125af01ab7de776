"""What looking at a page costs: the same answer in OpenCode's page under each recorder, runs interleaved.

CPU of the page's renderer and of its main thread in the measured window, each beside that of ``off``, which
reads the browser's counters once a second and watches the text, as all do. ``A/A`` is ``off`` a second time:
what lies within it is no price. CPU of the measuring process is all of it, the agent's event stream included.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import agentlab as al

from . import Row, print_conditions, print_rows, verdict

GOAL_OWN = 0.02  # of a core
RECORDERS = ("off", "light", "cpu", "original", "deep")
_TEXT = (
    "# Foxes\n\nA **fox** jumps over `dogs`.\n\n```python\ndef jump(x):\n    return x + 1\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n" + "The quick brown fox jumps over the lazy dog. " * 90
)
#: A reading of B5 by the original's definitions, and the page's own.
_READINGS = (
    ("tasks", "original_tasks", "n_tasks"),
    ("long tasks", "original_long_tasks", "n_long_tasks"),
    ("in long tasks, ms", "original_long_total_ms", "long_total_ms"),
    ("longest, ms", "original_longest_ms", "longest_ms"),
    ("task p95, ms", "original_task_p95_ms", "task_p95_ms"),
    ("task p99, ms", "original_task_p99_ms", "task_p99_ms"),
    ("blocked, %", "original_blocked_pct", "blocked_share"),
    ("busy, %", "original_busy_pct", "busy_share"),
    ("style recalcs/s", "original_recalcs_per_second", "recalcs_per_second"),
    ("layouts/s", "original_layouts_per_second", "layouts_per_second"),
    ("rAF calls/s | frames/s", "original_raf_per_second", "frames_per_second"),
    ("stream, s", "original_stream_s", "stream_s"),
    ("node growth | kept after GC", "original_node_growth", "node_growth_kept"),
    ("listener growth | kept after GC", "original_listener_growth", "listener_growth_kept"),
    ("heap, max bytes", "original_heap_max_bytes", "heap_max_bytes"),
)


def record_pages(folder: Path, *, runs: int, tokens_per_s: float) -> al.Recordings:
    """Record the same answer under each recorder."""
    arms = al.WebChat("lab/scripted").recorded(*RECORDERS)
    arms["A/A"] = dataclasses.replace(arms["off"])
    scenario = al.Scenario("looking", turns=["Tell me of foxes."], timeouts=al.Timeouts(start=90))
    gateway = al.Gateway(al.ScriptedModel([al.Step(text=_TEXT, tokens_per_s=tokens_per_s)], match="rule"))
    running = al.record(
        scenario, arms, runs=runs, to=folder, gateway=gateway, host="process", progress="none", quiet=None
    )
    return running.result()


def rows(*, runs: int = 3, tokens_per_s: float = 150.0, folder: Path | None = None) -> list[Row]:
    """Measure the recorders; medians over runs that passed their gates, ranges beside them."""
    with tempfile.TemporaryDirectory(prefix="webchat-") as scratch:
        recs = record_pages(folder or Path(scratch) / "study", runs=runs, tokens_per_s=tokens_per_s)
        return _rows(recs)


def _rows(recs: al.Recordings) -> list[Row]:
    page = recs.page[recs.page["eligible"]]
    base = page[page["arm"] == "off"]["renderer_cpu_ms"].median()
    found: list[Row] = []
    for arm in ("off", "A/A", *RECORDERS[1:]):
        own = page[page["arm"] == arm]
        share = own["own_cpu_s"] / own["recorded_s"]
        found.append({
            "recorder": arm,
            "runs": len(own),
            "main_cpu_ms": _median(own["main_cpu_ms"]),
            "renderer_cpu_ms": _median(own["renderer_cpu_ms"]),
            "range": f"{own['renderer_cpu_ms'].min():.0f}-{own['renderer_cpu_ms'].max():.0f}",
            "to_off": _median(own["renderer_cpu_ms"]) / base,
            "renderer_ms_per_token": _median(own["renderer_cpu_ms"] / own["output_tokens"]),
            "own_pct": 100 * _median(share),
            "move_cpu_s": _median(own["move_cpu_s"]),
        })  # fmt: skip
    return found


def readings(recs: al.Recordings, arm: str = "original") -> list[Row]:
    """Return one recording's metrics by the original's definitions and by the page's main thread."""
    page = recs.page
    one: Any = page[(page["arm"] == arm) & page["eligible"]].iloc[0]
    scale = {"blocked_share": 100.0, "busy_share": 100.0}
    return [
        {"metric": name, "original": one[theirs], "page": one[ours] * scale.get(ours, 1.0)}
        for name, theirs, ours in _READINGS
    ]


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks webchat", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--to", type=Path, help="keep the study in this folder")
    given = parser.parse_args(argv)
    print_conditions("pychrome")
    with tempfile.TemporaryDirectory(prefix="webchat-") as scratch:
        recs = record_pages(given.to or Path(scratch) / "study", runs=given.runs, tokens_per_s=150.0)
        found = _rows(recs)
        print_rows(found)
        print()
        print_rows(readings(recs))
    worst = max(row["own_pct"] for row in found if row["recorder"] in ("off", "light"))
    return verdict(f"own CPU <= {GOAL_OWN:.0%} of a core while it is recorded", worst <= 100 * GOAL_OWN)


def _median(values: pd.Series[Any]) -> float:
    return float(values.median())
