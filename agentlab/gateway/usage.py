"""Token arithmetic: from a provider's own spelling to the counts of the requests table.

An *inclusive* source counts cached tokens inside its input (OpenAI: ``prompt_tokens``, ``input_tokens``;
Gemini: ``promptTokenCount``), an *exclusive* one beside it (Anthropic messages: three addends). Reasoning is
counted inside the output but by Gemini (``thoughtsTokenCount`` beside ``candidatesTokenCount``). Unknown
stays None, never 0, and counts that contradict each other are None with a reason, never clamped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, cast

Convention = Literal["inclusive", "exclusive"]
Reasoning = Literal["inside", "outside"]

# Each count with its known spellings, as paths below the usage object.
_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount")
_READ = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
    "prompt_tokens_details.cache_read_tokens",
    "cached_tokens",
    "cachedContentTokenCount",
)
_WRITE = (
    "prompt_tokens_details.cache_write_tokens",
    "input_tokens_details.cache_write_tokens",
    "prompt_tokens_details.cache_creation_tokens",
    "cache_creation_input_tokens",
    "cache_write_tokens",
)
_WRITE_1H = ("cache_creation.ephemeral_1h_input_tokens",)
_WRITE_5M = ("cache_creation.ephemeral_5m_input_tokens",)
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "output_tokens_details.thinking_tokens",
    "reasoning_tokens",
    "thoughtsTokenCount",
)
_TOTAL = ("total_tokens", "totalTokenCount")
# Known, and not needed for the counts.
_OTHER = (
    "prompt_cache_miss_tokens",
    "prompt_tokens_details.audio_tokens",
    "prompt_tokens_details.text_tokens",
    "prompt_tokens_details.image_tokens",
    "prompt_tokens_details.video_tokens",
    "completion_tokens_details.audio_tokens",
    "completion_tokens_details.text_tokens",
    "completion_tokens_details.image_tokens",
    "completion_tokens_details.accepted_prediction_tokens",
    "completion_tokens_details.rejected_prediction_tokens",
    "server_tool_use.web_search_requests",
    "server_tool_use.web_fetch_requests",
    "toolUsePromptTokenCount",
)
_COUNTS = frozenset(
    (*_INPUT, *_OUTPUT, *_READ, *_WRITE, *_WRITE_1H, *_WRITE_5M, *_REASONING, *_TOTAL, *_OTHER)
)
_MOST = 10**12  # tokens; no request has more
# Known, and no counts.
_WORDS = frozenset(
    (
        "service_tier",
        "inference_geo",
        "speed",
        "trafficType",
        "promptTokensDetails",
        "candidatesTokensDetails",
        "cacheTokensDetails",
        "toolUsePromptTokensDetails",
        "iterations",
    )
)
_KNOWN = _COUNTS | _WORDS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Usage:
    """Hold the counts of one model request; None is unknown.

    Parameters
    ----------
    input_uncached_tokens, cache_read_tokens, cache_write_tokens, input_total_tokens : int, optional
        The input and its parts, in tokens.
    cache_write_1h_tokens : int, optional
        Those of the written tokens that are kept for an hour; dearer than the others.
    output_tokens : int, optional
        Reasoning inside.
    reasoning_tokens : int, optional
        Part of the output.
    reason : str, optional
        Why input or output is unknown: ``"no_usage"``, ``"usage_partial"`` (one of the two was not
        reported, or not to its end) or ``"usage_implausible"``.
    unknown_keys : tuple of str
        Paths of the provider's usage object that no rule knows.
    """

    input_uncached_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    input_total_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    reason: str | None = None
    unknown_keys: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the counts that are known.

        Returns
        -------
        dict
            Column name to tokens.
        """
        return {name: value for name, value in self.__dict__.items() if value is not None and name in _NAMES}


_NAMES = frozenset(field.name for field in dataclasses.fields(Usage) if field.name.endswith("_tokens"))


