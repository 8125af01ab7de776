"""Installation with a stand-in for npm (a shell script). It cannot show that the registry serves the package:
`make test` does, which installs the real one first."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentlab
from agentlab.agents import npm, opencode, slim
from agentlab.agents.cache import agent_folder
from agentlab.agents.plugins import find_plugin

_VERSION = "9.9.9"


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def fake_npm(tmp_path, monkeypatch):
    """Let `npm install` make a package whose binary prints what it is told to; counts its calls."""
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def make(answer: str = _VERSION, before: str = "") -> Path:
        calls = tmp_path / "calls"
        machine = "x64" if os.uname().machine == "x86_64" else "arm64"
        folder = f"node_modules/opencode-linux-{machine}/bin"
        _program(
            tmp_path / "bin" / "npm",
            f'echo "$@" >> {calls}\n{before}\nmkdir -p {folder}\n'
            f"printf '#!/bin/sh\\necho {answer}\\n' > {folder}/opencode\nchmod +x {folder}/opencode",
        )
        return calls

    return make


def test_install_runs_npm_once_and_locate_finds_it(fake_npm):
    calls = fake_npm()
    lines: list[str] = []
    first = agentlab.install("opencode", version=_VERSION, say=lines.append)
    again = agentlab.install("opencode", version=_VERSION, say=lines.append)
    assert first == again
    assert opencode.locate(_VERSION) == first.executable
    assert len(calls.read_text().splitlines()) == 1
    assert f"opencode-ai@{_VERSION}" in calls.read_text()
    assert "--ignore-scripts" in calls.read_text()
    assert lines == [f"installing opencode-ai {_VERSION} from npm ..."]


@pytest.mark.parametrize(
    "answer, before, message",
    [
        ("1.0.0", "", "answered '1.0.0'"),
        (_VERSION, "echo 'E404 no such package' >&2; exit 1", "E404 no such package"),
    ],
)
def test_failed_install_leaves_nothing(fake_npm, answer, before, message):
    fake_npm(answer, before)
    with pytest.raises(agentlab.StartupError, match=message):
        agentlab.install("opencode", version=_VERSION)
    folder = agent_folder("opencode", _VERSION)
    assert [path.name for path in folder.parent.iterdir()] == [f".{folder.name}.lock"]


def test_without_npm_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(agentlab.StartupError, match="apt-get install nodejs npm"):
        agentlab.install("opencode", version=_VERSION)


def test_unwritable_cache_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "file"))
    with pytest.raises(agentlab.StartupError, match="AGENTLAB_CACHE"):
        agentlab.install("opencode", version=_VERSION)


def test_damaged_installation_is_made_again(fake_npm):
    fake_npm()
    executable = agentlab.install("opencode", version=_VERSION).executable
    executable.unlink()
    assert agentlab.install("opencode", version=_VERSION).executable.exists()


_INSTALL = f"import agentlab; print(agentlab.install('opencode', version='{_VERSION}').executable)"


def test_two_at_once_install_once(fake_npm):
    calls = fake_npm(before="sleep 0.5")
    both = [subprocess.Popen([sys.executable, "-c", _INSTALL], stdout=subprocess.PIPE) for _ in range(2)]
    answers = {process.communicate(timeout=30)[0] for process in both}
    assert len(answers) == 1
    assert len(calls.read_text().splitlines()) == 1


def test_killed_install_is_begun_again(fake_npm, tmp_path):
    started = tmp_path / "started"
    fake_npm(before=f"touch {started}; exec sleep 30")
    process = subprocess.Popen([sys.executable, "-c", _INSTALL], start_new_session=True)
    end = time.monotonic() + 20
    while not started.exists() and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    folder = agent_folder("opencode", _VERSION)
    left = [path for path in folder.parent.iterdir() if path.is_dir()]
    assert len(left) == 1
    fake_npm()
    agentlab.install("opencode", version=_VERSION)
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == [folder]
    assert json.loads((folder / "agent.json").read_text())["version"] == _VERSION


def test_version_of_something_that_hangs_is_empty(tmp_path):
    hanging = _program(tmp_path / "hang", "exec sleep 30")
    assert npm.reported_version(hanging, timeout=0.2) == ""
    assert npm.reported_version(tmp_path / "gone") == ""


@pytest.mark.parametrize("answer", ["2.2.24", "2.2.23"])
def test_a_plugin_is_installed_with_what_it_needs_or_not_at_all(fake_npm, tmp_path, answer):
    fake_npm()
    folder = "node_modules/oh-my-opencode-slim"
    facts = f'{{"name": "oh-my-opencode-slim", "version": "{answer}"}}'
    text = f"mkdir -p {folder} node_modules/zod && printf '%s' '{facts}' > {folder}/package.json"
    _program(tmp_path / "bin" / "npm", text)
    if answer != slim.VERSION:
        with pytest.raises(
            agentlab.StartupError, match=r"npm installed oh-my-opencode-slim 2\.2\.23 in place"
        ):
            agentlab.install("oh-my-opencode-slim")
        assert not [path for path in agent_folder("x", "1").parent.iterdir() if path.is_dir()]
        return
    found = agentlab.install("oh-my-opencode-slim")
    assert found.version == slim.VERSION and (found.executable.parent / "zod").is_dir()
    assert find_plugin("oh-my-opencode-slim").path == found.executable
