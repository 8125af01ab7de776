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
from .checks import given, number

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

    Examples
    --------
    >>> from agentlab.gateway.canonical import canonical
    >>> list(openai_rule(canonical([], ["x" * 5000], [])))
    [1024, 1152]
    """
    return range(1024, prompt.n_tokens + 1, 128)


_RULES: dict[str, Rule] = {"openai": openai_rule}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PromptCache:
    """Describe the prompt cache of a scripted model.

    Parameters
    ----------
    rule : str or callable
        ``"openai"``, or a function of an importable module (or its name, ``"module:function"``) that takes
        the prompt (:class:`~agentlab.gateway.canonical.Canonical`) and returns the ascending prefix lengths
        in tokens at which it may be cached.
    scope : {"run", "arm", "study"}
        What shares a cache. With ``"run"`` every run starts cold, so runs stay independent.
    lifetime_s : float, default 300
        Seconds without use after which a prefix is forgotten.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> PromptCache(scope="arm").lifetime_s
    300.0
    """

    rule: str = "openai"
    scope: Scope = "run"
    lifetime_s: float = 300.0

    def __post_init__(self) -> None:
        rule = given(self.rule)
        object.__setattr__(self, "rule", _importable(rule) if callable(rule) else rule)
        module, _, function = str(self.rule).partition(":")
        if self.rule not in _RULES and not (module and function):
            raise ConfigError(
                f"PromptCache(rule={self.rule!r}): write {', '.join(map(repr, _RULES))} or the importable "
                "name 'module:function' of a function that takes a prompt and returns prefix lengths in "
                "tokens"
            )
        if self.scope not in ("run", "arm", "study"):
            raise ConfigError(f"PromptCache(scope={self.scope!r}): write 'run', 'arm' or 'study'")
        number("PromptCache", "lifetime_s", self.lifetime_s, above=True)
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
        try:
            return cls(**data)
        except TypeError as error:
            raise ConfigError(f"PromptCache: {error}") from error

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


def _importable(rule: Callable[..., Any]) -> str:
    """Return ``"module:function"``: the gateway's process has to find it by name."""
    module, name = getattr(rule, "__module__", None), getattr(rule, "__qualname__", "")
    if not module or module == "__main__" or not str(name).isidentifier():
        raise ConfigError(
            f"PromptCache(rule={rule!r}): the gateway's process imports the rule by name, so write it as a "
            "function of a module, not in the notebook or as a lambda"
        )
    return f"{module}:{name}"


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
        self._seen: dict[tuple[str, bytes], float] = {}
        self._sweep_at = 4096

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
        oldest = self._clock() - self._lifetime
        cached = 0
        for boundary, key in self._prefixes(prompt):
            if self._seen.get((namespace, key), float("-inf")) >= oldest:
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
        self._seen.update(((namespace, key), now) for _, key in self._prefixes(prompt))
        if len(self._seen) > self._sweep_at:
            oldest = now - self._lifetime
            self._seen = {key: seen for key, seen in self._seen.items() if seen >= oldest}
            self._sweep_at = max(4096, 2 * len(self._seen))

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
