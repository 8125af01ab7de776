"""What attach says of a study from its files alone; tests/integration does it with living ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import agentlab as al
from agentlab.engine.files import lock
from agentlab.errors import AgentlabError, RecordingError, StartupError, StudyBusy
from agentlab.host.lease import Lease


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "study.json").write_text(json.dumps({"arms": {"a": {}}, "runs": 2}))
    return tmp_path


def leave(study: Path, outcome: dict[str, Any] | None, started: int = 1) -> Lease:
    """A lease whose process is gone and whose number is another's now."""
    lease = Lease.begin(60, None, None)
    lease = dataclasses.replace(lease, process=dataclasses.replace(lease.process, started=started))
    with lease.held(study, lambda error: {}):
        pass
    stored = json.loads((study / "host.json").read_text())
    (study / "host.json").write_text(json.dumps(stored | {"outcome": outcome}))
    return lease


def test_a_process_number_that_is_used_again_is_not_it(study: Path) -> None:
    leave(study, None)
    running = al.attach(study, progress="none")
    assert running.done() and running.state()["status"] == "failed"
    with pytest.raises(AgentlabError, match=r"(?s)was lost: .*0 of 2 runs are kept.*resumes it") as caught:
        running.result()
    assert type(caught.value) is AgentlabError
    running.cancel()
    assert not running.cancelled


def test_one_that_cannot_be_seen_from_here(study: Path) -> None:
    """In another container, or on another machine: its number means nothing here, its lock does."""
    leave(study, None)
    with lock(study), pytest.raises(StudyBusy, match="cannot be seen from here"):
        al.attach(study)


def test_one_that_failed_says_so_again(study: Path) -> None:
    leave(study, {"status": "failed", "error": {"type": "StartupError", "message": "no agent"}})
    with pytest.raises(StartupError, match="no agent"):
        al.attach(study, progress="none").result()


def test_a_damaged_study(study: Path) -> None:
    (study / "study.json").write_text("{}")
    with pytest.raises(RecordingError, match="lacks arms or runs"):
        al.attach(study)


def test_one_that_was_ended_by_its_deadline(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave(study, {"status": "deadline"})
    running = al.attach(study)
    assert len(running.result()) == 0
    assert "deadline: 0 of 2 runs" in capsys.readouterr().err
