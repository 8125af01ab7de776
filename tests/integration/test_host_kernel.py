"""The measuring kernel by name, and over either transport."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest

import agentlab as al
from agentlab.errors import ConfigError, StartupError
from agentlab.testing.drivers import Toy

SCENARIO = al.Scenario("toy", turns=["hi"])


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    folder = tmp_path / "jupyter" / "kernels"
    folder.mkdir(parents=True)
    return folder


def add(specs: Path, name: str, argv: list[str], **more: object) -> None:
    (specs / name).mkdir()
    spec = {"argv": argv, "display_name": name, "language": "python"} | more
    (specs / name / "kernel.json").write_text(json.dumps(spec))


LAUNCH = "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code, "-f", "{connection_file}"]


def record(folder: Path, kernel: str | None, hold: Path | None = None) -> al.Running:
    arm = Toy(words=2, every_s=0.001, hold=hold)
    return al.record(
        SCENARIO, arm, runs=1, to=folder / "study", host="kernel", kernel=kernel, quiet=None, progress="none"
    )


def test_a_named_kernelspec_is_used(tmp_path: Path, specs: Path) -> None:
    mark = specs / "used"
    add(specs, "marked", python(f"open({str(mark)!r}, 'w').close(); {LAUNCH}"))
    assert record(tmp_path, "marked").result()[0].eligible
    assert mark.exists()


def test_by_default_this_interpreter_whatever_python3_is_called_here(tmp_path: Path, specs: Path) -> None:
    add(specs, "python3", ["/bin/false", "{connection_file}"])
    assert record(tmp_path, None).result()[0].eligible


def test_an_unknown_name_touches_nothing(tmp_path: Path, specs: Path) -> None:
    add(specs, "known", [sys.executable])
    with pytest.raises(ConfigError, match=r"kernel='unknown'.*no such kernelspec; there are: known"):
        record(tmp_path, "unknown")
    assert not (tmp_path / "study").exists()


def test_another_language(tmp_path: Path, specs: Path) -> None:
    add(specs, "ir", ["R"], language="R")
    with pytest.raises(ConfigError, match="it runs R"):
        record(tmp_path, "ir")


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("__version__ = '0.0.9'", "has agentlab 0.0.9"),
        ("raise ImportError('too old a Python')", "cannot be imported there .ImportError: too old a Python"),
    ],
)
def test_another_agentlab(tmp_path: Path, specs: Path, package: str, message: str) -> None:
    other = tmp_path / "other"
    (other / "agentlab" / "host").mkdir(parents=True)
    (other / "agentlab" / "__init__.py").write_text(package)
    (other / "agentlab" / "host" / "worker.py").touch()
    add(
        specs,
        "foreign",
        python(f"import sys; sys.prefix = '/opt'; sys.path.insert(0, {str(other)!r}); {LAUNCH}"),
    )
    with pytest.raises(ConfigError, match=message) as caught:
        record(tmp_path, "foreign").result()
    assert f"install agentlab=={al.__version__} there" in str(caught.value)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["/no/such/python", "{connection_file}"], "cannot be started"),
        ([sys.executable, "-c", "raise SystemExit('no licence')"], "did not become ready: no licence"),
    ],
)
def test_a_kernel_that_does_not_start(tmp_path: Path, specs: Path, argv: list[str], message: str) -> None:
    add(specs, "broken", argv)
    with pytest.raises(StartupError, match=message):
        record(tmp_path, "broken").result()
    assert psutil.Process().children() == []


def test_a_runtime_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").touch()
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "run"))
    with pytest.raises(StartupError, match="let JUPYTER_RUNTIME_DIR name one that can be written") as caught:
        record(tmp_path, None).result()
    assert f"{tmp_path / 'run'} cannot be used: File exists" in str(caught.value)


def test_cancel_while_the_kernel_starts(tmp_path: Path, specs: Path) -> None:
    add(specs, "slow", [sys.executable, "-c", "import time; time.sleep(60)", "{connection_file}"])
    running = record(tmp_path, "slow")
    while not psutil.Process().children():
        threading.Event().wait(0.01)
    running.cancel()
    assert len(running.result()) == 0
    assert running.state()["status"] == "cancelled"
    assert psutil.Process().children() == []


def test_a_path_too_long_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over loopback then, encrypted; and whatever the transport, only the owner may read the key."""
    runtime = tmp_path / ("x" * 80)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
    (tmp_path / "hold").touch()
    running = record(tmp_path, None, hold=tmp_path / "hold")
    while running.state()["current"] is None:
        threading.Event().wait(0.02)
    (file,) = runtime.glob("agentlab-*/kernel.json")
    about = json.loads(file.read_text())
    assert about["transport"] == "tcp"
    assert about["curve_publickey"]
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    (tmp_path / "hold").unlink()
    assert running.result()[0].eligible
    assert not any(runtime.iterdir())


def test_a_short_path_is_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as runtime:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", runtime)
        (tmp_path / "hold").touch()
        running = record(tmp_path, None, hold=tmp_path / "hold")
        while running.state()["current"] is None:
            threading.Event().wait(0.02)
        (file,) = Path(runtime).glob("agentlab-*/kernel.json")
        assert json.loads(file.read_text())["transport"] == "ipc"
        (tmp_path / "hold").unlink()
        assert running.result()[0].eligible
        assert not any(Path(runtime).iterdir())
