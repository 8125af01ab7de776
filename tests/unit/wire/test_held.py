"""A folder counts as left only when nobody holds it any more."""

import os
import stat

from agentlab.wire.held import left_behind, make_held


def left(parent):
    return list(left_behind("lab-", parent))


def test_a_folder_is_left_once_all_that_hold_it_are_gone(tmp_path):
    folder, file = make_held("lab-", tmp_path)
    assert folder.parent == tmp_path and stat.S_IMODE(folder.stat().st_mode) == 0o700
    given = os.dup(file.fileno())  # as a child has it
    assert left(tmp_path) == []
    file.close()
    assert left(tmp_path) == []
    os.close(given)
    assert left(tmp_path) == [folder]


def test_two_do_not_clear_the_same_folder(tmp_path):
    folder, file = make_held("lab-", tmp_path)
    file.close()
    first = left_behind("lab-", tmp_path)
    assert next(first) == folder
    assert left(tmp_path) == []
    first.close()
    assert left(tmp_path) == [folder]


def test_what_is_not_ours_or_is_just_being_made_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "lab-without-file").mkdir()
    (tmp_path / "lab-file").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".held").touch()
    folder, file = make_held("lab-", tmp_path)
    file.close()
    with monkeypatch.context() as another:
        another.setattr(os, "getuid", lambda: -1)
        assert left(tmp_path) == []
    assert left(tmp_path) == [folder]


def test_the_lock_is_there_before_the_name(tmp_path, monkeypatch):
    seen = []
    rename = type(tmp_path).rename

    def watched(path, target):
        seen.append(left(tmp_path))
        done = rename(path, target)
        seen.append(left(tmp_path))
        return done

    monkeypatch.setattr(type(tmp_path), "rename", watched)
    make_held("lab-", tmp_path)[1].close()
    assert seen == [[], []]
