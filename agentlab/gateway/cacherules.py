"""Where providers cache a prompt by themselves: the prefix lengths, in tokens, that their caches serve."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .canonical import Canonical

#: A rule: the ascending prefix lengths in tokens at which this prompt, sent to this model, may be cached.
Rule = Callable[[Canonical, str | None], Iterable[int]]


def openai_rule(prompt: Canonical, model: str | None = None) -> Iterable[int]:
    """Return OpenAI's boundaries: from 1,024 tokens, in steps of 128.

    Source: OpenAI, *Prompt caching* guide. The lifetime is the cache's own setting; the guide names 5 to 10
    minutes without use.

    Parameters
    ----------
    prompt : Canonical
        The prompt.
    model : str or None
        Makes no difference.

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


def deepseek_rule(prompt: Canonical, model: str | None = None) -> Iterable[int]:
    """Return DeepSeek's boundaries: whole blocks of 64 tokens.

    Source: DeepSeek, *Context Caching on Disk* (2 August 2024): storage units of 64 tokens, what is shorter
    is not cached. Its guide of 2026 names the ends of requests as places where prefixes are kept, and no
    block size any more; that would serve the same or less than this. Nothing is billed for writing. Entries
    live for hours to days there; here as long as the cache's own setting says.

    Parameters
    ----------
    prompt : Canonical
        The prompt.
    model : str or None
        Makes no difference.

    Returns
    -------
    iterable of int
        Tokens, ascending.

    Examples
    --------
    >>> from agentlab.gateway.canonical import canonical
    >>> list(deepseek_rule(canonical([], ["x" * 500], [])))
    [64, 128]
    """
    return range(64, prompt.n_tokens + 1, 64)


def gemini_rule(prompt: Canonical, model: str | None = None) -> Iterable[int]:
    """Return Gemini's boundaries of implicit caching: a smallest prompt by model, in steps of 128.

    Source: Google, *Context caching* (13 October 2026): implicit caching from Gemini 2.5 on; smallest input
    2,048 tokens for the 2.5 models and 4,096 for later ones. Older models have none. The page states no
    step: 128 is an assumption.

    Parameters
    ----------
    prompt : Canonical
        The prompt.
    model : str or None
        Its id; one that names no version counts as a later model.

    Returns
    -------
    iterable of int
        Tokens, ascending.

    Examples
    --------
    >>> from agentlab.gateway.canonical import canonical
    >>> list(gemini_rule(canonical([], ["x" * 9000], []), "gemini-2.5-pro"))
    [2048, 2176]
    """
    version = re.search(r"gemini-(\d+)(?:\.(\d+))?", model or "")
    major, minor = (int(version[1]), int(version[2] or 0)) if version else (3, 0)
    if major < 2 or (major == 2 and minor < 5):
        return ()
    return range(2048 if major == 2 else 4096, prompt.n_tokens + 1, 128)


#: Name -> rule.
RULES: dict[str, Rule] = {"openai": openai_rule, "deepseek": deepseek_rule, "gemini": gemini_rule}
