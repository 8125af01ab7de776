"""What a request shares with the one before it, what it lost of it, and what that costs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from .evidence import Event
from .join import Request
from .values import as_bool, as_count, as_text, as_usd, share

_MILLION = 1_000_000


def prefix_columns(request: Request, input_tokens: int | None) -> dict[str, Any]:
    """Build the columns about the size of a request and its prefix.

    Parameters
    ----------
    request : Request
        The joined request.
    input_tokens : int or None
        Its whole input.

    Returns
    -------
    dict
        By column name.
    """
    exchange = request.exchange
    if exchange is None:
        return {"chain_start": None if request.position is None else request.position == 1}
    begin = exchange.begin
    canonical, prefix = as_count(begin.get("canonical_bytes")), as_count(begin.get("prefix_bytes"))
    lost = as_count(begin.get("lost_bytes"))
    tokens = _lost_tokens(lost, canonical, prefix, input_tokens)
    return {
        "n_tools": as_count(begin.get("n_tools")),
        "n_messages": as_count(begin.get("n_messages")),
        "max_output_tokens": as_count(begin.get("max_output_tokens")),
        "stream": as_bool(begin.get("stream")),
        "body_bytes": as_count(begin.get("body_bytes")),
        "canonical_bytes": canonical,
        "prompt_hash": _prompt_hash(begin.get("segments")),
        "chain_start": None if canonical is None else prefix is None,
        "follows": as_count(begin.get("follows")),
        "prefix_state": as_text(begin.get("prefix_state")),
        "prefix_bytes": prefix,
        "prefix_share": share(prefix, canonical),
        "append_only": as_bool(begin.get("append_only")),
        "first_changed": as_text(begin.get("first_changed")),
        "changed_detail": _detail(begin.get("changed")),
        "lost_bytes": lost,
        "lost_tokens": tokens,
        "lost_usd": _lost_usd(tokens, exchange.end or {}),
    }


def _lost_tokens(
    lost: int | None, canonical: int | None, prefix: int | None, input_tokens: int | None
) -> float | None:
    """Estimate what was sent again: what was dropped for good costs nothing more."""
    if lost == 0:
        return 0.0
    if lost is None or prefix is None or input_tokens is None or not canonical:
        return None
    return max(0, min(lost, canonical - prefix)) * input_tokens / canonical


def _lost_usd(tokens: float | None, end: Event) -> float | None:
    """Return the fresh price less the cached one: what the cache would have saved."""
    rates = end.get("price")
    rates = rates if isinstance(rates, Mapping) else {}
    fresh, cached = as_usd(rates.get("input")), as_usd(rates.get("cache_read"))
    if tokens is None or fresh is None or cached is None:
        return None
    return tokens * (fresh - cached) / _MILLION


def _prompt_hash(segments: object) -> str | None:
    if not isinstance(segments, list) or not segments:
        return None
    parts = [str(one[1]) for one in segments if isinstance(one, list) and len(one) == 3]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16] if len(parts) == len(segments) else None


def _detail(changed: object) -> str | None:
    """Say in words and numbers how the first changed segment differs; its content is nowhere."""
    if not isinstance(changed, Mapping):
        return None
    item = as_count(changed.get("item"))
    words = [as_text(changed.get("role")), as_text(changed.get("type"))]
    what = " ".join([*(word for word in words if word), *([f"item {item}"] if item else [])])
    before, after, at = (as_count(changed.get(f"{name}_bytes")) for name in ("before", "after", "at"))
    size = f"{before} bytes, gone" if after is None else f"{before} to {after} bytes, from byte {at}"
    return f"{what}: {size}" if what else size
