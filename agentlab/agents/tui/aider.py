"""Aider: found on version 0.86.2, from PyPI."""

from __future__ import annotations

from pathlib import Path

from ..base import write_json, write_private
from ..release import Release
from .base import TerminalAgent, TerminalSetup, terminal_environment

_QUIET = (
    *("--no-check-update", "--no-gitignore", "--no-show-model-warnings", "--analytics-disable"),
    *("--no-show-release-notes", "--no-detect-urls"),
)


def candidates(folder: Path) -> list[Path]:
    """List the launcher of an installation."""
    file = folder / "aider"
    return [file] if file.is_file() else []


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write who commits, which it would ask in a workspace of git, and the model, which it would look up."""
    write_private(setup.home / ".gitconfig", "[user]\n\tname = agentlab\n\temail = agentlab@localhost\n")
    model = {"max_input_tokens": 200_000, "litellm_provider": "openai", "mode": "chat"}
    write_json(setup.home / ".aider.model.metadata.json", {f"openai/{setup.model}": model})
    return terminal_environment(setup, OPENAI_API_KEY=setup.key, LITELLM_LOCAL_MODEL_COST_MAP="True")


def argv(setup: TerminalSetup) -> list[str]:
    """Return the command line; outside of git it would ask whether to begin a repository."""
    return [
        str(setup.executable),
        *("--model", f"openai/{setup.model}", "--openai-api-base", f"{setup.base_url}/v1"),
        *_QUIET,
        *(() if (setup.workspace / ".git").exists() else ("--no-git",)),
        *setup.flags,
    ]


TERMINAL = TerminalAgent(
    name="aider",
    title="Aider",
    version="0.86.2",
    release=lambda _version: Release(
        source="pypi",
        package="aider-chat",
        candidates=candidates,
        runtime="python",
        module="aider",
    ),
    prepare=prepare,
    argv=argv,
    folders={"HOME": ".aider"},
)
