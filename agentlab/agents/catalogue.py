"""The agents that agentlab knows, by name."""

from __future__ import annotations

from ..errors import ConfigError, did_you_mean
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
        raise ConfigError(f"{who}({name!r}): known are {', '.join(AGENTS)}{did_you_mean(name, AGENTS)}")
    return agent
