"""What ``import agentlab`` costs over a bare Python: modules and milliseconds."""

from __future__ import annotations

import argparse
import subprocess
import sys

from . import Row, median, print_conditions, print_rows, verdict

GOAL = 40
PEERS = ("agentlab", "msgspec", "asyncio", "numpy", "httpx", "aiohttp", "pandas", "matplotlib.pyplot")
_CODE = """
import sys, time
before, cpu, wall = len(sys.modules), time.process_time(), time.perf_counter()
{code}
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(len(sys.modules) - before, cpu * 1e3, wall * 1e3, int("numpy" in sys.modules))
"""


def rows(*, names: tuple[str, ...] = PEERS, repeats: int = 5) -> list[Row]:
    """Import each name in fresh processes, in turn; return medians (modules are the same each time)."""
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:
            command = [sys.executable, "-c", _CODE.format(code=f"import {name}")]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name].append([float(word) for word in done.stdout.split()])
    return [
        {
            "import": name,
            "modules": int(median([sample[0] for sample in samples])),
            "cpu_ms": median([sample[1] for sample in samples]),
            "wall_ms": median([sample[2] for sample in samples]),
            "numpy": bool(samples[0][3]),
        }
        for name, samples in found.items()
    ]


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks imports", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="agentlab only, once: for trying it")
    quick = parser.parse_args(argv).quick
    print_conditions()
    found = rows(names=("agentlab",), repeats=1) if quick else rows()
    print_rows(found)
    ours = found[0]
    held = ours["modules"] <= GOAL and not ours["numpy"]
    return verdict(f"import agentlab loads no numpy and at most {GOAL} modules", held)
