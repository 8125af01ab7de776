"""A study's runs are not read again, unless anything of them has changed."""

import json
import os
import shutil

import pytest

import agentlab as al
from agentlab.frames import store
from agentlab.testing.recordings import SyntheticStudy, write_study


@pytest.fixture
def folder(tmp_path):
    path = write_study(tmp_path / "s", runs=3, gateway=False)
    al.load(path).turns  # noqa: B018 - the tables and the index are made
    return path


@pytest.fixture
def read(monkeypatch):
    """Names of the runs' folders that are read."""
    names: list[str] = []
    original = store.read_run
    monkeypatch.setattr(store, "read_run", lambda path, **k: names.append(path.name) or original(path, **k))
    return names


def runs_of(folder):
    return sorted((folder / "runs").iterdir())


def test_nothing_is_read_again_and_everything_is_the_same(folder, read):
    fresh = [run.info for run in al.load(shutil.copytree(folder, folder.parent / "copy" / folder.name))]
    read.clear()
    kept = [run.info for run in al.load(folder)]
    assert read == []
    assert [(i.run_id, i.issues, i.raw, i.anchor) for i in kept] == [
        (i.run_id, i.issues, i.raw, i.anchor) for i in fresh
    ]


def test_a_copy_is_read_anew(folder, read):
    assert len(al.load(shutil.copytree(folder, folder.parent / "copy"))) == len(read) == 6


def test_an_edit_that_keeps_size_and_time_is_noticed(folder, read):
    run = runs_of(folder)[2]
    path = run / "events.jsonl"
    before = path.stat()
    text = path.read_text()
    with path.open("r+") as file:
        file.write(text.replace('"reason":"complete"', '"reason":"timeouts"', 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    recs = al.load(folder)
    assert read == [run.name]
    assert "timeouts" in set(recs.turns["ended"])


def test_a_replaced_run_json_is_noticed_in_runs_and_tables(folder, read):
    path = runs_of(folder)[0] / "run.json"
    raw = json.loads(path.read_text())
    (path.parent / "new").write_text(json.dumps({**raw, "status": "failed"}))
    (path.parent / "new").rename(path)
    recs = al.load(folder)
    assert read == [path.parent.name]
    assert [run.eligible for run in recs].count(False) == 1
    assert list(recs.turns.groupby("run_id")["eligible"].first()).count(False) == 1


def test_added_removed_and_renamed_runs_are_noticed(folder, read):
    first, second, *_ = runs_of(folder)
    shutil.rmtree(first)
    assert len(al.load(folder)) == al.load(folder).turns["run_id"].nunique() == 5
    other = write_study(folder.parent / "other", runs=1, seed=3, gateway=False)
    shutil.copytree(runs_of(other)[0], folder / "runs" / "0900-late")
    second.rename(second.with_name("0901-moved"))
    read.clear()
    recs = al.load(folder)
    assert sorted(read) == ["0900-late", "0901-moved"]
    assert len(recs) == 6
    assert {run.path.name for run in recs if run.path} >= {"0900-late", "0901-moved"}


def test_a_lost_event_file_is_noticed(folder, read):
    (runs_of(folder)[1] / "events.jsonl").unlink()
    recs = al.load(folder)
    assert read == [runs_of(folder)[1].name]
    assert list(recs.issues["code"]) == ["recording_missing"]


def test_what_its_reader_found_is_kept(folder, read):
    with (runs_of(folder)[1] / "events.jsonl").open("a") as file:
        file.write("nonsense\n{}\n")
    first = al.load(folder).issues
    read.clear()
    again = al.load(folder).issues
    assert read == []
    assert list(again["code"]) == list(first["code"]) == ["recording_damaged"]
    assert list(again["detail"]) == list(first["detail"])


def test_a_run_under_way_is_read_each_time(tmp_path, read):
    study = SyntheticStudy(tmp_path / "s", arms=("a",))
    with study.run("a"):
        pass
    with study.run("a", status="running"):
        pass
    for _ in range(2):
        read.clear()
        recs = al.load(study.path)
        assert len(recs) == 2
        assert "0001-a" in read
    assert read == ["0001-a"]


@pytest.mark.parametrize("data", [b"", b"[]", b'{"code": 1}', b"\xff", b'{"runs": 3, "code": "x"}'])
def test_a_damaged_index_is_made_anew(folder, read, data):
    index = folder / "tables" / "index.json"
    index.write_bytes(data)
    assert len(al.load(folder)) == len(read) == 6
    read.clear()
    assert len(al.load(folder)) == 6
    assert read == []


@pytest.mark.parametrize(
    "change", [lambda e: e["raw"].pop("arm"), lambda e: e["raw"].update(sequence=77), dict.clear]
)
def test_entries_that_were_changed_are_made_anew(folder, read, change):
    index = folder / "tables" / "index.json"
    data = json.loads(index.read_text())
    for entry in data["runs"].values():
        change(entry)
    index.write_text(json.dumps(data))
    assert [run.info.sequence for run in al.load(folder)] == list(range(6))
    assert len(read) == 6


def test_what_cannot_be_read_of_a_run_is_said_without_the_place_of_the_study(folder):
    (runs_of(folder)[1] / "run.json").write_text("{")
    (detail,) = al.load(folder).issues["detail"]
    assert detail.startswith("run.json is damaged: ")
    assert list(al.load(folder.rename(folder.with_name("moved"))).issues["detail"]) == [detail]


@pytest.mark.parametrize("name", ["0099-a", "0-copy"])
def test_the_copy_of_a_run_does_not_count_twice(folder, name):
    before = al.load(folder).turns
    run = runs_of(folder)[3]
    shutil.copytree(run, folder / "runs" / name)
    for _ in range(2):  # the second time from the index
        recs = al.load(folder)
        (copy,) = (one.info for one in recs if not one.eligible)
        assert (copy.run_id, copy.discard_codes) == (name, ("recording_damaged",))
        assert run.name in (copy.issues[-1].detail or "")
        assert len(recs) == 7 and recs.runs["run_id"].is_unique
        assert recs.where(eligible=True).turns.equals(before)


def test_newer_code_judges_again(folder, read, monkeypatch):
    monkeypatch.setattr(store, "version", lambda: "newer")
    assert len(al.load(folder)) == len(read) == 6


def test_a_folder_that_cannot_be_written_is_read_all_the_same(folder, read):
    shutil.rmtree(folder / "tables")
    (folder / "tables").write_text("not a folder")
    for _ in range(2):
        assert len(al.load(folder)) == 6
    assert len(read) == 12
