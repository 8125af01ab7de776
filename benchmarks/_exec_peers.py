"""One way of reading a command's output into a file, in a process of its own.

``python -m benchmarks._exec_peers NAME N_BYTES FOLDER`` prints one line of JSON: seconds, CPU seconds,
memory. Peers read as their documentation shows; the bare ones are the floor: nothing but the system calls.
``start PARENT_BYTES N`` measures starts instead, below a parent of that size.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import Row

_BLOCK = 1 << 17
_C_READER = r"""
#define _GNU_SOURCE
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>
#include <fcntl.h>
int main(int argc, char **argv) {
    int master, spool = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    static char buffer[65536];
    struct winsize size = {40, 120, 0, 0};
    pid_t pid = forkpty(&master, 0, 0, &size);
    if (pid == 0) { execvp(argv[2], argv + 2); _exit(127); }
    for (ssize_t n; (n = read(master, buffer, sizeof buffer)) > 0;)
        if (write(spool, buffer, n) != n) return 1;
    return 0;
}
"""


def command(n_bytes: int) -> list[str]:
    """Return what prints so many bytes (a multiple of 128 KiB), as fast as it is read; no newlines."""
    return ["dd", "if=/dev/zero", f"bs={_BLOCK}", f"count={n_bytes // _BLOCK}", "status=none"]


async def _ours(n_bytes: int, folder: Path, *, tty: bool) -> float:
    from agentlab import ExecSessions

    async with ExecSessions(folder=folder, tty=tty) as sessions:
        began, found = time.perf_counter(), 0
        result = await sessions.run(f"exec {shlex.join(command(n_bytes))}", yield_s=30)
        while True:
            found += result.n_bytes
            if result.state != "running":
                break
            result = await sessions.poll(result.session, yield_s=30)
        took = time.perf_counter() - began
    if found != n_bytes:
        raise RuntimeError(f"{found} of {n_bytes} bytes")
    return took


def pipe_ours(n_bytes: int, spool: Path) -> float:
    """Run it over pipes; the clock starts when the sessions are open."""
    return asyncio.run(_ours(n_bytes, spool.parent, tty=False))


def pty_ours(n_bytes: int, spool: Path) -> float:
    """Run it on a terminal."""
    return asyncio.run(_ours(n_bytes, spool.parent, tty=True))


def pipe_splice(n_bytes: int, spool: Path) -> None:
    """Move pages from a pipe of 1 MiB into the file: the floor."""
    with spool.open("wb") as file, subprocess.Popen(command(n_bytes), stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
        while os.splice(child.stdout.fileno(), file.fileno(), 1 << 20):
            pass


def pipe_asyncio(n_bytes: int, spool: Path) -> None:
    """Read with asyncio.create_subprocess_exec."""

    async def read() -> None:
        child = await asyncio.create_subprocess_exec(*command(n_bytes), stdout=asyncio.subprocess.PIPE)
        assert child.stdout is not None
        with spool.open("wb") as file:
            while data := await child.stdout.read(1 << 16):
                file.write(data)
        await child.wait()

    asyncio.run(read())


def pipe_pexpect(n_bytes: int, spool: Path) -> None:
    """Read with pexpect.popen_spawn."""
    from pexpect import EOF
    from pexpect.popen_spawn import PopenSpawn

    child = PopenSpawn(command(n_bytes), maxread=1 << 16)
    with spool.open("wb") as file, contextlib.suppress(EOF):
        while True:
            file.write(child.read_nonblocking(1 << 16, timeout=30))


def pty_bare(n_bytes: int, spool: Path) -> None:
    """Read a pseudo-terminal in a loop: the floor in Python."""
    master, slave = pty.openpty()
    with spool.open("wb", buffering=0) as file:
        child = subprocess.Popen(
            command(n_bytes), stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        with contextlib.suppress(OSError):
            while data := os.read(master, 1 << 16):
                file.write(data)
        child.wait()
    os.close(master)


def pty_c(n_bytes: int, spool: Path) -> None:
    """Read a pseudo-terminal in C."""
    program = spool.parent / "reader"
    subprocess.run([program, spool, *command(n_bytes)], check=True)


def pty_pexpect(n_bytes: int, spool: Path) -> None:
    """Read with pexpect.spawn."""
    import pexpect

    argv = command(n_bytes)
    child = pexpect.spawn(argv[0], argv[1:], maxread=1 << 16, timeout=30)
    with spool.open("wb") as file, contextlib.suppress(pexpect.EOF):
        while True:
            file.write(child.read_nonblocking(1 << 16, timeout=30))


CONTENDERS: dict[str, Callable[[int, Path], float | None]] = {
    "pipe: agentlab": pipe_ours,
    "pipe: bare splice": pipe_splice,
    "pipe: asyncio.subprocess": pipe_asyncio,
    "pipe: pexpect": pipe_pexpect,
    "pty: agentlab": pty_ours,
    "pty: bare read": pty_bare,
    "pty: C": pty_c,
    "pty: pexpect": pty_pexpect,
}


def compile_c_reader(folder: Path) -> bool:
    """Compile the C reader; False where there is no compiler."""
    try:
        subprocess.run(
            ["cc", "-O2", "-x", "c", "-", "-o", folder / "reader", "-lutil"],
            input=_C_READER.encode(), check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def peak_mb() -> float:
    """Return the largest resident set of this process, MB (1e6 bytes)."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def transfer(name: str, n_bytes: int, spool: Path) -> Row:
    """Measure one contender."""
    import agentlab

    _ = agentlab.ExecSessions  # what all of them are measured beside
    read, imported_mb = CONTENDERS[name], peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    took = read(n_bytes, spool)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = spool.stat().st_size if spool.exists() else n_bytes
    if size != n_bytes:
        raise RuntimeError(f"{name}: {size} of {n_bytes} bytes")
    return {"s": took or wall, "cpu_s": cpu, "over_import_mb": peak_mb() - imported_mb}


