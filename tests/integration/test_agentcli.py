"""The driver of command-line agents on a stand-in for an agent (a Python script): process, network, clean-up.

The stand-in cannot show that a real agent is configured and read rightly; `tests/live/test_agents_*` do.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import socket
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentlab import (
    AgentCLI,
    ConfigError,
    Gateway,
    Recordings,
    Scenario,
    ScriptedModel,
    Step,
    Timeouts,
    load,
    record,
)
from agentlab.agents import catalogue
from agentlab.agents.base import Agent, Ask, Setup, environment
from agentlab.agents.pi import PiReader
from agentlab.drivers.agentcli.network import loopback
from agentlab.drivers.agentcli.stdout import Stdout
from agentlab.errors import GatewayError, RecordingError, StartupError
from agentlab.wire.children import Children
from agentlab.wire.jsonl import JSONLines

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
PRELUDE = """
    import json, os, sys, time, urllib.request
    prompt = sys.stdin.read()
    def say(**event): sys.stdout.write(json.dumps(event) + "\\n"); sys.stdout.flush()
    def ask():
        body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
        headers = {"authorization": "Bearer " + os.environ["KEY"], "content-type": "application/json"}
        url = os.environ["URL"] + "/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    def end(text, stop="stop"):
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": stop}
        say(type="message_start", message=message)
        say(type="message_end", message=message)
"""


@pytest.fixture
def standin(monkeypatch, tmp_path) -> Callable[[str], AgentCLI]:
    """Put an agent into the catalogue that runs a script and writes Pi's events."""
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "cache"))  # its identity is kept in there

    def make(code: str, **settings: Any) -> AgentCLI:  # noqa: ANN401
        script = tmp_path / "agent.py"
        script.write_text(textwrap.dedent(PRELUDE) + textwrap.dedent(code))

        def argv(setup: Setup, ask: Ask) -> list[str]:
            return [sys.executable, "-I", str(script), str(ask.turn), *setup.flags]

        def prepare(setup: Setup) -> dict[str, str]:
            return environment(setup, URL=setup.base_url, KEY=setup.token)

        agent = Agent(
            name="standin",
            title="Stand-in",
            package="none",
            version="1.0.0",
            dialects=("chat",),
            candidates=lambda folder: [],
            bundle=lambda executable: executable.parent,
            prepare=prepare,
            argv=argv,
            reader=PiReader,
        )
        monkeypatch.setitem(catalogue.AGENTS, "standin", agent)
        monkeypatch.setattr(Agent, "locate", lambda self, version=None: script)
        return AgentCLI("standin", **settings)

    return make


def study(
    driver: AgentCLI,
    to: Path,
    *,
    turns: int = 1,
    timeouts: Timeouts | None = None,
    **more: Any,  # noqa: ANN401
) -> Recordings:
    model = ScriptedModel([Step(text="Done."), Step(text="Again.")])
    scenario = Scenario(
        "standin", turns=["Do it."] * turns, timeouts=timeouts or Timeouts(prompt=20, stall=10)
    )
    options = {"gateway": Gateway(model), "host": "inline", "quiet": None, "progress": "none", **more}

    async def main() -> Recordings:
        return await record(scenario, driver, runs=1, to=to, **options)

    return asyncio.run(main())


def events(recs: Recordings) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(recs[0].path) / "events.jsonl").read_text().splitlines()]


def one(recs: Recordings, kind: str) -> dict[str, Any]:
    found = [event for event in events(recs) if event["kind"] == kind]
    assert len(found) == 1
    return found[0]


def test_a_turn_is_told_whole(standin, tmp_path):
    driver = standin("""
        print("a banner that is no JSON")
        say(type="session", id="s-1")
        text = ask()
        say(odd="line\\u2028separator")
        sys.stdout.write(json.dumps({"x": "y" * 200_000}) + "\\n")
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
        say(type="message_start", message=message)
        print("a word on stderr", file=sys.stderr)
        sys.stdout.write(json.dumps({"type": "message_end", "message": message}))  # no newline
    """)
    recs = study(driver, tmp_path / "s", keep="content")
    assert one(recs, "result")["status"] == "answered"
    output = one(recs, "output")
    assert (output["n_foreign"], output["n_records"], output["unterminated"]) == (1, 5, True)
    assert output["n_bytes"] > 200_000
    assert output["content"]["stderr"] == "a word on stderr\n"
    assert output["stderr_bytes"] == 17
    assert {e["session"] for e in events(recs) if "session" in e} == {"s-1"}
    first, begin, end = (one(recs, f"process.{name}") for name in ("first_request", "begin", "end"))
    assert begin["t"] < first["t"] < end["t"]
    assert 0 < first["cpu_s"] <= end["cpu_s"]
    assert end["exit_code"] == 0
    row = recs.runs.iloc[0]
    assert row["result"] == "answered"
    assert row["n_connections"] == 0
    assert recs.requests["source"].tolist() == ["both"]


