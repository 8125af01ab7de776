"""GitHub Copilot CLI: found on version 1.0.102. A script of Node.js that waits for a native binary."""

from __future__ import annotations

from ..base import package_folder, write_json
from ..release import Release
from .base import TerminalAgent, TerminalSetup, terminal_environment

_PACKAGE = "@github/copilot"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write that the workspace is trusted; the model is one of one's own, so that no login is asked."""
    write_json(
        setup.home / ".copilot" / "config.json",
        {"trusted_folders": [str(setup.workspace)], "banner": "never"},
    )
    return terminal_environment(
        setup,
        COPILOT_AUTO_UPDATE="false",
        COPILOT_MODEL=setup.model,
        COPILOT_OFFLINE="true",
        COPILOT_PROVIDER_API_KEY=setup.key,
        COPILOT_PROVIDER_BASE_URL=f"{setup.base_url}/v1",
        COPILOT_PROVIDER_MAX_OUTPUT_TOKENS="8192",
        COPILOT_PROVIDER_MAX_PROMPT_TOKENS="200000",
    )


TERMINAL = TerminalAgent(
    name="copilot",
    title="GitHub Copilot CLI",
    version="1.0.102",
    release=lambda _version: Release(
        package=_PACKAGE, candidates=package_folder(_PACKAGE, "npm-loader.js"), runtime="node"
    ),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"COPILOT_HOME": ".copilot"},
)
