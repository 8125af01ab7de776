"""What is recorded of a command-line agent's session: its own events, its processes, what it reached for."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...agents.base import Note
from ...wire.jsonl import JSONLines
from ..base import Run
from .process import Watch

#: What an agent's word for its end looks like; anything longer may be a text.
_WORD = re.compile(r"[A-Za-z0-9_.:<>-]{1,60}")
_STDERR_KEPT = 64 * 1024

Content = Mapping[str, Any] | None


class Evidence:
    """Record the events of one session under the agent's own name for it.

    Parameters
    ----------
    run : Run
        Where they go.
    token : str
        The gateway's: hidden in contents, for an agent's tools can read it in their environment.

    Attributes
    ----------
    session : str or None
        The agent's name of the session. Until it is known events are held back.
    turn : int
        The turn under way, 1-based.
    retried, compacted : bool
        Whether the agent has said in it that it asks its model again, or that its context was compacted.
    """

    def __init__(self, run: Run, token: str) -> None:
        self.session: str | None = None
        self.turn = 0
        self.retried = self.compacted = False
        self._run = run
        self._token = token
        self._held: list[tuple[str, int, dict[str, Any], Content]] = []

    def begin_turn(self) -> None:
        """Count the turn; nothing was said in it yet."""
        self.turn += 1
        self.retried = self.compacted = False

    def open(self, name: str) -> None:
        """Name the session and record what was held back; a second call does nothing."""
        if self.session is not None:
            return
        self.session = name
        held, self._held = self._held, []
        first = held[0][1] if held else time.monotonic_ns()
        self._run.emit("session.open", t=first, session=name, role="main")
        for kind, t, fields, content in held:
            self._run.emit(kind, t=t, content=content, session=name, **fields)

    def emit(self, kind: str, t: int | None = None, content: Content = None, **fields: Any) -> None:  # noqa: ANN401
        """Record an event of the session; now, when it has no stamp."""
        stamp = time.monotonic_ns() if t is None else t
        fields = {key: value for key, value in fields.items() if value is not None}
        content = None if content is None else self._without_token(content)
        if self.session is None:
            self._held.append((kind, stamp, fields, content))
        else:
            self._run.emit(kind, t=stamp, content=content, session=self.session, **fields)

    def note(self, note: Note, t: int) -> None:
        """Record an event as the agent's stream told it."""
        fields = dict(note.fields)
        if note.kind in ("message", "agent.error"):
            fields |= {key: word(str(fields[key])) for key in ("finish", "error", "name") if key in fields}
        if note.kind == "message":
            fields.setdefault("parent", f"turn-{self.turn}")
        elif note.kind in ("usage", "agent.error", "compacted"):
            fields["turn"] = self.turn
        if note.kind == "compacted":
            self.compacted = True
        elif note.kind == "status" and fields.get("state") == "retry":
            self.retried = True
        self.emit(note.kind, t, note.content, **fields)

    def lookup(self, name: str, kind: str, t: int) -> None:
        """Record a name that was looked up."""
        self.emit("lookup", t, turn=self.turn, name=name, type=kind)

    def first_request(self, watch: Watch, requests: Sequence[Mapping[str, Any]]) -> None:
        """Record when the turn's first request came, and what the process had cost until then."""
        if not requests:
            return
        first = min(requests, key=lambda row: row["t_begin"])
        fields: dict[str, Any] = {"turn": self.turn, "request": first["request"]}
        if (at := watch.cpu_at(first["t_begin"])) is not None:
            fields |= {"cpu_s": round(at[0], 4), "sample_gap_ms": round(at[1], 1)}
        self.emit("process.first_request", first["t_begin"], **fields)

    def outward(self, watch: Watch, network: str) -> None:
        """Record which other machines it reached for, as far as that can be seen."""
        for remote, t in watch.seen.items():
            self.emit("connection", t, turn=self.turn, **remote._asdict())
        fields: dict[str, Any] = {"turn": self.turn, "network": network}
        if network == "open":
            # What is asked of a name server is seen only in a network of its own.
            fields |= {"n_connections": len(watch.seen)} if watch.readable else {"reason": "unreadable"}
        self.emit("outward", **fields)

    def output(self, lines: JSONLines, errors: Path, kept_at: int | None) -> None:
        """Record how much it wrote, and of what kind."""
        said, size = b"", 0
        with contextlib.suppress(OSError), errors.open("rb") as file:
            said = file.read(_STDERR_KEPT)
            size = errors.stat().st_size
        self.emit(
            "output",
            content={"stderr": said.decode("utf-8", "replace")},
            turn=self.turn,
            n_bytes=lines.n_bytes,
            n_records=lines.n_records,
            n_foreign=lines.n_foreign,
            n_dropped=lines.n_dropped,
            unterminated=lines.unterminated,
            kept_at=kept_at,
            stderr_bytes=size,
        )

    def _without_token(self, content: Mapping[str, Any]) -> dict[str, Any]:
        text = json.dumps(content)
        return json.loads(text.replace(self._token, "<token>")) if self._token in text else dict(content)


def word(said: str | None) -> str | None:
    """Return an agent's word if it is one.

    Parameters
    ----------
    said : str or None
        E.g. its reason for an end.

    Returns
    -------
    str or None
        ``"other"`` for what may be a text: that would be content.

    Examples
    --------
    >>> word("end_turn"), word("I have read your letter.")
    ('end_turn', 'other')
    """
    return said if said is None or _WORD.fullmatch(said) else "other"
