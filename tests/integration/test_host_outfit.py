"""What reaches a measuring process and what must not; what a study leaves in the process that owns it."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import agentlab as al
from agentlab.errors import AgentlabError, ConfigError, StartupError, StudyBusy
from agentlab.testing.drivers import Toy

OUTSIDE = ("kernel", "process")
EVERYWHERE = (*OUTSIDE, "inline")
SCENARIO = al.Scenario("toy", turns=["hi"])
QUICK = Toy(words=2, every_s=0.001)


def record(to: Path, arms: object = QUICK, **options: object) -> al.Running:
    settings = {"runs": 1, "quiet": None, "progress": "none"} | options
    return al.record(settings.pop("scenario", SCENARIO), arms, to=to, **settings)  # type: ignore[arg-type]


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a notebook or script, with modules in it."""
    folder = tmp_path / "beside"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) == str(folder / f"{name}.py"):
            del sys.modules[name]


@pytest.mark.parametrize("host", EVERYWHERE)
def test_a_driver_module_beside_the_notebook_is_imported(beside: Path, host: str) -> None:
    (beside / "own_driver.py").write_text(
        "import json, os\n"
        "from agentlab.testing.drivers import Toy\n"
        "def make():\n"
        f"    if os.getpid() != {os.getpid()}:\n"
        "        json.dump(dict(os.environ), open('seen.json', 'w'))\n"
        "    return Toy(words=1)\n"
    )
    assert record(Path("study"), "own_driver:make", host=host).result()[0].eligible


