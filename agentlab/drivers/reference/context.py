"""What the model is told: the conversation so far, and what is taken out of it when it grows too long."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from ...tools import Observation

#: A window that was overrun is cut to this part of it, so that not every request cuts again.
_KEPT = 0.75


@dataclasses.dataclass(frozen=True)
class User:
    """A prompt."""

    text: str


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A call as the model spelled it; ``arguments`` may be no JSON."""

    id: str
    name: str
    arguments: str


@dataclasses.dataclass(frozen=True)
class Assistant:
    """A reply."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclasses.dataclass(frozen=True)
class Result:
    """The observation of a call."""

    call: ToolCall
    seen: Observation
    taken_out: bool = False

    @property
    def text(self) -> str:
        """What the model reads."""
        if not self.taken_out:
            return self.seen.content
        again = "" if self.seen.name is None else f" The whole: query(observation={self.seen.name!r})."
        return f"[taken out of the context: {self.seen.n_chars} characters of {self.call.name}.{again}]"


Item = User | Assistant | Result


@dataclasses.dataclass(frozen=True)
class Cut:
    """Say what was taken out of the context before one request."""

    n_observations: int
    n_chars: int
    before_tokens: int
    after_tokens: int


class Context:
    """Hold the conversation.

    Parameters
    ----------
    window_tokens : int or None
        None: it only grows.
    """

    def __init__(self, window_tokens: int | None) -> None:
        self.items: list[Item] = []
        self._window = window_tokens

    def fit(self, size: Callable[[Sequence[Item]], int]) -> Cut | None:
        """Take the oldest observations out until the context fits; those of the last reply stay.

        Parameters
        ----------
        size : callable
            Tokens of a request that says these items.

        Returns
        -------
        Cut or None
            None: it fits, or nothing is left to take out.
        """
        before = size(self.items)
        if self._window is None or before <= self._window:
            return None
        last = max((i for i, item in enumerate(self.items) if isinstance(item, Assistant)), default=0)
        n, n_chars, after = 0, 0, before
        for index, item in enumerate(self.items[:last]):
            if after <= self._window * _KEPT:
                break
            if not isinstance(item, Result) or item.taken_out:
                continue
            shorter = dataclasses.replace(item, taken_out=True)
            if len(shorter.text) >= len(item.text):
                continue
            self.items[index] = shorter
            n, n_chars, after = n + 1, n_chars + len(item.text) - len(shorter.text), size(self.items)
        return Cut(n, n_chars, before, after) if n else None
