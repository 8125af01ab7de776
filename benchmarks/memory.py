"""CPU of one look at the memory of 100 processes, against bare kernel reads in C and the original's scans.

Ours is all that the sampler does for a slow sample, with its line in ``memory.jsonl``; the C loop reads
the same files ``smaps_rollup`` and nothing else. "Outside the reads" is the same sample with these files
already read, against the original's search for the processes of a run, which it did before it read any.
All processes of the machine are looked at every 2 s, which is every fourth sample.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentlab.engine.files import LineWriter
from agentlab.instruments.memory.sweep import Sweeper
from agentlab.wire.children import Children
from agentlab.wire.marked import MARKER
from agentlab.wire.procfs import Procfs, read_file

from . import Row, _memory_scans, median, print_conditions, print_rows, verdict

GOAL_READS = 1.3
GOAL_SCANS = 4.0
_FORKS = """
import os, sys, time
n, size = map(int, sys.argv[1:])
for _ in range(n - 1):
    if os.fork() == 0:
        break
held = bytearray(size << 20)
held[::4096] = bytes(range(1, 2)) * len(range(0, len(held), 4096))
time.sleep(600)
"""


def rows(*, n_processes: int = 100, size_mib: int = 20, rounds: int = 15) -> list[Row]:
    """Measure the contenders in turn, `rounds` times; medians over rounds, CPU ms a sample."""
    return asyncio.run(_rows(n_processes, size_mib, rounds))


async def _rows(n_processes: int, size_mib: int, rounds: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        async with Children() as children:
            program = [sys.executable, "-S", "-c", _FORKS, str(n_processes), str(size_mib)]
            first = await children.spawn(program, env={"PATH": os.environ["PATH"]})
            pids = await _until(n_processes, size_mib, children.pid)
            return _measure(Path(name), children, first.pid, pids, rounds)


async def _until(n_processes: int, size_mib: int, root: int) -> list[int]:
    """Wait until all processes hold what they shall."""
    proc = Procfs()
    for _ in range(600):
        await asyncio.sleep(0.1)
        found = Sweeper(proc, lambda: [root], None, lambda: False).look("slow")
        held = [] if found is None else found.sample["processes"]
        if len(held) == n_processes and all((row[4] or 0) >= size_mib << 20 for row in held):
            await asyncio.sleep(1.5)  # environments of new processes are read again for a second
            return [row[0] for row in held]
    raise RuntimeError(f"{n_processes} processes of {size_mib} MiB did not come in 60 s")


def _measure(folder: Path, children: Children, root: int, pids: list[int], rounds: int) -> list[Row]:
    writer = LineWriter(folder / "memory.jsonl")
    held = {f"/proc/{pid}/smaps_rollup": read_file(f"/proc/{pid}/smaps_rollup") for pid in pids}

    def sweeper(proc: Procfs, whole_s: float) -> Sweeper:
        return Sweeper(proc, lambda: [children.pid], None, lambda: False, whole_s=whole_s)

    already_read = Procfs(read=lambda path: held.get(path) or read_file(path))
    real, unread, between = sweeper(Procfs(), 0), sweeper(already_read, 0), sweeper(already_read, 3600)
    between.look("slow")
    tag = f"{MARKER}={children.marker}".encode()

    def sample(sweeper: Sweeper) -> None:
        sweep = sweeper.look("slow")
        if sweep is None or len(sweep.ids) != len(pids):
            raise RuntimeError("a sample is not whole")
        writer.write({"t": sweep.t, "kind": "memory.sample", **sweep.sample})

    def scans() -> None:
        if not set(pids) <= _memory_scans.scan([root], tag):
            raise RuntimeError("the original's scans do not find the run")

    contenders: dict[str, Callable[[], float]] = {
        "agentlab, a sample": lambda: _cpu_ms(lambda: sample(real)),
        "agentlab, outside the reads": lambda: _cpu_ms(lambda: sample(unread)),
        "the same, between two whole looks": lambda: _cpu_ms(lambda: sample(between)),
        "the original's scans": lambda: _cpu_ms(scans),
    }
    if (program := _compiled(folder)) is not None:
        contenders["bare reads in C"] = lambda: _in_c(program, pids)
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            found[name].append(measure())
    writer.close()
    middle = {name: median(times) for name, times in found.items()}
    outside = (middle["agentlab, outside the reads"] + 3 * middle["the same, between two whole looks"]) / 4
    base = {"agentlab, a sample": middle.get("bare reads in C"), "the original's scans": outside}
    return [
        {
            "what": name,
            "processes": f"{len(pids)} of {len(Procfs().pids())}",
            "cpu_ms": middle[name],
            "lowest_ms": min(times),
            "ratio": middle[name] / of if (of := base.get(name)) else None,
        }
        for name, times in found.items()
    ]


def _cpu_ms(do: Callable[[], None]) -> float:
    began = time.thread_time_ns()
    do()
    return (time.thread_time_ns() - began) / 1e6


def _compiled(folder: Path) -> str | None:
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    program = folder / "reads"
    source = Path(__file__).with_name("_memory_reads.c")
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return str(program)


def _in_c(program: str, pids: list[int]) -> float:
    command = [program, "1", *map(str, pids)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1e6


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    print_conditions("msgspec")
    found = {row["what"]: row for row in rows(n_processes=options.processes, rounds=options.rounds)}
    print_rows(list(found.values()))
    scans = found["the original's scans"]["ratio"]
    reads = found["agentlab, a sample"]["ratio"]
    what = [f"outside the reads at least {GOAL_SCANS:g} times less CPU than the original's scans"]
    held = scans >= GOAL_SCANS
    if reads is None:
        print(f"NOT JUDGED: at most {GOAL_READS:g} times the bare reads; there is no C compiler (cc)")
    else:
        what.append(f"a sample takes at most {GOAL_READS:g} times the bare reads in C")
        held = held and reads <= GOAL_READS
    return verdict("; ".join(what), held)
