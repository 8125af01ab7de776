"""How many tokens an input can have, said before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dialects.base import ModelRequest

#: Tokens that a provider adds and no byte shows: its own words on the use of tools, on dates, on roles.
UNSEEN = 1_000
#: What lets a provider leave a part of the input out: a count by other rules says nothing.
_RULES = ("truncation", "context_management")

#: The beginnings of a prompt, each part longer: which one, and its length in bytes.
Beginnings = list[tuple[int, int]]


def beginnings(request: ModelRequest) -> Beginnings:
    """Name the beginnings of a prompt: its tools, its tools and system text, and so on by each message.

    Parameters
    ----------
    request : ModelRequest
        What is asked.

    Returns
    -------
    list of tuple of (int, int)
        The last one is the whole prompt.
    """
    key, size = hash((request.model, *(str(request.body.get(rule)) for rule in _RULES))), 0
    found: Beginnings = []
    for segment in request.canonical.segments:
        key, size = hash((key, segment.hash)), size + segment.n_bytes
        found.append((key, size))
    return found


class Inputs:
    """Know what prompts were counted, and bound by it those that begin like them.

    No tokenizer makes more than one token of a byte, and none counts more for the beginning of a prompt than
    for the whole. So a prompt that begins as one that was counted has at most that count, and one token for
    each byte of the rest: true of any text, however dense, and close where an agent appends to its history.
    """

    def __init__(self) -> None:
        self._counted: dict[int, int] = {}

    def most(self, found: Beginnings, n_bytes: int) -> int:
        """Return the most tokens that a prompt can have, without those that no byte shows.

        Parameters
        ----------
        found : list of tuple of (int, int)
            Its beginnings.
        n_bytes : int
            Of the whole request.

        Returns
        -------
        int
            ``n_bytes`` if none of them was counted.
        """
        counted = self._counted
        bounds = (counted[key] + max(0, n_bytes - size) for key, size in found if key in counted)
        return min(n_bytes, min(bounds, default=n_bytes))

    def learn(self, found: Beginnings, n_tokens: int) -> None:
        """Note what the provider counted.

        Parameters
        ----------
        found : list of tuple of (int, int)
            Beginnings of the prompt.
        n_tokens : int
            Of the whole input.
        """
        # What comes next begins with the whole of it; what another session asks, with its tools and system.
        for key, _ in (*found[:2], found[-1]):
            self._counted[key] = min(n_tokens, self._counted.get(key, n_tokens))
