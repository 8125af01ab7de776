"""Amp: found on version 0.0.1790142911. It has no prompt without its maker's server."""

from __future__ import annotations

from pathlib import Path

from ..base import write_json
from ..release import Release
from ..runtime import platform_name
from .base import TerminalAgent, TerminalSetup, terminal_environment


def candidates(folder: Path) -> list[Path]:
    """List the native binary that the package ships for this machine."""
    file = folder / "node_modules" / "@ampcode" / f"cli-{platform_name()}" / "amp"
    return [file] if file.is_file() else []


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Write its settings: no updates. Without a key it offers to log in."""
    write_json(setup.home / ".config" / "amp" / "settings.json", {"amp.updates.mode": "disabled"})
    return terminal_environment(setup, AMP_URL=setup.base_url, AMP_SKIP_UPDATE_CHECK="1")


TERMINAL = TerminalAgent(
    name="amp",
    title="Amp",
    version="0.0.1790142911-g7618fb",
    release=lambda _version: Release(package="@sourcegraph/amp", candidates=candidates),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), *setup.flags],
    folders={"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share"},
    idle=False,
    why="it offers to log in, and with a key of no account it ends",
)
