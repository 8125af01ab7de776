"""The recording of one run while it is made: what a driver's ``run`` is."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..drivers.base import Identity, Memory
from ..errors import RecordingError
from ..redact import Redactor
from ..scenario import Scenario
from ..wire.procid import Owned
from .files import LineWriter, write_json
from .slots import Slot
from .study import FORMAT, Keep


class RunLog:
    """Write one run's folder: events as they happen, ``run.json`` at each change of state.

    Parameters
    ----------
    folder : Path
        New folder of the run; its name is the run's id.
    slot : Slot
        Which run it is.
    sequence : int
        0-based number in the study.
    scenario : Scenario
        What is asked.
    identity : Identity
        What is measured.
    keep : {"numbers", "content"}
        Whether contents of events are written.
    redactor : Redactor
        For details of issues.

    Raises
    ------
    RecordingError
        The folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        slot: Slot,
        *,
        sequence: int,
        scenario: Scenario,
        identity: Identity,
        keep: Keep,
        redactor: Redactor,
    ) -> None:
        self.folder = folder
        self.run_id = folder.name
        self.scenario = scenario
        self.phase = "session"
        self.tools_completed: set[str] = set()
        self.final_text_chars = 0
        self.n_sessions = slot.n_sessions
        self.memory: Memory | None = None
        self.owned = Owned()
        self.on_begin: Callable[[], Awaitable[None]] | None = None
        self.content_folder = folder if keep == "content" else None
        self._redactor = redactor
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise RecordingError(f"{folder} cannot be made: {error.strerror}") from error
        self.state: dict[str, Any] = {
            "format": FORMAT,
            "run_id": self.run_id,
            "arm": slot.arm,
            "run_index": slot.index,
            "block": slot.block,
            "sequence": sequence,
            "status": "running",
            "started_unix_ns": time.time_ns(),
            "anchor": {"monotonic_ns": time.monotonic_ns(), "unix_ns": time.time_ns()},
            "identity": {
                "driver": identity.driver,
                "version": identity.version,
                "model": identity.model,
                "settings": dict(identity.settings),
            },
            "versions": {"agentlab": __version__, "python": platform.python_version()},
            "warmup_rule": scenario.warmup,
            "n_turns_asked": len(scenario.turns),
            "issues": [],
        }
        if slot.n_sessions is not None:
            self.state["n_sessions"] = slot.n_sessions
        try:
            self._events = LineWriter(folder / "events.jsonl")
            self._save()
            self.emit("run.begin")
        except RecordingError:
            shutil.rmtree(folder, ignore_errors=True)  # no run has begun
            raise

    def emit(
        self,
        kind: str,
        *,
        t: int | None = None,
        content: Mapping[str, Any] | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> None:
        """Append one event; see :class:`agentlab.drivers.base.Run`."""
        record: dict[str, Any] = {"t": time.monotonic_ns() if t is None else t, "kind": kind, **fields}
        if content is not None and self.content_folder is not None:
            record["content"] = content
        self._events.write(record)
        if kind == "tool" and fields.get("status") == "completed":
            self.tools_completed.add(fields.get("name") or "")
        elif kind == "turn.reply":
            self.final_text_chars = fields.get("text_chars") or 0

    def issue(self, code: str, detail: str | None = None, *, discard: bool = False) -> None:
        """Attach a coded doubt; see :class:`agentlab.drivers.base.Run`."""
        issue = {
            "code": code,
            "phase": self.phase,
            "detail": None if detail is None else self._redactor.redact(detail),
            "discard": discard,
            "t": time.monotonic_ns(),
        }
        self.state["issues"].append(issue)
        self._save(durable=False)  # often in mid-turn, where stamps must not wait for the disk

    def own(self, pid: int) -> None:
        """Take a process for this run's; see :class:`agentlab.drivers.base.Run`."""
        self.owned.add(pid)

    async def begin(self) -> None:
        """Say that the run's model requests begin; see :class:`agentlab.drivers.base.Run`."""
        told, self.on_begin = self.on_begin, None
        if told is not None:
            await told()

    def finish(self, status: str, **about: Any) -> None:  # noqa: ANN401
        """Close the recording.

        Parameters
        ----------
        status : {"complete", "failed", "cancelled"}
            How it ended.
        **about
            Further keys of ``run.json``.
        """
        try:
            self.emit("run.end", status=status)
        finally:
            self._events.close()
            self.state |= {"status": status, "ended_unix_ns": time.time_ns(), **about}
            self._save()

    @property
    def n_events(self) -> int:
        """Number of events written."""
        return self._events.n_lines

    def _save(self, *, durable: bool = True) -> None:
        write_json(self.folder / "run.json", self.state, durable=durable)