def test_the_exit_code_decides_nothing(standin, tmp_path):
    good = study(standin('say(type="session", id="s"); end(ask()); sys.exit(3)'), tmp_path / "good")
    assert (one(good, "result")["status"], one(good, "result")["exit_code"]) == ("answered", 3)
    bad = study(standin('say(type="session", id="s"); ask(); end("", "error")'), tmp_path / "bad")
    assert (one(bad, "result")["status"], one(bad, "result")["exit_code"]) == ("error", 0)
    assert not bad.runs.iloc[0]["eligible"]


def test_nothing_said_is_no_answer(standin, tmp_path):
    recs = study(standin("pass"), tmp_path / "s")
    result = one(recs, "result")
    assert (result["status"], result["reason"]) == ("error", "no_request")
    assert one(recs, "turn.send")["session"] == result["session"]


def test_the_environment_is_made_from_nothing(standin, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "users-key-0815")
    driver = standin("""
        say(type="session", id="s")
        ask()
        end(json.dumps(sorted(os.environ)) + " and the key is " + os.environ["KEY"])
    """)
    recs = study(driver, tmp_path / "s", keep="content")
    text = one(recs, "turn.reply")["content"]["text"]
    assert "OPENAI_API_KEY" not in text
    assert "PYTHON" not in text
    assert text.endswith("and the key is <token>"), "what it says of the gateway's token is not kept"


def test_silence_and_slowness_end_it_with_all_it_has_started(standin, tmp_path):
    pid = tmp_path / "pid"
    code = f"""
        import subprocess
        sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
        child = subprocess.Popen(sleep, start_new_session=True)
        open({str(pid)!r}, "w").write(str(child.pid))
        say(type="session", id="s")
        ask()
        time.sleep(300)
    """
    began = time.monotonic()
    recs = study(standin(code), tmp_path / "s", timeouts=Timeouts(prompt=30, stall=1))
    assert time.monotonic() - began < 20
    assert (one(recs, "result")["status"], one(recs, "result")["reason"]) == ("timeout", "stall")
    assert recs.issues["code"].tolist() == ["turn_stalled"]
    assert not Path(f"/proc/{int(pid.read_text())}").exists()
    slow = study(standin(code), tmp_path / "t", timeouts=Timeouts(prompt=1.5, stall=30))
    assert one(slow, "result")["reason"] == "timeout"


def test_homes_are_fresh_for_each_run_and_gone_afterwards(standin, tmp_path):
    driver = standin("""
        say(type="session", id="s")
        ask()
        there = os.path.exists(os.path.expanduser("~/left"))
        open(os.path.expanduser("~/left"), "w").write("x")
        end("old home" if there else "new home " + os.path.expanduser("~"))
    """)
    recs = study(driver, tmp_path / "s", keep="content")
    text = one(recs, "turn.reply")["content"]["text"]
    assert text.startswith("new home ")
    assert not Path(text.removeprefix("new home ")).exists()


def test_without_a_gateway_it_says_why(standin, tmp_path):
    with pytest.raises(ConfigError, match=r"needs a gateway.*Give gateway=Gateway"):
        study(standin("pass"), tmp_path / "s", gateway=None)


def test_an_agent_that_cannot_resume_takes_one_turn(standin, tmp_path, monkeypatch):
    driver = standin("pass")
    agent = dataclasses.replace(catalogue.AGENTS["standin"], resumes=False)
    monkeypatch.setitem(catalogue.AGENTS, "standin", agent)
    with pytest.raises(ConfigError, match=r"cannot go on with a session.*2 turns; give it one"):
        study(driver, tmp_path / "s", turns=2)


