"""The measuring side: one entry for the kernel, the subprocess and the inline host.

What it is to do arrives as one JSON line on standard input, which stays open as its lifeline: a line
``cancelled`` or ``interrupted`` asks it to stop, and its end means that the owner is gone. A detached study
then goes on until its deadline. Recordings do not come back: both sides read the study's files. Only the
outcome, a few words, is reported.
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
from pathlib import Path
from typing import Any

from ..engine.conduct import Stop, conduct
from ..engine.study import Study
from ..errors import AgentlabError
from ..redact import redact_data
from .lease import Lease, forget

#: After the owner is gone, the process ends itself at the latest after this many seconds.
LAST_RESORT_S = 4.0
_LOOK_S = 0.5
_LINGER_S = 2.0


async def carry_out(make: Callable[[], Study], stop: Stop, lease: Lease | None = None) -> dict[str, Any]:
    """Conduct a study as a task of its own; whatever happens becomes an outcome.

    Parameters
    ----------
    make : callable
        Gives the prepared study.
    stop : Stop
        Asked from outside.
    lease : Lease, optional
        Of a detached study: kept in its folder, with the outcome at the end.

    Returns
    -------
    dict
        ``status`` (``done``, ``cancelled``, ``interrupted``, ``owner_lost``, ``deadline``, ``failed``) and
        ``error`` (``type``, ``message``, ``trace`` when it is none of agentlab's own) when failed.
    """

    @contextlib.contextmanager
    def hold(folder: Path) -> Generator[None]:
        if lease is None:
            forget(folder)
            yield
        else:
            with lease.held(folder, lambda error: _outcome(error, stop)):
                yield

    async def work() -> None:
        await conduct(make(), stop, hold)

    task = asyncio.create_task(work())
    stop.bind(task)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:  # clean-up goes on; a second one does not cut it off
            stop.ask("interrupted")
    return _outcome(asyncio.CancelledError() if task.cancelled() else task.exception(), stop)


def _outcome(error: BaseException | None, stop: Stop) -> dict[str, Any]:
    if error is None:
        return {"status": "done"}
    if isinstance(error, Exception):
        return {"status": "failed", "error": _described(error)}
    return {"status": stop.reason or "interrupted"}


def listen(job: Callable[[bytes], object], ask: Callable[[str], object], leave: Callable[[], object]) -> None:
    """Read the job and then the lifeline from what was standard input, in a daemon thread.

    Parameters
    ----------
    job : callable
        Called once with the job.
    ask : callable
        Called with the reason to stop; must be thread-safe.
    leave : callable
        Called when the owner is gone.
    """
    pipe = os.dup(0)
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(
            nothing.fileno(), 0
        )  # nobody else reads the lifeline, and the kernel's guard has done its part

    def read() -> None:
        parent = os.getppid()
        buffer, started = b"", False
        while True:
            # The pipe's end is missed while a fork of the owner holds it; then the parent has changed.
            if not select.select([pipe], [], [], _LOOK_S)[0]:
                if os.getppid() != parent:
                    break
                continue
            # os.read, not sys.stdin: a kernel replaces sys.stdin, and a buffered reader would block at exit.
            chunk = os.read(pipe, 1 << 16)
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


async def main(
    folder: str | None = None, *, detach: float | None = None, kernelspec: str | None = None
) -> str:
    """Receive a job on standard input and carry it out; never raises.

    Parameters
    ----------
    folder : str, optional
        Private folder of this process; removed when the owner is gone and cannot do it.
    detach : float, optional
        Go on without the owner, for at most so many seconds.
    kernelspec : str, optional
        Name of this kernel's, for the record.

    Returns
    -------
    str
        The outcome as JSON. When the owner is gone, then or later, the process ends.
    """
    loop, stop, over = asyncio.get_running_loop(), Stop(), threading.Event()
    arrived: asyncio.Future[bytes] = loop.create_future()
    alone = threading.Event()  # the owner is gone
    lease = None if detach is None else Lease.begin(detach, kernelspec, folder)

    def ask(reason: str) -> None:
        loop.call_soon_threadsafe(stop.ask, reason)

    def insist(reason: str) -> None:
        ask(reason)
        if not over.wait(LAST_RESORT_S):
            _vanish(folder)

    def leave() -> None:
        alone.set()
        if lease is None and arrived.done():
            insist("owner_lost")
        if lease is None or not arrived.done():
            _vanish(folder)

    def make() -> Study:
        job = json.loads(arrived.result())
        os.environ.update(job["env"])
        study = Study.from_job(job["study"])
        # What exists now lives to the end: the collector need not look at it while stamps are taken.
        gc.collect()
        gc.freeze()
        return study

    with _signals(loop, stop, interrupt="interrupted" if lease is None else "cancelled"):
        listen(lambda job: loop.call_soon_threadsafe(arrived.set_result, job), ask, leave)
        await asyncio.wait([arrived])
        if lease is not None:
            _thread(_keep_deadline, lease, over, lambda: insist("deadline"))
        outcome = await carry_out(make, stop, lease)
    over.set()
    if lease is not None and folder is not None:  # an owner who is there ends it first
        _thread(lambda: (alone.wait(_LINGER_S), _vanish(folder)))
    return json.dumps(outcome)


def run(detach: float | None = None) -> None:
    """Run :func:`main` as a process whose standard output is the reply.

    Parameters
    ----------
    detach : float, optional
        As for :func:`main`.
    """
    # What drivers print must not end up in the reply.
    reply = os.dup(1)
    os.dup2(2, 1)
    outcome = asyncio.run(main(detach=detach))
    with contextlib.suppress(BrokenPipeError):  # the owner is gone
        os.write(reply, outcome.encode())
    sys.stdout.flush()
    os._exit(0)  # no library's exit hook may delay or hang the end: all is written and closed


def _keep_deadline(lease: Lease, over: threading.Event, end: Callable[[], object]) -> None:
    """Wait in steps: a wait does not count the time in which the machine sleeps."""
    while (left := lease.left_s()) > 0:
        if over.wait(min(left, 1.0)):
            return
    end()


def _vanish(folder: str | None) -> None:
    """End this process at once, with its private folder; watchdogs end what it has started."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _thread(function: Callable[..., object], *args: object) -> None:
    threading.Thread(target=function, args=args, daemon=True).start()


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: Stop, *, interrupt: str) -> Generator[None]:
    """Let signals ask for a clean stop; the loop's own handlers also wake it when it is idle.

    SIGINT of a detached study is the Cancel of somebody who attached to it.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop.ask, interrupt if number == signal.SIGINT else "interrupted")
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
