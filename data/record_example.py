"""Record the shipped example ``agentlab/data/cache`` with the demo; figure and result go into the README.

``make figure`` runs it: 10 runs of each arm on the real OpenCode with the scripted model. Latencies are in
it, so let the machine be quiet. A second recording gives other numbers; ``cache.sha256`` says which one is
shipped.
"""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import sys
from pathlib import Path

from agentlab.demo import default_folder, make_report

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "agentlab" / "data" / "cache"
SUMS = ROOT / "data" / "cache.sha256"
README = ROOT / "README.md"
IMAGES = ROOT / "docs" / "images"
#: What the README says of the figure.
SAID = re.compile(r"[\d.]+ points of the cached share \(interval [\d.]+ to [\d.]+, \d+ blocks\)")
#: Derived or of the recording process only.
_LEFT_OUT = ("tables", ".lock")


def sums(path: Path) -> str:
    """Return the checksums of all files of a folder."""
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(path)}\n" for p in files)


def result(table: Path) -> str:
    """Return how the README says what the changed sentence costs.

    Parameters
    ----------
    table : Path
        The figure's data.

    Returns
    -------
    str
    """
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "CACHE_HIT_RATE"]
    row = next(row for row in rows if row["kind"] == "difference")
    points = [-100 * float(row[name]) for name in ("estimate", "upper", "lower")]
    cost, low, high = (f"{value:.1f}" for value in points)
    return f"{cost} points of the cached share (interval {low} to {high}, {row['n_blocks']} blocks)"


def main() -> None:
    """Measure, then replace example, checksums, figure and what the README says of it."""
    report = ROOT / default_folder()
    make_report(report, runs=10, say=lambda line: print(line, file=sys.stderr, flush=True))
    shutil.rmtree(TARGET, ignore_errors=True)
    shutil.copytree(report / "studies" / "cache", TARGET, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    SUMS.write_text(sums(TARGET), encoding="utf-8")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in ("cache.png", "cache.csv"):
        shutil.copyfile(report / "figures" / name, IMAGES / name)
    README.write_text(SAID.sub(result(IMAGES / "cache.csv"), README.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
