"""The measuring side: one entry for the kernel, the subprocess and the inline host.

What it is to do arrives as one JSON line on standard input, which stays open as its lifeline: a line
``cancelled`` or ``interrupted`` asks it to stop, and its end means that the owner is gone. Results do not come
back: both sides read the study's files. ``outcome.json`` says how the recording ended.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..engine.conduct import Stop, conduct
from ..engine.files import write_json
from ..engine.study import Study
from ..errors import AgentlabError, RecordingError
from ..redact import redact

#: After the owner is gone or Cancel was asked, the process ends itself at the latest after this many seconds.
LAST_RESORT_S = 4.0


async def carry_out(study: Study, stop: Stop) -> dict[str, Any]:
    """Conduct a study as a task of its own and write its outcome.

    Parameters
    ----------
    study : Study
        A prepared study.
    stop : Stop
        Asked from outside.

    Returns
    -------
    dict
        ``status`` (``done``, ``cancelled``, ``interrupted``, ``owner_lost``, ``failed``) and ``error``
        (``type``, ``message``) when failed. Also in ``outcome.json``.
    """
    task = asyncio.create_task(conduct(study, stop))
    stop.bind(task)
    # The tick wakes a loop whose signal handler ran without waking it.
    while not task.done():
        try:
            await asyncio.wait([task], timeout=0.05)
        except asyncio.CancelledError:
            stop.ask("interrupted")
    outcome: dict[str, Any] = {"pid": os.getpid(), "ended_unix_ns": time.time_ns()}
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or isinstance(error, KeyboardInterrupt):
        outcome |= {"status": stop.reason or "interrupted"}
    elif error is not None:
        if not isinstance(error, AgentlabError):
            _log_traceback(error)
        outcome |= {
            "status": "failed",
            "error": {"type": type(error).__name__, "message": redact(str(error))},
        }
    else:
        outcome |= {"status": "done"}
    try:
        write_json(study.folder / "outcome.json", outcome)
    except RecordingError:
        outcome["unwritten"] = True
    return outcome


def listen(job: Callable[[dict[str, Any]], None], ask: Callable[[str], None]) -> threading.Thread:
    """Read the job and then the lifeline from standard input, in a thread.

    Parameters
    ----------
    job : callable
        Called once with the job.
    ask : callable
        Called with the reason to stop; must be thread-safe.

    Returns
    -------
    threading.Thread
        A started daemon thread.
    """

    def read() -> None:
        # os.read, not sys.stdin: a kernel replaces sys.stdin, and a buffered reader would block at exit.
        buffer, started = b"", False
        while chunk := os.read(0, 1 << 16):
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                if started:
                    ask(line.decode())
                else:
                    started = True
                    job(json.loads(line))
        ask("owner_lost")
        time.sleep(LAST_RESORT_S)
        os._exit(1)  # clean-up hangs; the watchdogs kill what is left

    thread = threading.Thread(target=read, name="agentlab-lifeline", daemon=True)
    thread.start()
    return thread


async def main() -> str:
    """Receive a job on standard input and carry it out.

    Returns
    -------
    str
        The outcome as JSON.
    """
    loop, stop = asyncio.get_running_loop(), Stop()
    arrived: asyncio.Future[dict[str, Any]] = loop.create_future()
    listen(
        lambda job: loop.call_soon_threadsafe(arrived.set_result, job),
        lambda reason: loop.call_soon_threadsafe(stop.ask, reason),
    )
    job = await arrived
    sys.path[:0] = [path for path in job.get("sys_path", []) if path not in sys.path]
    study = Study.from_job(job["study"])
    # What exists now lives to the end: the collector need not look at it while stamps are taken.
    gc.collect()
    gc.freeze()
    return json.dumps(await carry_out(study, stop))


def run() -> None:
    """Run :func:`main` as a process: SIGINT and SIGTERM ask it to stop."""

    async def with_signals() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(main())
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(sig, task.cancel)
        await task

    asyncio.run(with_signals())
    sys.stdout.flush()
    os._exit(0)  # the lifeline thread sits in read(0)


def _log_traceback(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error)


if __name__ == "__main__":
    run()
