"""Make the shipped example ``agentlab/data/cache``: a synthetic study of a stable and a volatile prompt.

It is synthetic (``study.json`` says so): nothing in it was measured.
Run: ``python data/make_example_cache.py``.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from agentlab.testing.recordings import SyntheticArm, write_study

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "agentlab" / "data" / "cache"
ARMS = {
    "stable": SyntheticArm(ttft_ms=240.0, discard_rate=0.05),
    "volatile": SyntheticArm(ttft_ms=390.0, stable=False, retry_rate=0.02),
}


def make(path: Path) -> None:
    """Write the example below an empty path; the same bytes each time."""
    write_study(path, arms=ARMS, runs=6, steps=(3, 1), seed=7)


def sums(path: Path) -> str:
    """Return the checksums of all its files."""
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(path)}\n" for p in files)


if __name__ == "__main__":
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.parent.mkdir(exist_ok=True)
    make(TARGET)
    (ROOT / "data" / "cache.sha256").write_text(sums(TARGET), encoding="utf-8")
