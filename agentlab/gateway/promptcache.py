"""A prompt cache that works on the bytes an agent really sent: what a provider's rule would have served.

A *rule* names the prefix lengths, in tokens, at which a prompt may be cached. The store remembers a hash of
the prefix at each of them, so its memory is small and looking up costs one pass over the prompt. Anthropic's
rule is of another kind, since requests mark themselves what is cached: :mod:`agentlab.gateway.breakpoints`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from ..errors import ConfigError
from .breakpoints import BreakpointStore
from .cacherules import RULES, Rule
from .canonical import BYTES_PER_TOKEN, Canonical
from .checks import given, number
from .dialects.base import CacheUse, ModelRequest

Scope = Literal["run", "arm", "study"]
_BREAKPOINTS = "anthropic"


class Cache(Protocol):
    """What a scripted model asks about each prompt."""

    def serve(self, namespace: str, request: ModelRequest) -> CacheUse:
        """Say what of a prompt is read from the cache, and what is written to it."""
        ...

    def store(self, namespace: str, request: ModelRequest) -> None:
        """Store a prompt that the model has read."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class PromptCache:
    """Describe the prompt cache of a scripted model.

    Parameters
    ----------
    rule : {"openai", "anthropic", "deepseek", "gemini"} or callable
        One provider's rule, whatever the wire: agents are compared on equal terms unless one asks otherwise.
        ``"anthropic"`` caches only what a request marks, which only the messages wire can
        (:class:`~agentlab.gateway.breakpoints.BreakpointStore`); for the others see
        :mod:`agentlab.gateway.cacherules`. Or a function of an importable module (or its name,
        ``"module:function"``) that takes the prompt (:class:`~agentlab.gateway.canonical.Canonical`) and
        returns the ascending prefix lengths in tokens at which it may be cached.
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
        names = (*RULES, _BREAKPOINTS)
        if self.rule not in names and not (module and function):
            raise ConfigError(
                f"PromptCache(rule={self.rule!r}): write {', '.join(map(repr, names))} or the importable "
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

    def open(self) -> Cache:
        """Return an empty cache that follows these settings.

        Returns
        -------
        Cache

        Raises
        ------
        ConfigError
            The rule's function cannot be imported.
        """
        if self.rule == _BREAKPOINTS:
            return BreakpointStore(lifetime_s=self.lifetime_s)
        return PrefixStore(self._load(), lifetime_s=self.lifetime_s)

    def _load(self) -> Rule:
        if self.rule in RULES:
            return RULES[self.rule]
        module, _, function = self.rule.partition(":")
        try:
            rule = getattr(import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"PromptCache(rule={self.rule!r}): {error}") from error
        if not callable(rule):
            raise ConfigError(f"PromptCache(rule={self.rule!r}): {function} is not a function")
        own = cast("Callable[[Canonical], Iterable[int]]", rule)
        return lambda prompt, model: own(prompt)


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
        Boundaries of a prompt, in tokens; takes the prompt and the model's id.
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

    def serve(self, namespace: str, request: ModelRequest) -> CacheUse:
        """Say what of a prompt is read from the cache; these providers bill nothing for writing.

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
        return CacheUse(self.lookup(namespace, request.canonical, request.model))

    def store(self, namespace: str, request: ModelRequest) -> None:
        """Store a prompt that the model has read.

        Parameters
        ----------
        namespace : str
            As for :meth:`serve`.
        request : ModelRequest
            What was asked.
        """
        self.remember(namespace, request.canonical, request.model)

    def lookup(self, namespace: str, prompt: Canonical, model: str | None = None) -> int:
        """Return the tokens of the longest prefix that is remembered.

        Parameters
        ----------
        namespace : str
            Only prompts of the same namespace are shared.
        prompt : Canonical
            The prompt that was sent.
        model : str or None
            To which model.

        Returns
        -------
        int
            Tokens; 0 when none is.
        """
        oldest = self._clock() - self._lifetime
        cached = 0
        for boundary, key in self._prefixes(prompt, model):
            if self._seen.get((namespace, key), float("-inf")) >= oldest:
                cached = boundary
        return cached

    def remember(self, namespace: str, prompt: Canonical, model: str | None = None) -> None:
        """Remember a prompt's prefixes; those it shares with earlier ones are used, so they live on.

        Parameters
        ----------
        namespace : str
            As for :meth:`lookup`.
        prompt : Canonical
            The prompt that was read by the model.
        model : str or None
            Which one.
        """
        now = self._clock()
        self._seen.update(((namespace, key), now) for _, key in self._prefixes(prompt, model))
        if len(self._seen) > self._sweep_at:
            oldest = now - self._lifetime
            self._seen = {key: seen for key, seen in self._seen.items() if seen >= oldest}
            self._sweep_at = max(4096, 2 * len(self._seen))

    def _prefixes(self, prompt: Canonical, model: str | None) -> Iterator[tuple[int, bytes]]:
        """Yield each boundary with a hash of the bytes before it."""
        running, done = hashlib.sha256(), 0
        for boundary in self._rule(prompt, model):
            end = boundary * BYTES_PER_TOKEN
            if boundary > prompt.n_tokens or end < done:
                raise ConfigError(
                    f"the cache rule gave the boundary {boundary} for a prompt of {prompt.n_tokens} tokens: "
                    "boundaries ascend and end with the prompt"
                )
            running.update(prompt.data[done:end])
            done = end
            yield boundary, running.copy().digest()
