"""Record the shipped example ``agentlab/data/cache`` with the demo, and put its figure into the README.

``make figure`` runs it: 10 runs of each arm on the real OpenCode with the scripted model. Latencies are in
it, so let the machine be quiet. A second recording gives other numbers; ``cache.sha256`` says which one is
shipped.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from agentlab.demo import default_folder, make_report

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "agentlab" / "data" / "cache"
SUMS = ROOT / "data" / "cache.sha256"
#: Derived or of the recording process only.
_LEFT_OUT = ("tables", ".lock")


def sums(path: Path) -> str:
    """Return the checksums of all files of a folder."""
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(path)}\n" for p in files)


def main() -> None:
    """Measure, then replace example, checksums and figure."""
    report = ROOT / default_folder()
    make_report(report, runs=10, say=lambda line: print(line, file=sys.stderr, flush=True))
    shutil.rmtree(TARGET, ignore_errors=True)
    shutil.copytree(report / "studies" / "cache", TARGET, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    SUMS.write_text(sums(TARGET), encoding="utf-8")
    images = ROOT / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    for name in ("cache.png", "cache.csv"):
        shutil.copyfile(report / "figures" / name, images / name)


if __name__ == "__main__":
    main()
