"""Grok CLI: found on version 0.0.34."""

from __future__ import annotations

from ..base import package_folder
from ..release import Release
from .base import CTRL_C, TerminalAgent, TerminalSetup, terminal_environment

_PACKAGE = "@vibe-kit/grok-cli"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Return the environment; without a key it ends at once."""
    return terminal_environment(
        setup, GROK_API_KEY=setup.key, GROK_BASE_URL=f"{setup.base_url}/v1", GROK_MODEL=setup.model
    )


TERMINAL = TerminalAgent(
    name="grok_cli",
    title="Grok CLI",
    version="0.0.34",
    release=lambda _version: Release(
        package=_PACKAGE,
        candidates=package_folder(_PACKAGE, "dist/index.js"),
        runtime="node",
        says="1.0.1",  # the same in all its releases
    ),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    gesture=(CTRL_C,),
    folders={"HOME": ".grok"},
)
