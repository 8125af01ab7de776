"""Sessions of the terminal driver on real pseudo-terminals, with a look-alike of an agent."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

import agentlab as al

LOOKALIKE = Path(__file__).with_name("terminal_lookalike.py")
NAME = f"lookalike-{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def terminal(*options: object, **settings) -> al.Terminal:
    command = [sys.executable, "-I", "-S", str(LOOKALIKE), "--name", NAME, *map(str, options)]
    return al.Terminal(command=command, **({"settle": 0.1} | settings))


class Made:
    """A study of one run, read from its files."""

    def __init__(self, folder: Path) -> None:
        [self.run] = sorted((folder / "runs").iterdir())
        self.state = json.loads((self.run / "run.json").read_text())
        self.events = [json.loads(line) for line in (self.run / "events.jsonl").read_text().splitlines()]
        self.issues = {issue["code"]: issue for issue in self.state["issues"]}

    def of(self, kind: str) -> list[dict]:
        return [event for event in self.events if event["kind"] == kind]

    def one(self, kind: str) -> dict:
        [event] = self.of(kind)
        return event

    def since_start(self, kind: str) -> float:
        """Milliseconds between the start of the only session and an event."""
        return (self.one(kind)["t"] - self.one("terminal.start")["t"]) / 1e6


def make(folder: Path, driver: al.Terminal, *, start: float = 20, **how) -> Made:
    scenario = al.Scenario("look", timeouts=al.Timeouts(start=start))
    how = {"to": folder / "study", "host": "inline", "progress": "none", "quiet": None, "runs": 1} | how
    al.record(scenario, {"a": driver}, **how).result(timeout=60)
    return Made(folder / "study")


def alive() -> list[int]:
    """Processes of this test's look-alikes, and what those have started."""
    found = []
    for process in psutil.process_iter():
        try:
            if NAME in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def test_first_frame_and_first_input_are_two_things(tmp_path):
    made = make(tmp_path, terminal("--paint-ms", 80, "--late-echo-ms", 400, sessions=1))
    assert made.state["status"] == "complete" and not made.issues
    paint, echo = made.since_start("terminal.paint"), made.since_start("terminal.echo")
    assert paint >= 80 and echo >= 400
    assert echo - paint > 100
    assert made.one("terminal.raw")["t"] <= made.of("terminal.probe")[0]["t"]
    costs = [made.one(kind)["cpu_s"] for kind in ("terminal.raw", "terminal.paint", "terminal.echo")]
    assert costs == sorted(costs) and costs[0] > 0
    assert made.one("terminal.exit")["ended_by"] == "gesture"
    assert made.one("terminal.exit")["exit_code"] == 0
    assert made.one("terminal.start")["home"] == "cold"
    kinds = [event["kind"] for event in made.events]
    assert kinds.index("session.open") < kinds.index("terminal.start")
    assert kinds.index("terminal.exit") < kinds.index("session.close")
    assert alive() == []


def test_input_that_was_thrown_away_is_typed_again(tmp_path):
    made = make(tmp_path, terminal("--listen-ms", 700))
    attempts = [probe["attempt"] for probe in made.of("terminal.probe")]
    assert attempts == list(range(1, len(attempts) + 1)) and len(attempts) > 1
    assert made.one("terminal.echo")["attempt"] > 1
    assert made.since_start("terminal.echo") >= 700


def test_the_echo_of_a_cooked_terminal_is_no_input(tmp_path):
    made = make(tmp_path, terminal("--raw-ms", 500, "--paint-ms", 500))
    assert made.since_start("terminal.raw") >= 500
    assert min(probe["t"] for probe in made.of("terminal.probe")) >= made.one("terminal.raw")["t"]
    assert made.since_start("terminal.echo") >= 500


def test_what_never_takes_input_is_not_measured(tmp_path):
    made = make(tmp_path, terminal("--deaf"), start=1.5)
    assert made.state["status"] == "failed"
    assert made.issues["never_ready"]["discard"]
    assert "1 of 1 session (s1)" in made.issues["never_ready"]["detail"]
    assert made.of("terminal.echo") == [] and made.of("terminal.probe")
    assert alive() == []


