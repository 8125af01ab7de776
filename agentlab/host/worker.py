"""The measuring side: one entry for the kernel, the subprocess and the inline host.

What it is to do arrives as one JSON line on standard input, which stays open as its lifeline: a line
``cancelled`` or ``interrupted`` asks it to stop, and its end means that the owner is gone. Recordings do not
come back: both sides read the study's files. Only the outcome, a few words, is reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import select
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from typing import Any

from ..engine.conduct import Stop, conduct
from ..engine.study import Study
from ..errors import AgentlabError
from ..redact import redact_data

#: After the owner is gone, the process ends itself at the latest after this many seconds.
LAST_RESORT_S = 4.0
_LOOK_S = 0.5


async def carry_out(make: Callable[[], Study], stop: Stop) -> dict[str, Any]:
    """Conduct a study as a task of its own; whatever happens becomes an outcome.

    Parameters
    ----------
    make : callable
        Gives the prepared study.
    stop : Stop
        Asked from outside.

    Returns
    -------
    dict
        ``status`` (``done``, ``cancelled``, ``interrupted``, ``owner_lost``, ``failed``) and ``error``
        (``type``, ``message``, ``trace`` when it is none of agentlab's own) when failed.
    """

    async def work() -> None:
        await conduct(make(), stop)

    task = asyncio.create_task(work())
    stop.bind(task)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:  # clean-up goes on; a second one does not cut it off
            stop.ask("interrupted")
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or (error is not None and not isinstance(error, Exception)):
        return {"status": stop.reason or "interrupted"}
    if error is None:
        return {"status": "done"}
    return {"status": "failed", "error": _described(error)}


def listen(job: Callable[[bytes], object], ask: Callable[[str], object], leave: Callable[[], object]) -> None:
    """Read the job and then the lifeline from standard input, in a daemon thread.

    Parameters
    ----------
    job : callable
        Called once with the job.
    ask : callable
        Called with the reason to stop; must be thread-safe.
    leave : callable
        Called when the owner is gone.
    """

    def read() -> None:
        parent = os.getppid()
        buffer, started = b"", False
        while True:
            # The pipe's end is missed while a fork of the owner holds it; then the parent has changed.
            if not select.select([0], [], [], _LOOK_S)[0]:
                if os.getppid() != parent:
                    break
                continue
            # os.read, not sys.stdin: a kernel replaces sys.stdin, and a buffered reader would block at exit.
            chunk = os.read(0, 1 << 16)
            if not chunk:
                break
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                if started:
                    ask(line.decode())
                else:
                    started = True
                    job(line)
        leave()

    threading.Thread(target=read, name="agentlab-lifeline", daemon=True).start()


async def main(folder: str | None = None) -> str:
    """Receive a job on standard input and carry it out; never raises.

    Parameters
    ----------
    folder : str, optional
        Private folder of this process; removed when the owner is gone and cannot do it.

    Returns
    -------
    str
        The outcome as JSON. When the owner is gone, then or later, the process ends.
    """
    loop, stop, over = asyncio.get_running_loop(), Stop(), threading.Event()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def ask(reason: str) -> None:
        loop.call_soon_threadsafe(stop.ask, reason)

    def leave() -> None:
        if arrived.done():
            ask("owner_lost")
            over.wait(LAST_RESORT_S)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    def make() -> Study:
        job = json.loads(arrived.result())
        os.environ.update(job["env"])
        study = Study.from_job(job["study"])
        # What exists now lives to the end: the collector need not look at it while stamps are taken.
        gc.collect()
        gc.freeze()
        return study

    with _signals(loop, stop):
        listen(lambda job: loop.call_soon_threadsafe(arrived.set_result, job), ask, leave)
        await asyncio.wait([arrived])
        outcome = await carry_out(make, stop)
    over.set()
    return json.dumps(outcome)


def run() -> None:
    """Run :func:`main` as a process whose standard output is the reply."""
    # What drivers print must not end up in the reply.
    reply = os.dup(1)
    os.dup2(2, 1)
    outcome = asyncio.run(main())
    with contextlib.suppress(BrokenPipeError):  # the owner is gone
        os.write(reply, outcome.encode())
    sys.stdout.flush()
    os._exit(0)  # no library's exit hook may delay or hang the end: all is written and closed


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: Stop) -> Generator[None]:
    """Let signals ask for a clean stop; the loop's own handlers also wake it when it is idle."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop.ask, "interrupted")
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _described(error: Exception) -> dict[str, str]:
    described = {"type": type(error).__name__, "message": redact_data(str(error))}
    if not isinstance(error, AgentlabError):
        described["trace"] = redact_data("".join(traceback.format_exception(error)[-8:]))
    return described
