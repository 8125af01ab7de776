"""Pi on a terminal: recipe found on versions 0.73 (Node.js 20) and 1.6 (another package, on Node.js 24)."""

from __future__ import annotations

from typing import Any

from ..base import package_folder, write_json
from ..pi import AGENT
from ..release import Release, release_of
from ..runtime import node24
from .base import CTRL_D, TerminalAgent, TerminalSetup, terminal_environment

_PACKAGE = "@earendil-works/pi-coding-agent"
_MODEL = {
    "reasoning": False,
    "input": ["text"],
    "contextWindow": 200_000,
    "maxTokens": 8_192,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
}


def release(version: str) -> Release:
    """Choose the package: since 1.0 it is another one, for a newer Node.js."""
    if int(version.partition(".")[0]) < 1:
        return release_of(AGENT)
    candidates = package_folder(_PACKAGE, "dist/bundle/cli.js")
    return Release(package=_PACKAGE, candidates=candidates, runtime="node", beside=node24())


def model(setup: TerminalSetup) -> dict[str, Any]:
    """Describe the model as Pi, and what was made of it, read it."""
    return {"id": setup.model, "name": setup.model, **_MODEL}


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write a provider, and the version whose changes it has shown, else it begins with pages of them."""
    folder = setup.home / ".pi" / "agent"
    provider = {
        "baseUrl": f"{setup.base_url}/v1",
        "api": "openai-completions",
        "apiKey": setup.key,
        "models": [model(setup)],
    }
    write_json(folder / "models.json", {"providers": {"lab": provider}})
    write_json(folder / "settings.json", {"lastChangelogVersion": setup.version})
    return terminal_environment(setup, PI_OFFLINE="1", PI_TELEMETRY="0")


TERMINAL = TerminalAgent(
    name=AGENT.name,
    title=AGENT.title,
    version=AGENT.version,
    release=release,
    prepare=prepare,
    argv=lambda setup: [
        str(setup.executable),
        *("--provider", "lab", "--model", setup.model),
        *setup.flags,
    ],
    gesture=(CTRL_D,),
    folders={"PI_CODING_AGENT_DIR": ".pi/agent"},
)