@pytest.mark.parametrize("keep", ["numbers", "content"])
def test_what_ends_at_once_is_a_row_with_its_output(tmp_path, keep):
    made = make(tmp_path, terminal("--exit-at-once", 7), keep=keep)
    issue = made.issues["failed_to_start"]
    assert issue["discard"] and "exit code 7" in issue["detail"]
    end = made.one("terminal.exit")
    assert (end["exit_code"], end["ended_by"]) == (7, "self")
    assert made.one("terminal.output")["n_bytes"] == len("no login, no prompt\r\n")
    told = (made.run / "events.jsonl").read_text() + json.dumps(made.state)
    assert ("no login, no prompt" in told) == (keep == "content")


def test_a_session_that_ends_while_it_is_measured_is_told(tmp_path):
    began = time.monotonic()
    made = make(tmp_path, terminal("--exit-after-s", 1.5, hold_s=30))
    assert time.monotonic() - began < 25
    assert made.issues["agent_exited"]["discard"]
    assert made.one("terminal.exit")["ended_by"] == "self"


def test_what_ignores_its_gesture_is_killed_with_its_daemon(tmp_path):
    made = make(tmp_path, terminal("--stubborn", "--daemon"))
    end = made.one("terminal.exit")
    assert (end["ended_by"], end["exit_code"]) == ("us", -9)
    assert not made.issues
    assert alive() == []


def test_a_killed_watchdog_leaves_no_daemon_without_a_marker(tmp_path):
    running = al.record(
        al.Scenario("look"),
        {"a": terminal("--daemon", hold_s=60)},
        to=tmp_path / "study",
        host="inline",
        progress="none",
        quiet=None,
        runs=1,
    )
    run = tmp_path / "study" / "runs" / "0000-a"
    end = time.monotonic() + 30
    seen: list[list[int]] = []
    parents: set[int] = set()
    while len(seen[-1] if seen else ()) < 2 or len(parents) > 1:  # until the daemon is the watchdog's, too
        assert time.monotonic() < end
        time.sleep(0.05)
        lines = (run / "memory.jsonl").read_text().split("\n")[:-1] if (run / "memory.jsonl").exists() else []
        samples = [event for event in map(json.loads, lines) if event["kind"] == "memory.sample"]
        seen = [[row[0] for row in sample["processes"]] for sample in samples]
        parents = (
            {psutil.Process(pid).ppid() for pid in seen[-1] if psutil.pid_exists(pid)} if seen else set()
        )
    [watchdog] = parents
    psutil.Process(watchdog).kill()
    running.result(timeout=15)
    assert alive() == []
    assert Made(tmp_path / "study").state["status"] == "failed"


def notes(folder: Path) -> list[list[str]]:
    return [line.split("\t") for line in (folder / "note").read_text().splitlines()]


def test_sessions_share_a_home_or_have_their_own(tmp_path):
    note = tmp_path / "note"
    made = make(tmp_path, terminal("--note", note, sessions=3, env={"WHO": "I am {session}"}))
    assert made.state["n_sessions"] == 3
    [homes, _, terminals, sizes, owners, names] = zip(*notes(tmp_path), strict=True)
    assert len(set(homes)) == 1 and len(set(terminals)) == 3
    assert set(names) == {"I am s1", "I am s2", "I am s3"}
    assert set(sizes) == {"(120, 40)"} and set(owners) == {"True"}, "a controlling terminal of 120 x 40"
    assert not Path(homes[0]).exists()
    note.unlink()
    make(tmp_path / "isolated", terminal("--note", note, sessions=3, daemon="isolated", cols=90, rows=30))
    [homes, _, _, sizes, *_] = zip(*notes(tmp_path), strict=True)
    assert len(set(homes)) == 3 and len(set(map(len, homes))) == 1
    assert set(sizes) == {"(90, 30)"}
    assert list((tmp_path / "cache" / "runs").iterdir()) == []


