"""The task table of a trace: CPU and memory against msgspec, json and the engine of DevTools, same counts."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agentlab.agents.npm import install_package

from . import Row, median, print_conditions, print_rows, verdict

HERE = Path(__file__).resolve().parent
#: OpenCode's page in a real Chromium while an answer streams; repeated, each time later.
RECORDING = HERE.parent / "data" / "traces" / "opencode.json.gz"
ENGINE = "0.0.65"

MB_PER_S, MB_PER_S_GZIP, TIMES_MSGSPEC, TIMES_ENGINE, OVER_IMPORT_MB = 600.0, 400.0, 2.0, 20.0, 150.0


def make_trace(path: Path, megabytes: float) -> None:
    """Write a trace of about that size: the recording again and again, moved on in time."""
    *lines, _ = gzip.decompress(RECORDING.read_bytes()).split(b"\n]}")
    head, _, body = b"".join(lines).partition(b"\n")
    stamps = [int(stamp) for stamp in re.findall(rb'"ts":(\d{6,})', body)]
    length = max(stamps) - min(stamps) + 1000
    parts = re.split(rb'(?<="ts":)(\d{6,})', body)
    with path.open("wb") as file:
        file.write(head + b"\n")
        for copy in range(max(1, round(megabytes * 1e6 / len(body)))):
            parts[1::2] = [b"%d" % (stamp + copy * length) for stamp in stamps]
            file.write((b",\n" if copy else b"") + b"".join(parts))
        file.write(b"\n]}\n")


def engine_module() -> Path:
    """Return the engine of DevTools, installed from npm into the cache at the first run."""

    def find(folder: Path) -> Path:
        found = folder.joinpath("node_modules", "@paulirish", "trace_engine", "models", "trace", "trace.js")
        found.chmod(0o755)  # the cache holds programs
        return found

    return install_package(
        "trace_engine", "@paulirish/trace_engine", ENGINE, find, say=lambda line: print(line, file=sys.stderr)
    )


def measure(reader: str, path: Path, warm: Path) -> dict[str, Any]:
    """Read once, in a process of its own."""
    if reader == "DevTools' engine":
        command = ["node", "--max-old-space-size=8192", HERE / "_trace_engine.mjs", engine_module(), path]
    else:
        command = [sys.executable, "-m", "benchmarks._trace_readers", reader, path, warm]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{reader} could not read {path.name}: {done.stderr[-600:]}")
    return json.loads(done.stdout.splitlines()[-1])


def rows(
    folder: Path,
    *,
    megabytes: float = 100,
    big_megabytes: float = 1000,
    repeats: int = 5,
    engine: bool = True,
) -> list[Row]:
    """Measure every reader in turn; return medians. ``times`` is CPU against ours of the plain file."""
    plain, packed, big, warm = (folder / name for name in ("t.json", "t.json.gz", "big.json", "warm.json"))
    make_trace(warm, 1)
    make_trace(plain, megabytes)
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    jobs = [
        ("agentlab", plain),
        ("agentlab, page", plain),
        ("msgspec", plain),
        ("json", plain),
        ("agentlab", packed),
        ("msgspec", packed),
    ]
    if engine:
        jobs.append(("DevTools' engine", plain))
    found: dict[tuple[str, Path], list[dict[str, Any]]] = {job: [] for job in jobs}
    for turn in range(repeats):
        for job, measured in found.items():
            if turn < 2 or job[0] not in ("json", "DevTools' engine"):
                measured.append(measure(*job, warm))
    if big_megabytes:
        make_trace(big, big_megabytes)
        one = measure("agentlab, page", big, warm)
        found["agentlab, page", big] = [one | {"size": big.stat().st_size}]
        big.unlink()
    ours = median([one["cpu_s"] for one in found["agentlab", plain]])
    size = plain.stat().st_size
    return [
        {
            "reader": reader,
            "file": path.name,
            "mb": (measured[0].get("size") or size) / 1e6,
            "cpu_s": (cpu := median([one["cpu_s"] for one in measured])),
            "mb_per_s": (measured[0].get("size") or size) / 1e6 / cpu,
            "times": cpu / ours if path != big else float("nan"),
            "over_import_mb": max(one["over_import_mb"] for one in measured),
            "tasks": measured[0]["tasks"],
            "long": measured[0].get("long", "-"),
        }
        for (reader, path), measured in found.items()
    ]


def judge(found: list[Row]) -> dict[str, bool]:
    """Say which goals were held; gzip counts only where isal reads it."""
    by_name = {(row["reader"], row["file"]): row for row in found}
    ours = by_name["agentlab", "t.json"]
    same = [row for row in found if row["file"] == "t.json" and row["reader"] != "agentlab, page"]
    goals = {
        f"at least {MB_PER_S:g} MB/s of CPU": ours["mb_per_s"] >= MB_PER_S,
        f"msgspec takes at least {TIMES_MSGSPEC:g} times": by_name["msgspec", "t.json"]["times"]
        >= TIMES_MSGSPEC,
        "the same number of tasks": len({row["tasks"] for row in same}) == 1,
    }
    engine = by_name.get(("DevTools' engine", "t.json"))
    if engine is not None:
        goals[f"DevTools' engine takes at least {TIMES_ENGINE:g} times"] = engine["times"] >= TIMES_ENGINE
        goals["the same number of long tasks as DevTools"] = engine["long"] == ours["long"]
    if ("agentlab, page", "big.json") in by_name:
        over = by_name["agentlab, page", "big.json"]["over_import_mb"]
        goals[f"the big one takes less than {OVER_IMPORT_MB:g} MB over the import"] = over < OVER_IMPORT_MB
    if importlib.util.find_spec("isal") is not None:
        packed = by_name["agentlab", "t.json.gz"]["mb_per_s"]
        goals[f"gzip by isal: at least {MB_PER_S_GZIP:g} MB/s of text"] = packed >= MB_PER_S_GZIP
    return goals


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks trace", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small trace: for trying it")
    quick = parser.parse_args(argv).quick
    print_conditions("msgspec", "numpy", "pandas")
    isal = "installed" if importlib.util.find_spec("isal") else "not installed"
    print(f"@paulirish/trace_engine {ENGINE}, isal {isal}")
    with tempfile.TemporaryDirectory() as folder:
        size = {"megabytes": 5, "big_megabytes": 20, "repeats": 1} if quick else {}
        found = rows(Path(folder), **size)
    print_rows(found)
    goals = judge(found)
    for goal, held in goals.items():
        print(f"{'held' if held else 'missed'}: {goal}")
    return verdict("all of these", all(goals.values()))