def test_a_gateway_that_is_gone_ends_an_agent_that_asks_again_and_again(standin, tmp_path):
    driver = standin("""
        import glob, signal
        say(type="session", id="s-1")
        port = "%04X" % int(os.environ["URL"].split(":")[2].split("/")[0])
        rows = [line.split() for line in open("/proc/net/tcp")]
        (inode,) = [row[9] for row in rows if row[1].endswith(":" + port) and row[3] == "0A"]
        for link in glob.glob("/proc/[0-9]*/fd/*"):
            try:
                if os.readlink(link) == f"socket:[{inode}]":
                    os.kill(int(link.split("/")[2]), signal.SIGKILL)
            except OSError:
                pass
        while True:
            say(type="auto_retry_start", attempt=1)
            time.sleep(0.1)
    """)
    began = time.monotonic()
    with pytest.raises(GatewayError, match="gone"):
        study(driver, tmp_path / "s")
    assert time.monotonic() - began < 10  # not the 20 s of the turn
    recs = load(tmp_path / "s")
    assert one(recs, "result")["reason"] == "gateway_gone"
    assert [issue.code for issue in recs[0].info.issues if issue.discard] == ["gateway_gone"]


def test_cancelling_keeps_the_turn_and_ends_the_process(standin, tmp_path):
    driver = standin('say(type="session", id="s"); ask(); open("started", "w"); time.sleep(300)')
    scenario = Scenario("standin", turns=["Do it."], timeouts=Timeouts(prompt=60, stall=60))

    async def main() -> Recordings:
        running = record(
            scenario,
            driver,
            runs=1,
            to=tmp_path / "s",
            gateway=Gateway(ScriptedModel([Step(text="Done.")])),
            host="inline",
            quiet=None,
            progress="none",
        )
        for _ in range(400):
            await asyncio.sleep(0.05)
            if list((tmp_path / "s").glob("runs/*/gateway.jsonl")):
                break
        await asyncio.sleep(0.3)
        running.cancel()
        return await running

    recs = asyncio.run(main())
    assert recs.runs.iloc[0]["status"] == "cancelled"
    assert one(recs, "result")["status"] == "stopped"
    assert one(recs, "turn.end")["reason"] == "cancelled"


LOOK = """
import socket
try: socket.getaddrinfo("telemetry.example.com", 443)
except OSError as error: print("no name")
try: socket.create_connection(("192.0.2.1", 443), 3)
except OSError: print("no way")
"""


async def test_a_network_of_its_own_leads_to_the_gateway_only():
    """Also a connection that is reset arrives as a reset."""
    if not IS_ROOT:
        with pytest.raises(StartupError, match="it needs root on Linux"):
            async with loopback("http://127.0.0.1:1"):
                pass
        return

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        writer.write(b"x" * 300_000 + b"\n")
        await writer.drain()
        if line == b"break\n":
            writer.transport.abort()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    code = f"""
import socket
for word in (b"well", b"break"):
    with socket.create_connection(("127.0.0.1", {port})) as s:
        s.sendall(word + b"\\n")
        n = 0
        try:
            while data := s.recv(65536): n += len(data)
            print(word, n)
        except ConnectionResetError: print(word, "reset")
{LOOK}"""
    seen: list[tuple[str, str]] = []
    async with server, loopback(f"http://127.0.0.1:{port}/v1") as network, Children() as children:
        network.on_lookup = lambda name, kind, t: seen.append((name, kind))
        argv = network.inside([sys.executable, "-I", "-c", code])
        child = await children.spawn(argv, env={"PATH": os.environ["PATH"]}, stdout="pipe", stderr="stdout")
        assert child.stdout
        said = (await child.stdout.read()).decode().splitlines()
        await child.wait()
        await asyncio.sleep(0.1)
    assert said[0] == "b'well' 300001"
    assert said[2:] == ["no name", "no way"]
    assert ("telemetry.example.com", "A") in seen


def test_look_ups_of_an_agent_are_recorded(standin, tmp_path):
    if not IS_ROOT:
        return
    code = f'{LOOK}\nsay(type="session", id="s"); end(ask())'
    recs = study(standin(code, network="loopback"), tmp_path / "s")
    assert one(recs, "result")["status"] == "answered"
    assert {e["name"] for e in events(recs) if e["kind"] == "lookup"} == {"telemetry.example.com"}
    assert recs.runs.iloc[0]["n_lookups"] >= 1


