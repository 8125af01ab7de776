"""Processes end with their owner, however either tries to get away."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from agentlab.errors import StartupError
from agentlab.wire.children import Children
from agentlab.wire.watchdog import descendants

ENV = {"PATH": os.environ["PATH"]}

#: Starts a child that leaves its parent's session, forks twice and empties its environment.
RUNAWAY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c",
            "import os,time;open(%r,'w').write(str(os.getpid()));time.sleep(60)"], {})
    os._exit(0)
time.sleep(60)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def pid_in(path: Path) -> int:
    for _ in range(500):
        if path.exists() and path.read_text():
            return int(path.read_text())
        await asyncio.sleep(0.01)
    raise AssertionError(f"{path} was not written")


def gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


async def test_pipes_and_exit_code():
    async with Children() as children:
        code = "import sys; print(sys.stdin.readline().upper(), end=''); sys.exit(7)"
        child = await children.spawn([sys.executable, "-c", code], env=ENV, stdin="pipe", stdout="pipe")
        assert child.stdin and child.stdout
        child.stdin.write(b"hello\n")
        assert await child.stdout.readline() == b"HELLO\n"
        assert await child.wait() == 7
        child.stdin.close()


async def test_environment_is_what_was_given(tmp_path):
    async with Children() as children:
        child = await children.spawn(["env"], env={**ENV, "A": "1"}, cwd=tmp_path, stdout=tmp_path / "out")
        await child.wait()
    names = {line.split("=")[0] for line in (tmp_path / "out").read_text().splitlines()}
    assert names == {"PATH", "A", "AGENTLAB_CHILDREN"}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


async def test_missing_command_and_folder_are_named():
    async with Children() as children:
        with pytest.raises(StartupError, match="no-such-agent: command not found"):
            await children.spawn(["no-such-agent"], env=ENV)
        with pytest.raises(StartupError, match="No such file"):
            await children.spawn(["true"], env=ENV, cwd="/no/such/folder")
        assert await (await children.spawn(["true"], env=ENV)).wait() == 0


async def test_runaway_is_gone_after_close(tmp_path):
    async with Children() as children:
        await children.spawn([sys.executable, "-c", RUNAWAY % str(tmp_path / "pid")], env=ENV)
        pid = await pid_in(tmp_path / "pid")
        assert alive(pid)
        assert await children.close() == ()
    assert not alive(pid)


async def test_private_folder_goes_with_the_processes():
    async with Children() as children:
        folder = await children.folder()
        (folder / "secret").write_text("x")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


async def test_terminate_escalates_when_sigterm_is_ignored(tmp_path):
    code = "import signal,time;signal.signal(15,signal.SIG_IGN);print('up',flush=True);time.sleep(60)"
    async with Children() as children:
        child = await children.spawn([sys.executable, "-c", code], env=ENV, stdout="pipe")
        assert child.stdout and await child.stdout.readline() == b"up\n"
        assert await child.terminate(0.1) == -signal.SIGKILL


async def test_killed_watchdog_is_noticed_and_its_children_found(tmp_path):
    async with Children() as children:
        child = await children.spawn(["sleep", "60"], env=ENV)
        os.kill(children._process.pid, signal.SIGKILL)
        assert await asyncio.wait_for(child.wait(), 5) is None
        with pytest.raises(StartupError, match="gone"):
            await children.spawn(["true"], env=ENV)
        assert await children.close() == ()
    assert not alive(child.pid)


async def test_folders_go_also_when_the_watchdog_was_killed():
    async with Children() as children:
        folder = await children.folder()
        loop = 'while mkdir -p "$0/again"; do sleep 0.01; done'  # as a browser writes until it ends
        await children.spawn(["/bin/sh", "-c", loop, str(folder)], env=ENV)
        os.kill(children.pid, signal.SIGKILL)
        await asyncio.sleep(0.1)
    assert children.survivors == () and not folder.exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_everything_ends_when_the_owner_is_killed(tmp_path, how):
    owner = textwrap.dedent(f"""
        import asyncio, os, sys
        from agentlab.wire.children import Children
        async def main():
            async with Children() as children:
                code = {RUNAWAY % str(tmp_path / "pid")!r}
                await children.spawn([sys.executable, "-c", code], env=dict(os.environ))
                print("up", flush=True)
                await asyncio.sleep(60)
        asyncio.run(main())
    """)
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"up\n"
    pid = asyncio.run(pid_in(tmp_path / "pid"))
    process.send_signal(how)
    process.wait()
    process.stdout.close()
    assert gone(pid)


@pytest.mark.parametrize("then", ["os.kill(os.getpid(), signal.SIGKILL)", "pass"], ids=["killed", "closed"])
def test_a_copy_of_the_owner_by_fork_holds_nothing_up(tmp_path, then):
    """As the workers of multiprocessing are, which outlive an owner that is killed."""
    owner = textwrap.dedent(f"""
        import asyncio, os, signal, sys, time
        from agentlab.wire.children import Children
        async def main():
            async with Children() as children:
                child = await children.spawn(["sleep", "60"], env=dict(os.environ))
                if (copy := os.fork()) == 0:
                    time.sleep(60)
                    os._exit(0)
                print(child.pid, copy, flush=True)
                {then}
        asyncio.run(main())
    """)
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE)
    assert process.stdout
    pid, copy = map(int, process.stdout.readline().split())
    try:
        process.wait(10)
        assert gone(pid)
        assert alive(copy)
    finally:
        os.kill(copy, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdout.close()


def test_descendants_of_this_process():
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert process.pid in descendants(os.getpid())
    finally:
        process.kill()
        process.wait()
    assert process.pid not in descendants(os.getpid())


async def test_a_child_on_a_terminal_has_it_as_its_controlling_one() -> None:
    master, slave = os.openpty()
    about = "os.ttyname(0), os.getsid(0) == os.getpid(), os.tcgetpgrp(0) == os.getpgrp()"
    async with Children() as children:
        child = await children.spawn(
            [sys.executable, "-c", f"import os; print({about}); open('/dev/tty').close(); input()"],
            env={},
            tty=os.ttyname(slave),
        )
        name = os.ttyname(slave)
        os.close(slave)
        said = await asyncio.to_thread(os.read, master, 1000)
        assert said.decode().split() == [name, "True", "True"]
        assert child.pid in descendants(children.pid)
        os.close(master)  # the terminal hangs up
        assert await asyncio.wait_for(child.wait(), 5) == -signal.SIGHUP


async def test_a_terminal_that_does_not_exist_is_an_error() -> None:
    async with Children() as children:
        with pytest.raises(StartupError, match="No such file"):
            await children.spawn(["/bin/true"], env={}, tty="/dev/pts/none")
