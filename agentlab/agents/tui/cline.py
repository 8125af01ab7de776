"""Cline on a terminal: found on version 3.0.65.

It starts a hub that leaves the tree and serves every Cline of this user, at a fixed port of the machine: so
each home gets a port of its own, and never meets the user's.
"""

from __future__ import annotations

from ..base import write_json
from ..cline import AGENT
from ..release import release_of
from .base import TerminalAgent, TerminalSetup, terminal_environment

_PROVIDER = "openai-compatible"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write the provider, as ``cline auth`` does, which takes the key in its command line."""
    folder = setup.home / ".cline" / "data" / "settings"
    settings = {
        "provider": _PROVIDER,
        "apiKey": setup.key,
        "model": setup.model,
        "baseUrl": f"{setup.base_url}/v1",
    }
    entry = {"settings": settings, "updatedAt": "2000-01-01T00:00:00.000Z", "tokenSource": "manual"}
    write_json(
        folder / "providers.json",
        {"version": 1, "lastUsedProvider": _PROVIDER, "modes": {}, "providers": {_PROVIDER: entry}},
    )
    write_json(folder / "global-settings.json", {"telemetryOptOut": True, "autoUpdateEnabled": False})
    return terminal_environment(
        setup,
        CLINE_DIR=str(setup.home / ".cline"),
        CLINE_GLOBAL_SETTINGS_PATH=str(folder / "global-settings.json"),
        CLINE_HUB_PORT=str(setup.port),
        CLINE_NO_AUTO_UPDATE="1",
    )


TERMINAL = TerminalAgent(
    name=AGENT.name,
    title=AGENT.title,
    version=AGENT.version,
    release=lambda _version: release_of(AGENT),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    daemon="home",
    daemon_marks=("--cline-hub-daemon",),
    folders={"CLINE_DIR": ".cline"},
    needs_port=True,
)
