"""Record ``data/terminal-codex`` anew: the real Codex on terminals, one session and two, with its daemons.

Numbers, ids and names of programs only; nothing of the machine. Run it where agentlab and Codex are
installed: ``python data/record_terminal.py``. The tables in ``tests/golden/terminal_codex`` are then made
anew by ``python tests/golden/make_terminal_codex.py`` and must be read before they are committed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import agentlab as al

HERE = Path(__file__).resolve().parent
TARGET = HERE / "terminal-codex"


def record(folder: Path) -> None:
    """Record one block: a run of each number of sessions."""
    driver = al.Terminal("codex", sessions=(1, 2), hold_s=2.0)
    scenario = al.Scenario("terminals")
    running = al.record(scenario, driver, runs=1, seed=1, to=folder, progress="text", quiet=None)
    running.result()


def publish(folder: Path) -> None:
    """Keep the evidence and drop what tells of the machine."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for name in ("run.json", "events.jsonl", "memory.jsonl"):
        for path in folder.glob(f"runs/*/{name}"):
            copy = TARGET / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    study = json.loads((folder / "study.json").read_text(encoding="utf-8")) | {"machine": {}}
    (TARGET / "study.json").write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
    files = sorted(p for p in TARGET.rglob("*") if p.is_file())
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(TARGET)}\n" for p in files)
    (HERE / "terminal-codex.sha256").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        record(Path(scratch) / "terminal-codex")
        publish(Path(scratch) / "terminal-codex")
