"""A recorded study on disk: its runs, and its tables with their Parquet cache."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RecordingError
from ..jsonfile import read_json, replacing
from . import build as frames
from .evidence import Issue, RunInfo, read_run
from .index import FILES, RunIndex, Stamps, stamps_of
from .schema import Table

if TYPE_CHECKING:
    import pandas as pd

#: Evidence that is read in less than about a second, bytes.
_QUICK = 3_000_000
_PACKAGE = Path(__file__).resolve().parent.parent


class StudyFolder:
    """Read one study's folder.

    Parameters
    ----------
    path : Path
        Folder with ``study.json`` and ``runs/``; or one run's folder that was taken out of its study.

    Raises
    ------
    RecordingError
        ``study.json`` is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # tables are read later, perhaps from another working folder
        self._lone = (path / "run.json").is_file()
        self.meta = {} if self._lone else read_json(path / "study.json")
        self.name = path.resolve().name
        self._runs: tuple[RunInfo, ...] | None = None
        self._stamps: dict[str, Stamps] = {}
        self._memo: dict[str, pd.DataFrame] = {}

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for two copies of one study."""
        names = ("name", "created_unix_ns", "scenario_digest", "seed")
        if self.meta.get("created_unix_ns") is None:
            return (str(self.path.resolve()),)
        return tuple(str(self.meta.get(name)) for name in names)

    @property
    def scenario(self) -> dict[str, Any] | None:
        """The scenario as plain data."""
        value = self.meta.get("scenario")
        return value if isinstance(value, dict) else None

    @property
    def about(self) -> dict[str, Any]:
        """Digest of the scenario and seed of the order."""
        return {name: self.meta[name] for name in ("scenario_digest", "seed") if name in self.meta}

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, in the order they were given."""
        value = self.meta.get("arms")
        return tuple(value) if isinstance(value, dict) else ()

    @property
    def runs(self) -> tuple[RunInfo, ...]:
        """All runs on disk when they were first asked for, in the order they were recorded."""
        if self._runs is None:
            self._runs = self._read_runs()
        return self._runs

    def _read_runs(self) -> tuple[RunInfo, ...]:
        folders = [self.path] if self._lone else _folders(self.path / "runs")
        self._stamps = {folder.name: stamps_of(folder) for folder in folders}
        index = RunIndex(self.path / "tables" / "index.json", version())
        runs = _told_apart([self._run(folder, index) for folder in folders])
        if self._may_write:
            index.write()
        last = len(runs)
        return tuple(
            sorted(runs, key=lambda run: (last if run.sequence is None else run.sequence, run.run_id))
        )

    def _run(self, folder: Path, index: RunIndex) -> RunInfo:
        turns = (self.scenario or {}).get("turns")
        planned = len(turns) if isinstance(turns, list) else None
        stamps = self._stamps[folder.name]
        known = index.get(folder, stamps, study=self.name, planned_turns=planned)
        if known is not None:
            return known
        try:
            info = read_run(folder, study=self.name, planned_turns=planned)
        except RecordingError as error:
            # the rest of the study must stay usable; the folder is called NUMBER-ARM
            detail = str(error).replace(f"{folder}{os.sep}", "")  # a study is moved, and shown to others
            issue = Issue(code="recording_damaged", detail=detail, discard=True, source="reader")
            arm = folder.name.partition("-")[2] or folder.name
            return RunInfo(
                study=self.name,
                arm=arm,
                run_id=folder.name,
                run_index=None,
                status="failed",
                issues=(issue,),
                path=folder,
            )
        index.put(folder, stamps, info)
        return info

    def table(self, name: str) -> pd.DataFrame:
        """Return one table of all runs, from the cache when nothing changed.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        pandas.DataFrame
        """
        if name not in self._memo and not self._from_cache(name):
            stale = [
                n
                for n in frames.built_with(name)
                if n not in self._memo and (n == name or not self._from_cache(n))
            ]
            for made, frame in frames.build_all(stale, self.runs).items():
                self._memo[made] = frame
                if self._may_write:
                    write_cache(self._cache(made), frame, self._digest(frames.known(made)))
        return self._memo[name]

    def at_hand(self, name: str) -> bool:
        """Say whether a table is there without long reading.

        Parameters
        ----------
        name : str
            Name of the table.

        Returns
        -------
        bool
            It was read before, its cache is valid, or the evidence is small.
        """
        return name in self._memo or self._from_cache(name) or self._n_bytes(name) < _QUICK

    def _n_bytes(self, name: str) -> int:
        """Size of a table's evidence when the runs were first asked for."""
        _ = self.runs
        wanted = [FILES.index(file) for file in ("run.json", *frames.files_of(name))]
        return sum(stamp[0] for stamps in self._stamps.values() for at in wanted if (stamp := stamps[at]))

    def _cache(self, name: str) -> Path:
        return self.path / "tables" / f"{name}.parquet"

    def _from_cache(self, name: str) -> bool:
        table = frames.known(name)
        frame = read_cache(self._cache(name), table, self._digest(table))
        if frame is None:
            return False
        self._memo[name] = under_name(frame, self.name)  # the folder may have been renamed since
        return True

    @property
    def _may_write(self) -> bool:
        """False for a run on its own, and for a recording inside the installed package."""
        return not self._lone and not self.path.resolve().is_relative_to(_PACKAGE)

    def _digest(self, table: Table) -> str:
        """Change when the definition, its builder or any file of a run changes."""
        return sha256(f"{table.digest} {self._state}".encode()).hexdigest()

    @functools.cached_property
    def _state(self) -> str:
        runs = [(run.run_id, run.discard_codes, len(run.issues)) for run in self.runs]
        parts = [version(), (self.scenario or {}).get("turns"), runs, self._stamps]
        return sha256(repr(parts).encode()).hexdigest()


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            return [path / name for name in sorted(entry.name for entry in entries if entry.is_dir())]
    except OSError:
        return []


