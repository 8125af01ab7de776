from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from agentlab.errors import RecordingError
from agentlab.host import lease as module
from agentlab.host.lease import Lease, forget


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run" / "agentlab-abc").mkdir(parents=True)
    (tmp_path / "run" / "agentlab-abc" / "kernel.json").write_text('{"key": "secret"}')
    (tmp_path / "study").mkdir()
    return tmp_path / "run"


@pytest.fixture
def lease(runtime: Path) -> Lease:
    return Lease.begin(60, "python3", str(runtime / "agentlab-abc"))


def dead(lease: Lease) -> Lease:
    return dataclasses.replace(lease, process=dataclasses.replace(lease.process, started=1))


def test_it_is_there_while_held_and_tells_the_end(tmp_path: Path, lease: Lease) -> None:
    with lease.held(tmp_path / "study", lambda error: {"status": "done"}):
        assert Lease.read(tmp_path / "study") == lease
        assert lease.process.pid == os.getpid() and lease.process.alive()
        assert lease.outcome is None
        file = tmp_path / "study" / "host.json"
        assert file.stat().st_mode & 0o777 == 0o600
        assert "secret" not in file.read_text() and str(tmp_path) not in file.read_text()
    over = Lease.read(tmp_path / "study")
    assert over is not None and over.ended_unix_ns is not None
    assert 0 <= over.ended_unix_ns - lease.began_unix_ns < 60e9
    assert dataclasses.replace(over, outcome=None, ended_unix_ns=None) == lease
    assert over.outcome == {"status": "done"}


def test_it_is_told_the_error(tmp_path: Path, lease: Lease) -> None:
    with pytest.raises(KeyError), lease.held(tmp_path / "study", lambda error: {"status": repr(error)}):
        raise KeyError("no")
    assert Lease.read(tmp_path / "study").outcome == {"status": "KeyError('no')"}  # type: ignore[union-attr]


def test_on_a_full_disk_the_end_is_written_in_place(
    tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RecordingError("No space left on device")

    with lease.held(tmp_path / "study", lambda error: {"status": "failed"}):
        monkeypatch.setattr(module, "write_json", full)
    assert Lease.read(tmp_path / "study").outcome == {"status": "failed"}  # type: ignore[union-attr]


def test_a_folder_that_is_gone_at_the_end_does_not_hide_the_outcome(tmp_path: Path, lease: Lease) -> None:
    with lease.held(tmp_path / "study", lambda error: {"status": "done"}):
        (tmp_path / "study" / "host.json").unlink()
        (tmp_path / "study").rmdir()
    assert Lease.read(tmp_path / "study") is None


def test_the_deadline_is_kept_by_a_clock_that_runs_on_in_sleep(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 59 < lease.left_s() <= 60
    assert lease.until_unix_ns - lease.began_unix_ns == 60 * 10**9
    monkeypatch.setattr(module.time, "clock_gettime_ns", lambda clock: lease.until_boottime_ns + 10**9)
    assert lease.left_s() == -1
    assert module._CLOCK == module.time.CLOCK_BOOTTIME


@pytest.mark.parametrize("text", ["", "{", "{}", '{"process": 5}', '{"process": {"pid": 1}}'])
def test_what_cannot_be_read_is_none(tmp_path: Path, runtime: Path, text: str) -> None:
    (tmp_path / "study" / "host.json").write_text(text)
    assert Lease.read(tmp_path / "study") is None


def test_forgotten(tmp_path: Path, lease: Lease) -> None:
    with lease.held(tmp_path / "study", lambda error: {}):
        pass
    forget(tmp_path / "study")
    forget(tmp_path / "study")
    assert Lease.read(tmp_path / "study") is None


def test_what_a_dead_kernel_left_is_removed_and_a_living_ones_is_not(runtime: Path, lease: Lease) -> None:
    lease.clear()
    assert lease.connection_file() == runtime / "agentlab-abc" / "kernel.json"
    assert lease.connection_file().exists()  # type: ignore[union-attr]
    dead(lease).clear()
    assert list(runtime.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        None,
        "../study/kernel.json",
        "agentlab-abc/../kernel.json",
        "/etc/kernel.json",
        "agentlab-abc",
        "kernel.json",
    ],
)
def test_nothing_else_is_ever_removed(runtime: Path, lease: Lease, name: str | None) -> None:
    foreign = dataclasses.replace(dead(lease), connection=name)
    assert foreign.connection_file() is None
    foreign.clear()
    assert (runtime / "agentlab-abc" / "kernel.json").exists()


def test_its_fields_are_those_of_the_documentation(lease: Lease) -> None:
    text = (Path(__file__).parents[3] / "docs" / "events.md").read_text()
    section = text.partition("## host.json")[2]
    assert all(name in section for name in json.loads(json.dumps(dataclasses.asdict(lease))))
