"""Real agents on terminals, one session and two: ready by what their rendered screens show, and settled."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

import agentlab as al
from agentlab.agents.tui.base import TerminalSetup
from agentlab.agents.tui.catalogue import find_terminal
from agentlab.wire.pty import PtyReader
from agentlab.wire.vterm import VirtualTerminal
from agentlab.wire.watchdog import command_of, descendants

#: MiB that one settled session holds at least, far below what was measured.
LEAST = {"pi": 60, "codex": 120, "claude_code": 100, "opencode": 300}


@pytest.fixture(scope="module", params=LEAST)
def study(request, real_agents, tmp_path_factory):
    """One block of one agent: a run of each number of sessions."""
    before, home = set(descendants(os.getpid())), set(Path.home().rglob("*"))
    to = tmp_path_factory.mktemp("terminal") / request.param
    scenario = al.Scenario("terminals", timeouts=al.Timeouts(start=90))
    driver = al.Terminal(request.param, sessions=(1, 2))
    recs = al.record(scenario, driver, runs=1, to=to, quiet=None, progress="none").result(timeout=300)
    left = [command_of(pid) for pid in set(descendants(os.getpid())) - before]
    left += map(str, set(Path.home().rglob("*")) - home)
    return request.param, recs, left


def test_each_session_took_input_and_ended_as_asked(study):
    agent, recs, left = study
    assert left == []
    runs = recs.runs
    assert sorted(runs["n_sessions"]) == [1, 2]
    assert list(runs["status"]) == ["complete"] * 2 and runs["eligible"].all(), recs.issues
    assert set(recs.issues["code"]) <= {"capture_lag", "pressure_unknown"}, recs.issues
    sessions = recs.sessions
    assert len(sessions) == 3
    assert list(sessions["agent"]) == [agent] * 3
    assert (sessions["first_input_ms"] >= sessions["raw_ms"]).all()
    assert (sessions["first_input_ms"] >= sessions["paint_ms"]).all()
    assert (sessions["first_input_cpu_s"] > 0).all()
    assert set(sessions["ended_by"]) == {"gesture"}
    assert not sessions["exit_code"].isna().any()


def test_memory_is_that_of_a_plateau(study):
    agent, recs, _ = study
    memory = recs.table("memory")
    settled = memory[memory["settled"] & (memory["lane"] == "slow")]
    by_run = settled.groupby("n_sessions")
    assert set(by_run.groups) == {1, 2}
    assert set(settled["status"]) == {"ok"}
    for _, rows in by_run:
        assert rows["n_processes"].nunique() == 1
        assert (rows["total_bytes"].max() - rows["total_bytes"].min()) / rows["total_bytes"].max() <= 0.011
    one, two = by_run["total_bytes"].last() / 2**20
    assert one > LEAST[agent]
    assert one < two < 2.5 * one
    if agent == "opencode":  # it ramps up for many seconds; a sample at its first paint would be half
        ramp = memory[(memory["lane"] == "slow") & (memory["n_sessions"] == 1)]
        assert ramp["total_bytes"].min() < 0.6 * settled["total_bytes"].max()


def test_the_daemons_of_codex_are_in_the_sum(study):
    agent, recs, _ = study
    if agent != "codex":
        return
    processes = recs.table("processes")
    settled = processes[processes["settled"] & (processes["lane"] == "slow")]
    last = settled[settled["t_ns"] == settled.groupby("run_id")["t_ns"].transform("max")]
    for _, rows in last.groupby("run_id"):
        daemons = rows[rows["role"] == "daemon"]
        assert len(daemons) == 2 and not daemons["in_group"].any()
        assert daemons["total_bytes"].sum() > 50 * 2**20
        memory = recs.table("memory")
        whole = memory[
            (memory["run_id"] == rows["run_id"].iloc[0]) & (memory["t_ns"] == rows["t_ns"].iloc[0])
        ]
        assert rows["total_bytes"].sum() == whole["total_bytes"].iloc[0]


def test_nothing_private_is_kept(study):
    _, recs, _ = study
    folder = Path(recs.path)
    written = "".join(path.read_text() for path in folder.rglob("*.json*"))
    assert "zx91q" not in written and str(Path.home()) not in written


@pytest.fixture
def users_daemons(real_agents, tmp_path):
    """The daemons of a Codex that the user has started and left: no marker of agentlab, a home of its own."""
    codex = find_terminal("codex")
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    setup = TerminalSetup(
        home=tmp_path / "home", workspace=tmp_path / "work", executable=codex.locate(), version=codex.version
    )
    with PtyReader() as reader, VirtualTerminal(reader) as terminal:
        slave = os.open(terminal.path, os.O_RDWR | os.O_NOCTTY)
        command = ["setsid", "-c", *codex.argv(setup)]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
        user = subprocess.Popen(command, env=codex.prepare(setup), cwd=setup.workspace, **streams)
        os.close(slave)
        terminal.started()
        end = time.monotonic() + 60
        while len(daemons_of(setup.home)) < 2 and user.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
    try:
        user.wait(timeout=10)  # its terminal was closed
        time.sleep(0.5)
        yield daemons_of(setup.home)
    finally:
        user.kill()
        for process in daemons_of(setup.home):
            process.kill()


def daemons_of(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError, KeyError):
            leads = os.getsid(process.pid) == process.pid and process.terminal() is None
            if leads and "app-server" in process.cmdline() and process.environ()["HOME"] == str(home):
                found.append(process)
    return found


def test_daemons_of_the_users_are_left_alone(users_daemons, tmp_path):
    """A run beside them uses its own; one that vanishes meanwhile, for whatever reason, is told."""
    assert len(users_daemons) == 2
    scenario = al.Scenario("beside")

    def start(hold_s: float):
        driver = al.Terminal("codex", settle=0, hold_s=hold_s)
        to = tmp_path / f"held-{hold_s:g}"
        return al.record(scenario, driver, runs=1, to=to, quiet=None, progress="none")

    recs = start(2.5).result(timeout=60)
    assert all(process.is_running() for process in users_daemons)
    assert recs.runs["eligible"].all() and "foreign_daemon_gone" not in set(recs.issues["code"])
    running = start(3.5)
    time.sleep(2.5)
    users_daemons[0].kill()
    recs = running.result(timeout=60)
    assert users_daemons[1].is_running()
    [gone] = recs.issues.loc[recs.issues["code"] == "foreign_daemon_gone", "detail"]
    assert gone == f"{users_daemons[0].pid} codex"
    assert recs.runs["eligible"].all()
