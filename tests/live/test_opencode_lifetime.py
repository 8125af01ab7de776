"""Whatever ends a study in mid-turn, nothing of OpenCode lives after 5 s and the data loads."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from agentlab import AgentlabError, attach, load
from agentlab.wire.watchdog import descendants

#: The model lets OpenCode's bash tool start a child that leaves its session, and then works on.
SETUP = """
import agentlab as al
from agentlab.gateway import Gateway, ScriptedModel, Step
command = "setsid sleep {marker} & sleep 400"
steps = [
    Step(when={{"last_user_contains": "[quick]"}}, text="done"),
    Step(when={{"last_user_contains": "[stuck]", "last_role": "user"}},
         tools=[("bash", {{"command": command, "description": "work", "timeout": 400000}})]),
    Step(text="ready"),
]
scenario = al.Scenario("life", turns=["[quick]", "[stuck]"])
def start(host, **how):
    gateway = Gateway(ScriptedModel(steps, match="rule"))
    return al.record(scenario, {{"a": al.OpenCode("lab/m")}}, runs=2, to={study!r}, host=host,
                     progress="none", quiet=None, gateway=gateway, **how)
"""


class Lab:
    """A study in mid-turn, and what it started."""

    def __init__(self, folder: Path) -> None:
        self.marker = f"399.{uuid.uuid4().int % 10**9:09d}"
        self.study = folder / "study"
        self.code = SETUP.format(marker=self.marker, study=str(self.study))
        self.started: dict[int, str] = {}

    def runaway(self) -> int | None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes() == b"sleep\0" + self.marker.encode() + b"\0":
                    return int(path.parent.name)
            except OSError:
                continue
        return None

    def wait_for_turn(self, owner: int) -> None:
        end = time.monotonic() + 60
        while (runaway := self.runaway()) is None:
            assert time.monotonic() < end, "the agent's child never appeared"
            time.sleep(0.1)
        self.started = {pid: birth(pid) for pid in descendants(owner)}
        assert runaway in self.started
        assert os.getsid(runaway) == runaway

    def left(self, within: float = 5.0) -> list[str]:
        end = time.monotonic() + within
        while True:
            alive = [pid for pid, born in self.started.items() if born and birth(pid) == born]
            if not alive or time.monotonic() > end:
                return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:80] for pid in alive]
            time.sleep(0.05)

    def check(self, *causes: str) -> None:
        assert self.left() == []
        recs = load(self.study)
        runs = recs.runs
        assert len(runs) == 1 and not runs["eligible"].any()
        assert set(causes) & set(recs.issues["code"])
        assert len(recs.turns) >= 1


def birth(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.fixture
def lab(tmp_path, opencode_executable):
    lab = Lab(tmp_path)
    yield lab
    for pid, born in lab.started.items():  # a failing test leaves nothing either
        if born and birth(pid) == born:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("host", ["process", "kernel", "inline"])
def test_cancel(lab, host):
    names: dict = {}
    exec(lab.code, names)
    running = names["start"](host)
    lab.wait_for_turn(os.getpid())
    asked = time.monotonic()
    running.cancel()
    recs = running.result(timeout=10)
    assert time.monotonic() - asked < 2.0
    assert list(recs.runs["status"]) == ["cancelled"]
    lab.check("cancelled")


SCRIPT = """
import sys, agentlab
{code}
try:
    start({host!r}).result()
except agentlab.InterruptedByUser as error:
    print("INTERRUPTED", len(error.recordings), "load(" in str(error))
"""


@pytest.mark.parametrize(
    ("host", "end", "code"),
    [
        ("process", signal.SIGINT, "interrupted"),
        ("process", signal.SIGKILL, "owner_lost"),
        ("inline", signal.SIGKILL, "unfinished"),
    ],
)
def test_a_script_that_ends(lab, tmp_path, host, end, code):
    (tmp_path / "owner.py").write_text(SCRIPT.format(code=lab.code, host=host))
    owner = subprocess.Popen([sys.executable, tmp_path / "owner.py"], stdout=subprocess.PIPE)
    lab.wait_for_turn(owner.pid)
    owner.send_signal(end)
    out, _ = owner.communicate(timeout=10)
    if end == signal.SIGINT:
        assert out.decode().split() == ["INTERRUPTED", "1", "True"]
    lab.check(code)


@pytest.mark.parametrize("host", ["process", "kernel"])
def test_the_measuring_process_is_killed(lab, tmp_path, host):
    names: dict = {}
    exec(lab.code, names)
    running = names["start"](host)
    lab.wait_for_turn(os.getpid())
    [worker] = [pid for pid in lab.started if parent(pid) == os.getpid()]
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(Exception, match="load"):
        running.result(timeout=10)
    lab.check("unfinished")


@pytest.mark.parametrize("end", ["cancel", "kill", "deadline"])
def test_a_detached_study(lab, end):
    """It outlives its notebook's kernel; then it is cancelled from here, killed, or ended by its deadline."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        detach = 25 if end == "deadline" else 300
        client.execute(f"{lab.code}\nrunning = start('kernel', detach={detach})")
        lab.wait_for_turn(manager.provisioner.process.pid)
        act(manager, "kill")
        time.sleep(1.5)  # ipykernel's own watch over its parent looks once a second
        assert lab.left(0) and lab.runaway()
        running = attach(lab.study, progress="none")
        assert running.state()["current"]["run_id"] == "0000-a"
        if end == "kill":
            os.kill(running.lease.process.pid, signal.SIGKILL)
            lab.check("unfinished")
            with pytest.raises(AgentlabError, match="was lost"):
                running.result(timeout=5)
            return
        asked = time.monotonic() + (max(0.0, running.lease.left_s()) if end == "deadline" else 0)
        if end == "cancel":
            running.cancel()
        recs = running.result(timeout=30)
        assert time.monotonic() - asked < 5.0
        assert list(recs.runs["status"]) == ["cancelled"]
        lab.check("cancelled" if end == "cancel" else "deadline")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# All pairs are tested with the toy driver; here those that differ in what has to find OpenCode.
@pytest.mark.parametrize(
    ("host", "event"),
    [
        ("kernel", "interrupt"),
        ("kernel", "restart"),
        ("kernel", "shutdown"),
        ("kernel", "kill"),
        ("process", "interrupt"),
        ("process", "kill"),
        ("inline", "interrupt"),
        ("inline", "kill"),
    ],
)
def test_an_event_of_the_notebooks_kernel(lab, host, event):
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        code = lab.code + textwrap.dedent(f"""
            import os
            recs = None
            running = start({host!r})
            recs = await running
        """)
        client.execute(code)
        lab.wait_for_turn(manager.provisioner.process.pid)
        lab.started.pop(manager.provisioner.process.pid, None)
        act(manager, event)
        if event == "interrupt":
            reply = client.get_shell_msg(timeout=10)
            assert reply["content"].get("ename") == "Interrupted", reply["content"]
            assert "load(" in reply["content"]["evalue"]
        # Restart and shutdown begin with an interrupt, and may win the race against it.
        causes = {"interrupt": ["interrupted"], "kill": ["owner_lost"]}.get(
            event, ["owner_lost", "interrupted"]
        )
        lab.check(*(["unfinished"] if (host, event) == ("inline", "kill") else causes))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def act(manager, event: str) -> None:
    if event == "interrupt":
        manager.interrupt_kernel()
    elif event == "restart":
        manager.restart_kernel()
    elif event == "shutdown":
        manager.shutdown_kernel()
    else:
        os.kill(manager.provisioner.process.pid, signal.SIGKILL)
