"""Gemini CLI on a terminal: found on version 0.61. It starts itself again: two processes of Node.js."""

from __future__ import annotations

from ..base import write_json
from ..gemini_cli import AGENT
from ..release import release_of
from .base import TerminalAgent, TerminalSetup, terminal_environment


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write ``settings.json``: the key's kind, no question of trust, no statistics, no updates."""
    write_json(
        setup.home / ".gemini" / "settings.json",
        {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        },
    )
    return terminal_environment(setup, GEMINI_API_KEY=setup.key, GOOGLE_GEMINI_BASE_URL=setup.base_url)


TERMINAL = TerminalAgent(
    name=AGENT.name,
    title=AGENT.title,
    version=AGENT.version,
    release=lambda _version: release_of(AGENT),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"GEMINI_CLI_HOME": ".gemini"},
    switches={"GEMINI_CLI_NO_RELAUNCH=true": "one process instead of two"},
)
