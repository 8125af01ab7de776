"""Anthropic's prompt cache: the request itself marks what is cached."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence

from .canonical import tokens
from .dialects.base import Block, CacheUse, ModelRequest

_MAX_MARKS = 4
_LOOKBACK = 20
_HOUR_S = 3600
# Smallest prompts that are cached, by the model's family; the first that is found in its id counts.
_MINIMUMS = (
    (r"(opus|fable|mythos)-5", 512),
    (r"opus-4-7|haiku-3|3-5-haiku|3-haiku", 2048),
    (r"opus-4-[56]|haiku-4-5", 4096),
)
_DEFAULT_MINIMUM = 1024


def smallest(model: str | None) -> int:
    """Return the smallest prompt that is cached.

    Source: as for :class:`BreakpointStore`: 512 tokens for Opus 5, 1,024 for Sonnet 3.7 to 5, Opus 4, 4.1
    and 4.8, 2,048 for Opus 4.7 and Haiku 3 and 3.5, 4,096 for Opus 4.5 and 4.6 and Haiku 4.5.

    Parameters
    ----------
    model : str or None
        Its id; one that is not known counts 1,024.

    Returns
    -------
    int
        Tokens.

    Examples
    --------
    >>> smallest("claude-sonnet-4-5"), smallest("claude-haiku-4-5-20251001")
    (1024, 4096)
    """
    name = (model or "").replace(".", "-")
    return next((size for family, size in _MINIMUMS if re.search(family, name)), _DEFAULT_MINIMUM)


class BreakpointStore:
    """Remember the prefixes that requests marked with ``cache_control``.

    Source: Anthropic, *Prompt caching* guide (2026). A prefix is stored at each of at most 4 marks, for
    5 minutes or 1 hour without use; each mark is looked up at its own block and the 19 before it; what is
    shorter than the model's smallest prompt is not cached. Read counts up to the longest prefix that is
    found, written from there to the last mark (the part up to the last mark of an hour at that price), and
    the rest is plain input. A request without marks (other wires have none) is not cached.

    Parameters
    ----------
    lifetime_s : float, default 300
        Of marks without a lifetime of one hour; those live 12 times as long.
    clock : callable
        Seconds, monotonic.
    """

    def __init__(self, *, lifetime_s: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._lifetime = lifetime_s
        self._clock = clock
        self._until: dict[tuple[str, bytes], tuple[float, float]] = {}
        self._sweep_at = 4096

    def serve(self, namespace: str, request: ModelRequest) -> CacheUse:
        """Say what of a prompt is read from the cache, and what is written to it.

        Parameters
        ----------
        namespace : str
            Only prompts of the same namespace are shared.
        request : ModelRequest
            What was asked.

        Returns
        -------
        CacheUse
        """
        marks = _marks(request)
        if not marks:
            return CacheUse()
        now = self._clock()
        read = 0
        for end, key in self._keys(request, _looked_up(request.blocks(), marks)):
            if self._until.get((namespace, key), (0.0, 0.0))[0] >= now:
                read = max(read, end)
        last = marks[-1].end
        hour = max((mark.end for mark in marks if mark.lifetime_s == _HOUR_S), default=0)
        in_tokens = [tokens(end) for end in (read, max(read, hour), max(read, last))]
        return CacheUse(in_tokens[0], in_tokens[2] - in_tokens[0], in_tokens[1] - in_tokens[0])

    def store(self, namespace: str, request: ModelRequest) -> None:
        """Store a prompt at its marks; what was read lives on.

        Parameters
        ----------
        namespace : str
            As for :meth:`serve`.
        request : ModelRequest
            What the model has read.
        """
        now = self._clock()
        marks = _marks(request)
        for _, key in self._keys(request, _looked_up(request.blocks(), marks)):
            until, lifetime = self._until.get((namespace, key), (0.0, 0.0))
            if until >= now:
                self._until[namespace, key] = (now + lifetime, lifetime)
        for mark, (_, key) in zip(marks, self._keys(request, [mark.end for mark in marks]), strict=True):
            lifetime = self._lifetime * (12 if mark.lifetime_s == _HOUR_S else 1)
            self._until[namespace, key] = (now + lifetime, lifetime)
        if len(self._until) > self._sweep_at:
            self._until = {key: value for key, value in self._until.items() if value[0] >= now}
            self._sweep_at = max(4096, 2 * len(self._until))

    @staticmethod
    def _keys(request: ModelRequest, ends: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield each offset with a hash of the bytes before it."""
        running, done = hashlib.sha256(), 0
        for end in ends:
            running.update(request.canonical.data[done:end])
            done = end
            yield end, running.copy().digest()


def _marks(request: ModelRequest) -> list[Block]:
    """Return the marked blocks that are long enough; the provider refuses more than four."""
    least = smallest(request.model)
    marked = [block for block in request.blocks() if block.lifetime_s is not None][:_MAX_MARKS]
    return [block for block in marked if tokens(block.end) >= least]


def _looked_up(blocks: Sequence[Block], marks: Sequence[Block]) -> list[int]:
    """Return where prefixes are looked for, ascending."""
    ends = [block.end for block in blocks]
    found: set[int] = set()
    for mark in marks:
        at = ends.index(mark.end) + 1
        found.update(ends[max(0, at - _LOOKBACK) : at])
    return sorted(found)