@pytest.mark.parametrize("host", OUTSIDE)
def test_no_key_and_no_parent_of_jupyter_reach_it(
    beside: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOME_API_KEY", "JPY_PARENT_PID", "PYTHONPATH", "AGENTLAB_TEST"):
        monkeypatch.setenv(name, "1" if name != "PYTHONPATH" else str(beside))
    test_a_driver_module_beside_the_notebook_is_imported(beside, host)
    seen = json.loads((beside / "seen.json").read_text())
    assert seen["AGENTLAB_TEST"] == "1"
    assert {"SOME_API_KEY", "JPY_PARENT_PID", "PYTHONPATH"}.isdisjoint(seen)


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_key_that_the_gateway_names_reaches_it(
    tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = al.Gateway("http://127.0.0.1:9/v1", key_env="LAB_TEST_KEY")
    monkeypatch.delenv("LAB_TEST_KEY", raising=False)
    with pytest.raises(ConfigError, match="LAB_TEST_KEY"):
        record(tmp_path / "a", gateway=gateway, host=host).result()
    monkeypatch.setenv("LAB_TEST_KEY", "sk-lab-0123456789abcdef")
    (run,) = record(tmp_path / "b", gateway=gateway, host=host).result()
    assert run.info.discard_codes == ("gateway_bypassed",)  # the toy asks no model
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"LAB_TEST_KEY" in written and b"0123456789abcdef" not in written


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_module_named_like_the_standard_librarys_does_not_take_its_place(beside: Path, host: str) -> None:
    """As in the notebook, whose own imports are done when its folder comes first on the path."""
    for name in ("selectors", "queue", "signal"):
        (beside / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    sys.path.remove("")
    assert record(Path("study"), host=host).result()[0].eligible


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_job_larger_than_a_pipe(tmp_path: Path, host: str) -> None:
    big = al.Scenario("big", turns=["x" * 300_000] * 3)
    recordings = record(tmp_path / "study", scenario=big, host=host).result()
    assert recordings[0].eligible
    assert recordings.table("turns")["turn"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("host", EVERYWHERE)
def test_cancel_before_anything_is_up(tmp_path: Path, host: str) -> None:
    running = record(tmp_path / "study", Toy(words=10_000), host=host)
    running.cancel()
    running.cancel()
    recordings = running.result()
    assert running.state()["status"] == "cancelled"
    assert not any(r.eligible for r in recordings)


@pytest.mark.parametrize("host", EVERYWHERE)
def test_one_recorder_at_a_time(tmp_path: Path, host: str) -> None:
    (tmp_path / "hold").touch()
    arm = Toy(words=2, hold=tmp_path / "hold")
    first = record(tmp_path / "study", arm, host=host)
    while first.state()["current"] is None:
        threading.Event().wait(0.02)
    second = record(tmp_path / "study", arm, host=host)
    with pytest.raises(StudyBusy, match="being recorded by another process") as busy:
        second.result()
    assert "ended" not in str(busy.value) and isinstance(busy.value, ConfigError)
    assert second.state()["status"] == "failed"
    (tmp_path / "hold").unlink()
    assert [r.info.status for r in first.result()] == ["complete"]
    assert first.state()["status"] == "done"


@pytest.mark.parametrize("host", OUTSIDE)
@pytest.mark.parametrize(
    ("name", "body", "error", "message"),
    [
        ("failing_import", "raise ImportError('no such agent')", ConfigError, "no such agent"),
        ("failing_bug", "raise KeyError('half-written')", AgentlabError, "KeyError: 'half-written'"),
        ("failing_type", "def make(): return 5", ConfigError, "5 is no driver"),
    ],
)
def test_a_driver_module_that_fails_only_there(
    beside: Path, host: str, name: str, body: str, error: type[Exception], message: str
) -> None:
    (beside / f"{name}.py").write_text(
        "import os\nfrom agentlab.testing.drivers import Toy\nmake = Toy\n"
        f"if os.getpid() != {os.getpid()}:\n    {body}\n"
    )
    with pytest.raises(error) as caught:
        record(Path("study"), f"{name}:make", host=host).result()
    assert message in str(caught.value)
    assert "0 of 1 runs are kept" in str(caught.value)
    if error is AgentlabError:
        assert f"{name}.py" in caught.value.__notes__[0]


@pytest.mark.parametrize("host", OUTSIDE)
def test_a_measuring_process_that_dies_at_an_import(beside: Path, host: str) -> None:
    (beside / "deadly.py").write_text(
        "import os, sys\nfrom agentlab.testing.drivers import Toy\nmake = Toy\n"
        f"if os.getpid() != {os.getpid()}:\n"
        "    os.write(2, b'the library said no, token=abcdef123456')\n    os._exit(3)\n"
    )
    with pytest.raises(AgentlabError) as caught:
        record(Path("study"), "deadly:make", host=host).result()
    assert "ended" in str(caught.value) and "the library said no" in str(caught.value)
    assert "abcdef123456" not in str(caught.value)


@pytest.mark.parametrize("host", EVERYWHERE)
def test_an_arm_that_cannot_start(tmp_path: Path, host: str) -> None:
    with pytest.raises(StartupError, match="told not to start"):
        record(tmp_path / "study", Toy(trouble="startup"), host=host).result()
    assert len(al.load(tmp_path / "study")) == 0


@pytest.mark.parametrize("host", EVERYWHERE)
def test_a_second_call_does_nothing_and_says_so(
    tmp_path: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(record(tmp_path / "study", host=host).result()) == 1
    again = record(tmp_path / "study", host=host)
    assert again.done()
    assert len(again.result()) == 1
    again.cancel()
    assert again.state()["status"] == "done"
    assert "1 of 1 already recorded" in capsys.readouterr().err


@pytest.mark.parametrize("host", EVERYWHERE)
def test_nothing_is_left_in_the_owner(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    me = psutil.Process()
    record(tmp_path / "first", host=host).result()  # imports and their caches
    gc.collect()
    before = (me.num_fds(), threading.active_count())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(2):
            record(tmp_path / f"study{n}", host=host).result()
        gc.collect()
    assert me.num_fds() <= before[0]
    assert threading.active_count() <= before[1]
    assert me.children(recursive=True) == []
    assert [*(tmp_path / "tmp").iterdir(), *(tmp_path / "run").iterdir()] == []
