"""A study of 1,000 runs and a figure of a million marks: what size costs."""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import agentlab as al
from agentlab.frames.evidence import RunInfo
from agentlab.frames.tables import TABLES
from agentlab.metrics import CACHE_HIT_RATE, TTFT, TURN_LATENCY
from agentlab.plots.marks import Marks, Tone, draw_shares
from agentlab.plots.timeline import plot_timeline
from agentlab.recording import Recording
from agentlab.testing.recordings import SyntheticArm, write_study

from . import Row, median, print_conditions, print_rows, verdict

GOAL_S = 1.0
GOAL_RATIO = 2.0
_SIZE = (7.4, 4.2)  # inches, as plot_timeline's own figure
_BEGIN_NS = 10**13
_SECONDS = 60


def study_rows(*, n_runs: int = 1000, repeats: int = 5) -> list[Row]:
    """Write a study of two arms, build its tables once, then load and use it `repeats` times; return medians.

    Each run has 3 turns, 8 requests and about 200 chunks. ``ratio`` is time against reading the runs' files
    anew.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = _write(Path(scratch) / "study", n_runs)
        first = {name: [ms] for name, ms in _use(folder).items()}
        found: dict[str, list[float]] = {}
        for _ in range(repeats):
            for name, ms in _use(folder).items():
                found.setdefault(name, []).append(ms)
        shutil.rmtree(folder / "tables")
        anew = _timed(lambda: len(al.load(folder)))[0]
    rows = [_study_row(f"{name}, tables built anew", ms, anew, n_runs) for name, ms in first.items()]
    rows += [_study_row(name, ms, anew, n_runs) for name, ms in found.items()]
    return rows


def _study_row(what: str, ms: list[float], anew: float, n_runs: int) -> Row:
    return {
        "what": what,
        "n": n_runs,
        "clock": "wall",
        "ms": median(ms),
        "to": "files read anew",
        "ratio": median(ms) / anew,
    }


def _write(folder: Path, n_runs: int) -> Path:
    stable, volatile = (
        SyntheticArm(chunks=(20, 30)),
        SyntheticArm(chunks=(20, 30), stable=False, ttft_ms=420.0),
    )
    arms = {"stable": stable, "volatile": volatile}
    return write_study(folder, runs=n_runs // len(arms), steps=(3, 3, 2), arms=arms)


def _use(folder: Path) -> dict[str, float]:
    """Do what a user does first; return milliseconds."""
    found: dict[str, float] = {}
    found["load"], recs = _timed(lambda: al.load(folder))
    found["runs"], _ = _timed(lambda: recs.runs)
    found["card"], _ = _timed(recs._repr_mimebundle_)
    found["compare, 3 metrics"], _ = _timed(lambda: al.compare(recs, TTFT, CACHE_HIT_RATE, TURN_LATENCY))
    found["timeline of one run"], _ = _timed(lambda: plot_timeline(recs[len(recs) // 2]))
    return found


def _timed(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    started = clock()
    value = call()
    return (clock() - started) * 1e3, value


def figure_rows(*, n: int = 1_000_000, repeats: int = 9) -> list[Row]:
    """Draw each figure into a PNG in turn, `repeats` times; return medians of CPU time and ratios of them.

    The empty twin of a timeline is the timeline of a run without data: the same lanes, words and caption. The
    million tasks are one lane on plain Axes, whose twin is plain Axes.
    """
    info = RunInfo(study="s", arm="a", run_id="0000-a", run_index=0)
    full, nothing = Recording(info, _tables_of(n)), Recording(info, lambda name, _: TABLES[name].frame([]))
    tasks = _tasks(n)
    figures: dict[str, tuple[str, Callable[[], Any]]] = {
        "empty Axes": ("empty Axes", _axes),
        "tasks in one lane of Axes": ("empty Axes", lambda: _with_tasks(tasks)),
        "empty timeline": ("empty timeline", lambda: plot_timeline(nothing)),
        "timeline with chunks": ("empty timeline", lambda: plot_timeline(full)),
    }
    found: dict[str, list[float]] = {name: [] for name in figures}
    for _ in range(repeats + 1):
        for name, (_, draw) in figures.items():
            found[name].append(_timed(lambda draw=draw: _png(draw()), time.process_time)[0])
    ms = {name: median(samples[1:]) for name, samples in found.items()}  # the first one loads fonts
    return [
        {
            "what": name,
            "n": 0 if name == twin else n,
            "clock": "cpu",
            "ms": ms[name],
            "to": twin,
            "ratio": ms[name] / ms[twin],
        }
        for name, (twin, _) in figures.items()
    ]


def _png(ax: Any) -> bytes:  # noqa: ANN401
    sink = io.BytesIO()
    ax.figure.savefig(sink, format="png")
    return sink.getvalue()


def _axes() -> Any:  # noqa: ANN401
    return Figure(figsize=_SIZE, layout="constrained").add_subplot(xlim=(0, _SECONDS))


def _with_tasks(tasks: Marks) -> Any:  # noqa: ANN401
    ax = _axes()
    draw_shares(ax, 1.0, [tasks])
    return ax


def _tasks(n: int) -> Marks:
    rng = np.random.default_rng(0)
    start = rng.random(n) * _SECONDS
    return Marks(Tone("task", "#0072b2"), start, start + rng.exponential(5e-6, n))


def _tables_of(n: int) -> Callable[[str, RunInfo], pd.DataFrame]:
    """Make the tables of one run with `n` chunks in 10 requests of one turn."""
    rng = np.random.default_rng(0)
    arrive = _BEGIN_NS + np.sort(rng.random(n) * _SECONDS * 1e9).astype(np.int64)
    each = _SECONDS * 10**9 // 10
    request = np.minimum((arrive - _BEGIN_NS) // each, 9) + 1
    columns: dict[str, Any] = {column.name: pd.NA for column in TABLES["chunks"].columns}
    columns |= {
        "request": request,
        "arrive_ns": arrive,
        "kind": np.where(rng.random(n) < 0.3, "reasoning", "text"),
        "visible": np.ones(n, bool),
    }
    turn = {"session_id": "x", "turn": 1, "send_ns": _BEGIN_NS, "latency_ms": 1e3 * _SECONDS, "warmup": False}
    requests = [
        {
            "request": i + 1,
            "source": "both",
            "chain": "main",
            "status": "ok",
            "send_ns": _BEGIN_NS + i * each,
            "agent_begin_ns": _BEGIN_NS + i * each,
            "first_chunk_ms": 100.0,
            "latency_ms": each / 1e6 - 100.0,
        }
        for i in range(10)
    ]
    made = {
        "turns": TABLES["turns"].frame([turn]),
        "requests": TABLES["requests"].frame(requests),
        "chunks": TABLES["chunks"].cast(pd.DataFrame(columns, index=range(n))),
    }
    return lambda name, _: made[name] if name in made else TABLES[name].frame([])


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 runs, 100,000 marks: for trying it")
    quick = parser.parse_args(argv).quick
    print_conditions("numpy", "pandas", "pyarrow", "matplotlib")
    studies = study_rows(n_runs=100, repeats=3) if quick else study_rows()
    figures = figure_rows(n=100_000, repeats=3) if quick else figure_rows()
    print_rows([*studies, *figures])
    slow = [row["what"] for row in studies if "anew" not in row["what"] and row["ms"] >= 1e3 * GOAL_S]
    slow += [row["what"] for row in figures if row["ratio"] > GOAL_RATIO]
    n = studies[0]["n"]
    goal = f"{n:,} runs load, show their card and are compared in < {GOAL_S:g} s each; "
    goal += (
        f"a figure of {figures[1]['n']:,} marks takes at most {GOAL_RATIO:g} times the CPU of its empty twin"
    )
    return verdict(goal + (f" (missed by {', '.join(slow)})" if slow else ""), not slow)
