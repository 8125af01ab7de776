"""The agents that agentlab knows on a terminal, by name."""

from __future__ import annotations

from ...errors import ConfigError, did_you_mean
from . import (
    aider,
    amp,
    auggie,
    claude_code,
    cline,
    codex,
    continue_cli,
    copilot,
    cursor,
    droid,
    gemini_cli,
    grok_cli,
    jcode,
    omp,
    opencode,
    opencode2,
    pi,
    qwen_code,
    synaps,
)
from .base import TerminalAgent

_MODULES = (
    *(opencode, codex, claude_code, pi, gemini_cli, copilot, cline),
    *(omp, qwen_code, grok_cli, continue_cli, aider),
    *(amp, auggie, droid),  # no prompt without their makers
    *(synaps, jcode, opencode2, cursor),  # on no registry
)
#: In the order they are listed.
TERMINALS: dict[str, TerminalAgent] = {module.TERMINAL.name: module.TERMINAL for module in _MODULES}


def find_terminal(name: str, *, who: str = "Terminal") -> TerminalAgent:
    """Return a recipe of the catalogue.

    Parameters
    ----------
    name : str
        Name of the tool; ``-`` and ``_`` are the same.
    who : str
        Whose argument it is, for the message.

    Returns
    -------
    TerminalAgent

    Raises
    ------
    ConfigError
        There is no such recipe.

    Examples
    --------
    >>> find_terminal("claude-code").title
    'Claude Code'
    """
    agent = TERMINALS.get(str(name).replace("-", "_"))
    if agent is None:
        known = ", ".join(TERMINALS)
        raise ConfigError(f"{who}({name!r}): known are {known}{did_you_mean(name, TERMINALS)}")
    return agent
