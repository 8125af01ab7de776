"""Replies of Gemini: spelling one, and reading one.

Each event is a whole reply with the parts that are new; a function call is never cut. The stream has no end
marker: the reply is over when a candidate says its ``finishReason``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..canonical import encode
from .base import ModelRequest, Piece
from .body import arguments_of, dicts, json_or_none, mapping, object_or_none, text_or_none

#: A step's reason of the end, as this wire says it.
FINISHES = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_OUTPUT = ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount", "candidatesTokensDetails")


def frame(data: Mapping[str, Any]) -> bytes:
    """Return one frame of an event stream.

    Google escapes U+2028 and U+2029 in its JSON; a bare one breaks the frame for the SDK of Gemini CLI.

    Parameters
    ----------
    data : mapping
        JSON data.

    Returns
    -------
    bytes
    """
    line = encode(data).replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029")
    return b"data: " + line + b"\r\n\r\n"


class GeminiRenderer:
    """Spell one reply.

    Parameters
    ----------
    request : ModelRequest
        What is answered.
    number : int
        Makes the reply's id.
    """

    def __init__(self, request: ModelRequest, number: int) -> None:
        self._head = {"modelVersion": request.model, "responseId": f"resp-{number}"}
        self._input: dict[str, Any] = {}

    def opening(self, usage: Mapping[str, Any] | None = None) -> bytes:
        """Return nothing: this wire begins with its first part."""
        known = {} if usage is None else {k: v for k, v in usage.items() if k not in _OUTPUT}
        self._input = {"usageMetadata": known} if known else {}
        return b""

    def piece(self, piece: Piece) -> bytes:
        """Return the event of one piece."""
        return frame({**self._candidate([_part(piece)], None), **self._input, **self._head})

    def closing(self, finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the event that ends the reply."""
        ended = self._candidate([{"text": ""}], finish)
        return frame({**ended, **({} if usage is None else {"usageMetadata": dict(usage)}), **self._head})

    def body(self, pieces: Sequence[Piece], finish: str, usage: Mapping[str, Any] | None) -> bytes:
        """Return the reply to a request that does not stream."""
        joined: list[Piece] = []
        for piece in pieces:
            if joined and piece.kind != "tool" and joined[-1].kind == piece.kind:
                piece = Piece(piece.kind, joined.pop().text + piece.text)
            joined.append(piece)
        reply = {**self._candidate([_part(piece) for piece in joined], finish), **self._head}
        return encode(reply if usage is None else {**reply, "usageMetadata": dict(usage)})

    def _candidate(self, parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        return {"candidates": [candidate]}


def _part(piece: Piece) -> dict[str, Any]:
    if piece.kind == "text":
        return {"text": piece.text}
    if piece.kind == "reasoning":
        return {"text": piece.text, "thought": True}
    call_id, name = piece.call or ("", "")
    return {"functionCall": {"id": call_id, "name": name, "args": arguments_of(piece.text)}}


class GeminiReader:
    """Read a reply of a provider, streamed or whole.

    Attributes
    ----------
    terminal_seen : bool
        Whether a candidate said that it is over.
    finish : str or None
        The ``finishReason``, or why the prompt was blocked.
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
        self._n_calls = 0

    @property
    def usage(self) -> object:
        """The ``usageMetadata`` object as it was spelled last; None: none came.

        Before the end its counts of output are those of a part: they are left out.
        """
        if self.terminal_seen:
            return self._usage or None
        return {key: value for key, value in self._usage.items() if key not in _OUTPUT} or None

    def event(self, data: bytes) -> tuple[list[Piece], bool]:
        """Read the data of one event."""
        said = object_or_none(data)
        if said is None:
            self.malformed = True
            return [], False
        return self._reply(said), False

    def whole(self, data: bytes) -> list[Piece]:
        """Read a reply that was not streamed, or streamed as one JSON list."""
        said = json_or_none(data)
        replies = dicts(said) if isinstance(said, list) else [mapping(said)]
        self.malformed = not any(replies)
        return [piece for reply in replies for piece in self._reply(reply)]

    def _reply(self, said: Mapping[str, Any]) -> list[Piece]:
        self.error = self.error or said.get("error") is not None
        self.model = text_or_none(said.get("modelVersion")) or self.model
        self._usage = mapping(said.get("usageMetadata")) or self._usage
        blocked = text_or_none(mapping(said.get("promptFeedback")).get("blockReason"))
        if blocked is not None:
            self.finish, self.terminal_seen = blocked, True
        pieces: list[Piece] = []
        for candidate in dicts(said.get("candidates")):
            for part in dicts(mapping(candidate.get("content")).get("parts")):
                pieces += self._part(part)
            finish = text_or_none(candidate.get("finishReason"))
            if finish is not None and finish != "FINISH_REASON_UNSPECIFIED":
                self.finish, self.terminal_seen = finish, True
        return pieces

    def _part(self, part: Mapping[str, Any]) -> list[Piece]:
        call = mapping(part.get("functionCall"))
        if call:
            self._n_calls += 1
            arguments = encode(call.get("args", {})).decode("utf-8", "surrogatepass")
            named = (str(call.get("id")), str(call.get("name")))
            return [Piece("tool", arguments, self._n_calls - 1, named)]
        text = part.get("text")
        if not isinstance(text, str) or not text:  # the last event often holds only the end
            return []
        return [Piece("reasoning" if part.get("thought") is True else "text", text)]
