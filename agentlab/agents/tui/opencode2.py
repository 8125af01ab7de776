"""OpenCode 2: by its published options, tried on a look-alike only, as npm has no version 2.

Its sessions talk to a service that is up before them.
"""

from __future__ import annotations

from .base import Service, TerminalAgent, TerminalSetup, on_the_path, terminal_environment


def _start(setup: TerminalSetup) -> list[list[str]]:
    program = str(setup.executable)
    return [[program, "service", "set", "port", str(setup.port)], [program, "service", "start"]]


TERMINAL = TerminalAgent(
    name="opencode2",
    title="OpenCode 2",
    version="",
    release=on_the_path("opencode2"),  # its program is called opencode as that of version 1 is
    prepare=lambda setup: terminal_environment(setup, OPENCODE_DISABLE_AUTOUPDATE="1"),
    argv=lambda setup: [str(setup.executable), *setup.flags],
    daemon="home",
    daemon_marks=("opencode", "service"),
    folders={
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
    },
    service=Service(
        start=_start,
        ready=lambda setup: setup.home / ".local" / "state" / "opencode" / "service.json",
        stop=lambda setup: [[str(setup.executable), "service", "stop"]],
    ),
    needs_port=True,
    tested="lookalike",
)
