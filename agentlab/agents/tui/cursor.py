"""Cursor's agent: by its published name, tried on a look-alike only, as no registry has it.

Whether it gets to a prompt in a home without a login is not known; if not, its run is marked ``never_ready``.
"""

from __future__ import annotations

from .base import TerminalAgent, on_the_path, terminal_environment

TERMINAL = TerminalAgent(
    name="cursor",
    title="Cursor agent",
    version="",
    release=on_the_path("cursor-agent"),
    prepare=terminal_environment,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"CURSOR_CONFIG_DIR": ".cursor"},
    tested="lookalike",
)
