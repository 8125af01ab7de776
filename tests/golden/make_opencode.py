"""Make the expected tables of ``data/opencode-faults`` anew; read them before they are committed.

Run: ``python tests/golden/make_opencode.py``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import agentlab as al

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "data"
TABLES = ("runs", "issues", "sessions", "turns", "requests", "chunks", "tools", "pressure")


def write(target: Path) -> None:
    """Write each table of the recording as CSV, from a copy without any cached table."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(DATA / "opencode-faults", Path(scratch) / "opencode-faults")
        recs = al.load(copy)
        target.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            recs.table(name).to_csv(target / f"{name}.csv", index=False, na_rep="NA", lineterminator="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "opencode")
