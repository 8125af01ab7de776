"""Replies of OpenAI chat completions: spelling one, and reading one."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..canonical import encode
from .base import ModelRequest, Piece
from .body import dicts, frame, object_or_none, text_or_none


class ChatRenderer:
    """Spell one chat reply.

    Parameters
    ----------
    request : ModelRequest
        What is answered.
    number : int
        Makes the reply's id.
    """

    def __init__(self, request: ModelRequest, number: int) -> None:
        self._head: dict[str, Any] = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": request.model,
        }
        self._wants_usage = request.wants_usage

    def opening(self, usage: Mapping[str, Any] | None = None) -> bytes:
        """Return the chunk that holds only the role."""
        return self._delta({"role": "assistant", "content": ""})

    def piece(self, piece: Piece) -> bytes:
        """Return the chunk of one piece."""
        if piece.kind == "tool":
            return self._delta({"tool_calls": [_call_delta(piece)]})
        key = "content" if piece.kind == "text" else "reasoning_content"
        return self._delta({key: piece.text})

    def closing(self, finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the chunks that end the stream."""
        frames = self._delta({}, finish)
        if usage is not None and self._wants_usage:
            frames += frame({**self._head, "choices": [], "usage": usage})
        return frames + b"data: [DONE]\n\n"

    def body(self, pieces: Sequence[Piece], finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the reply to a request that does not stream."""
        joined = {kind: "".join(p.text for p in pieces if p.kind == kind) for kind in ("text", "reasoning")}
        message: dict[str, Any] = {"role": "assistant", "content": joined["text"] or None}
        if joined["reasoning"]:
            message["reasoning_content"] = joined["reasoning"]
        calls: dict[int, dict[str, Any]] = {}
        for piece in pieces:
            if piece.kind == "tool":
                call = calls.setdefault(
                    piece.index, {"type": "function", "function": {"name": "", "arguments": ""}}
                )
                if piece.call:
                    call["id"], call["function"]["name"] = piece.call
                call["function"]["arguments"] += piece.text
        if calls:
            message["tool_calls"] = list(calls.values())
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        reply = {**self._head, "object": "chat.completion", "choices": [choice]}
        return encode(reply if usage is None else {**reply, "usage": usage})

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return frame({**self._head, "choices": [choice]})


def _call_delta(piece: Piece) -> dict[str, Any]:
    if piece.call is None:
        return {"index": piece.index, "function": {"arguments": piece.text}}
    call_id, name = piece.call
    return {
        "index": piece.index,
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": piece.text},
    }


@functools.cache
def _text_reader() -> Callable[[bytes], list[Piece] | None]:
    from .chat_chunk import read_text  # with the first reply, not with the settings

    return read_text


class ChatReader:
    """Read a chat reply of a provider, streamed or whole.

    Attributes
    ----------
    terminal_seen : bool
        Whether the reply said that it is complete.
    finish : str or None
        Reported reason of the end.
    model : str or None
        That answered, as the provider names it.
    error, malformed : bool
        Whether an error frame, or data that is no JSON object, was met.
    """

    def __init__(self) -> None:
        self.terminal_seen = False
        self.finish: str | None = None
        self.model: str | None = None
        self._usage: object = None
        self.error = False
        self.malformed = False
        self._first = True
        self._read_text = _text_reader()

    @property
    def usage(self) -> object:
        """The ``usage`` object as it was spelled; None: none came.

        Some providers send it with every chunk: before the end its counts of output are those of a part,
        and are left out.
        """
        if self.terminal_seen or not isinstance(self._usage, dict):
            return self._usage
        usage = cast("dict[str, Any]", self._usage)
        return {key: value for key, value in usage.items() if key.startswith("prompt_")} or None

    def event(self, data: bytes) -> tuple[list[Piece], bool]:
        """Read the data of one event."""
        if data.strip() == b"[DONE]":
            self.terminal_seen = True
            return [], False
        # the first chunk is read whole: it names the model
        usual = None if self._first else self._read_text(data)
        self._first = False
        return self._any(data) if usual is None else (usual, False)

    def _any(self, data: bytes) -> tuple[list[Piece], bool]:
        reply = self._object(data)
        choices = reply.get("choices")
        pieces: list[Piece] = []
        if isinstance(choices, list):
            for choice in cast("list[Any]", choices):
                if isinstance(choice, dict):
                    self._hear(cast("dict[str, Any]", choice), "delta", pieces)
        return pieces, choices == [] and reply.get("usage") is not None

    def whole(self, data: bytes) -> list[Piece]:
        """Read a reply that was not streamed."""
        pieces: list[Piece] = []
        for choice in dicts(self._object(data).get("choices")):
            self._hear(choice, "message", pieces)
        self.terminal_seen = self.finish is not None
        return [piece for piece in pieces if piece.text or piece.call]

    def _object(self, data: bytes) -> dict[str, Any]:
        said = object_or_none(data)
        if said is None:
            self.malformed = True
            return {}
        if said.get("error") is not None:
            self.error = True
        self.model = text_or_none(said.get("model")) or self.model
        if (usage := said.get("usage")) is not None:
            self._usage = usage
        return said

    def _hear(self, choice: Mapping[str, Any], key: str, pieces: list[Piece]) -> None:
        """Add the pieces of one choice; this is done for every chunk."""
        finish = choice.get("finish_reason")
        if isinstance(finish, str):
            self.finish, self.terminal_seen = finish, True
        if not isinstance(choice.get(key), dict):
            return
        delta: Mapping[str, Any] = choice[key]
        # The chunk that opens a reply holds only the role; an empty text in it is no piece.
        empty = "role" in delta
        for name in ("reasoning_content", "reasoning"):
            if name in delta and isinstance(text := delta[name], str) and (text or not empty):
                pieces.append(Piece("reasoning", text))
                break
        text = delta.get("content")
        if isinstance(text, str) and (text or not empty):
            pieces.append(Piece("text", text))
        if "tool_calls" in delta:
            pieces += [_call_piece(call, at) for at, call in enumerate(dicts(delta["tool_calls"]))]


def _call_piece(call: Mapping[str, Any], at: int) -> Piece:
    function = call.get("function")
    function = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
    arguments, name, index = function.get("arguments"), function.get("name"), call.get("index")
    return Piece(
        "tool",
        arguments if isinstance(arguments, str) else "",
        index if isinstance(index, int) else at,
        (str(call.get("id")), name) if isinstance(name, str) else None,
    )
