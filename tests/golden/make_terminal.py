"""Make ``terminal/`` anew: what real agents print until they sit at their prompt, and the screen it makes.

Run by hand after a pinned version was raised, ``python tests/golden/make_terminal.py [NAME ...]``, and look
at the screens before they are committed. Nothing is asked of a model, and homes are empty: the files hold no
content of anybody.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

from agentlab.agents.tui.base import TerminalSetup
from agentlab.agents.tui.catalogue import find_terminal
from agentlab.wire.children import Children
from agentlab.wire.pty import PtyReader
from agentlab.wire.vterm import VirtualTerminal

HERE = Path(__file__).resolve().parent / "terminal"
AGENTS = ("claude_code", "codex", "opencode", "pi")
#: A short path that says nothing of a machine; codex warns of homes below the temporary folder.
HOMES = Path("/var/tmp/agentlab-screens")


async def record(name: str, folder: Path, target: Path) -> None:
    """Start one agent in an empty home and keep what it prints in its first seconds."""
    agent = find_terminal(name)
    home, workspace = folder / "home", folder / "work"
    home.mkdir(parents=True)
    workspace.mkdir()
    setup = TerminalSetup(home=home, workspace=workspace, executable=agent.locate(), version=agent.version)
    environment, argv = agent.prepare(setup), agent.argv(setup)
    with PtyReader() as reader, VirtualTerminal(reader, record=target / f"{name}.pty") as terminal:
        async with Children() as children:
            await children.spawn(argv, env=environment, cwd=workspace, tty=terminal.path)
            terminal.started()
            await terminal.wait(terminal.painted, timeout_s=60)
            await asyncio.sleep(3)
            screen, asked = terminal.text(), terminal.queries()
            terminal.close()  # what it prints while it ends is no first screen
    (target / f"{name}.txt").write_text(screen + "\n")
    (target / f"{name}.json").write_text(json.dumps(asked, indent=1, sort_keys=True) + "\n")


async def main(names: list[str]) -> None:
    HERE.mkdir(exist_ok=True)
    for name in names or AGENTS:
        try:
            await record(name, HOMES / name, HERE)
        finally:
            shutil.rmtree(HOMES, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
