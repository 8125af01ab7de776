"""Find a detached study again, from any process of the same user on the same machine."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ..engine.files import is_locked
from ..engine.slots import FINISHED, recorded
from ..errors import ConfigError, RecordingError, StudyBusy
from ..jsonfile import read_json
from .lease import Lease
from .running import Running

_LOOK_S = 0.05
_ANSWER_MS = 1000


def attach(folder: str | Path, *, progress: Literal["auto", "widget", "text", "none"] = "auto") -> Running:
    """Show, await or cancel a study that is being recorded detached (``record(..., detach=SECONDS)``).

    Works from another notebook, a script and the command line, also several times at once.

    Parameters
    ----------
    folder : path
        Study folder.
    progress : {"auto", "widget", "text", "none"}
        As for :func:`agentlab.record`.

    Returns
    -------
    Running
        ``await`` it, ``.result()``, ``.cancel()``, ``.state()``. An interrupt while it is waited for leaves
        the study alone. One that has ended gives its recordings at once; one whose measuring process was
        killed raises an ``AgentlabError`` that says so when it is awaited.

    Raises
    ------
    StudyBusy
        It is recorded by a process that is not detached, or that cannot be seen from here.
    ConfigError
        The folder holds no study, or an unfinished one that nobody records.
    RecordingError
        ``study.json`` cannot be read.

    Examples
    --------
    >>> import agentlab
    >>> agentlab.attach("no/such/study")
    Traceback (most recent call last):
        ...
    agentlab.errors.ConfigError: attach('no/such/study'): there is no study
    """
    from ..progress import show

    if progress not in ("auto", "widget", "text", "none"):
        raise ConfigError(f"attach(progress={progress!r}): choose one of 'auto', 'widget', 'text', 'none'")
    given: Any = folder  # whatever it really is
    if not isinstance(given, str | os.PathLike):
        raise ConfigError(f"attach({type(folder).__name__}): give the study's folder, e.g. 'studies/cache'")
    plan = _plan(Path(folder))
    lease = Lease.read(plan.folder)
    if lease is None:
        return _without_lease(plan)
    if lease.outcome is None and not lease.process.alive() and is_locked(plan.folder):
        raise StudyBusy(
            f"attach({str(folder)!r}): it is being recorded by a process that cannot be seen from here; "
            "attach in the container, or on the machine, where it was started"
        )
    host = Detached(plan.folder, lease)
    return Running(
        plan,
        host,
        lambda running: show(running, progress),
        lease=lambda: lease,
        since_unix_ns=lease.began_unix_ns,
        took=host.took_s,
    )


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What a study's own file says of it; see :class:`agentlab.host.state.Plan`."""

    folder: Path
    planned: Mapping[str, int]


def _plan(folder: Path) -> _Plan:
    try:
        found = (folder / "study.json").is_file()
    except OSError as error:
        raise ConfigError(f"attach({str(folder)!r}): {error.strerror}") from None
    if not found:
        raise ConfigError(f"attach({str(folder)!r}): there is no study")
    stored = read_json(folder / "study.json")
    arms, runs = stored.get("arms"), stored.get("runs")
    if not (isinstance(arms, dict) and isinstance(runs, int)):
        raise RecordingError(f"{folder / 'study.json'} is damaged: it lacks arms or runs")
    return _Plan(folder, {name: runs * len(arm.get("sessions", (None,))) for name, arm in arms.items()})


def _without_lease(plan: _Plan) -> Running:
    """Answer for a study that is not detached: finished, busy, or left."""
    from ..progress import say

    planned = sum(plan.planned.values())
    done = {(run["arm"], run["run_index"]) for run in recorded(plan.folder) if run["status"] in FINISHED}
    finished = sum((arm, index) in done for arm, runs in plan.planned.items() for index in range(runs))
    folder = str(plan.folder)
    if is_locked(plan.folder):
        raise StudyBusy(
            f"attach({folder!r}): it is being recorded, but not detached (record(..., detach=SECONDS)); only "
            "the notebook or script that records it can show and cancel it"
        )
    if finished < planned:
        raise ConfigError(
            f"attach({folder!r}): nobody records it; {finished} of {planned} runs are kept: "
            f"agentlab.load({folder!r}). The same record(...) call resumes it"
        )
    say(f"{folder} has ended: {finished} of {planned} runs are recorded")
    return Running(plan, None, took=lambda: None)


class Detached:
    """The measuring process of a detached study, seen from elsewhere; see :class:`agentlab.host.base.Host`.

    Parameters
    ----------
    folder : Path
        Study folder.
    lease : Lease
        What the study says of the process.
    """

    def __init__(self, folder: Path, lease: Lease) -> None:
        self.done = threading.Event()
        self.outcome: dict[str, Any] | None = lease.outcome
        self.failure: str | None = None
        self._folder = folder
        self._lease = lease
        self._asked = threading.Lock()

    def start(self) -> None:
        """Watch for the end of the process, in a thread; one that has ended is known at once."""
        if self.outcome is not None or not self._lease.process.alive():
            self._end()
        else:
            threading.Thread(target=self._watch, name="agentlab-attached", daemon=True).start()

    def ask(self, reason: str) -> None:
        """Ask to stop."""
        if self._asked.acquire(blocking=False):  # never released: once is enough
            threading.Thread(target=self._interrupt, daemon=True).start()

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        self._lease.process.signal(signal.SIGKILL)

    def took_s(self) -> float | None:
        """Return how long the recording took, in seconds; None when nobody could tell."""
        ended = self._lease.ended_unix_ns
        return None if ended is None else (ended - self._lease.began_unix_ns) / 1e9

    def _watch(self) -> None:
        over = threading.Event()
        while self._lease.process.alive():
            over.wait(_LOOK_S)
        self._end()

    def _end(self) -> None:
        now = Lease.read(self._folder)
        if now is not None and now.process == self._lease.process:
            self._lease, self.outcome = now, now.outcome
        if self.outcome is None:
            self.failure = (
                "the measuring process was lost: it was killed, the machine was restarted, or there was no "
                "room left to tell its end"
            )
        self._lease.clear()
        self.done.set()

    def _interrupt(self) -> None:
        """Interrupt the kernel as Jupyter does; where its key is not at hand, as the system does."""
        file = self._lease.connection_file()
        answered = False
        with contextlib.suppress(Exception):
            if file is not None and file.exists():
                answered = _over_control_channel(file)
        if not answered:
            self._lease.process.signal(signal.SIGINT)


def _over_control_channel(file: Path) -> bool:
    """Send an interrupt request to a kernel; say whether it has answered."""
    from jupyter_client.blocking.client import BlockingKernelClient

    client = BlockingKernelClient()
    client.load_connection_file(str(file))
    socket = client.connect_control()
    try:
        client.session.send(socket, "interrupt_request", content={})
        return bool(socket.poll(_ANSWER_MS))
    finally:
        socket.close(linger=0)
        client.context.term()
