"""The canonical prompt: what a provider's cache would see, as bytes (compared in :mod:`.prefix`).

Compact UTF-8 JSON of ``[tools, system, history]`` in the provider's order, keys in the order that was sent,
without cache markers, without the ids of calls and items, and **without the two closing brackets**: a longer
prompt that only appends then begins with exactly the bytes of the shorter one.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

#: One token of the scripted model and of the prompt cache, in UTF-8 bytes.
BYTES_PER_TOKEN = 4
#: Place of the history's first message among the segments.
_HISTORY = 2
_MARKER = "cache_control"
_SMALL = 2_000

K = TypeVar("K")
T = TypeVar("T")


class Recent(Generic[K, T]):
    """Remember what was made of the last values: agents send the same tools with every request.

    Parameters
    ----------
    make : callable
        Makes it; the value alone decides on the result.
    same : callable
        Tells whether two values are the same: ``operator.is_`` for JSON data, of which 1, 1.0 and true are
        equal to Python; ``operator.eq`` for bytes (comparing them takes a fortieth of the time of hashing).
    """

    def __init__(self, make: Callable[[K], T], *, same: Callable[[K, K], bool] = operator.is_) -> None:
        self._make, self._same = make, same
        self._known: deque[tuple[K, T]] = deque(maxlen=16)

    def __call__(self, value: K) -> T:
        """Return what was made of a value, or make it.

        Parameters
        ----------
        value : K
            Kept, so it must not be changed.

        Returns
        -------
        T
        """
        for known, made in self._known:
            if self._same(known, value):
                return made
        made = self._make(value)
        self._known.append((value, made))
        return made


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
    try:
        return _fast().encode(value)
    except UnicodeEncodeError:
        plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return plain.encode("utf-8", "surrogatepass")


def decode(data: bytes, *, parse_constant: Callable[[str], Any] | None = None) -> Any:  # noqa: ANN401
    """Read JSON as :func:`json.loads` does, which is asked only where the faster decoder finds a fault.

    Parameters
    ----------
    data : bytes
        JSON.
    parse_constant : callable, optional
        Given NaN and infinities.

    Returns
    -------
    JSON data

    Raises
    ------
    ValueError, RecursionError
        It is none.

    Examples
    --------
    >>> decode(b'{"a": 1e3}')
    {'a': 1000.0}
    """
    fast = _fast()
    try:
        return fast.decode(data)
    except fast.error:  # a lone surrogate, a byte order mark, NaN, or no JSON
        return json.loads(data, parse_constant=parse_constant)


def decode_object(data: bytes, *, parse_constant: Callable[[str], Any] | None = None) -> Any:  # noqa: ANN401
    """Read JSON as :func:`decode` does; ``tools`` of the same text are the same object.

    Parameters
    ----------
    data : bytes
        JSON, an object most likely.
    parse_constant : callable, optional
        Given NaN and infinities.

    Returns
    -------
    JSON data
        Not to be changed.

    Raises
    ------
    ValueError, RecursionError
        It is none.

    Examples
    --------
    >>> one, other = (decode_object(b'{"tools": ["a"], "n": %d}' % n) for n in (1, 2))
    >>> one["tools"] is other["tools"]
    True
    """
    fast = _fast()
    try:
        parts = fast.split(data)
        return {key: (_tools(bytes(p)) if key == "tools" else fast.decode(p)) for key, p in parts.items()}
    except fast.error:  # no object, or what decode() says more of
        return decode(data, parse_constant=parse_constant)


_tools: Recent[bytes, Any] = Recent(lambda text: _fast().decode(text), same=operator.eq)


class _Fast(NamedTuple):
    encode: Callable[[Any], bytes]
    decode: Callable[[Any], Any]
    split: Callable[[bytes], dict[str, Any]]
    error: type[Exception]


@functools.cache
def _fast() -> _Fast:
    """Load the codec with the first request, not with the settings."""
    import msgspec

    decode, split = msgspec.json.Decoder().decode, msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    return _Fast(msgspec.json.Encoder().encode, decode, split, msgspec.DecodeError)


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


class Segment(NamedTuple):
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


@functools.lru_cache(maxsize=2048)
def _small(name: str, part: bytes) -> Segment:
    return Segment(name, short_hash(part), len(part))


_hash_of_large = Recent(short_hash, same=operator.eq)
_spelled: Recent[Sequence[Any], bytes] = Recent(encode)


def _segment(name: str, part: bytes) -> Segment:
    """Name a part; a history is sent again with every request."""
    return _small(name, part) if len(part) < _SMALL else Segment(name, _hash_of_large(part), len(part))


@dataclasses.dataclass(frozen=True)
class Canonical:
    """Hold a canonical prompt.

    Parameters
    ----------
    data : bytes
        See the module.
    segments : tuple of Segment
        ``tools``, ``system``, then one ``message`` each.
    marks : tuple
        Cache markers of each segment, for a prompt that has any: where they stand and what they say, hashed.
    """

    data: bytes
    segments: tuple[Segment, ...]
    marks: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    @property
    def n_tokens(self) -> int:
        """Tokens of the prompt."""
        return tokens(len(self.data))

    def part(self, index: int) -> bytes:
        """Return the JSON of one segment.

        Parameters
        ----------
        index : int
            Its place in `segments`.

        Returns
        -------
        bytes
        """
        start = 1 + index + (index >= _HISTORY) + sum(s.n_bytes for s in self.segments[:index])
        return self.data[start : start + self.segments[index].n_bytes]

    @functools.cached_property
    def hash(self) -> str:
        """16 hexadecimal digits of SHA-256 of the whole."""
        return short_hash(self.data)


def canonical(
    tools: Sequence[Any], system: Sequence[Any], history: Sequence[Any], *, marks: tuple[str, ...] = ()
) -> Canonical:
    """Build the canonical prompt from parsed JSON.

    Parameters
    ----------
    tools, system, history : sequence of JSON data
        In the provider's spelling, cache markers removed.
    marks : tuple of str
        The markers, see :func:`marks_of`.

    Returns
    -------
    Canonical

    Examples
    --------
    >>> canonical([], ["a"], ["b", "c"]).data
    b'[[],["a"],["b","c"'
    """
    head, messages = [_spelled(tools), encode(system)], _encode_each(history)
    data = b"".join((b"[", head[0], b",", head[1], b",[", b",".join(messages)))
    names = ["tools", "system", *["message"] * len(messages)]
    return Canonical(data, tuple(map(_segment, names, head + messages)), marks)


def _encode_each(items: Sequence[Any]) -> list[bytes]:
    try:
        return [*map(_fast().encode, items)]
    except UnicodeEncodeError:
        return [*map(encode, items)]


def marked(body: bytes) -> bool:
    """Say whether a request can have cache markers.

    Parameters
    ----------
    body : bytes
        As received.

    Returns
    -------
    bool
    """
    return body.rfind(_MARKER.encode()) >= 0  # in half the time of `in`


def marks_of(*segments: Sequence[Any]) -> tuple[str, ...]:
    """Return where each segment of a prompt is marked to be cached, and how, as a short hash each.

    Parameters
    ----------
    *segments : sequence of JSON data
        Items of each segment, markers not removed.

    Returns
    -------
    tuple of str
        One for each segment, empty for one without markers; nothing at all for a prompt without any.

    Examples
    --------
    >>> message = {"role": "user", "content": [{"text": "a", "cache_control": {"type": "ephemeral"}}]}
    >>> [len(mark) for mark in marks_of([], [message])]
    [0, 16]
    """
    marks = [_marks(segment) for segment in segments]
    return tuple(short_hash(encode(mark)) if mark else "" for mark in marks) if any(marks) else ()


def _marks(items: Sequence[Any]) -> list[Any]:
    """Return path and value of the markers, where the wires put them: in an item or one level below it."""
    found: list[Any] = []
    for at, item in enumerate(items):
        if not isinstance(item, Mapping):
            continue
        said = cast("Mapping[str, Any]", item)
        if _MARKER in said:
            found.append([at, said[_MARKER]])
        inner = said.get("content")
        parts = cast("list[Any]", inner) if isinstance(inner, list) else [said.get("function")]
        found += [
            [at, k, cast("Mapping[str, Any]", part)[_MARKER]]
            for k, part in enumerate(parts)
            if isinstance(part, Mapping) and _MARKER in part
        ]
    return found
