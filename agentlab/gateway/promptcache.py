"""A prompt cache that works on the bytes an agent really sent: what a provider's rule would have served.

A *rule* names the prefix lengths, in tokens, at which a prompt may be cached. The store remembers a hash of
the prefix at each of them, so its memory is small and looking up costs one pass over the prompt.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, Literal, cast

from ..errors import ConfigError
from .canonical import BYTES_PER_TOKEN, Canonical

#: A rule: the ascending prefix lengths in tokens at which this prompt may be cached.
Rule = Callable[[Canonical], Iterable[int]]
Scope = Literal["run", "arm", "study"]


def openai_rule(prompt: Canonical) -> Iterable[int]:
    """Return OpenAI's boundaries: from 1,024 tokens, in steps of 128.

    Source: OpenAI, *Prompt caching* guide. The lifetime is the cache's own setting; the guide names 5 to 10
    minutes without use.

    Parameters
    ----------
    prompt : Canonical
        The prompt.

    Returns
    -------
    iterable of int
        Tokens, ascending.
    """
    return range(1024, prompt.n_tokens + 1, 128)


_RULES: dict[str, Rule] = {"openai": openai_rule}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PromptCache:
    """Describe the prompt cache of a scripted model.

    Parameters
    ----------
    rule : str
        ``"openai"``, or ``"module:function"``, a function that takes the prompt
        (:class:`~agentlab.gateway.canonical.Canonical`) and returns the ascending prefix lengths in tokens
        at which it may be cached.
    scope : {"run", "arm", "study"}
        What shares a cache. With ``"run"`` every run starts cold, so runs stay independent.
    lifetime_s : float, default 300
        Seconds without use after which a prefix is forgotten.

    Examples
    --------
    >>> PromptCache(scope="arm").lifetime_s
    300.0
    """

    rule: str = "openai"
    scope: Scope = "run"
    lifetime_s: float = 300.0

    def __post_init__(self) -> None:
        module, colon, function = str(self.rule).partition(":")
        if not isinstance(self.rule, str) or not (self.rule in _RULES or (colon and module and function)):
            raise ConfigError(
                f"PromptCache(rule={self.rule!r}): write {', '.join(map(repr, _RULES))} or the importable name "
                "'module:function' of a function that takes a prompt and returns prefix lengths in tokens"
            )
        if self.scope not in ("run", "arm", "study"):
            raise ConfigError(f"PromptCache(scope={self.scope!r}): write 'run', 'arm' or 'study'")
        if isinstance(self.lifetime_s, bool) or not isinstance(self.lifetime_s, (int, float)):
            raise ConfigError(f"PromptCache(lifetime_s={self.lifetime_s!r}): give a number of seconds")
        if not 0 < self.lifetime_s < float("inf"):
            raise ConfigError(f"PromptCache(lifetime_s={self.lifetime_s!r}): give seconds above 0")
        object.__setattr__(self, "lifetime_s", float(self.lifetime_s))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON data.

        Returns
        -------
        dict
        """
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PromptCache:
        """Rebuild the settings from :meth:`to_dict`.

        Parameters
        ----------
        data : dict
            Plain data.

        Returns
        -------
        PromptCache
        """
        return cls(**data)

    def load_rule(self) -> Rule:
        """Return the rule's function.

        Returns
        -------
        callable
            See ``rule``.

        Raises
        ------
        ConfigError
            The function cannot be imported.
        """
        if self.rule in _RULES:
            return _RULES[self.rule]
        module, _, function = self.rule.partition(":")
        try:
            rule = getattr(import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"PromptCache(rule={self.rule!r}): {error}") from error
        if not callable(rule):
            raise ConfigError(f"PromptCache(rule={self.rule!r}): {function} is not a function")
        return cast("Rule", rule)


class PrefixStore:
    """Remember the prefixes of prompts.

    Parameters
    ----------
    rule : callable
        Boundaries of a prompt, in tokens.
    lifetime_s : float
        Seconds without use after which a prefix is forgotten.
    clock : callable
        Seconds, monotonic.
    """

    def __init__(
        self, rule: Rule, *, lifetime_s: float = 300.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rule = rule
        self._lifetime = lifetime_s
        self._clock = clock
        self._seen: dict[str, dict[bytes, float]] = {}

    def lookup(self, namespace: str, prompt: Canonical) -> int:
        """Return the tokens of the longest prefix that is remembered.

        Parameters
        ----------
        namespace : str
            Only prompts of the same namespace are shared.
        prompt : Canonical
            The prompt that was sent.

        Returns
        -------
        int
            Tokens; 0 when none is.
        """
        seen = self._seen.get(namespace)
        if not seen:
            return 0
        oldest = self._clock() - self._lifetime
        cached = 0
        for boundary, key in self._prefixes(prompt):
            if seen.get(key, float("-inf")) >= oldest:
                cached = boundary
        return cached

    def remember(self, namespace: str, prompt: Canonical) -> None:
        """Remember a prompt's prefixes; those it shares with earlier ones are used, so they live on.

        Parameters
        ----------
        namespace : str
            As for :meth:`lookup`.
        prompt : Canonical
            The prompt that was read by the model.
        """
        now = self._clock()
        seen = self._seen.setdefault(namespace, {})
        seen.update((key, now) for _, key in self._prefixes(prompt))
        oldest = now - self._lifetime
        for other in list(self._seen):
            if other != namespace and max(self._seen[other].values(), default=now) < oldest:
                del self._seen[other]

    def _prefixes(self, prompt: Canonical) -> Iterator[tuple[int, bytes]]:
        """Yield each boundary with a hash of the bytes before it."""
        running, done = hashlib.sha256(), 0
        for boundary in self._rule(prompt):
            end = boundary * BYTES_PER_TOKEN
            if boundary > prompt.n_tokens or end < done:
                raise ConfigError(
                    f"the cache rule gave the boundary {boundary} for a prompt of {prompt.n_tokens} tokens: "
                    "boundaries ascend and end with the prompt"
                )
            running.update(prompt.data[done:end])
            done = end
            yield boundary, running.copy().digest()
