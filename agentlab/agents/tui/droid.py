"""Droid: found on version 0.225.2. It has no prompt without a key that its maker's server knows."""

from __future__ import annotations

from pathlib import Path

from ..release import Release
from ..runtime import platform_name
from .base import TerminalAgent, TerminalSetup, terminal_environment


def candidates(folder: Path) -> list[Path]:
    """List the native binary of this machine's package."""
    file = folder / "node_modules" / "@factory" / f"cli-{platform_name()}" / "bin" / "droid"
    return [file] if file.is_file() else []


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Return the environment. Without a key it offers to log in."""
    return terminal_environment(setup, FACTORY_DROID_AUTO_UPDATE_ENABLED="false")


TERMINAL = TerminalAgent(
    name="droid",
    title="Droid",
    version="0.225.2",
    # @factory/cli itself asks for a version of this package that is not on npm.
    release=lambda _version: Release(package=f"@factory/cli-{platform_name()}", candidates=candidates),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    gesture=(b"\x1b[B", b"\r"),  # down to "Exit"; its login screen takes no ^C
    folders={"HOME": ".factory"},
    idle=False,
    why="it offers to log in, and asks its server whether a key is good",
)
