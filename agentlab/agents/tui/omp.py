"""oh-my-pi: found on version 18.1.21, on Bun."""

from __future__ import annotations

from ..base import package_folder, write_json
from ..release import Release
from ..runtime import bun
from .base import CTRL_D, TerminalAgent, TerminalSetup, terminal_environment
from .pi import model

_PACKAGE = "@oh-my-pi/pi-coding-agent"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write a provider, no look for updates, and that it has been set up; JSON is YAML too."""
    folder = setup.home / ".omp" / "agent"
    provider = {
        "baseUrl": f"{setup.base_url}/v1",
        "api": "openai-completions",
        "apiKey": setup.key,
        "models": [model(setup)],
    }
    write_json(folder / "models.yml", {"providers": {"lab": provider}})
    write_json(folder / "config.yml", {"setupVersion": 2, "startup": {"checkUpdate": False}})
    return terminal_environment(setup, PI_OFFLINE="1")


TERMINAL = TerminalAgent(
    name="omp",
    title="oh-my-pi",
    version="18.1.21",
    release=lambda _version: Release(
        package=_PACKAGE,
        candidates=package_folder(_PACKAGE, "dist/cli.js"),
        runtime="bun",
        beside=bun(),
    ),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), "--model", f"lab/{setup.model}", *setup.flags],
    gesture=(CTRL_D,),
    folders={"PI_CODING_AGENT_DIR": ".omp/agent"},
)
