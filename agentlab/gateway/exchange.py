"""One request and its reply, as it is written to the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .attribution import Link, Owner
from .dialects.base import Dialect, ModelRequest, Piece
from .journal import ChunkLine, Journal
from .usage import Usage


class Exchange:
    """Write the lines of one request.

    Parameters
    ----------
    journal : Journal
        Where to.
    number : int
        Of the request, 1-based over the gateway's life.
    owner : Owner
        Its run.
    keep_content : bool
        Whether prompts and answers are written too.
    """

    def __init__(self, journal: Journal, *, number: int, owner: Owner, keep_content: bool) -> None:
        self._journal = journal
        self._keep = keep_content
        self.number = number
        self.owner = owner
        self.ended = False
        self.status: int | None = None
        self.fault: str | None = None
        self.reason: str | None = None
        self.finish: str | None = None
        self.model: str | None = None
        self.terminal_seen = False
        self.refused = False
        self.money: Callable[[Exchange, int], Mapping[str, Any]] | None = None
        self.on_end: Callable[[], None] | None = None
        self._dialect: Dialect | None = None
        self._usage = Usage(reason="no_usage")
        self._raw_usage: Any = None

    def begin(
        self,
        t: int,
        *,
        session: str | None,
        dialect: Dialect,
        path: str,
        body: bytes,
        request: ModelRequest | None,
        link: Link,
        money: Mapping[str, Any] | None = None,
    ) -> None:
        """Write ``request.begin``.

        Parameters
        ----------
        t : int
            Stamp of the body's last read, ns.
        session : str or None
            The agent's session.
        dialect : Dialect
            Of the request.
        path : str
            Of the call.
        body : bytes
            As received.
        request : ModelRequest or None
            None: the body cannot be read.
        link : Link
            To the request before it.
        money : mapping, optional
            What is reserved for it.
        """
        fields: dict[str, Any] = {
            "request": self.number,
            "session": session,
            "dialect": dialect.name,
            "path": path,
            "body_bytes": len(body),
            **link.fields(),
        }
        self._dialect = dialect
        if request is not None:
            fields |= {
                "model": request.model,
                "stream": request.stream,
                "n_tools": len(request.tool_names),
                "n_messages": len(request.roles),
                "tool_names_hash": request.tool_names_hash,
                "max_output_tokens": request.max_output_tokens,
                "segments": request.canonical.segments,
                "canonical_bytes": len(request.canonical.data),
                "prefix_state": "first" if link.change is None else link.change.state,
            }
            if self._keep:
                fields["content"] = {"body": request.body}
        if money is not None:
            fields.update(money)
        self._journal.write(self.owner.file, t, "request.begin", fields)

    def chunk(self, piece: Piece, *, t: int, emit_ns: int | None = None) -> None:
        """Write ``request.chunk``; see :meth:`chunks`.

        Parameters
        ----------
        piece : Piece
            What was sent.
        t : int
            Stamp, ns.
        emit_ns : int, optional
            When the model emitted it, if the model is ours: the same.
        """
        self.chunks([piece], t=t, emit_ns=emit_ns)

    def chunks(self, pieces: Sequence[Piece], *, t: int, emit_ns: int | None = None) -> None:
        """Write ``request.chunk`` for pieces that were sent together.

        Parameters
        ----------
        pieces : sequence of Piece
            In their order.
        t : int
            Stamp directly before the write to the agent, ns: after it the process may have been descheduled,
            and the agent have it already.
        emit_ns : int, optional
            When the model emitted them, if the model is ours: the same.
        """
        if not pieces:
            return
        lines = [
            ChunkLine(
                t=t,
                kind="request.chunk",
                request=self.number,
                chunk=piece.kind,
                n_chars=len(piece.text),
                n_bytes=piece.n_bytes,
                visible=piece.visible,
                emit_ns=emit_ns,
            )
            for piece in pieces
        ]
        if not self._keep:
            self._journal.write_chunks(self.owner.file, lines)
            return
        for line, piece in zip(lines, pieces, strict=True):
            fields = {name: getattr(line, name) for name in line.__struct_fields__[2:]}
            self._journal.write(self.owner.file, t, line.kind, {**fields, "content": {"text": piece.text}})

    def report(self, usage: object) -> None:
        """Note the usage that the model reported.

        Parameters
        ----------
        usage : mapping or None
            As it was spelled; of its values only numbers are kept.
        """
        if self._dialect is not None:
            self._usage = self._dialect.read_usage(usage)
        self._raw_usage = _numbers(usage)

    @property
    def raw_usage(self) -> Any:  # noqa: ANN401
        """The numbers of what the model reported, as it spelled them."""
        return self._raw_usage

    @property
    def usage(self) -> Usage:
        """What the model reported."""
        return self._usage

    def end(self, t: int | None = None) -> None:
        """Settle what is reserved, and write ``request.end``, once.

        Parameters
        ----------
        t : int, optional
            Stamp of the last write, ns; now when absent.
        """
        if self.ended:
            return
        self.ended = True
        t = time.monotonic_ns() if t is None else t
        money = {} if self.money is None else self.money(self, t)
        fields: dict[str, Any] = {
            "request": self.number,
            "status": self.status,
            "terminal_seen": self.terminal_seen,
            "finish": self.finish[:64] if self.finish else None,
            "answered_model": self.model[:128] if self.model else None,
            "fault": self.fault,
            "usage": self._raw_usage,
            "convention": self._dialect.convention if self._dialect else None,
            **self._usage.counts(),
            "refused": self.refused or None,
            "reason": self.reason or self._usage.reason,
            "unknown_usage_keys": list(self._usage.unknown_keys) or None,
            **money,
        }
        self._journal.write(self.owner.file, t, "request.end", fields)
        if self.on_end is not None:
            self.on_end()


def _numbers(value: object) -> Any:  # noqa: ANN401
    """Return the numbers of a usage object; text in it may be anything."""
    if type(value) is int:  # nearly all of them, and soon said
        return value
    if isinstance(value, Mapping):
        parts = cast("Mapping[str, object]", value).items()
        return {str(key): kept for key, part in parts if (kept := _numbers(part)) is not None} or None
    return value if isinstance(value, float) and abs(value) < float("inf") else None
