"""Measurements side by side with the peers, in one run: ``python -m benchmarks NAME``.

Ratios bind, absolute figures inform. Every module has ``rows(...)``, which measures and returns plain rows,
and ``main(argv)``, which prints conditions, rows and verdict and returns 0 when the goal was held, else 1.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from agentlab.machine import provenance
from agentlab.wire.pressure import read_pressure

Row = dict[str, Any]


def print_conditions(*packages: str) -> None:
    """Print what the figures depend on: machine, load, pressure, versions."""
    facts = provenance()
    versions = "".join(f", {name} {metadata.version(name)}" for name in packages)
    print(f"{facts['cpu_model']}, {facts['cpus_usable']} CPUs, kernel {facts['kernel']}, {facts['python']}")
    print(f"agentlab {facts['agentlab']} ({facts['commit'] or 'no checkout'}){versions}")
    print(f"before: {pressure_line()}")


def pressure_line() -> str:
    """Say how busy the machine is now."""
    now = read_pressure()
    cpu = "unknown" if now.cpu_some_avg10 is None else f"{now.cpu_some_avg10} %"
    return f"load average {now.load1}, CPU PSI avg10 {cpu}"


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows of equal keys as a table."""
    cells = [list(rows[0]), *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    for line in cells:
        first, *others = (
            text.ljust(w) if i == 0 else text.rjust(w)
            for i, (text, w) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join([first, *others]))


def verdict(what: str, held: bool) -> int:
    """Print whether a goal was held; return the exit code."""
    print(f"after: {pressure_line()}")
    print(f"{'held' if held else 'NOT HELD'}: {what}")
    return 0 if held else 1


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
