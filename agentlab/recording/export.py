"""Write recordings for other tools: tables as Parquet or CSV, or a file of one of the original scripts."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from .. import __version__
from ..errors import ConfigError, RecordingError
from .recordings import Recordings

if TYPE_CHECKING:
    from ..frames.schema import Table

Format = Literal["parquet", "csv", "schema2", "terminal_json", "session_summary"]

#: The files beside the tables.
DICTIONARY, ABOUT = "dictionary.csv", "about.json"
#: Characters; of four bytes each they still fit into a file's name.
_LONGEST_STEM = 50


def export(
    recs: Recordings,
    folder: str | os.PathLike[str],
    *,
    format: Format = "parquet",
) -> list[Path]:
    """Write recordings into a folder, whole or not at all.

    Parameters
    ----------
    recs : Recordings
        What to write.
    folder : path
        A new or empty folder.
    format : {"parquet", "csv", "schema2", "terminal_json", "session_summary"}
        ``parquet``: one file per table (zstd; unit and meaning of each column in its field's metadata).
        ``csv``: one file per table: UTF-8, comma, point, newline whatever the locale; column names end in
        their unit; unknown is an empty field, an empty text is ``""``; truth values are true and false.
        Both have ``dictionary.csv`` (table, column, dtype, unit, meaning, source) and ``about.json``
        (studies, coverage, versions) beside the tables; a table without rows is there without rows.
        ``schema2``: the original cache script's report, one file per study and arm, see
        :mod:`agentlab.importers.schema2_writer` for what it cannot hold.
        ``terminal_json``: the original terminal script's JSON (memory), one file per study, see
        :func:`agentlab.importers.terminal_json_writer.report`.
        ``session_summary``: the original web-chat script's file, one folder per run with
        ``session-summary.json`` and its CPU profile, see :mod:`agentlab.importers.session_summary_writer`.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ConfigError
        The folder holds something, or the format cannot hold what was measured.
    RecordingError
        It cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import agentlab as al
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     files = export(al.load(al.example("cache")), f"{folder}/tables", format="csv")
    >>> sorted(file.name for file in files)[:1]
    ['about.json']
    """
    _check_recordings(recs)
    if format not in get_args(Format):
        known = ", ".join(map(repr, get_args(Format)))
        raise ConfigError(f"export(format={format!r}): choose one of {known}")
    target = Path(folder).expanduser()
    try:
        there = target.exists()
    except OSError as error:
        raise RecordingError(f"{target} cannot be written: {error.strerror}") from None
    if there and not target.is_dir():
        raise ConfigError(f"{target} is a file; give a new folder")
    # A folder that is there stays: somebody may stand in it, a link point to it, a volume be mounted on it.
    part = (target if there else target.absolute().parent) / f".{target.name}.{os.getpid()}.part"
    try:
        if there and any(target.iterdir()):
            raise ConfigError(f"{target} holds something already; give a new or empty folder")
        part.mkdir(parents=True)
        files = [path.relative_to(part) for path in _WRITERS[format](recs, part)]
        if there:
            for name in dict.fromkeys(file.parts[0] for file in files):
                (part / name).replace(target / name)
        else:
            part.replace(target)
    except OSError as error:
        raise RecordingError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(part)
    return [target / file for file in files]


def _check_recordings(recs: Any) -> None:  # noqa: ANN401
    if not isinstance(recs, Recordings):
        raise ConfigError(f"export({type(recs).__name__}): give recordings, e.g. load(...)")


def _write_parquet(recs: Recordings, folder: Path) -> Iterator[Path]:
    import pyarrow.parquet as pq

    for table, data in _tables(recs):
        path = folder / f"{table.name}.parquet"
        pq.write_table(data, path, compression="zstd")
        yield path
    yield from _write_sidecars(recs, folder)


def _write_csv(recs: Recordings, folder: Path) -> Iterator[Path]:
    from pyarrow import csv

    for table, data in _tables(recs):
        path = folder / f"{table.name}.csv"
        csv.write_csv(data, path)
        yield path
    yield from _write_sidecars(recs, folder)


def _tables(recs: Recordings) -> Iterator[tuple[Table, Any]]:
    """Yield each table with the meaning of its columns."""
    import pyarrow as pa

    from ..frames.tables import TABLES

    for table in TABLES.values():
        data = pa.Table.from_pandas(recs.table(table.name), preserve_index=False)
        fields = [
            data.schema.field(column.name).with_metadata(
                {"meaning": column.doc} | ({"unit": column.unit} if column.unit else {})
            )
            for column in table.columns
        ]
        about = {
            "agentlab": __version__,
            "table": table.name,
            "grain": table.grain,
            "unit_of_statistics": table.cluster,
        }
        yield table, data.cast(pa.schema(fields, metadata=about))


def _write_sidecars(recs: Recordings, folder: Path) -> Iterator[Path]:
    import pyarrow as pa
    from pyarrow import csv

    from ..frames.tables import TABLES

    rows = [
        {
            "table": table.name,
            "column": column.name,
            "dtype": column.dtype,
            "unit": column.unit,
            "meaning": column.doc,
            "source": column.source,
        }
        for table in TABLES.values()
        for column in table.columns
    ]
    text = pa.string()
    schema = pa.schema([(name, text) for name in rows[0]])
    csv.write_csv(pa.Table.from_pylist(rows, schema=schema), folder / DICTIONARY)
    yield folder / DICTIONARY
    about: dict[str, Any] = {
        "agentlab": __version__,
        "studies": recs.studies,
        "scenario": recs.scenario,
        "coverage": recs.coverage(),
    }
    (folder / ABOUT).write_text(
        json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    yield folder / ABOUT


def _write_schema2(recs: Recordings, folder: Path) -> Iterator[Path]:
    from ..importers.schema2_writer import write

    studies = list(dict.fromkeys(recording.info.study for recording in recs))
    if not studies:
        raise ConfigError("there is no run to export")
    for study in studies:
        own = recs.where(study=study)
        for arm in own.arms:
            name = arm if len(studies) == 1 else f"{study}-{arm}"
            yield write(own.where(arm=arm), _new_file(folder, name))


def _write_terminal_json(recs: Recordings, folder: Path) -> Iterator[Path]:
    from ..importers.terminal_json_writer import write

    studies = list(dict.fromkeys(recording.info.study for recording in recs))
    if not studies:
        raise ConfigError("there is no run to export")
    for study in studies:
        yield write(recs.where(study=study), _new_file(folder, study))


def _write_session_summary(recs: Recordings, folder: Path) -> Iterator[Path]:
    from ..importers.session_summary_writer import write

    if not len(recs):
        raise ConfigError("there is no run to export")
    several = len({recording.info.study for recording in recs}) > 1
    for run in recs:
        name = f"{run.info.study}-{run.run_id}" if several else run.run_id
        yield from write(run, _new_file(folder, name, suffix=""))


def _new_file(folder: Path, name: str, *, suffix: str = ".json") -> Path:
    """Return a file for an arm or study, whatever it is called; the file itself holds the whole name."""
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:_LONGEST_STEM] or "arm"
    numbers = itertools.count(2)
    path = folder / f"{stem}{suffix}"
    while path.exists():
        path = folder / f"{stem}-{next(numbers)}{suffix}"
    return path


_WRITERS = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "schema2": _write_schema2,
    "terminal_json": _write_terminal_json,
    "session_summary": _write_session_summary,
}
