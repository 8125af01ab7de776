"""Claude Code on a terminal: recipe found on versions 2.1.197 and 2.1.328."""

from __future__ import annotations

from ..base import write_json
from ..claude_code import AGENT
from ..release import release_of
from .base import TerminalAgent, TerminalSetup, terminal_environment


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write what its first start would ask. It rewrites the file, so that it is written anew for each run.

    A fresh home without network ends with exit code 1: it looks for its server before anything else.
    """
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [setup.key[-20:]], "rejected": []},
        "projects": {str(setup.workspace): {"hasTrustDialogAccepted": True}},
    }
    write_json(setup.home / ".claude.json", known)
    return terminal_environment(
        setup,
        ANTHROPIC_API_KEY=setup.key,
        ANTHROPIC_BASE_URL=setup.base_url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_ERROR_REPORTING="1",
        DISABLE_TELEMETRY="1",
    )


TERMINAL = TerminalAgent(
    name=AGENT.name,
    title=AGENT.title,
    version=AGENT.version,
    release=lambda _version: release_of(AGENT),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"CLAUDE_CONFIG_DIR": ".claude"},
)
