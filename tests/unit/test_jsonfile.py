"""A file that is written anew appears whole or stays what it was."""

import os
from pathlib import Path

import pytest

from agentlab.errors import RecordingError
from agentlab.jsonfile import read_json, write_whole


def test_what_is_written_is_read_again_and_nothing_stands_beside_it(tmp_path):
    file = tmp_path / "ü.json"
    write_whole(file, '{"a": "→"}\n')
    write_whole(file, '{"a": "ü"}\n')
    assert read_json(file) == {"a": "ü"} and os.listdir(tmp_path) == ["ü.json"]


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "bench.json"
    file.write_text("{}")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agentlab.jsonfile.os.fsync", full)
    with pytest.raises(RecordingError, match=r"bench\.json cannot be written: No space left"):
        write_whole(file, '{"a": 1}')
    assert file.read_text() == "{}" and os.listdir(tmp_path) == ["bench.json"]


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(RecordingError, match="missing"):
        write_whole(tmp_path / "missing" / "bench.json", "{}")
