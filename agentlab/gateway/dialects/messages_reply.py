"""Replies of Anthropic Messages: spelling one as named events, and reading one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..canonical import encode
from .base import ModelRequest, Piece
from .body import arguments_of, dicts, mapping, named_frame, object_or_none, text_or_none

#: A step's reason of the end, as this wire says it.
FINISHES = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_DELTAS = {"text": ("text_delta", "text"), "reasoning": ("thinking_delta", "thinking")}


class MessagesRenderer:
    """Spell one message: blocks open, grow and close one after the other.

    Parameters
    ----------
    request : ModelRequest
        What is answered.
    number : int
        Makes the reply's id.
    """

    def __init__(self, request: ModelRequest, number: int) -> None:
        self._head: dict[str, Any] = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
        }
        self._open: tuple[str, int] | None = None
        self._index = -1

    def opening(self, usage: Mapping[str, Any] | None = None) -> bytes:
        """Return the event before the first block; it says what the input cost."""
        known = {} if usage is None else {**usage, "output_tokens": 1}
        known.pop("output_tokens_details", None)
        ended = {"stop_reason": None, "stop_sequence": None}
        message = {**self._head, "content": [], **ended, "usage": known}
        return named_frame({"type": "message_start", "message": message})

    def piece(self, piece: Piece) -> bytes:
        """Return the events of one piece."""
        frames = b""
        if self._open != (piece.kind, piece.index):
            frames = self._close()
            self._open = (piece.kind, piece.index)
            self._index += 1
            frames += self._say("content_block_start", content_block=_empty(piece))
        if piece.kind == "tool":
            if not piece.text:
                return frames
            delta = {"type": "input_json_delta", "partial_json": piece.text}
        else:
            kind, key = _DELTAS[piece.kind]
            delta = {"type": kind, key: piece.text}
        return frames + self._say("content_block_delta", delta=delta)

    def closing(self, finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the events that end the stream."""
        delta = {"stop_reason": finish, "stop_sequence": None}
        ended: dict[str, Any] = {"type": "message_delta", "delta": delta}
        if usage is not None:
            ended["usage"] = dict(usage)
        return self._close() + named_frame(ended) + named_frame({"type": "message_stop"})

    def body(self, pieces: Sequence[Piece], finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the reply to a request that does not stream."""
        parts: dict[tuple[str, int], list[Piece]] = {}
        for piece in pieces:
            parts.setdefault((piece.kind, piece.index), []).append(piece)
        content = [_whole(part) for part in parts.values()]
        ended = {"stop_reason": finish, "stop_sequence": None}
        message = {**self._head, "content": content, **ended}
        return encode(message if usage is None else {**message, "usage": dict(usage)})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        signed = self._open[0] == "reasoning"
        self._open = None
        frames = b""
        if signed:  # clients send a block of thinking back only with its signature
            frames = self._say("content_block_delta", delta={"type": "signature_delta", "signature": "c2ln"})
        return frames + self._say("content_block_stop")

    def _say(self, kind: str, **fields: Any) -> bytes:  # noqa: ANN401
        return named_frame({"type": kind, "index": self._index, **fields})


def _empty(piece: Piece) -> dict[str, Any]:
    """Return a block before its content."""
    if piece.kind == "text":
        return {"type": "text", "text": ""}
    if piece.kind == "reasoning":
        return {"type": "thinking", "thinking": "", "signature": ""}
    call_id, name = piece.call or ("", "")
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def _whole(pieces: Sequence[Piece]) -> dict[str, Any]:
    block, text = _empty(pieces[0]), "".join(piece.text for piece in pieces)
    if block["type"] == "text":
        return {**block, "text": text}
    if block["type"] == "thinking":
        return {**block, "thinking": text, "signature": "c2ln"}
    return {**block, "input": arguments_of(text)}


class MessagesReader:
    """Read a message of a provider, streamed or whole.

    Attributes
    ----------
    terminal_seen : bool
        Whether the reply said that it is over.
    finish : str or None
        The ``stop_reason``.
    model : str or None
        That answered, as the provider names it.
    error, malformed : bool
        Whether an error, or data that is no JSON object, was met.
    """

    def __init__(self) -> None:
        self.terminal_seen = False
        self.finish: str | None = None
        self.model: str | None = None
        self.error = False
        self.malformed = False
        self._usage: dict[str, Any] = {}
        self._final = False
        self._calls: dict[int, int] = {}

    @property
    def usage(self) -> object:
        """The ``usage`` object as it was spelled, the last count of each key; None: none came.

        The count of output with which a message opens is a placeholder: it is left out until the last came.
        """
        if self._final:
            return self._usage
        return {key: value for key, value in self._usage.items() if key != "output_tokens"} or None

    def event(self, data: bytes) -> tuple[list[Piece], bool]:
        """Read the data of one event."""
        said = self._object(data)
        kind, index = said.get("type"), said.get("index")
        if kind == "message_start":
            message = mapping(said.get("message"))
            self.model = text_or_none(message.get("model"))
            self._count(message.get("usage"), final=False)
        elif kind == "message_delta":
            self._count(said.get("usage"), final=True)
            self.finish = text_or_none(mapping(said.get("delta")).get("stop_reason")) or self.finish
        elif kind == "message_stop":
            self.terminal_seen = True
        elif kind == "content_block_start":
            return self._begun(index, mapping(said.get("content_block"))), False
        elif kind == "content_block_delta":
            return self._delta(index, mapping(said.get("delta"))), False
        return [], False

    def whole(self, data: bytes) -> list[Piece]:
        """Read a reply that was not streamed."""
        message = self._object(data)
        self.finish, self.model = text_or_none(message.get("stop_reason")), text_or_none(message.get("model"))
        self.terminal_seen = self.finish is not None
        self._count(message.get("usage"), final=True)
        pieces: list[Piece] = []
        for index, block in enumerate(dicts(message.get("content"))):
            pieces += self._begun(index, block)
            if "input" in block and pieces:
                arguments = encode(block["input"]).decode("utf-8", "surrogatepass")
                last = pieces.pop()
                pieces.append(Piece("tool", arguments, last.index, last.call))
        return pieces

    def _object(self, data: bytes) -> dict[str, Any]:
        said = object_or_none(data)
        if said is None:
            self.malformed = True
            return {}
        self.error = self.error or said.get("error") is not None
        return said

    def _count(self, usage: object, *, final: bool) -> None:
        """Counts are cumulative: the last one of each key holds."""
        counts = {key: value for key, value in mapping(usage).items() if value is not None}
        self._usage |= counts
        self._final = self._final or (final and "output_tokens" in counts)

    def _begun(self, index: object, block: Mapping[str, Any]) -> list[Piece]:
        """Return the piece that a block opens with, if it holds anything."""
        if isinstance(block.get("name"), str):
            call = (str(block.get("id")), str(block["name"]))
            return [Piece("tool", "", self._call(index), call)]
        for kind, (_, key) in _DELTAS.items():
            if isinstance(block.get(key), str) and block[key]:
                return [Piece(cast("Any", kind), block[key])]
        return []

    def _delta(self, index: object, delta: Mapping[str, Any]) -> list[Piece]:
        if isinstance(delta.get("partial_json"), str):
            text = delta["partial_json"]
            return [Piece("tool", text, self._call(index))] if text else []
        for kind, (_, key) in _DELTAS.items():
            if isinstance(delta.get(key), str):
                return [Piece(cast("Any", kind), delta[key])]
        return []

    def _call(self, index: object) -> int:
        """Number the calls of a reply from 0."""
        return self._calls.setdefault(index if isinstance(index, int) else -1, len(self._calls))
