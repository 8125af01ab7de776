"""The real server in a home made by agentlab: it reaches one provider only and installs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from agentlab.agents import opencode


@pytest.fixture
def server(tmp_path, opencode_executable):
    """Start a server whose password is `pw`; yields its client and home."""
    started = []

    def start(*, prepared: bool) -> tuple[httpx.Client, Path]:
        home, workspace = tmp_path / "home", tmp_path / "workspace"
        home.mkdir()
        workspace.mkdir()
        if prepared:
            opencode.prepare_home(home)
        config = opencode.server_config("lab/scripted", base_url="http://127.0.0.1:9/v1", token="t")
        environment = opencode.server_environment(
            home=home, database=home / "oc.db", config=config, password="pw"
        )
        process = subprocess.Popen(
            opencode.serve_argv(opencode_executable), env=environment, cwd=workspace,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        lines = iter(process.stdout.readline, b"")
        found = next(filter(None, map(opencode.LISTENING.search, lines)))
        client = httpx.Client(base_url=found[1].decode(), auth=("opencode", "pw"), timeout=60)
        started.append((process, client))
        return client, home

    yield start
    for process, client in started:
        client.close()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _packages(home: Path) -> list[str]:
    return [path.name for path in (home / ".config" / "opencode" / "node_modules").glob("*")]


def test_nothing_is_installed_while_it_is_measured(server):
    client, home = server(prepared=True)
    assert client.get("/agent").status_code == 200  # boots the workspace, which is when it would begin
    time.sleep(4)
    assert _packages(home) == []
    assert not (home / ".npm").exists()


def test_only_the_model_asked_for_can_be_reached(server):
    client, _ = server(prepared=True)
    providers = client.get("/config/providers").json()["providers"]
    assert [(p["id"], list(p["models"])) for p in providers] == [("lab", ["scripted"])]
    assert httpx.get(client.base_url.join("/global/health")).status_code == 401
