"""Stands in for the tools that no registry has: same commands, same files, a daemon that leaves the tree.

Run as ``unlisted_lookalike.py TOOL ARGUMENTS...``; :func:`install` makes programs of it.

It shows that a recipe calls what its tool documents, in that order, with folders of its own, and that what
daemonises is found, counted and ended. It cannot show that the real tool's commands are still these, what it
asks in an empty home, how long it takes, what it holds in memory, or how its daemon's command line reads.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

#: What it says for its version.
VERSION = "9.8.7"
#: What a daemon holds, MiB; jcode's holds so much more with its memory on.
HELD, MEMORY = 8, 16
SCREEN = Path(__file__).with_name("terminal_lookalike.py")


def install(folder: Path, tool: str, program: str) -> Path:
    """Write a program of that name which is this file in the role of a tool."""
    file = folder / program
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {Path(__file__).resolve()} {tool} "$@"\n')
    file.chmod(0o755)
    return file


def main(tool: str, *given: str) -> int:
    if tool == "--serve":
        return serve(*given)
    if given in (("--version",), ("version",)):
        print(f"{tool} {VERSION}")
        return 0
    return {"synaps": synaps, "jcode": jcode, "opencode2": opencode2, "cursor": cursor}[tool](list(given))


def synaps(given: list[str]) -> int:
    base = Path(os.environ["SYNAPS_BASE_DIR"])
    place = base / "run" / "daemon.sock"
    if given == ["daemon", "start"]:
        place.parent.mkdir(exist_ok=True)
        daemonise("synaps daemon", place, HELD)
        return 0
    if given == ["daemon", "stop", "--force"]:
        return stop(place)
    return attach(place, given == ["--attach", "--new", "--keep-warm"])


def jcode(given: list[str]) -> int:
    place = Path(os.environ["JCODE_RUNTIME_DIR"]) / "jcode.sock"
    if not Path(os.environ["JCODE_HOME"]).is_dir() or os.environ.get("JCODE_NO_TELEMETRY") != "1":
        return 2
    remembers = os.environ.get("JCODE_MEMORY_ENABLED") != "0"
    temporary = os.environ.get("JCODE_TEMP_SERVER") == "1"
    owner = int(os.environ["JCODE_SERVER_OWNER_PID"]) if temporary else 0
    with place.with_name("lock").open("w") as lock:  # several sessions begin at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            daemonise("jcode serve", place, HELD + MEMORY * remembers, owner=owner)
    return attach(place, given == ["--no-update", "--no-selfdev"])


def opencode2(given: list[str]) -> int:
    settings = Path(os.environ["XDG_CONFIG_HOME"]) / "opencode" / "service.json"
    state = Path(os.environ["XDG_STATE_HOME"]) / "opencode" / "service.json"
    if given[:3] == ["service", "set", "port"]:
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"port": int(given[3])}))
        return 0
    if given == ["service", "start"]:
        state.parent.mkdir(parents=True, exist_ok=True)
        daemonise("opencode service", state, HELD, port=json.loads(settings.read_text())["port"])
        return 0
    if given == ["service", "stop"]:
        return stop(state)
    return attach(state, not given)


def cursor(given: list[str]) -> int:
    return screen() if not given else 2


def daemonise(name: str, place: Path, held: int, *, owner: int = 0, port: int = 0) -> None:
    """Leave the session, the parent and the environment; `place` is there once it listens."""
    words = [name, str(place), str(held), str(owner), str(port)]
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, "--serve", *words], {})
        os._exit(0)
    os.wait()
    while not place.exists():
        time.sleep(0.01)


def serve(name: str, *given: str) -> int:
    """Be the daemon: its name stands in its command line only."""
    place, (held, owner, port) = Path(given[0]), map(int, given[1:])
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    taken = [os.urandom(2**20) for _ in range(held)]
    listener = socket.socket(socket.AF_INET if port else socket.AF_UNIX)
    new = place.with_name("new")
    listener.bind(("127.0.0.1", port) if port else str(new))
    listener.listen()
    if port:
        new.write_text(json.dumps({"port": port, "pid": os.getpid()}))
    new.replace(place)
    place.with_name("pid").write_text(str(os.getpid()))
    while taken and (not owner or os.path.exists(f"/proc/{owner}")):
        time.sleep(0.2)
    return 0


def stop(place: Path) -> int:
    file = place.with_name("pid")
    if not file.exists():
        return 1
    os.kill(int(file.read_text()), signal.SIGTERM)
    place.unlink()
    return 0


def attach(place: Path, as_documented: bool) -> int:
    """Show a session's screen, if its daemon answers."""
    if not as_documented:
        return 2
    if place.suffix == ".json":
        talk, to = socket.socket(), ("127.0.0.1", json.loads(place.read_text())["port"])
    else:
        talk, to = socket.socket(socket.AF_UNIX), str(place)
    with talk:
        talk.connect(to)
        return screen()


def screen() -> int:
    return subprocess.run([sys.executable, "-I", "-S", str(SCREEN)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
