"""The table of terminal recipes in docs/agents.md is what the recipes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentlab.agents.tui.base import TerminalAgent, program_variable
from agentlab.agents.tui.catalogue import TERMINALS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "agents.md"
KEYS = {b"\x03": "^C", b"\x04": "^D", b"\x1b[B": "Down", b"\r": "Enter"}
LEAVES = {None: "nothing", "home": "yes, one a home", "port": "yes, one a machine"}


def row(about: TerminalAgent) -> str:
    release = about.release(about.version or "1.0")
    runs_on = {"node": "Node.js", "bun": "Bun", "python": "Python", None: "itself"}[release.runtime]
    if any(package.startswith("node-") for package in release.beside):
        runs_on = "Node.js 24 (installed with it)"
    elif release.beside:
        runs_on += " (installed with it)"
    source = {"npm": "npm", "pypi": "PyPI", "path": f"PATH or `{program_variable(about.name)}`"}[
        release.source
    ]
    version = about.version.partition("-")[0] or "yours"
    cells = [
        f"`{about.name}`",
        about.title,
        version,
        source,
        "not known" if about.tested == "lookalike" else runs_on,
        " ".join(KEYS[key] for key in about.gesture),
        LEAVES[about.daemon],
        "a look-alike"
        if about.tested == "lookalike"
        else "the real one"
        if about.idle
        else "its login screen",
    ]
    return f"| {' | '.join(cells)} |"


def test_the_table_of_recipes_is_what_they_say():
    wanted = "\n".join(row(about) for about in TERMINALS.values())
    assert wanted in PAGE.read_text(), f"the table should read\n{wanted}"


@pytest.mark.parametrize("name", [name for name in TERMINALS if TERMINALS[name].switches])
def test_switches_are_named(name):
    for switch, effect in TERMINALS[name].switches.items():
        assert f"`{switch}` ({effect})" in PAGE.read_text()
