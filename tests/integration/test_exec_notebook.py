"""Exec sessions in a real notebook's kernel: read while a cell computes, gone when the kernel is."""

import time

import pytest

from agentlab.wire.procid import ProcessId

from .conftest import Notebook

BEGIN = """
import agentlab as al, time
sessions = await al.ExecSessions(env={"HOME": "/nonexistent"}).__aenter__()
server = await sessions.run("setsid env -i sleep 61 & echo $!; sleep 62 & echo $!", yield_s=5)
shell = await sessions.run("echo $$; sleep 0.3; seq 30000; echo over; exec sleep 63", yield_s=0.1)
pids = [*map(int, server.preview.split())]
"""
#: For two seconds nobody awaits anything; what was printed meanwhile is there at once.
BUSY = """
end = time.monotonic() + 2
while time.monotonic() < end:
    sum(range(1000))
unread = [info.unread_bytes for info in sessions.list() if info.state == "running"]
"""
LAST = """
result = await sessions.poll(shell.session, yield_s=0.1)
pids.append(int((shell.read() + result.read()).split()[0]))
"""


def alive(pid: int) -> bool:
    return ProcessId.of(pid).alive()


@pytest.mark.parametrize("how", ["kill", "shutdown", "restart now"])
def test_read_while_a_cell_computes_and_gone_with_the_kernel(notebook: Notebook, how: str):
    notebook.run(BEGIN)
    notebook.run(BUSY)
    assert int(notebook.value("unread[0]")) > 100_000
    busy = notebook.start("time.sleep(30)")
    time.sleep(0.3)
    notebook.interrupt()  # reaches the cell and nothing else
    assert notebook.reply(busy)["ename"] == "KeyboardInterrupt"
    notebook.run(LAST)
    assert "over" in notebook.value("result.preview[-10:]")
    pids = [int(word) for word in notebook.value("pids").strip("[]").split(",")]
    assert len(pids) == 3 and all(map(alive, pids))
    notebook.end(how)
    end = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(alive, pids))
