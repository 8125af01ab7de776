"""export(): what is written is what the tables hold, whole or not at all."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import agentlab as al
from agentlab.errors import ConfigError, RecordingError
from agentlab.frames.tables import TABLES
from agentlab.testing.recordings import write_study

CACHE = al.example("cache")
UNITS = ("_ms", "_s", "_ns", "_bytes", "_tokens", "_usd", "_pct")
REPORT = Path(__file__).resolve().parents[2] / "data" / "schema2" / "typical.json"


@pytest.fixture(scope="module")
def recs():
    return al.load(CACHE)


@pytest.mark.parametrize("source", [CACHE, REPORT], ids=["study", "report"])
def test_parquet_gives_the_same_frames_back(tmp_path, source):
    recs = al.load(source)
    files = al.export(recs, tmp_path / "out")
    assert {file.name for file in files} == {f"{name}.parquet" for name in TABLES} | {
        "dictionary.csv",
        "about.json",
    }
    assert all(file.is_file() for file in files) and len(files) == len(list((tmp_path / "out").iterdir()))
    for name, table in TABLES.items():
        data = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        frame = table.cast(data.to_pandas(types_mapper=pd.ArrowDtype))
        pd.testing.assert_frame_equal(table.check(frame), recs.table(name))
        units = {field.name: (field.metadata or {}).get(b"unit") for field in data.schema}
        assert units == {c.name: c.unit.encode() if c.unit else None for c in table.columns}
        compressions = pq.read_metadata(tmp_path / "out" / f"{name}.parquet")
        groups = range(compressions.num_row_groups)
        assert {compressions.row_group(g).column(0).compression for g in groups} <= {"ZSTD"}


@pytest.mark.parametrize("source", [CACHE, REPORT], ids=["study", "report"])
def test_csv_holds_every_value(tmp_path, source):
    recs = al.load(source)
    al.export(recs, tmp_path / "out", format="csv")
    for name, table in TABLES.items():
        path = tmp_path / "out" / f"{name}.csv"
        frame = recs.table(name)
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert tuple(header) == table.names
        assert len(rows) == len(frame)
        if not rows:
            continue
        for column, cells in zip(table.columns, zip(*rows, strict=True), strict=True):
            values = frame[column.name]
            assert [cell == "" for cell in cells] == [
                bool(v) for v in values.isna() | (values == "").fillna(False)
            ]
            known = [(cell, value) for cell, value in zip(cells, values, strict=True) if cell != ""]
            if column.dtype == "boolean":
                assert all(cell == ("true" if value else "false") for cell, value in known)
            elif column.dtype == "string":
                assert all(cell == value for cell, value in known)
            else:
                assert all(float(cell) == value for cell, value in known)


def test_headers_carry_the_unit():
    for table in TABLES.values():
        for column in table.columns:
            if column.unit is not None:
                assert column.name.endswith(("_ms", "_s", "_ns", "_bytes", "_tokens", "_usd", "_pct")), (
                    column.name
                )


def test_an_empty_text_is_not_unknown(tmp_path, recs, monkeypatch):
    frame = recs.runs.assign(
        reason=pd.array(["", None, 'a "b",\nc'] + [None] * (len(recs) - 3), dtype="string")
    )
    whole = recs.table
    monkeypatch.setattr(recs, "table", lambda name: frame.copy() if name == "runs" else whole(name))
    al.export(recs, tmp_path / "out", format="csv")
    text = (tmp_path / "out" / "runs.csv").read_text()
    assert 'complete","",' in text and '"a ""b"",\nc"' in text and '"complete",,' in text


def test_dictionary_and_provenance(tmp_path, recs):
    al.export(recs.where(arm="stable"), tmp_path / "out", format="csv")
    rows = list(csv.DictReader((tmp_path / "out" / "dictionary.csv").read_text().splitlines()))
    assert len(rows) == sum(len(table.columns) for table in TABLES.values())
    ttft = next(row for row in rows if (row["table"], row["column"]) == ("turns", "ttft_ms"))
    assert ttft["unit"] == "ms" and ttft["meaning"].startswith("Send to the first reasoning chunk")
    about = json.loads((tmp_path / "out" / "about.json").read_text())
    assert about["coverage"] == [
        {"arm": "stable", "n_runs": 10, "n_used": 10, "n_discarded": 0, "reasons": {}}
    ]
    assert about["studies"][0]["seed"] == 7


def test_the_command_line_writes_the_same_bytes(tmp_path, recs):
    al.export(recs, tmp_path / "here", format="csv")
    command = [sys.executable, "-m", "agentlab", "export", str(CACHE), "--format", "csv", "--to", "there"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(f"there/{p.name}" for p in (tmp_path / "here").iterdir())
    for path in (tmp_path / "here").iterdir():
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes(), path.name


def test_schema2_is_one_file_per_arm(tmp_path, recs):
    files = al.export(recs, tmp_path / "out", format="schema2")
    assert sorted(file.name for file in files) == ["stable.json", "volatile.json"]
    again = al.load(files)
    assert sorted(again.arms) == ["stable", "volatile"] and len(again) == len(recs)


def test_schema2_of_joined_studies(tmp_path):
    both = al.load([CACHE, REPORT])
    files = al.export(both, tmp_path / "out", format="schema2")
    assert [file.name for file in files] == [
        "cache-stable.json", "cache-volatile.json", "typical-plugin-on.json",
    ]  # fmt: skip
    assert files[-1].read_bytes() == REPORT.read_bytes()


@pytest.mark.parametrize("format", ["parquet", "csv", "schema2"])
def test_nothing_is_overwritten(tmp_path, recs, format):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, says in {"full": "holds something already", "file": "is a file"}.items():
        with pytest.raises(ConfigError, match=says):
            al.export(recs, tmp_path / name, format=format)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "mine.txt"]
    (tmp_path / "empty").mkdir()
    assert al.export(recs, tmp_path / "empty", format=format)


def test_wrong_arguments(tmp_path, recs):
    with pytest.raises(ConfigError, match="'parquet', 'csv', 'schema2'"):
        al.export(recs, tmp_path / "out", format="excel")
    with pytest.raises(ConfigError, match=r"export\(DataFrame\): give recordings"):
        al.export(recs.runs, tmp_path / "out")
    with pytest.raises(ConfigError, match="no run"):
        al.export(recs[:0], tmp_path / "out", format="schema2")
    assert list(tmp_path.iterdir()) == []


def test_arms_of_any_name_have_files_of_their_own(tmp_path):
    names = ["日本", "中国", "..", "-", "x" * 120, "x" * 120 + "y"]
    write_study(tmp_path / "s", runs=1, steps=(1,), gateway=False)
    study = json.loads((tmp_path / "s" / "study.json").read_text())
    runs = sorted((tmp_path / "s" / "runs").iterdir())
    for number, name in enumerate(names):
        run = tmp_path / "s" / "runs" / f"{number + 10:04d}-arm"
        shutil.copytree(runs[0], run)
        raw = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps({**raw, "arm": name, "run_id": run.name}))
    study["arms"] = {name: {} for name in names}
    (tmp_path / "s" / "study.json").write_text(json.dumps(study))
    recs = al.load(tmp_path / "s").where(arm=names)
    files = al.export(recs, tmp_path / "out", format="schema2")
    assert [file.name for file in files[:4]] == ["日本.json", "中国.json", "arm.json", "arm-2.json"]
    assert [al.load(file).arms for file in files] == [(name,) for name in names]


def test_an_empty_folder_that_is_there_stays_what_it_is(tmp_path, recs, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    before = (tmp_path / "real").stat().st_ino
    files = al.export(recs, tmp_path / "link", format="schema2")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").stat().st_ino == before
    assert sorted((tmp_path / "real").iterdir()) == sorted(file.resolve() for file in files)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert all(file.is_file() for file in al.export(recs, ".", format="schema2"))
    with pytest.raises(ConfigError, match="is a file"):
        al.export(recs, "/dev/null")


FULL = """
import resource, sys
import agentlab as al
recs = al.load(sys.argv[1])
recs.events  # read before there is no room
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    al.export(recs, "out", format=sys.argv[2])
except al.errors.RecordingError as error:
    print(error)
"""


@pytest.mark.parametrize("format", ["parquet", "csv", "schema2"])
def test_a_disk_without_room_leaves_nothing(tmp_path, format):
    """No file may grow beyond 20 kB, as on a disk that is full."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(CACHE), format],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "out" in done.stdout and "cannot be written: " in done.stdout and "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path, recs):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot be written"):
        al.export(recs, tmp_path / "file" / "out")