def test_connections_to_elsewhere_are_sampled(standin, tmp_path):
    """A datagram socket that is connected; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        routed = probe.connect_ex(("192.0.2.1", 9)) == 0
    code = """
        import socket
        away = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        away.connect_ex(("192.0.2.1", 9))
        say(type="session", id="s")
        text = ask()
        time.sleep(0.3)
        end(text)
    """
    recs = study(standin(code), tmp_path / "s")
    seen = [(e["protocol"], e["address"], e["port"]) for e in events(recs) if e["kind"] == "connection"]
    assert seen == ([("udp", "192.0.2.1", 9)] if routed else [])
    assert one(recs, "outward")["n_connections"] == len(seen)


def test_an_agents_own_words_are_no_way_out_for_text(standin, tmp_path):
    code = 'say(type="session", id="s"); ask(); end("x", "a whole sentence of Zweitaktgemisch")'
    recs = study(standin(code), tmp_path / "s")
    result = one(recs, "result")
    assert (result["status"], result["reason"], result["stop"]) == ("error", "other", "other")
    assert "Zweitaktgemisch" not in json.dumps(events(recs))


def test_a_compaction_is_noted_also_when_only_the_gateway_sees_it(standin, tmp_path):
    driver = standin("""
        say(type="session", id="s")
        prompt = "Create a detailed summary of our conversation."
        ask()
        prompt = "Go on."
        end(ask())
    """)
    recs = study(driver, tmp_path / "s")
    assert recs.requests["chain"].tolist()[0] == "compaction"
    assert recs.issues[["code", "discard"]].values.tolist() == [["compaction", False]]
    assert recs.runs.iloc[0]["n_compactions"] == 1


def test_all_that_it_writes_is_kept_but_the_token(standin, tmp_path):
    """Byte for byte over both turns: no JSON, no UTF-8, no newline, and a token that comes in two reads."""
    driver = standin("""
        key = os.environ["KEY"]
        say(type="session", id="s")
        sys.stdout.buffer.write(b"\\xff\\x00 no text\\r\\n half of a line: " + key[:7].encode())
        sys.stdout.flush()
        time.sleep(0.2)
        sys.stdout.buffer.write(key[7:].encode() + b" " + key[:9].encode() + b"\\n")
        end(ask())
        sys.stdout.write("no newline, turn " + sys.argv[1] + " " + key[:5])
    """)
    recs = study(driver, tmp_path / "s", turns=2, keep="content")
    file = Path(recs[0].path) / "stdout.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    kept = file.read_bytes()
    told = [event for event in events(recs) if event["kind"] == "output"]
    first, second = (kept[event["kept_at"] :][: event["n_bytes"]] for event in told)
    assert kept == first + b"\n" + second
    assert first.startswith(b'{"type": "session", "id": "s"}\n\xff\x00 no text\r\n half of a line: ***')
    n = len(first.split(b": ")[3].split(b" ")[0])
    assert b" half of a line: " + b"*" * n + b" " in second
    assert b"no newline, turn 1 " in first and b"no newline, turn 2 " in second[-30:]
    lines = JSONLines()
    kinds = [record.data["type"] for record in lines.feed(second, t=1) + lines.close()]
    assert kinds == ["session", "message_start", "message_end"]
    assert lines.n_records == told[1]["n_records"] and lines.n_foreign == told[1]["n_foreign"]


def test_a_disk_that_is_full_ends_the_study_at_once(standin, tmp_path, monkeypatch):
    """Nobody reads on, so that the agent would wait for its pipe until the turn's time-out."""

    def full(self: Stdout, data: bytes) -> None:
        raise RecordingError("stdout.jsonl cannot be written: No space left on device")

    monkeypatch.setattr(Stdout, "write", full)
    driver = standin("while True: say(filler='x' * 1000)")
    began = time.monotonic()
    with pytest.raises(RecordingError, match="No space left"):
        study(driver, tmp_path / "s", keep="content")
    assert time.monotonic() - began < 8


def test_numbers_keep_nothing_that_it_writes(standin, tmp_path):
    driver = standin('say(type="session", id="s"); print("Zweitaktgemisch"); end(ask())')
    recs = study(driver, tmp_path / "s")
    folder = Path(recs[0].path)
    assert sorted(file.name for file in folder.iterdir()) == ["events.jsonl", "gateway.jsonl", "run.json"]
    assert "kept_at" not in one(recs, "output")
    assert not any(b"Zweitaktgemisch" in file.read_bytes() for file in folder.iterdir())
