"""Continue's command line: found on version 1.5.47."""

from __future__ import annotations

from pathlib import Path

from ..base import package_folder, write_json
from ..release import Release
from .base import TerminalAgent, TerminalSetup, terminal_environment

_PACKAGE = "@continuedev/cli"


def _config(setup: TerminalSetup) -> Path:
    return setup.home / ".continue" / "config.yaml"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write its configuration with one model; JSON is YAML too."""
    model = {
        "name": setup.model,
        "provider": "openai",
        "model": setup.model,
        "apiBase": f"{setup.base_url}/v1",
        "apiKey": setup.key,
    }
    write_json(_config(setup), {"name": "lab", "version": "0.0.1", "schema": "v1", "models": [model]})
    return terminal_environment(setup, CONTINUE_TELEMETRY_ENABLED="0")


TERMINAL = TerminalAgent(
    name="continue_cli",
    title="Continue CLI",
    version="1.5.47",
    release=lambda _version: Release(
        package=_PACKAGE, candidates=package_folder(_PACKAGE, "dist/cn.js"), runtime="node"
    ),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), "--config", str(_config(setup)), *setup.flags],
    folders={"CONTINUE_GLOBAL_DIR": ".continue"},
)