def test_all_sessions_start_at_once(tmp_path):
    made = make(tmp_path, terminal("--late-echo-ms", 800, sessions=4))
    starts = [event["t"] for event in made.of("terminal.start")]
    echoes = [event["t"] for event in made.of("terminal.echo")]
    assert len(starts) == len(echoes) == 4
    assert max(starts) < min(echoes)
    assert {event["session"] for event in made.of("terminal.echo")} == {"s1", "s2", "s3", "s4"}


@pytest.mark.parametrize("home", ["cold", "warm"])
def test_a_warm_home_was_used_once(tmp_path, home, monkeypatch):
    monkeypatch.setattr("agentlab.drivers.terminal.terminalarm._LINGER_S", 0.2)
    made = make(tmp_path, terminal("--note", tmp_path / "note", home=home))
    assert made.one("terminal.start")["home"] == home
    seen = [listing for _, listing, *_ in notes(tmp_path)]
    assert len(seen) == (2 if home == "warm" else 1)
    assert ("'state'" in seen[-1]) == (home == "warm")
    assert len(made.of("terminal.start")) == 1, "the throw-away start is in no event"


def test_memory_is_sampled_in_phases(tmp_path):
    made = make(tmp_path, terminal(hold_s=0.5, settle="plateau", window_s=0.5))
    lines = [json.loads(line) for line in (made.run / "memory.jsonl").read_text().splitlines()]
    phases = [line["phase"] for line in lines if line["kind"] == "memory.phase"]
    assert phases == ["launch", "settle", "settled", "hold", "end"]
    pids = {line["pid"] for line in lines if line["kind"] == "memory.process"}
    assert made.one("terminal.start")["pid"] in pids


def test_memory_that_never_settles_is_told(tmp_path):
    made = make(tmp_path, terminal("--grow-mb", 60, settle="plateau", cap_s=0.8))
    assert made.state["status"] == "complete"
    assert not made.issues["never_settled"]["discard"]


def test_a_fixed_settle_waits_so_long(tmp_path):
    made = make(tmp_path, terminal(settle=0.7))
    lines = [json.loads(line) for line in (made.run / "memory.jsonl").read_text().splitlines()]
    at = {line["phase"]: line["t"] for line in lines if line["kind"] == "memory.phase"}
    assert (at["settled"] - at["settle"]) / 1e9 >= 0.7
    assert "never_settled" not in made.issues
    memory = al.load(made.run.parent.parent).table("memory")
    settled = memory[memory["settled"].fillna(False)]
    assert len(settled) and (settled["total_bytes"] > 1e6).all()  # one is taken, however short the run


def test_questions_are_counted(tmp_path):
    queries = make(tmp_path, terminal("--ask")).one("terminal.queries")
    assert queries["seen"]["DA1"] == 2
    assert queries["unanswered"] and set(queries["unanswered"]) <= set(queries["seen"])
    assert "DA1" not in queries["unanswered"]


def test_terminals_are_drained_all_the_time(tmp_path):
    output = make(tmp_path, terminal("--chatty", hold_s=1.0)).one("terminal.output")
    assert output["n_bytes"] > 100_000, "4 kB each 20 ms; a full terminal stops after 20 kB"


def test_a_login_screen_gets_no_input(tmp_path):
    made = make(tmp_path, terminal("--deaf", login_screen=True))
    assert made.state["status"] == "complete" and not made.issues
    assert made.of("terminal.probe") == [] and made.of("terminal.echo") == []
    assert made.one("terminal.paint")["t"]


def test_two_studies_at_once_leave_each_other_alone(tmp_path):
    """One ends while the other holds its sessions and their daemon."""
    scenario = al.Scenario("look")
    how = {"host": "process", "progress": "none", "quiet": None, "runs": 1}
    long = al.record(
        scenario, {"a": terminal("--daemon", hold_s=4.0, sessions=2)}, to=tmp_path / "long", **how
    )
    short = al.record(scenario, {"a": terminal("--daemon")}, to=tmp_path / "short", **how)
    short.result(timeout=60)
    left = alive()
    assert len(left) == 4, "two sessions and two daemons of the other study"
    long.result(timeout=60)
    for folder in ("long", "short"):
        made = Made(tmp_path / folder)
        assert made.state["status"] == "complete" and not made.issues, made.state["issues"]
        assert {end["ended_by"] for end in made.of("terminal.exit")} == {"gesture"}
    assert alive() == []


