"""Exec sessions: output through pipes and terminals, reports of an end, starts below a parent of 2 GB.

Every reader runs in a process of its own, all in turn, and writes the same bytes of the same ``dd`` into a
file of the same folder. The time of a report is taken from the command's own last stamp. Login shells find an
empty home: what a user's profile costs is not measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from agentlab.drivers.exec import printer
from agentlab.drivers.exec.account import Listed
from agentlab.drivers.exec.original import OriginalSessions
from agentlab.drivers.exec.sessions import ExecSessions

from . import Row, _exec_peers, median, print_conditions, print_rows, verdict

GOAL_PIPE_MB_S = 400.0
GOAL_MEMORY_MB = 40.0
GOAL_PTY_RATIO = 1.3
GOAL_REPORT_MS = 50.0
GOAL_START_MS = 10.0
_OURS = ("pipe: agentlab", "pty: agentlab")


def _peer(*arguments: str) -> Row:
    command = [sys.executable, "-m", "benchmarks._exec_peers", *arguments]
    root = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            command, cwd=root, env={**os.environ, "HOME": home}, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def transfer_rows(*, pipe_bytes: int = 1 << 30, pty_bytes: int = 1 << 26, repeats: int = 3) -> list[Row]:
    """Let each reader read in turn, `repeats` times; return medians (of memory the largest).

    ``ratio`` is the time against that of the bare reader of the same kind: the median over rounds.
    """
    found: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as name:
        has_c = _exec_peers.compile_c_reader(Path(name))
        contenders = [c for c in _exec_peers.CONTENDERS if c != "pty: C" or has_c]
        for _ in range(repeats):
            for contender in contenders:
                n_bytes = pipe_bytes if contender.startswith("pipe") else pty_bytes
                row = _peer(contender, str(n_bytes), name)
                (Path(name) / "spool").unlink(missing_ok=True)
                found.setdefault(contender, []).append({**row, "mb": n_bytes / 1e6})
    return [_transfer_row(name, found) for name in found]


def _transfer_row(name: str, found: dict[str, list[Row]]) -> Row:
    samples = found[name]
    bare = found["pipe: bare splice" if name.startswith("pipe") else "pty: bare read"]
    return {
        "reader": name,
        "MB": samples[0]["mb"],
        "MB/s": median([sample["mb"] / sample["s"] for sample in samples]),
        "cpu_s": median([sample["cpu_s"] for sample in samples]),
        "MB over import": max(sample["over_import_mb"] for sample in samples),
        "ratio": median([ours["s"] / floor["s"] for ours, floor in zip(samples, bare, strict=True)]),
    }


def report_rows(*, n: int = 40) -> list[Row]:
    """Let commands end while they are waited for; return how late that was told, ms."""
    return [
        {
            "rules": rules,
            "on": "terminal" if tty else "pipes",
            "ends": n,
            **_quantiles(asyncio.run(_reports(make, tty, n))),
        }
        for rules, make in (("ours", ExecSessions), ("original", OriginalSessions))
        for tty in (True, False)
    ]


async def _reports(make: type[ExecSessions], tty: bool, n: int) -> list[float]:
    late: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        async with make(tty=tty, env={"HOME": name}) as sessions:
            for i in range(n):
                path = Path(name) / f"{i}.list"
                say = [sys.executable, "-I", "-S", printer.__file__, str(path), "a", "line", "wait:0.05"]
                result = await sessions.run(f"exec {shlex.join(say)}", yield_s=10)
                told = time.monotonic_ns()
                assert result.state == "exited"
                late.append((told - Listed.of(path).ended["a"]) / 1e6)
    return late


def _quantiles(values: Sequence[float]) -> Row:
    ordered = sorted(values)
    last = len(ordered) - 1
    return {"p50_ms": median(ordered), "p95_ms": ordered[round(0.95 * last)], "max_ms": ordered[-1]}


def start_rows(*, parent_bytes: int = 2 << 30, n: int = 15) -> list[Row]:
    """Start ``bash -lc`` and wait for its first byte, below a small parent and a large one; ms."""
    small, large = (_peer("start", str(size), str(n)) for size in (1 << 12, parent_bytes))
    return [
        {
            "start": name,
            "n": n,
            "small_ms": median(small[name]),
            "large_ms": median(large[name]),
            "large_max_ms": max(large[name]),
            "added_ms": median(large[name]) - median(small[name]),
        }
        for name in small
    ]


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks exec", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data, once: for trying it")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    print_conditions("pexpect")
    if options.quick:
        found = transfer_rows(pipe_bytes=1 << 27, pty_bytes=1 << 23, repeats=1)
        reports, started = report_rows(n=5), start_rows(parent_bytes=1 << 28, n=3)
    else:
        found, reports, started = transfer_rows(repeats=options.repeats), report_rows(), start_rows()
    for rows in (found, reports, started):
        print_rows(rows)
        print()
    pipe, pty = (next(row for row in found if row["reader"] == name) for name in _OURS)
    ours = [row for row in reports if row["rules"] == "ours"]
    starts = {row["start"]: row for row in started}
    agentlab = [row for name, row in starts.items() if name.startswith("agentlab")]
    for what, value, goal in (
        ("pipe, MB/s", pipe["MB/s"], f"at least {GOAL_PIPE_MB_S:g}"),
        (
            "report of an end, largest p95, ms",
            max(row["p95_ms"] for row in ours),
            f"at most {GOAL_REPORT_MS:g}",
        ),
        ("start, largest median, ms", max(row["large_ms"] for row in agentlab), f"at most {GOAL_START_MS:g}"),
    ):
        print(f"{what}: {value:.3g} ({goal})")
    held = (
        pty["ratio"] <= GOAL_PTY_RATIO
        and max(pipe["MB over import"], pty["MB over import"]) <= GOAL_MEMORY_MB
        and max(row["added_ms"] for row in agentlab) < starts["Popen with preexec_fn"]["added_ms"] / 5
    )
    return verdict(
        f"on a terminal at most {GOAL_PTY_RATIO:g} times a bare reader; at most {GOAL_MEMORY_MB:g} MB over "
        "the import; a parent's size adds at most a fifth of what it adds to preexec_fn",
        held,
    )
