"""How far a study is, read from its files; cheap enough to ask four times a second."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ..engine.files import WAITING_FILE
from ..engine.slots import FINISHED
from ..errors import RecordingError
from ..jsonfile import read_json


class Plan(Protocol):
    """What is to be recorded: as much of a study as is needed to see how far it is."""

    @property
    def folder(self) -> Path:
        """Study folder."""
        ...

    @property
    def planned(self) -> Mapping[str, int]:
        """Runs of each arm, by name."""
        ...


class StudyState:
    """Read the runs of a study again and again; what is over is read once.

    Parameters
    ----------
    study : Plan
        A prepared study.
    since_unix_ns : int
        When this recording of it began; a run under way since before was left behind by a crash.
    """

    def __init__(self, study: Plan, since_unix_ns: int) -> None:
        self._folder = study.folder / "runs"
        self._waiting = study.folder / WAITING_FILE
        self._planned = dict(study.planned)
        self._since_unix_ns = since_unix_ns
        self._over: dict[str, dict[str, Any]] = {}

    def read(self) -> dict[str, Any]:
        """Return the counts of now.

        Returns
        -------
        dict
            ``planned`` and ``finished`` runs, ``current`` (None, or ``run_id``, ``arm``, ``run_index``,
            ``started_unix_ns`` of the run under way), ``waiting`` (None, or the ``arm`` and ``run_index`` of
            the run that waits for a quiet machine, ``why``, ``waited_s`` and ``longest_s``), and
            ``arms``: for each arm ``planned``, ``finished``,
            ``eligible``, ``discarded``, ``running`` (counts of runs) and ``reasons`` (code: discarded runs).
        """
        arms: dict[str, dict[str, Any]] = {
            name: {
                "planned": planned,
                "finished": 0,
                "eligible": 0,
                "discarded": 0,
                "running": 0,
                "reasons": {},
            }
            for name, planned in self._planned.items()
        }
        current: dict[str, Any] | None = None
        for run in self._runs():
            counts = arms.get(run["arm"])
            if counts is None or run["run_index"] >= counts["planned"]:
                continue
            if run["status"] in FINISHED:
                _count(counts, run)
            elif run["status"] == "running" and run["started_unix_ns"] >= self._since_unix_ns:
                current = {key: run[key] for key in ("run_id", "arm", "run_index", "started_unix_ns")}
                counts["running"] = 1
        return {
            "planned": sum(self._planned.values()),
            "finished": sum(counts["finished"] for counts in arms.values()),
            "current": current,
            "waiting": self._waits() if current is None else None,
            "arms": arms,
        }

    def _waits(self) -> dict[str, Any] | None:
        try:
            note = read_json(self._waiting)
            since = int(note.pop("since_unix_ns"))
        except (RecordingError, KeyError):
            return None
        if since < self._since_unix_ns:  # left behind by a crash
            return None
        return {**note, "waited_s": max(0.0, (time.time_ns() - since) / 1e9)}

    def _runs(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = []
        folder = self._folder
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 (a path for each would take most of the time)
        except OSError:
            return runs
        for name in names:
            run = self._over.get(name) or _read(folder / name / "run.json")
            if run is None:
                continue
            if run["status"] != "running":
                self._over[name] = run
            runs.append(run)
        return runs


def _count(counts: dict[str, Any], run: dict[str, Any]) -> None:
    codes = run["codes"]
    usable = run["status"] == "complete" and not codes
    counts["finished"] += 1
    counts["eligible" if usable else "discarded"] += 1
    for code in codes:
        counts["reasons"][code] = counts["reasons"].get(code, 0) + 1


def _read(file: Path) -> dict[str, Any] | None:
    keys = ("run_id", "arm", "run_index", "status", "started_unix_ns")
    try:
        run = read_json(file)
        codes = sorted({issue["code"] for issue in run["issues"] if issue["discard"]})
        return {"codes": codes, **{key: run[key] for key in keys}}
    except (RecordingError, KeyError):
        return None
