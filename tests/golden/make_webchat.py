"""Make the expected tables of ``data/webchat`` anew; read them before they are committed.

Run: ``python tests/golden/make_webchat.py``. Of the long tables only what says most is kept: long tasks, the
events and functions with most time of their own.
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
        copy = shutil.copytree(DATA / "webchat", Path(scratch) / "webchat")
        recs = al.load(copy)
        target.mkdir(parents=True, exist_ok=True)
        tasks, counters, cpu = recs.tasks, recs.counters, recs.cpu
        tables = {
            "page": recs.page.set_index("run_id").T.rename_axis("column").reset_index(),
            "tasks": tasks[tasks["is_long"].fillna(False)],
            "frames": recs.frames.groupby(["arm", "phase", "state"]).size().rename("n").reset_index(),
            "animation_frames": recs.animation_frames.query("n_scripts > 0"),
            "animation_scripts": recs.table("animation_scripts"),
            "interactions": recs.interactions,
            "layout_shifts": recs.table("layout_shifts"),
            "page_events": recs.page_events.groupby("run_id").head(12),
            "counters": counters[counters["source"] != "trace"],
            "cpu": cpu.groupby(["run_id", "profile"]).head(12),
            "callsites": recs.callsites,
            "chunks": recs.chunks,
        }
        for name, frame in tables.items():
            frame.to_csv(target / f"{name}.csv", index=False, na_rep="NA", lineterminator="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "webchat")
