"""Lines and files that a crash or a full disk cannot spoil."""

import errno
import json
import os

import pytest

from agentlab.engine import files
from agentlab.engine.files import LineWriter, write_json
from agentlab.errors import RecordingError
from agentlab.frames.evidence import read_events
from agentlab.jsonfile import read_json


def test_lines_are_appended_whole(tmp_path):
    writer = LineWriter(tmp_path / "e.jsonl")
    writer.write({"t": 1, "x": float("nan"), "text": "a\u2028b"})
    writer.close()
    writer.close()
    assert (tmp_path / "e.jsonl").stat().st_mode & 0o777 == 0o600
    assert json.loads((tmp_path / "e.jsonl").read_bytes()) == {"t": 1, "x": None, "text": "a\u2028b"}


def test_half_of_a_surrogate_pair_spoils_no_line(tmp_path):
    writer = LineWriter(tmp_path / "e.jsonl")
    writer.write({"t": 1, "kind": "a", "x": float("nan"), "text": ["\U0001f600 cut \ud83d"]})
    writer.close()
    (event,) = read_events(tmp_path / "e.jsonl")
    assert event == {"t": 1, "kind": "a", "x": None, "text": ["\U0001f600 cut \ufffd"]}


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "e.jsonl"
    writer = LineWriter(path)
    writer.write({"t": 1})
    real, calls = os.write, []

    def short(fd, data):
        calls.append(len(data))
        if len(calls) == 1:
            return real(fd, data[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "write", short)
    with pytest.raises(RecordingError, match=r"No space left.*what was recorded before is kept.*resume"):
        writer.write({"t": 2})
    monkeypatch.undo()
    assert path.read_bytes() == b'{"t":1}\n'
    writer.write({"t": 3})
    writer.close()
    assert path.read_bytes() == b'{"t":1}\n{"t":3}\n'


def test_a_file_that_cannot_be_written_keeps_what_stood_there(tmp_path, monkeypatch):
    write_json(tmp_path / "run.json", {"a": 1})

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RecordingError, match="No space left"):
        write_json(tmp_path / "run.json", {"a": 2})
    assert read_json(tmp_path / "run.json") == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_unreadable_json_is_named(tmp_path):
    (tmp_path / "x.json").write_text('{"a": ')
    with pytest.raises(RecordingError, match=r"x\.json is damaged"):
        read_json(tmp_path / "x.json")
    with pytest.raises(RecordingError, match="No such file"):
        read_json(tmp_path / "y.json")


def test_whole_files_are_the_owners_alone(tmp_path):
    write_json(tmp_path / "study.json", {"turns": ["with keep='content' a prompt"]})
    assert (tmp_path / "study.json").stat().st_mode & 0o777 == 0o600


def test_asking_whether_a_study_is_locked_leaves_nothing_behind(tmp_path):
    assert not files.is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with files.lock(tmp_path):
        assert files.is_locked(tmp_path)
    assert not files.is_locked(tmp_path)
