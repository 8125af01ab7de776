"""The agents that agentlab knows, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigError
from . import (
    claude_code,
    cline,
    codex,
    gemini_cli,
    mini_swe_agent,
    opencode_cli,
    pi,
)
from .base import Agent
from .release import install_release, release_of

#: Command-line agents, in the order they are listed.
AGENTS: dict[str, Agent] = {
    module.AGENT.name: module.AGENT
    for module in (pi, opencode_cli, codex, claude_code, gemini_cli, cline, mini_swe_agent)
}


def find_agent(name: str, *, who: str = "AgentCLI") -> Agent:
    """Return an agent of the catalogue.

    Parameters
    ----------
    name : str
        Its name; ``-`` and ``_`` are the same.
    who : str
        Whose argument it is, for the message.

    Returns
    -------
    Agent

    Raises
    ------
    ConfigError
        There is no such agent.

    Examples
    --------
    >>> find_agent("claude-code").title
    'Claude Code'
    """
    agent = AGENTS.get(str(name).replace("-", "_"))
    if agent is None:
        raise ConfigError(f"{who}({name!r}): known are {', '.join(AGENTS)}")
    return agent


def install_agent(agent: Agent, version: str, *, say: Callable[[str], None]) -> Path:
    """Install an agent into the cache unless it is there.

    Parameters
    ----------
    agent : Agent
        Of the catalogue.
    version : str
        Exact version.
    say : callable
        Receives progress, one line at a time.

    Returns
    -------
    pathlib.Path
        Its executable, which has answered ``--version``.

    Raises
    ------
    StartupError
        It cannot be installed, or does not run here; nothing half-installed is left.
    """
    release = release_of(agent, module="minisweagent.run.mini", launcher=mini_swe_agent.LAUNCHER)
    return install_release(agent.name, version, release, say=say)
