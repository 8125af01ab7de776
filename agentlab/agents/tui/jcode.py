"""jcode: by its published options, tried on a look-alike only, as no registry has it.

The first session of a home starts a server that serves them all.
"""

from __future__ import annotations

import os

from .base import TerminalAgent, TerminalSetup, on_the_path, terminal_environment


def prepare(setup: TerminalSetup) -> dict[str, str]:
    """Give it folders of its own, and a server that ends when this process does."""
    folder, runtime = setup.home / ".jcode", setup.home / "run"
    for place in (folder, runtime):
        place.mkdir(mode=0o700, exist_ok=True)
    return terminal_environment(
        setup,
        JCODE_HOME=str(folder),
        JCODE_NO_TELEMETRY="1",
        JCODE_RUNTIME_DIR=str(runtime),
        JCODE_SERVER_OWNER_PID=str(os.getpid()),
        JCODE_TEMP_SERVER="1",
    )


TERMINAL = TerminalAgent(
    name="jcode",
    title="jcode",
    version="",
    release=on_the_path("jcode"),
    prepare=prepare,
    argv=lambda setup: [str(setup.executable), "--no-update", "--no-selfdev", *setup.flags],
    asks_version=("version",),
    daemon="home",
    daemon_marks=("jcode", "serve"),
    folders={"JCODE_HOME": ".jcode", "JCODE_RUNTIME_DIR": ".jcode"},
    switches={"JCODE_MEMORY_ENABLED=0": "without its memory of earlier sessions, and the model it loads"},
    tested="lookalike",
)
