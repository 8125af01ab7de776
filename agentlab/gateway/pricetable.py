"""Prices from the table of the optional package ``genai-prices``."""

from __future__ import annotations

import datetime
from decimal import Decimal
from importlib import import_module, metadata
from typing import Any

from ..errors import ConfigError, MissingExtra
from .prices import Price

_NAMES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}


def look_up(model: str, day: str) -> Price:
    """Find a model's price in the installed table; see :meth:`agentlab.Price.of`.

    Parameters
    ----------
    model : str
        ``"provider:model"``.
    day : str
        ISO date, UTC.

    Returns
    -------
    Price
    """
    provider, colon, name = model.partition(":")
    if not (provider and colon and name):
        raise ConfigError(f"Price.of({model!r}): write 'provider:model', e.g. 'anthropic:claude-sonnet-4-5'")
    try:
        snapshot: Any = import_module("genai_prices.data_snapshot")
    except ImportError:
        raise MissingExtra(
            "Price.of looks prices up in the package genai-prices, which is not installed: "
            "pip install genai-prices, or state the price: Price(input=..., output=...)"
        ) from None
    try:
        found = snapshot.get_snapshot().find_provider_model(name, None, provider, None)[1]
    except LookupError:
        raise ConfigError(
            f"Price.of({model!r}): the installed genai-prices does not know it; update that package, or "
            "state the price: Price(input=..., output=...)"
        ) from None
    noon = datetime.datetime.combine(datetime.date.fromisoformat(day), datetime.time(12), datetime.UTC)
    table: Any = found.get_prices(noon)
    source = f"genai-prices {metadata.version('genai-prices')}, {provider}:{found.id}"
    return _price(table, model, day, source)


def _price(table: Any, model: str, day: str, source: str) -> Price:  # noqa: ANN401
    listed = {name: getattr(table, key, None) for name, key in _NAMES.items()}
    if listed["input"] is None or listed["output"] is None:
        raise ConfigError(
            f"Price.of({model!r}): the table has no price per token of it; state it with Price()"
        )
    starts: list[int] = sorted({t.start for value in listed.values() for t in getattr(value, "tiers", ())})
    price: Price | None = None
    for low, high in zip(reversed([0, *starts]), [None, *reversed(starts)], strict=True):
        about: dict[str, Any] = {name: _at(value, low) for name, value in listed.items()}
        about |= {"as_of": day, "source": source, "above_tokens": high, "above": price}
        price = Price(**about)
    assert price is not None
    return price


def _at(value: Any, n_tokens: int) -> Decimal | None:  # noqa: ANN401
    """Return a price for requests from this many input tokens on."""
    if value is None or not hasattr(value, "tiers"):
        return value
    reached = [tier.price for tier in value.tiers if tier.start <= n_tokens]
    return reached[-1] if reached else value.base
