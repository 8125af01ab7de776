"""Qwen Code: found on version 0.24.4, on Node.js 24. Three processes: launcher, itself again, app."""

from __future__ import annotations

from ..base import package_folder, write_json
from ..release import Release
from ..runtime import node24
from .base import TerminalAgent, TerminalSetup, terminal_environment

_PACKAGE = "@qwen-code/qwen-code"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write ``settings.json``: the key's kind, no question of trust, no statistics, no updates."""
    write_json(
        setup.home / ".qwen" / "settings.json",
        {
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "tools": {"useRipgrep": False},  # its own cannot be run when no install script was
        },
    )
    return terminal_environment(
        setup,
        OPENAI_API_KEY=setup.key,
        OPENAI_BASE_URL=f"{setup.base_url}/v1",
        OPENAI_MODEL=setup.model,
    )


TERMINAL = TerminalAgent(
    name="qwen_code",
    title="Qwen Code",
    version="0.24.4",
    release=lambda _version: Release(
        package=_PACKAGE,
        candidates=package_folder(_PACKAGE, "cli-entry.js"),
        runtime="node",
        beside=node24(),
    ),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"QWEN_HOME": ".qwen"},
    switches={"QWEN_CODE_NO_RELAUNCH=true": "one process less"},
)
