"""Synaps: by its published options, tried on a look-alike only, as no registry has it.

Its sessions attach to a daemon that is up before them.
"""

from __future__ import annotations

from pathlib import Path

from .base import Service, TerminalAgent, TerminalSetup, on_the_path, terminal_environment


def _base(setup: TerminalSetup) -> Path:
    return setup.home / ".synaps"


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Give it a base folder of its own; no other variable of its is set."""
    _base(setup).mkdir(mode=0o700, exist_ok=True)
    return terminal_environment(setup, SYNAPS_BASE_DIR=str(_base(setup)))


TERMINAL = TerminalAgent(
    name="synaps",
    title="Synaps",
    version="",
    release=on_the_path("synaps"),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), "--attach", "--new", "--keep-warm", *setup.flags],
    daemon="home",
    daemon_marks=("synaps", "daemon"),
    folders={"SYNAPS_BASE_DIR": ".synaps"},
    service=Service(
        start=lambda setup: [[str(setup.executable), "daemon", "start"]],
        ready=lambda setup: _base(setup) / "run" / "daemon.sock",
        stop=lambda setup: [[str(setup.executable), "daemon", "stop", "--force"]],
    ),
    tested="lookalike",
)
