"""Recipes of tools that no registry has, on look-alikes that daemonise as they do."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import psutil
import pytest

import agentlab as al
from agentlab.agents.tui.base import TerminalSetup, program_variable
from agentlab.agents.tui.catalogue import TERMINALS
from agentlab.errors import ConfigError, StartupError

from .unlisted_lookalike import HELD, MEMORY, VERSION, install

UNLISTED = [name for name, about in TERMINALS.items() if about.tested == "lookalike"]
DAEMONS = [name for name in UNLISTED if TERMINALS[name].daemon]


@pytest.fixture(autouse=True)
def tools(tmp_path, monkeypatch):
    """Stand-ins for all tools, and a cache whose path is short: homes are in it, and sockets in them."""
    with tempfile.TemporaryDirectory(prefix="al-") as cache:
        monkeypatch.setenv("AGENTLAB_CACHE", cache)
        for name in UNLISTED:
            monkeypatch.setenv(program_variable(name), str(install(tmp_path, name, f"my-{name}")))
        yield cache


def ours(cache: str) -> list[psutil.Process]:
    """Processes that name a home of this test in their command line."""
    return [p for p in psutil.process_iter(["cmdline"]) if cache in " ".join(p.info["cmdline"] or [])]


def record(tmp_path: Path, name: str, **settings) -> list[Path]:
    driver = al.Terminal(name, settle=0.6, **settings)
    scenario = al.Scenario("unlisted", timeouts=al.Timeouts(start=20))
    how = {"host": "inline", "progress": "none", "quiet": None, "runs": 1, "seed": 1}
    al.record(scenario, {"a": driver}, to=tmp_path / "study", **how).result(timeout=60)
    return sorted((tmp_path / "study" / "runs").iterdir())


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def last_sample(run: Path) -> dict:
    """Return the last sample of memory before the sessions were asked to end."""
    memory = lines(run / "memory.jsonl")
    [end] = [r["t"] for r in memory if r["kind"] == "memory.phase" and r["phase"] == "end"]
    return [r for r in memory if r["kind"] == "memory.sample" and r["lane"] == "slow" and r["t"] < end][-1]


@pytest.mark.parametrize("name", UNLISTED)
def test_its_sessions_take_input_and_nothing_is_left(tmp_path, tools, name):
    [run] = record(tmp_path, name, sessions=2)
    state = json.loads((run / "run.json").read_text())
    assert state["status"] == "complete", state["issues"]
    assert not state["issues"]
    events = lines(run / "events.jsonl")
    assert sum(event["kind"] == "terminal.echo" for event in events) == 2
    assert {event.get("exit_code") for event in events if event["kind"] == "terminal.exit"} == {0}
    assert ours(tools) == []


def test_a_daemon_that_is_not_up_after_a_fixed_time_is_told(tmp_path, tools, monkeypatch):
    monkeypatch.setattr("agentlab.drivers.terminal.fleet.daemons", lambda *_: set())
    [run] = record(tmp_path, DAEMONS[0])
    [issue] = json.loads((run / "run.json").read_text())["issues"]
    assert (issue["code"], issue["discard"]) == ("daemon_missing", False)
    assert issue["detail"] == "not seen 0.6 s after the last prompt"


@pytest.mark.parametrize("name", DAEMONS)
@pytest.mark.parametrize("daemon, n", [("shared", 1), ("isolated", 2)])
def test_its_daemons_are_in_the_sum_though_they_left_the_tree(tmp_path, name, daemon, n):
    [run] = record(tmp_path, name, sessions=2, daemon=daemon)
    memory = lines(run / "memory.jsonl")
    known = {(r["pid"], r["start"]): r for r in memory if r["kind"] == "memory.process"}
    outside = [row for row in last_sample(run)["processes"] if not known[row[0], row[1]]["in_tree"]]
    assert len(outside) == n
    assert all(row[2] > HELD * 2**20 for row in outside)


def test_jcode_without_memory_is_smaller(tmp_path):
    def held(folder: str, **settings) -> int:
        (tmp_path / folder).mkdir()
        [run] = record(tmp_path / folder, "jcode", **settings)
        return sum(row[4] for row in last_sample(run)["processes"])

    [switch] = TERMINALS["jcode"].switches
    name, _, value = switch.partition("=")
    more = held("on") - held("off", env={name: value})
    assert abs(more - MEMORY * 2**20) < 2 * 2**20


@pytest.mark.parametrize("name", UNLISTED)
def test_its_version_is_asked_for(name):
    assert VERSION in (TERMINALS[name].measured_version() or "")
    assert TERMINALS[name].measured_version("1.0") == "1.0"


def test_what_is_not_there_says_what_to_do(monkeypatch):
    monkeypatch.delenv("JCODE_BIN")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(StartupError, match=r"jcode is on no package registry.*set JCODE_BIN to the program"):
        TERMINALS["jcode"].locate()
    with pytest.raises(ConfigError, match="jcode is on no package registry"):
        al.install("jcode")


def test_jcode_is_told_whose_server_it_is(tmp_path):
    setup = TerminalSetup(home=tmp_path, workspace=tmp_path, executable=tmp_path / "my-jcode", version="")
    assert TERMINALS["jcode"].prepare(setup)["JCODE_SERVER_OWNER_PID"] == str(os.getpid())
