"""OpenCode on a terminal: found on version 1.18. No login is asked; its one provider is the one given.

Each session has a database of its own: of four that start at once on a new one, in three of nine tries one
waited for ever beside the one that made it, with a blank screen.
"""

from __future__ import annotations

from .. import opencode
from ..opencode_cli import AGENT
from ..release import release_of
from .base import SESSION, TerminalAgent, TerminalSetup, terminal_environment


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Give the configuration as a variable, and keep it from fetching packages into the home."""
    if not (setup.home / ".config" / "opencode").exists():
        opencode.prepare_home(setup.home, setup.version)
    config = opencode.server_config(
        f"lab/{setup.model}", base_url=f"{setup.base_url}/v1", token=setup.key, permissions="ask"
    )
    database = setup.home / f"opencode-{SESSION}.db"
    own = opencode.server_environment(home=setup.home, database=database, config=config)
    return own | terminal_environment(setup)


TERMINAL = TerminalAgent(
    name=AGENT.name,
    title=AGENT.title,
    version=AGENT.version,
    release=lambda _version: release_of(AGENT),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
    },
)
