"""What a dialect is: how one provider's wire spells a request, a reply, usage and errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from ..canonical import Canonical, short_hash
from ..usage import Usage

PieceKind = Literal["text", "reasoning", "tool"]


class BadRequest(Exception):
    """The body is not a request of this dialect; the text says why, without its content."""


@dataclasses.dataclass(frozen=True)
class ModelRequest:
    """Hold what a request asks, whatever its dialect.

    Parameters
    ----------
    model : str or None
        Model id.
    stream : bool
        Whether the reply is streamed.
    wants_usage : bool
        Whether a streamed reply reports usage.
    tool_names : tuple of str
        Offered tools, in order.
    roles : tuple of str
        Role of each message of the history.
    user_texts : tuple of str
        Visible text of each user message.
    result_of : str or None
        Tool whose result is the last message.
    max_output_tokens : int or None
        Output cap.
    canonical : Canonical
        The prompt as a provider's cache would see it.
    body : mapping
        The parsed body.
    session : str, optional
        What the body itself names the conversation by.
    """

    model: str | None
    stream: bool
    wants_usage: bool
    tool_names: tuple[str, ...]
    roles: tuple[str, ...]
    user_texts: tuple[str, ...]
    result_of: str | None
    max_output_tokens: int | None
    canonical: Canonical
    body: Mapping[str, Any]
    session: str | None = None

    @property
    def tool_names_hash(self) -> str:
        """Hash of the sorted tool names: requests with another tool set belong to another chain."""
        return short_hash("\0".join(sorted(self.tool_names)).encode("utf-8", "surrogatepass"))


@dataclasses.dataclass(frozen=True)
class Piece:
    """Hold one streamed piece of a reply.

    Parameters
    ----------
    kind : {"text", "reasoning", "tool"}
        What it belongs to; of a tool call: a part of its arguments.
    text : str
        The characters.
    index : int
        Of the tool call inside the reply.
    call : tuple of (str, str), optional
        Id and name of a tool call; only its first piece has it.
    """

    kind: PieceKind
    text: str
    index: int = 0
    call: tuple[str, str] | None = None

    @property
    def n_bytes(self) -> int:
        """Length in UTF-8 bytes."""
        return len(self.text.encode("utf-8", "surrogatepass"))

    @property
    def visible(self) -> bool:
        """Whether it holds a non-space character."""
        return bool(self.text.strip())


@dataclasses.dataclass(frozen=True)
class Route:
    """Say what the path of a call says.

    Parameters
    ----------
    dialect : Dialect
        Of the request.
    target : str
        The path below the dialect's base; a provider is called with it.
    model : str, optional
        Model id, where it stands in the path.
    stream : bool, optional
        Whether the reply is streamed, where that stands in the path.
    """

    dialect: Dialect
    target: str
    model: str | None = None
    stream: bool | None = None

    def parse(self, body: bytes) -> ModelRequest:
        """Read the request.

        Parameters
        ----------
        body : bytes
            JSON.

        Returns
        -------
        ModelRequest

        Raises
        ------
        BadRequest
            It is not a request of the dialect.
        """
        request = self.dialect.parse(body)
        said = {name: value for name in ("model", "stream") if (value := getattr(self, name)) is not None}
        return dataclasses.replace(request, **said) if said else request


class Renderer(Protocol):
    """Spell one reply; made anew for each."""

    def opening(self) -> bytes:
        """Return the frames before the first piece."""
        ...

    def piece(self, piece: Piece) -> bytes:
        """Return the frame of one piece."""
        ...

    def closing(self, finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the frames that end the stream."""
        ...

    def body(self, pieces: Sequence[Piece], finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the reply to a request that does not stream."""
        ...


class Reader(Protocol):
    """Read one reply of a provider; made anew for each."""

    terminal_seen: bool
    finish: str | None
    usage: object
    error: bool
    malformed: bool

    def event(self, data: bytes) -> tuple[list[Piece], bool]:
        """Read the data of one event: its pieces, and whether it holds usage and nothing else."""
        ...

    def whole(self, data: bytes) -> list[Piece]:
        """Read a reply that was not streamed."""
        ...


class Dialect(Protocol):
    """One provider's wire."""

    name: str
    #: What an agent is configured with, below the gateway's root.
    base: str
    convention: Literal["inclusive", "exclusive"]

    def route(self, path: str) -> Route | None:
        """Return what a path asks for, or None when it is not of this dialect."""
        ...

    def parse(self, body: bytes) -> ModelRequest:
        """Read a request; raises BadRequest."""
        ...

    def renderer(self, request: ModelRequest, number: int) -> Renderer:
        """Return what spells the reply to this request."""
        ...

    def reader(self) -> Reader:
        """Return what reads one reply."""
        ...

    def asking_usage(self, request: ModelRequest) -> bytes | None:
        """Return the body with usage asked for, or None when it is asked for already."""
        ...

    def error_body(self, status: int, message: str) -> bytes:
        """Return the typed body of an HTTP error."""
        ...

    def error_frame(self, status: int, message: str) -> bytes:
        """Return an error inside a stream."""
        ...

    def spell_usage(
        self,
        *,
        prompt: int,
        cached: int,
        output: int,
        reasoning: int,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Spell counted tokens as this provider does, some keys set to what is given."""
        ...

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object."""
        ...
