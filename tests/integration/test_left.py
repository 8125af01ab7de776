"""What a study left that was killed together with its watchdogs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agentlab.wire.children import Children
from agentlab.wire.held import PREFIX, make_held
from agentlab.wire.left import clear_left
from agentlab.wire.marked import MARKER

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def started():
    """Start processes that end with the test."""
    found: list[subprocess.Popen] = []

    def start(folder, **env):
        found.append(subprocess.Popen(SLEEP, cwd=folder, env={"PATH": os.environ["PATH"], **env}))
        return found[-1]

    yield start
    for process in found:
        process.kill()
        process.wait()


def test_what_carries_the_marker_is_ended_and_its_folder_removed(tmp_path, started):
    folder, held = make_held(PREFIX, tmp_path)
    ours = started(folder, **{MARKER: "x"})
    assert clear_left(tmp_path).ended == [] and ours.poll() is None  # somebody holds it
    held.close()
    left = clear_left(tmp_path)
    assert [one.split()[0] for one in left.ended] == [str(ours.pid)] and left.staying == []
    assert ours.wait(timeout=5) == -9 and not folder.exists()


def test_what_carries_none_is_named_and_stays(tmp_path, started):
    folder, held = make_held(PREFIX, tmp_path)
    editor = started(folder)
    held.close()
    left = clear_left(tmp_path)
    assert left.ended == [] and [one.split()[0] for one in left.staying] == [str(editor.pid)]
    assert editor.poll() is None and folder.exists()


async def test_a_folder_elsewhere_is_held_by_the_watchdog_too(tmp_path):
    async with Children() as children:
        folder = await children.folder(tmp_path)
        assert folder.parent == tmp_path and folder.stat().st_mode & 0o777 == 0o700
        children._folders[folder].close()  # as when this process is killed alone
        assert clear_left(tmp_path).ended == [] and folder.exists()
    assert not folder.exists()
