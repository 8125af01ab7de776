from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentlab.host import state as module
from agentlab.host.state import StudyState

BEGAN = 1_000


def write(folder: Path, sequence: int, arm: str, index: int, status: str, **more: object) -> None:
    run = folder / "runs" / f"{sequence:04d}-{arm}"
    run.mkdir(parents=True, exist_ok=True)
    state = {
        "run_id": run.name,
        "arm": arm,
        "run_index": index,
        "status": status,
        "started_unix_ns": BEGAN + 1,
        "issues": [],
    }
    (run / "run.json").write_text(json.dumps(state | more))


def issue(code: str, discard: bool = True) -> dict[str, Any]:
    return {"code": code, "discard": discard}


@pytest.fixture
def study(tmp_path: Path) -> StudyState:
    (tmp_path / "runs").mkdir()
    return StudyState(SimpleNamespace(folder=tmp_path, planned={"a": 3, "b": 3}), BEGAN)


def test_nothing_recorded_yet(study: StudyState) -> None:
    state = study.read()
    assert (state["planned"], state["finished"], state["current"]) == (6, 0, None)
    assert state["arms"]["b"] == {
        "planned": 3,
        "finished": 0,
        "eligible": 0,
        "discarded": 0,
        "running": 0,
        "reasons": {},
    }


def wait(folder: Path, since: int) -> None:
    note = {"arm": "a", "run_index": 1, "why": "CPU pressure 81 %, limit 25 %", "longest_s": 20}
    (folder / "waiting.json").write_text(json.dumps(note | {"since_unix_ns": since}))


def test_what_the_next_run_waits_for(study: StudyState, tmp_path: Path) -> None:
    assert study.read()["waiting"] is None
    wait(tmp_path, time.time_ns() - 3 * 10**9)
    said = study.read()["waiting"]
    assert 3 <= said.pop("waited_s") < 10
    assert said == {"arm": "a", "run_index": 1, "why": "CPU pressure 81 %, limit 25 %", "longest_s": 20}
    write(tmp_path, 0, "a", 0, "running")
    assert study.read()["waiting"] is None


@pytest.mark.parametrize("left", [BEGAN - 1, None])
def test_a_wait_that_a_crash_left_is_none(study: StudyState, tmp_path: Path, left: int | None) -> None:
    wait(tmp_path, left or 0)
    if left is None:
        (tmp_path / "waiting.json").write_text("{}")
    assert study.read()["waiting"] is None


def test_a_study_folder_that_is_gone_counts_nothing(tmp_path: Path) -> None:
    study = StudyState(SimpleNamespace(folder=tmp_path / "no", planned={"a": 1}), BEGAN)
    assert study.read()["finished"] == 0


def test_counts_by_arm_and_reason(study: StudyState, tmp_path: Path) -> None:
    write(tmp_path, 0, "a", 0, "complete", issues=[issue("not_quiet", discard=False)])
    write(
        tmp_path,
        1,
        "a",
        1,
        "complete",
        issues=[issue("missing_text"), issue("missing_text"), issue("retry", False)],
    )
    write(tmp_path, 2, "b", 0, "failed", issues=[issue("driver_error")])
    write(tmp_path, 3, "b", 1, "cancelled", issues=[issue("cancelled")])
    arms = study.read()["arms"]
    assert (arms["a"]["finished"], arms["a"]["eligible"], arms["a"]["discarded"]) == (2, 1, 1)
    assert arms["a"]["reasons"] == {"missing_text": 1}
    assert (arms["b"]["finished"], arms["b"]["eligible"], arms["b"]["discarded"]) == (1, 0, 1)
    assert arms["b"]["reasons"] == {"driver_error": 1}  # a cancelled run is done again


def test_the_run_under_way(study: StudyState, tmp_path: Path) -> None:
    write(tmp_path, 0, "a", 0, "running", started_unix_ns=BEGAN - 1)  # left behind by a crash
    assert study.read()["current"] is None
    write(tmp_path, 1, "b", 2, "running")
    state = study.read()
    assert state["current"] == {"run_id": "0001-b", "arm": "b", "run_index": 2, "started_unix_ns": BEGAN + 1}
    assert [state["arms"][name]["running"] for name in "ab"] == [0, 1]
    write(tmp_path, 1, "b", 2, "complete")
    assert study.read()["current"] is None


def test_runs_of_other_arms_and_beyond_the_plan_do_not_count(study: StudyState, tmp_path: Path) -> None:
    write(tmp_path, 0, "c", 0, "complete")
    write(tmp_path, 1, "a", 3, "complete")
    assert study.read()["finished"] == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"status": "complete"}'])
def test_a_run_that_cannot_be_read_now_is_read_later(study: StudyState, tmp_path: Path, text: str) -> None:
    write(tmp_path, 0, "a", 0, "complete")
    file = tmp_path / "runs" / "0000-a" / "run.json"
    good = file.read_text()
    file.write_text(text)
    assert study.read()["finished"] == 0
    file.write_text(good)
    assert study.read()["finished"] == 1


def test_what_is_over_is_read_once(
    study: StudyState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        write(tmp_path, n, "a", n, "complete")
    write(tmp_path, 3, "b", 0, "running")
    read: list[str] = []
    original = module.read_json
    monkeypatch.setattr(module, "read_json", lambda file: read.append(file.parent.name) or original(file))
    study.read()
    assert len(read) == 4
    study.read()
    assert read[4:] == ["0003-b"]