def test_a_daemon_of_the_users_is_watched_and_never_ended(tmp_path):
    from agentlab.drivers.terminal.foreign import ForeignDaemons

    code = "import os, time; os.setsid(); time.sleep(600)"
    daemon = ["python", "-c", code, "my-daemon"]
    start = f"import os, sys; os.fork() or os.execv({sys.executable!r}, {daemon!r})"
    psutil.Popen([sys.executable, "-c", start], env={}).wait()
    end = time.monotonic() + 10
    while not (found := [p for p in psutil.process_iter() if "my-daemon" in _words(p)]):
        assert time.monotonic() < end
        time.sleep(0.02)
    [daemon] = found
    try:
        watched = ForeignDaemons(("my-daemon",))
        assert len(watched) == 1 and watched.gone() == ()
        make(tmp_path, terminal())
        assert daemon.is_running() and watched.gone() == ()
    finally:
        daemon.kill()
        psutil.wait_procs([daemon], timeout=5)
    [gone] = watched.gone()
    assert gone.startswith(f"{daemon.pid} ")


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_terminal_alone_makes_a_run_for_each_number(tmp_path, monkeypatch):
    record = functools.partial(al.record, quiet=None)
    monkeypatch.setattr("agentlab.engine.record", record)  # waits for no quiet machine
    recs = asyncio.run(terminal(sessions=(1, 2)).run(to=tmp_path / "alone"))
    assert sorted(json.loads((r / "run.json").read_text())["n_sessions"] for r in runs(tmp_path)) == [1, 2]
    assert len(recs) == 2


def runs(folder: Path) -> list[Path]:
    return sorted((folder / "alone" / "runs").iterdir())


def test_a_cancel_while_sessions_leave_is_quick(tmp_path):
    """The look-alike ignores its keys, for which the driver would wait three seconds."""
    running = al.record(
        al.Scenario("look"),
        {"a": terminal("--stubborn")},
        to=tmp_path / "study",
        host="inline",
        progress="none",
        quiet=None,
        runs=1,
    )
    memory = tmp_path / "study" / "runs" / "0000-a" / "memory.jsonl"
    end = time.monotonic() + 30
    while not memory.exists() or '"end"' not in memory.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    asked = time.monotonic()
    running.cancel()
    running.result(timeout=10)
    assert time.monotonic() - asked < 2.0
    assert alive() == []
    assert Made(tmp_path / "study").one("terminal.exit")["ended_by"] == "us"


def test_what_a_terminal_was_sent_is_kept_where_it_may_be(tmp_path):
    from agentlab.drivers.terminal.fleet import Fleet
    from agentlab.drivers.terminal.homes import make_home
    from agentlab.wire.children import Children
    from agentlab.wire.emulator import Emulator
    from agentlab.wire.ptyfile import read_pty

    async def keep(driver: al.Terminal) -> list[str]:
        kinds: list[str] = []
        async with Children() as children:
            fleet = Fleet(driver, children, lambda kind, **_: kinds.append(kind), keep=tmp_path)
            await fleet.launch([make_home(driver, tmp_path, 0, tmp_path)], 1, start_s=20)
            await fleet.leave()
            await children.close()
            fleet.close()
        return kinds

    assert "terminal.echo" in asyncio.run(keep(terminal(cols=90)))
    file = tmp_path / "pty-s1.bin"
    assert file.stat().st_mode & 0o777 == 0o600
    kept = read_pty(file)
    assert (kept.cols, kept.rows) == (90, 40)
    screen = Emulator(cols=kept.cols, rows=kept.rows)
    shown = []
    for _, data in kept.reads:
        screen.feed(data)
        shown.append(screen.screen.shows("> zx91q"))
    assert any(shown)