def read_usage(
    raw: object, *, convention: Convention = "inclusive", reasoning: Reasoning = "inside"
) -> Usage:
    """Read a provider's usage object.

    Parameters
    ----------
    raw : mapping or None
        The object as the provider spelled it.
    convention : {"inclusive", "exclusive"}
        Whether its input counts cached tokens.
    reasoning : {"inside", "outside"}
        Whether its output counts reasoning. A source whose own total shows that it lies outside is believed.

    Returns
    -------
    Usage

    Examples
    --------
    >>> u = read_usage({"prompt_tokens": 98805, "completion_tokens": 7, "prompt_tokens_details":
    ...                 {"cached_tokens": 66360, "cache_write_tokens": 32435}})
    >>> u.input_uncached_tokens, u.input_total_tokens
    (10, 98805)
    """
    if not isinstance(raw, Mapping) or not raw:
        return Usage(reason="no_usage")
    leaves: dict[str, Any] = {}
    _add_leaves(leaves, cast("Mapping[str, Any]", raw), "")
    unknown = tuple(sorted(leaves.keys() - _KNOWN))
    counted = {path: _count(value) for path, value in leaves.items() if path in _COUNTS}
    if None in counted.values():
        return Usage(reason="usage_implausible", unknown_keys=unknown)

    def first(paths: tuple[str, ...]) -> int | None:
        for path in paths:
            if path in counted:
                return counted[path]
        return None

    given, read, write = first(_INPUT), first(_READ), first(_WRITE)
    of_1h, of_5m = first(_WRITE_1H), first(_WRITE_5M)
    if write is None and (of_1h is not None or of_5m is not None):
        write = (of_1h or 0) + (of_5m or 0)
    output, thought, output_bad = _output(
        given, first(_OUTPUT), first(_REASONING), first(_TOTAL), outside=reasoning == "outside"
    )
    parts, input_bad = _input(given, read, write, convention)
    if write is not None and of_1h is not None and of_1h > write:
        parts, of_1h, input_bad = {}, None, True
    reason = "usage_implausible" if output_bad or input_bad else None
    if reason is None and (given is None or output is None):
        reason = "no_usage" if given is None and output is None else "usage_partial"
    return Usage(
        **parts,
        cache_write_1h_tokens=of_1h,
        output_tokens=output,
        reasoning_tokens=thought,
        reason=reason,
        unknown_keys=unknown,
    )


def _input(
    given: int | None, read: int | None, write: int | None, convention: Convention
) -> tuple[dict[str, int | None], bool]:
    """Split the input; True when its parts contradict each other (then all four are unknown)."""
    if convention == "inclusive":
        total = given
        # A source that names no writes bills none apart: what is not read is fresh.
        fresh = None if given is None or read is None else given - read - (write or 0)
        if fresh is not None and fresh < 0:
            return {}, True
    else:
        fresh = given
        total = None if given is None or read is None else given + read + (write or 0)
    return {
        "input_uncached_tokens": fresh,
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "input_total_tokens": total,
    }, False


def _output(
    given: int | None, output: int | None, reasoning: int | None, total: int | None, *, outside: bool
) -> tuple[int | None, int | None, bool]:
    """Put reasoning inside the output; some sources count it outside, which their own total shows."""
    if outside:
        if output is None and reasoning is not None and given is not None and total == given + reasoning:
            output = 0  # a wire that leaves zeros out: its own total says so
        return None if output is None else output + (reasoning or 0), reasoning, False
    if output is None or not reasoning:
        return output, reasoning, False
    if given is not None and total == given + output + reasoning:
        return output + reasoning, reasoning, False
    return (None, None, True) if reasoning > output else (output, reasoning, False)


def _add_leaves(leaves: dict[str, Any], raw: Mapping[str, Any], prefix: str) -> None:
    """Add path and value; a null is a value that was not given."""
    for key, value in raw.items():
        path = f"{prefix}{key}"
        if isinstance(value, int):  # nearly all of them, and soon said
            leaves[path] = value
        elif isinstance(value, Mapping):
            _add_leaves(leaves, cast("Mapping[str, Any]", value), f"{path}.")
        elif value is not None:
            leaves[path] = value


def _count(value: object) -> int | None:
    """Return a count of tokens, or None for what cannot be one."""
    if isinstance(value, float) and value.is_integer():  # infinity is none
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST else None
