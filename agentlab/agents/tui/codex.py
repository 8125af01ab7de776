"""Codex on a terminal: recipe found on version 0.171.

Two to three seconds after the first start in a home it starts an app server and its updater, each in a
session of its own, from a copy of itself. They outlive the terminal and serve later sessions of that home.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from ..base import write_private
from ..codex import AGENT
from ..release import release_of
from .base import TerminalAgent, TerminalSetup, terminal_environment

_KEY = "AGENTLAB_KEY"


def launched(executable: Path) -> Path:
    """Return what npm puts on the PATH: a script of Node.js that starts the binary and waits for it."""
    packages = next(folder for folder in executable.parents if folder.name == "@openai")
    return packages / "codex" / "bin" / "codex.js"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write ``config.toml``: one provider, a trusted workspace, no look for updates."""
    folder = setup.home / ".codex"
    write_private(
        folder / "config.toml",
        f"""model = {json.dumps(setup.model)}
model_provider = "lab"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.lab]
name = "lab"
base_url = {json.dumps(f"{setup.base_url}/v1")}
env_key = "{_KEY}"
wire_api = "responses"

[projects.{json.dumps(str(setup.workspace))}]
trust_level = "trusted"
""",
    )
    return terminal_environment(setup, CODEX_HOME=str(folder), **{_KEY: setup.key})


TERMINAL = TerminalAgent(
    name=AGENT.name,
    title=AGENT.title,
    version=AGENT.version,
    release=lambda _version: dataclasses.replace(release_of(AGENT), runtime="node"),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    daemon="home",
    daemon_marks=("codex", "app-server"),
    folders={"CODEX_HOME": ".codex"},
    launched=launched,
)
