"""Auggie: found on version 0.36.0. It has no prompt without a session of its maker's server."""

from __future__ import annotations

from ..base import package_folder
from ..release import Release
from ..runtime import node24
from .base import TerminalAgent, TerminalSetup, terminal_environment

_PACKAGE = "@augmentcode/auggie"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Return the environment. Without a session it offers to log in."""
    return terminal_environment(setup, AUGMENT_DISABLE_AUTO_UPDATE="1")


TERMINAL = TerminalAgent(
    name="auggie",
    title="Auggie",
    version="0.36.0",
    release=lambda _version: Release(
        package=_PACKAGE,
        candidates=package_folder(_PACKAGE, "augment.mjs"),
        runtime="node",
        beside=node24(),
    ),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"HOME": ".augment"},
    idle=False,
    why="it offers to log in",
)
