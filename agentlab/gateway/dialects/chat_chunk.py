"""The usual chunk of a chat stream, read in one step: one choice that holds text or reasoning and no more.

It is nine of ten chunks of a stream. Any other (a tool call, usage, an error, the end, odd data) is left to
the reader that takes all.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Piece


class _Delta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    role: Any = msgspec.UNSET


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    finish_reason: None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: tuple[_Choice]
    usage: None = None
    error: None = None


_decode = msgspec.json.Decoder(_Chunk).decode


def read_text(data: bytes) -> list[Piece] | None:
    """Read a chunk, if it is a usual one.

    Parameters
    ----------
    data : bytes
        Of the event.

    Returns
    -------
    list of Piece or None
        None: it is not.

    Examples
    --------
    >>> read_text(b'{"choices": [{"delta": {"content": "a"}}]}')
    [Piece(kind='text', text='a', index=0, call=None)]
    >>> read_text(b'{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}') is None
    True
    """
    try:
        delta = _decode(data).choices[0].delta
    except (msgspec.DecodeError, RecursionError):
        return None
    # The chunk that opens a reply holds only the role; an empty text in it is no piece.
    opens = delta.role is not msgspec.UNSET
    pieces: list[Piece] = []
    for thought in (delta.reasoning_content, delta.reasoning):
        if thought or (thought is not None and not opens):
            pieces.append(Piece("reasoning", thought))
            break
    if delta.content or (delta.content is not None and not opens):
        pieces.append(Piece("text", delta.content))
    return pieces