def _told_apart(runs: list[RunInfo]) -> list[RunInfo]:
    """Discard the copy of a run: it would count twice, and no row could be told from its twin."""
    first = {run.run_id: run for run in reversed(runs)}
    first |= {run.run_id: run for run in runs if run.path and run.path.name == run.run_id}
    told: list[RunInfo] = []
    for run in runs:
        if first[run.run_id] is not run and run.path is not None:
            detail = f"a second folder says that it is run {run.run_id}"
            copy = Issue(code="recording_damaged", detail=detail, discard=True, source="reader")
            run = dataclasses.replace(run, run_id=run.path.name, issues=(*run.issues, copy))
        told.append(run)
    return told


def version() -> str:
    """Return what changes whenever a builder may give other values: the digest of this package's code."""
    return _CODE


def _digest_of_code() -> str:
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


#: Taken when the builders are loaded: code replaced later, under a running notebook, is not what runs.
_CODE = _digest_of_code()


def under_name(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return rows under the name of their recording.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of one recording.
    name : str
        Its name.

    Returns
    -------
    pandas.DataFrame
        The same frame when it has that name already.
    """
    if not len(frame) or frame["study"].iat[0] == name:
        return frame
    return frame.assign(study=name).astype({"study": "string"})


def read_cache(path: Path, table: Table, digest: str) -> pd.DataFrame | None:
    """Read a cached table.

    Parameters
    ----------
    path : Path
        Parquet file.
    table : Table
        Its definition.
    digest : str
        What it must have been made from.

    Returns
    -------
    pandas.DataFrame or None
        None when it is missing, damaged or outdated.
    """
    if not path.is_file():
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        data = pq.read_table(path, page_checksum_verification=True)
        if (data.schema.metadata or {}).get(b"agentlab") != digest.encode():
            return None
        return table.cast(data.to_pandas(types_mapper=_nullable().get))
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException):
        return None


def _nullable() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    return {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
        pa.large_string(): pd.StringDtype(),
    }


def write_cache(path: Path, frame: pd.DataFrame, digest: str) -> None:
    """Write a cached table, or nothing at all where that is impossible.

    Parameters
    ----------
    path : Path
        Parquet file.
    frame : pandas.DataFrame
        Its rows.
    digest : str
        What it was made from.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = pa.Table.from_pandas(frame, preserve_index=False)
    data = data.replace_schema_metadata({b"agentlab": digest.encode()})
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as part:
            pq.write_table(data, part, compression="zstd", write_page_checksum=True)
