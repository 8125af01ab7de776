"""Replies of OpenAI Responses: spelling one as typed events, and reading one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..canonical import encode
from .base import ModelRequest, Piece
from .body import dicts, mapping, named_frame, object_or_none, text_or_none

#: A step's reason of the end, as this wire says it.
FINISHES = {"stop": "completed", "tool_calls": "completed", "length": "max_output_tokens"}
_TERMINAL = ("response.completed", "response.incomplete", "response.failed")
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
_ARGUMENTS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")


class ResponsesRenderer:
    """Spell one response: items open, grow and close one after the other.

    Parameters
    ----------
    request : ModelRequest
        What is answered.
    number : int
        Makes the reply's id.
    """

    def __init__(self, request: ModelRequest, number: int) -> None:
        self._number = number
        self._sequence = 0
        self._head: dict[str, Any] = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": int(time.time()),
            "model": request.model,
        }
        self._done: list[dict[str, Any]] = []
        self._open: tuple[str, int] | None = None
        self._item: dict[str, Any] = {}
        self._text = ""

    def opening(self, usage: Mapping[str, Any] | None = None) -> bytes:
        """Return the events before the first item."""
        begun = {**self._head, "status": "in_progress", "output": [], "usage": None}
        return self._say("response.created", response=begun) + self._say(
            "response.in_progress", response=begun
        )

    def piece(self, piece: Piece) -> bytes:
        """Return the events of one piece."""
        frames = b""
        if self._open != (piece.kind, piece.index):
            frames = self._close() + self._begin(piece)
        if not piece.text and piece.kind == "tool":
            return frames
        self._text += piece.text
        at = {"item_id": self._item["id"], "output_index": len(self._done)}
        if piece.kind == "tool":
            return frames + self._say("response.function_call_arguments.delta", **at, delta=piece.text)
        if piece.kind == "reasoning":
            kind = "response.reasoning_summary_text.delta"
            return frames + self._say(kind, **at, summary_index=0, delta=piece.text)
        return frames + self._say("response.output_text.delta", **at, content_index=0, delta=piece.text)

    def closing(self, finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the events that end the stream."""
        frames = self._close()
        response = self._response(self._done, finish, usage)
        return frames + self._say(f"response.{response['status']}", response=response)

    def body(self, pieces: Sequence[Piece], finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the reply to a request that does not stream."""
        for piece in pieces:
            self.piece(piece)
        self._close()
        return encode(self._response(self._done, finish, usage))

    def _response(
        self, output: Sequence[Mapping[str, Any]], finish: str, usage: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        whole = finish == "completed"
        return {
            **self._head,
            "status": "completed" if whole else "incomplete",
            "incomplete_details": None if whole else {"reason": finish},
            "error": None,
            "output": list(output),
            "usage": None if usage is None else dict(usage),
        }

    def _begin(self, piece: Piece) -> bytes:
        index = len(self._done)
        self._open, self._text = (piece.kind, piece.index), ""
        self._item = {"id": f"item_{self._number}_{index}", **_empty(piece)}
        frames = self._say("response.output_item.added", output_index=index, item=self._item)
        at = {"item_id": self._item["id"], "output_index": index}
        if piece.kind == "text":
            part = {"type": "output_text", "text": "", "annotations": []}
            frames += self._say("response.content_part.added", **at, content_index=0, part=part)
        elif piece.kind == "reasoning":
            part = {"type": "summary_text", "text": ""}
            frames += self._say("response.reasoning_summary_part.added", **at, summary_index=0, part=part)
        return frames

    def _close(self) -> bytes:
        """End the item that is open."""
        if self._open is None:
            return b""
        index, item, text = len(self._done), self._item, self._text
        at = {"item_id": item["id"], "output_index": index}
        if self._open[0] == "text":
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {**item, "status": "completed", "content": [part]}
            frames = self._say("response.output_text.done", **at, content_index=0, text=text)
            frames += self._say("response.content_part.done", **at, content_index=0, part=part)
        elif self._open[0] == "reasoning":
            part = {"type": "summary_text", "text": text}
            item = {**item, "summary": [part]}
            frames = self._say("response.reasoning_summary_text.done", **at, summary_index=0, text=text)
            frames += self._say("response.reasoning_summary_part.done", **at, summary_index=0, part=part)
        else:
            item = {**item, "status": "completed", "arguments": text}
            frames = self._say("response.function_call_arguments.done", **at, arguments=text)
        frames += self._say("response.output_item.done", output_index=index, item=item)
        self._done.append(item)
        self._open = None
        return frames

    def _say(self, kind: str, **fields: Any) -> bytes:  # noqa: ANN401
        self._sequence += 1
        return named_frame({"type": kind, "sequence_number": self._sequence - 1, **fields})


def _empty(piece: Piece) -> dict[str, Any]:
    """Return an item before its content."""
    if piece.kind == "text":
        return {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
    if piece.kind == "reasoning":
        return {"type": "reasoning", "summary": []}
    call_id, name = piece.call or ("", "")
    return {
        "type": "function_call",
        "status": "in_progress",
        "call_id": call_id,
        "name": name,
        "arguments": "",
    }


class ResponsesReader:
    """Read a response of a provider, streamed or whole.

    Attributes
    ----------
    terminal_seen : bool
        Whether the reply said that it is over.
    finish : str or None
        ``"completed"``, why it is incomplete, or ``"failed"``.
    model : str or None
        That answered, as the provider names it.
    usage : object
        The ``usage`` object as it was spelled; None: none came.
    error, malformed : bool
        Whether an error, or data that is no JSON object, was met.
    """

    def __init__(self) -> None:
        self.terminal_seen = False
        self.finish: str | None = None
        self.model: str | None = None
        self.usage: object = None
        self.error = False
        self.malformed = False
        self._calls: dict[int, int] = {}
        self._heard: set[int] = set()

    def event(self, data: bytes) -> tuple[list[Piece], bool]:
        """Read the data of one event."""
        if data.strip() == b"[DONE]":  # some providers copy it from chat
            return [], False
        said = self._object(data)
        kind = text_or_none(said.get("type"))
        if kind == "response.created":
            self.model = text_or_none(mapping(said.get("response")).get("model"))
        if kind in _TERMINAL:
            self._end(mapping(said.get("response")), str(kind).partition(".")[2])
            return [], False
        if kind == "error":
            self.error = True
        index, delta = _index(said.get("output_index")), said.get("delta")
        if kind in _DELTAS and isinstance(delta, str):
            self._heard.add(index)
            return [Piece(cast("Any", _DELTAS[str(kind)]), delta)], False
        if kind in _ARGUMENTS and isinstance(delta, str):
            self._heard.add(index)
            return [Piece("tool", delta, self._call(index))], False
        item = mapping(said.get("item"))
        if kind == "response.output_item.added" and "call_id" in item:
            return [Piece("tool", "", self._call(index), _named(item))], False
        if kind == "response.output_item.done" and index not in self._heard:
            return self._whole_item(index, item), False
        return [], False

    def whole(self, data: bytes) -> list[Piece]:
        """Read a reply that was not streamed."""
        response = self._object(data)
        status = text_or_none(response.get("status"))
        if status in ("completed", "incomplete", "failed"):
            self._end(response, status)
        return [
            p for at, item in enumerate(dicts(response.get("output"))) for p in self._whole_item(at, item)
        ]

    def _object(self, data: bytes) -> dict[str, Any]:
        said = object_or_none(data)
        if said is None:
            self.malformed = True
            return {}
        self.error = self.error or said.get("error") is not None
        return said

    def _end(self, response: Mapping[str, Any], status: str) -> None:
        reason = text_or_none(mapping(response.get("incomplete_details")).get("reason"))
        self.finish = reason if status == "incomplete" and reason else status
        self.terminal_seen = True
        self.model = text_or_none(response.get("model")) or self.model
        self.error = self.error or status == "failed"
        self.usage = response.get("usage")

    def _call(self, index: int) -> int:
        """Number the calls of a reply from 0."""
        return self._calls.setdefault(index, len(self._calls))

    def _whole_item(self, index: int, item: Mapping[str, Any]) -> list[Piece]:
        """Return the pieces of an item whose parts were not streamed."""
        if "call_id" in item:
            known = index in self._calls
            arguments = text_or_none(item.get("arguments")) or text_or_none(item.get("input")) or ""
            return [Piece("tool", arguments, self._call(index), None if known else _named(item))]
        kind = "reasoning" if item.get("type") == "reasoning" else "text"
        parts = dicts(item.get("summary" if kind == "reasoning" else "content"))
        texts = [text for part in parts if (text := part.get("text", part.get("refusal")))]
        return [Piece(kind, text) for text in texts if isinstance(text, str)]


def _index(value: object) -> int:
    return value if isinstance(value, int) else -1


def _named(item: Mapping[str, Any]) -> tuple[str, str]:
    return str(item.get("call_id")), str(item.get("name", item.get("type")))
