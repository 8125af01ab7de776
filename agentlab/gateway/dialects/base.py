"""What a dialect is: how one provider's wire spells a request, a reply, usage and errors."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from ..canonical import Canonical, short_hash
from ..usage import Usage

PieceKind = Literal["text", "reasoning", "tool"]


class BadRequest(Exception):
    """The body is not a request of this dialect; the text says why, without its content."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """Hold what is said of one offered tool.

    Parameters
    ----------
    name : str
        As the model calls it.
    schema : mapping
        JSON schema of its arguments.
    """

    name: str
    schema: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@dataclasses.dataclass(frozen=True)
class Block:
    """Place one content block of a prompt.

    Parameters
    ----------
    end : int
        Offset of its end in the canonical prompt, in bytes.
    lifetime_s : int or None
        How long the prompt up to here is to be cached; None: it is not marked.
    """

    end: int
    lifetime_s: int | None = None


@dataclasses.dataclass(frozen=True)
class CacheUse:
    """Say what a prompt cache did with one prompt.

    Parameters
    ----------
    read : int
        Tokens that were served.
    written : int
        Tokens that were stored and are billed for it, of both lifetimes.
    written_1h : int
        Those of them that are kept for an hour.
    """

    read: int = 0
    written: int = 0
    written_1h: int = 0


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
    tools : tuple of Tool
        Offered tools, in order.
    roles : tuple of str
        Role of each message of the history: user, assistant, tool (results), or the wire's own.
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
        What the body names the conversation by.
    last_text : str
        What the last message says itself, beside results of tools.
    blocks : callable
        Returns the prompt's content blocks, on a wire that marks what is to be cached; else none.
    marked : bool
        Whether the body may have cache markers.
    """

    model: str | None
    stream: bool
    wants_usage: bool
    tools: tuple[Tool, ...]
    roles: tuple[str, ...]
    user_texts: tuple[str, ...]
    result_of: str | None
    max_output_tokens: int | None
    canonical: Canonical
    body: Mapping[str, Any]
    session: str | None = None
    last_text: str = ""
    blocks: Callable[[], Sequence[Block]] = tuple
    marked: bool = True

    @functools.cached_property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the offered tools, in order."""
        return tuple(tool.name for tool in self.tools)

    @property
    def tool_names_hash(self) -> str:
        """Hash of the sorted tool names: requests with another tool set belong to another chain."""
        return _hash_of_names(self.tool_names)


@functools.lru_cache(maxsize=64)
def _hash_of_names(names: tuple[str, ...]) -> str:
    return short_hash("\0".join(sorted(names)).encode("utf-8", "surrogatepass"))


class Piece(NamedTuple):  # one is made for every chunk
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
    index: int = 0  # pyright: ignore[reportIncompatibleMethodOverride] - no piece is asked for tuple.index
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
        try:
            request = self.dialect.parse(body)
        except RecursionError:
            raise BadRequest("the body is nested too deep") from None
        said = {name: value for name in ("model", "stream") if (value := getattr(self, name)) is not None}
        return dataclasses.replace(request, **said) if said else request


class Renderer(Protocol):
    """Spell one reply; made anew for each."""

    def opening(self, usage: Mapping[str, Any] | None = None) -> bytes:
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
    model: str | None
    error: bool
    malformed: bool

    @property
    def usage(self) -> object:
        """The usage object as it was spelled, without counts that were not final yet; None: none came."""
        ...

    def event(self, data: bytes) -> tuple[list[Piece], bool]:
        """Read the data of one event: its pieces, and whether it holds usage and nothing else."""
        ...

    def whole(self, data: bytes) -> list[Piece]:
        """Read a reply that was not streamed."""
        ...


class Dialect(Protocol):
    """One provider's wire; each method is described here once, for all of them."""

    name: str
    #: What an agent is configured with, below the gateway's root.
    base: str
    #: Whether a tool call is one piece, because the wire cannot cut its arguments.
    whole_calls: bool
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

    def with_output_cap(self, request: ModelRequest, n: int) -> bytes | None:
        """Return the body with an output cap of n tokens, or None when it has one already."""
        ...

    def login(self, key: str) -> dict[str, str]:
        """Return the header in which this provider takes its key."""
        ...

    def finish(self, reason: str) -> str:
        """Return how this wire says a reason of the end: stop, tool_calls, length or one of its own."""
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
        cache: CacheUse,
        output: int,
        reasoning: int,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Spell counted tokens as this provider does.

        What was cached counts inside ``prompt``, reasoning inside ``output``; ``given`` sets some keys, in
        the spelling of chat (``prompt_tokens``, ``completion_tokens``, ``total_tokens``) or in its own.
        """
        ...

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object."""
        ...
