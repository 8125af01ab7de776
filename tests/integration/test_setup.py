"""Set-up in a folder of its own. The full way (pip, npm, apt) is what `make test` went before this ran."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A folder with only what set-up reads, and an interpreter that notes how it is called."""
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/setup.py", "pyproject.toml", "Makefile"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def module(checkout):
    spec = importlib.util.spec_from_file_location("setup_script", checkout / "scripts" / "setup.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def _fake_venv(checkout, module, answer=0):
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >> {checkout}/calls\nexit {answer}\n')
    python.chmod(0o755)
    module.STAMP.write_text(module.stamp())


def _setup(checkout, *arguments, **environment):
    return subprocess.run(
        [sys.executable, checkout / "scripts" / "setup.py", *arguments],
        env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_second_call_reuses_and_is_quick(checkout, module):
    _fake_venv(checkout, module)
    started = time.monotonic()
    done = _setup(checkout, "demo")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - started < 3
    calls = (checkout / "calls").read_text().splitlines()
    assert sorted(calls) == [f"-m agentlab install {name}" for name in ("codex", "opencode", "pi")]
    assert done.stderr == ""


def test_changed_pyproject_makes_the_environment_anew(checkout, module):
    _fake_venv(checkout, module)
    with (checkout / "pyproject.toml").open("a") as file:
        file.write("\n# changed\n")
    # Without an index pip fails: that the environment was made anew is seen, and so is the failure's message.
    done = _setup(checkout, "demo", PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert done.returncode == 1
    assert "making .venv" in done.stderr
    assert "pip could not install the Python packages" in done.stderr
    assert "Traceback" not in done.stderr
    assert not module.STAMP.exists()  # the next call begins again
    assert (checkout / ".venv" / "pyvenv.cfg").exists()


def test_above_the_clone_its_folder_is_not_taken_for_the_package(module, monkeypatch):
    # With setuptools' import hook `import agentlab` there gives an empty package. That the option has this
    # effect cannot be shown without an index; that it is given can.
    called = []

    def run(command, environment):
        called.append(command)
        return subprocess.CompletedProcess(command, returncode=0, stdout=sys.executable, stderr="")

    monkeypatch.setattr(module, "run", run)
    (module.VENV / "bin").mkdir(parents=True)
    module.make_venv()
    (pip,) = (command for command in called if "--editable" in command)
    assert pip[pip.index("--config-settings") + 1] == "editable_mode=compat"
    assert module.STAMP.is_file()


def test_missing_agent_stops_it(checkout, module):
    _fake_venv(checkout, module, answer=1)
    done = _setup(checkout, "demo")
    assert done.returncode == 1
    assert "could not be installed (see above): opencode, codex, pi" in done.stderr


def test_moved_folder_needs_a_new_environment(checkout, module):
    inside = hashlib.sha256((checkout / "pyproject.toml").read_bytes()).hexdigest()
    assert module.stamp().strip() != inside  # the place counts too


def test_wrong_usage(checkout):
    assert "usage" in _setup(checkout, "both").stderr


def test_old_python_is_named(module, monkeypatch):
    monkeypatch.setattr(module, "OLDEST", (9, 9))
    with pytest.raises(module.SetupError, match=r"Python 3\.11, 3\.12 or 3\.13 is needed"):
        module.find_python()


def test_python_under_a_virtual_environment_is_found(module):
    base = module.base_of(sys.executable)
    assert base
    assert Path(base) != Path(sys.executable)  # these tests run in a virtual environment


@pytest.mark.parametrize("ci, fails", [("true", True), ("", False)])
def test_without_root_it_says_what_to_install(module, monkeypatch, capsys, ci, fails):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(module, "BROWSERS", ["no-such-browser"])
    if fails:
        with pytest.raises(module.SetupError, match=r"apt-get install .* chromium"):
            module.install_browser()
    else:
        module.install_browser()
        assert "the tests that need it are skipped" in capsys.readouterr().err


def test_as_root_packages_are_installed_after_one_update(module, monkeypatch):
    calls = []

    def run(command, environment):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(
        module.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None
    )
    monkeypatch.setattr(module, "run", run)
    module.install_browser()
    assert [command[:2] for command in calls] == [["apt-get", "update"], ["apt-get", "install"]]
    assert "chromium" in calls[1]


@pytest.mark.parametrize("ci, installed", [("true", [["zsh", "fish"]]), ("", [])])
def test_shells_are_installed_in_ci_only_and_are_no_must(module, monkeypatch, ci, installed):
    calls = []
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    monkeypatch.setattr(
        module, "debian_install", lambda packages, what, needed: calls.append((packages, needed))
    )
    module.install_shells()
    assert calls == [(packages, False) for packages in installed]


def test_missing_venv_module_is_installed_or_named(module, monkeypatch):
    def run(command, environment):
        broken = "-m" in command
        text = "The virtual environment was not created successfully because ensurepip is not available."
        return subprocess.CompletedProcess(command, int(broken), text if broken else "3.11\n", "")

    monkeypatch.setattr(module, "find_python", lambda: "/usr/bin/python3")
    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    with pytest.raises(module.SetupError, match=r"apt-get install .*python3\.11-venv"):
        module.make_venv()


def test_conda_environment_agrees_with_pyproject():
    """It cannot show that conda solves it."""
    import tomllib

    import yaml

    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    assert f"python {project['requires-python']}" in packages
    assert any(entry.startswith("nodejs") for entry in packages)
    assert environment["dependencies"][-1] == {"pip": ["-e .[dev]"]}
