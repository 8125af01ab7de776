"""What attach says of a study from its files alone; tests/integration does it with living ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import agentlab as al
from agentlab.engine.files import lock
from agentlab.errors import AgentlabError, ConfigError, RecordingError, StartupError, StudyBusy
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


def test_how_long_it_took_is_not_how_long_ago_it_began(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave(study, {"status": "done"})
    stored = json.loads((study / "host.json").read_text())
    began = stored["began_unix_ns"] - 86_400 * 10**9
    times = {"began_unix_ns": began, "ended_unix_ns": began + 75 * 10**9}
    (study / "host.json").write_text(json.dumps(stored | times))
    running = al.attach(study)
    assert running.state()["elapsed_s"] == 75
    running.result()
    assert "done: 0 of 2 runs; 1 min 15 s; " in capsys.readouterr().err


@pytest.mark.parametrize("left", [True, False])
def test_how_long_it_took_may_be_unknown(study: Path, capsys: pytest.CaptureFixture[str], left: bool) -> None:
    """Its process was killed, or it was not recorded detached."""
    if left:
        leave(study, None)
        stored = json.loads((study / "host.json").read_text())
        (study / "host.json").write_text(json.dumps(stored | {"ended_unix_ns": None}))
    else:
        (study / "study.json").write_text(json.dumps({"arms": {"a": {}}, "runs": 0}))
    running = al.attach(study)
    assert running.state()["elapsed_s"] is None
    assert " s" not in running._repr_mimebundle_()["text/plain"].splitlines()[0]
    if left:
        with pytest.raises(AgentlabError):
            running.result()
        assert f"failed: 0 of 2 runs; {study}" in capsys.readouterr().err


def test_a_path_that_cannot_be_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="File name too long"):
        al.attach(tmp_path / ("x" * 300))


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
