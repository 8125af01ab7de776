"""Make the expected tables of ``data/terminal-codex`` anew; read them before they are committed.

Run: ``python tests/golden/make_terminal_codex.py``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import agentlab as al

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "data"


def write(target: Path) -> None:
    """Write tables of the recording as CSV, from a copy without any cached table."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(DATA / "terminal-codex", Path(scratch) / "terminal-codex")
        recs = al.load(copy)
        target.mkdir(parents=True, exist_ok=True)
        memory, processes = recs.memory, recs.processes
        tables = {
            "runs": recs.runs,
            "sessions": recs.sessions,
            "memory": memory[memory["lane"] == "slow"],
            "processes": processes[processes["settled"]],
            "marginal": al.marginal_fit(recs),
        }
        for name, frame in tables.items():
            frame.to_csv(target / f"{name}.csv", index=False, na_rep="NA", lineterminator="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "terminal_codex")
