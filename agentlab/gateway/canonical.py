"""The canonical prompt: what a provider's cache would see, as bytes, and how two of them compare.

Compact UTF-8 JSON of ``[tools, system, history]`` in the provider's order, keys in the order that was sent,
without cache markers and **without the two closing brackets**: a longer prompt that only appends then begins
with exactly the bytes of the shorter one.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Sequence
from typing import Any

#: One token of the scripted model and of the prompt cache, in UTF-8 bytes.
BYTES_PER_TOKEN = 4


def tokens(n_bytes: int) -> int:
    """Return the tokens of a text: ceil(UTF-8 bytes / 4).

    Parameters
    ----------
    n_bytes : int
        Length in bytes.

    Returns
    -------
    int

    Examples
    --------
    >>> tokens(0), tokens(4), tokens(5)
    (0, 1, 2)
    """
    return -(-n_bytes // BYTES_PER_TOKEN)


def encode(value: Any) -> bytes:  # noqa: ANN401
    """Return compact JSON as UTF-8; lone surrogates, which agents do send, are kept.

    Parameters
    ----------
    value : JSON data
        Anything decoded from JSON.

    Returns
    -------
    bytes
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def short_hash(data: bytes) -> str:
    """Return 16 hexadecimal digits of SHA-256.

    Parameters
    ----------
    data : bytes
        What to hash.

    Returns
    -------
    str
    """
    return hashlib.sha256(data).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Segment:
    """Name one part of the canonical prompt.

    Parameters
    ----------
    name : {"tools", "system", "message"}
        Which part.
    hash : str
        16 hexadecimal digits.
    n_bytes : int
        Length of its JSON in bytes.
    """

    name: str
    hash: str
    n_bytes: int


@dataclasses.dataclass(frozen=True)
class Canonical:
    """Hold a canonical prompt.

    Parameters
    ----------
    data : bytes
        See the module.
    segments : tuple of Segment
        ``tools``, ``system``, then one ``message`` each.
    """

    data: bytes
    segments: tuple[Segment, ...]

    @property
    def n_tokens(self) -> int:
        """Tokens of the prompt."""
        return tokens(len(self.data))

    @functools.cached_property
    def hash(self) -> str:
        """16 hexadecimal digits of SHA-256 of the whole."""
        return short_hash(self.data)


def canonical(tools: Sequence[Any], system: Sequence[Any], history: Sequence[Any]) -> Canonical:
    """Build the canonical prompt from parsed JSON.

    Parameters
    ----------
    tools, system, history : sequence of JSON data
        In the provider's spelling, cache markers removed.

    Returns
    -------
    Canonical

    Examples
    --------
    >>> canonical([], ["a"], ["b", "c"]).data
    b'[[],["a"],["b","c"'
    """
    head = [("tools", encode(tools)), ("system", encode(system))]
    messages = [("message", encode(message)) for message in history]
    data = b"[" + b",".join(part for _, part in head) + b",[" + b",".join(part for _, part in messages)
    return Canonical(data, tuple(Segment(n, short_hash(part), len(part)) for n, part in head + messages))


@dataclasses.dataclass(frozen=True)
class Change:
    """Say how a prompt follows the one before it.

    Parameters
    ----------
    prefix_bytes : int
        Shared prefix in bytes; the whole earlier prompt when it was only appended to.
    first_changed : str or None
        ``"tools"``, ``"system"`` or ``"message K"`` (1-based in the history); None when nothing changed.
    append_only : bool
        Whether every earlier segment is still there, unchanged and in place.
    """

    prefix_bytes: int
    first_changed: str | None
    append_only: bool


def compare(before: Canonical, after: Canonical) -> Change:
    """Compare two prompts of one conversation.

    Parameters
    ----------
    before, after : Canonical
        In the order they were sent.

    Returns
    -------
    Change
    """
    changed: str | None = None
    for index, old in enumerate(before.segments):
        if index >= len(after.segments) or after.segments[index] != old:
            changed = old.name if index < 2 else f"message {index - 1}"
            break
    return Change(shared_prefix(before.data, after.data), changed, changed is None)


def shared_prefix(a: bytes, b: bytes) -> int:
    """Return the length of the common prefix, by bisection on slices.

    Parameters
    ----------
    a, b : bytes
        Two prompts.

    Returns
    -------
    int
        In bytes.

    Examples
    --------
    >>> shared_prefix(b"abcd", b"abxd")
    2
    """
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
