"""oh-my-opencode-slim, a plugin of OpenCode that brings an ``orchestrator`` and its subagents."""

from __future__ import annotations

from typing import Any

NAME = PACKAGE = "oh-my-opencode-slim"
#: The version that agentlab is tested with.
VERSION = "2.2.24"
#: Its own settings, in OpenCode's configuration folder.
FILE = "oh-my-opencode-slim.json"
#: The agents that it brings.
AGENTS = ("orchestrator", "explorer", "librarian", "oracle", "designer", "fixer")
_REMOTE = ("context7", "gh_grep", "websearch")


def settings(model: str) -> dict[str, Any]:
    """Return its own settings: every agent asks the model of the arm, and nothing reaches the network.

    Parameters
    ----------
    model : str
        ``"provider/model"``.

    Returns
    -------
    dict
        Content of :data:`FILE`. Without it the plugin looks for updates and dials remote MCP servers.

    Examples
    --------
    >>> settings("lab/scripted")["presets"]["agentlab"]["orchestrator"]
    {'model': 'lab/scripted'}
    """
    return {
        "preset": "agentlab",
        "presets": {"agentlab": {agent: {"model": model} for agent in AGENTS}},
        "autoUpdate": False,
        "disabled_mcps": list(_REMOTE),
    }
