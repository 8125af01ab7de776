"""Hear what the chat's own driver says of a run: which session, which answer, when it was idle."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...scenario import Scenario
from ..base import Memory, Run


class Listening:
    """Hand everything on to a run, and keep in memory what the page has to be compared with.

    Parameters
    ----------
    run : Run
        The run.

    Attributes
    ----------
    answer : str or None
        Text of the last turn's reply; None: there is none, or it is not told.
    idle_ns : int or None
        When the main session was idle after the last prompt.
    chunks_ns : list of int
        First and last stamp of visible text of the last turn; empty: none was heard.
    """

    def __init__(self, run: Run) -> None:
        self.answer: str | None = None
        self.idle_ns: int | None = None
        self.chunks_ns: list[int] = []
        self._run = run
        self._session = ""

    def emit(
        self,
        kind: str,
        *,
        t: int | None = None,
        content: Mapping[str, Any] | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> None:
        """Append one event; see :class:`agentlab.drivers.base.Run`."""
        stamp = time.monotonic_ns() if t is None else t
        if kind == "session.open" and fields.get("role") == "main":
            self._session = self._session or fields["session"]
        elif fields.get("session") == self._session:
            self._hear(kind, stamp, content, fields)
        self._run.emit(kind, t=stamp, content=content, **fields)

    def _hear(self, kind: str, t: int, content: Mapping[str, Any] | None, fields: dict[str, Any]) -> None:
        if kind == "turn.send":
            self.answer, self.idle_ns, self.chunks_ns = None, None, []
        elif kind == "turn.reply":
            self.answer = (content or {}).get("text")
        elif kind == "idle":
            self.idle_ns = t
        elif kind == "chunk" and fields.get("chunk") == "text" and fields.get("visible"):
            self.chunks_ns = [*self.chunks_ns[:1], t]

    def issue(self, code: str, detail: str | None = None, *, discard: bool = False) -> None:
        """Attach a coded doubt; see :class:`agentlab.drivers.base.Run`."""
        self._run.issue(code, detail, discard=discard)

    def own(self, pid: int) -> None:
        """Take a process for this run's; see :class:`agentlab.drivers.base.Run`."""
        self._run.own(pid)

    async def begin(self) -> None:
        """Say that the run's model requests begin; see :class:`agentlab.drivers.base.Run`."""
        await self._run.begin()

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self._run.run_id

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self._run.scenario

    @property
    def n_sessions(self) -> int | None:
        """Not swept here."""
        return self._run.n_sessions

    @property
    def memory(self) -> Memory | None:
        """The sampler of this run's memory."""
        return self._run.memory

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self._run.folder

    @property
    def content_folder(self) -> Path | None:
        """The run's folder, where content is kept."""
        return self._run.content_folder
