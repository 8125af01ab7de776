"""What the runs of a study are, kept beside its tables: a run is read again when a file of it has changed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import RecordingError
from ..jsonfile import read_json, replacing
from .evidence import EVIDENCE, PROFILE, TRACE, Issue, RunInfo, run_of

#: Of each file of a run: size, mtime, ctime (both ns) and inode; None for a missing one. Who writes a file
#: changes its size or its ctime, who replaces it changes its inode.
Stamps: TypeAlias = list[list[int] | None]

FILES = ("run.json", *EVIDENCE, TRACE, PROFILE)


def stamps_of(folder: Path) -> Stamps:
    """Return what changes with any change of a run's files.

    Parameters
    ----------
    folder : Path
        The run's folder.

    Returns
    -------
    list
        One entry per name of :data:`FILES`.
    """
    found: Stamps = []
    base = os.fspath(folder)
    for name in FILES:
        try:
            stat = os.stat(f"{base}/{name}")  # noqa: PTH116 - thousands of them
            found.append([stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino])
        except OSError:
            found.append(None)
    return found


class RunIndex:
    """The runs of a study as they were last read.

    Parameters
    ----------
    path : Path
        ``tables/index.json``; missing, damaged or of other code, it is empty.
    code : str
        What changes whenever a run may be judged otherwise.
    """

    def __init__(self, path: Path, code: str) -> None:
        self.path, self.code = path, code
        self._kept: dict[str, Any] = {}
        self._found: dict[str, Any] = {}
        with contextlib.suppress(RecordingError):
            data = read_json(path)
            runs = data.get("runs")
            if isinstance(runs, dict) and data.get("code") == code and data.get("sum") == _sum(runs):
                self._kept = runs

    def get(self, folder: Path, stamps: Stamps, *, study: str, planned_turns: int | None) -> RunInfo | None:
        """Return a run that has not changed.

        Parameters
        ----------
        folder : Path
            Its folder.
        stamps : list
            Its files now.
        study : str
            Name of the study.
        planned_turns : int or None
            Turns of the scenario.

        Returns
        -------
        RunInfo or None
        """
        entry = self._kept.get(folder.name)
        if entry is None or entry.get("stamps") != stamps:
            return None
        try:
            doubts = [Issue(**doubt) for doubt in entry["doubts"]]
            info = run_of(entry["raw"], folder, study=study, planned_turns=planned_turns, doubts=doubts)
        except (KeyError, TypeError):
            return None
        self._found[folder.name] = entry
        return info

    def put(self, folder: Path, stamps: Stamps, info: RunInfo) -> None:
        """Keep a run that was read; not one under way, whose state is not in its files alone.

        Parameters
        ----------
        folder : Path
            Its folder.
        stamps : list
            Its files, from before they were read.
        info : RunInfo
            What it is.
        """
        if info.raw and info.status != "running":
            doubts = [dataclasses.asdict(issue) for issue in info.issues if issue.source == "reader"]
            self._found[folder.name] = {"stamps": stamps, "raw": info.raw, "doubts": doubts}

    def write(self) -> None:
        """Write it where something changed, or nothing at all where that is impossible."""
        if self._found == self._kept:
            return
        import msgspec

        with contextlib.suppress(OSError, msgspec.MsgspecError, TypeError):
            self.path.parent.mkdir(exist_ok=True)
            index = {"code": self.code, "sum": _sum(self._found), "runs": self._found}
            with replacing(self.path) as part:
                part.write_bytes(msgspec.json.encode(index))


def _sum(runs: dict[str, Any]) -> str:
    """Return what tells a damaged index that is still JSON."""
    import msgspec

    return sha256(msgspec.json.encode(runs)).hexdigest()
