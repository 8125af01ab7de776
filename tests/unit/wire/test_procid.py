from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys

import pytest

from agentlab.wire.procid import ProcessId


@pytest.fixture
def child():
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_a_process_that_runs(child):
    named = ProcessId.of(child.pid)
    assert named.alive() and ProcessId.of(child.pid) == named
    assert named.signal(signal.SIGTERM)
    assert child.wait(5) == -signal.SIGTERM
    assert not named.alive() and not named.signal(signal.SIGTERM)


def test_one_that_ended_and_was_not_waited_for(child):
    named = ProcessId.of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not named.alive()


@pytest.mark.parametrize(
    "other",
    [{"started": 1}, {"boot": "another boot"}, {"started": None}],
    ids=["reused", "rebooted", "unknown"],
)
def test_another_process_with_the_same_number_is_left_alone(child, other):
    stranger = dataclasses.replace(ProcessId.of(child.pid), **other)
    assert not stranger.alive()
    assert not stranger.signal(signal.SIGKILL)
    assert child.poll() is None
