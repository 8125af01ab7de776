"""A study in which some runs are doubtful and one is discarded."""

from __future__ import annotations

import json
from pathlib import Path

from agentlab.testing.recordings import write_study

#: (arm, run_index) of eligible runs with the issue ``not_quiet``.
NOISY = frozenset({("stable", 1), ("stable", 4), ("volatile", 2)})
#: A run with an issue that discards it, and ``not_quiet`` besides.
DISCARDED = ("volatile", 5)


def doubtful_study(folder: Path, *, runs: int = 8, seed: int = 0) -> Path:
    """Write a study of two arms, ``stable`` and ``volatile``."""
    study = write_study(folder, runs=runs, seed=seed)
    for file in sorted(study.glob("runs/*/run.json")):
        run = json.loads(file.read_text())
        key = (run["arm"], run["run_index"])
        codes = {"not_quiet": False} if key in {*NOISY, DISCARDED} else {}
        if key == DISCARDED:
            codes["turn_error"] = True
        run["issues"] += [
            {"code": code, "phase": "turn", "detail": None, "discard": discard}
            for code, discard in codes.items()
        ]
        file.write_text(json.dumps(run))
    return study