_SHELL = ["bash", "-lc", "echo ready"]


def start_popen(preexec_fn: Callable[[], object] | None = None) -> int:
    """Start with subprocess; return when the first byte was read, ns."""
    with subprocess.Popen(
        _SHELL, stdout=subprocess.PIPE, start_new_session=True, preexec_fn=preexec_fn
    ) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        return time.monotonic_ns()


def start_pexpect() -> int:
    """Start with pexpect; return when the first byte was read, ns."""
    import pexpect

    child = pexpect.spawn(_SHELL[0], _SHELL[1:])
    child.read(1)
    read = time.monotonic_ns()
    child.close()
    return read


async def starts(parent_bytes: int, n: int) -> dict[str, list[float]]:
    """Measure starts to the first byte, in turn, ms; the parent has touched so much memory."""
    from agentlab import ExecSessions

    ballast = bytearray(parent_bytes)
    ballast[:: 1 << 12] = b"x" * len(range(0, parent_bytes, 1 << 12))
    peers: dict[str, Callable[[], int]] = {
        "subprocess.Popen": start_popen,
        "Popen with preexec_fn": lambda: start_popen(preexec_fn=os.getpid),
        "pexpect": start_pexpect,
    }
    found: dict[str, list[float]] = {name: [] for name in ("agentlab, terminal", "agentlab, pipes", *peers)}
    async with ExecSessions() as sessions:
        for _ in range(n):
            for name, tty in (("agentlab, terminal", True), ("agentlab, pipes", False)):
                began = time.monotonic_ns()
                result = await sessions.run(_SHELL[2], tty=tty)
                found[name].append((result.reads[0][1] - began) / 1e6)
            for name, start in peers.items():
                began = time.monotonic_ns()
                found[name].append((start() - began) / 1e6)
    return found


def main(name: str, n: str, folder: str) -> None:
    """Measure one contender, or starts, and print what was found."""
    if name == "start":
        print(json.dumps(asyncio.run(starts(int(n), int(folder)))))
    else:
        print(json.dumps(transfer(name, int(n), Path(folder) / "spool")))


if __name__ == "__main__":
    main(*sys.argv[1:])
