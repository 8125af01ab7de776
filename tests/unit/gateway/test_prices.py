"""Prices: exact, never silently 0, never off by a million; looked up only where the table is installed."""

from __future__ import annotations

import datetime
import importlib.util
import json
import sys
import types
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from agentlab.engine.codec import decode, encode
from agentlab.errors import ConfigError, MissingExtra
from agentlab.gateway import Gateway, Pin
from agentlab.gateway.prices import Price
from agentlab.gateway.usage import read_usage

SONNET = Price(3, 15, "0.30", "3.75", 6, as_of="2026-11-29", source="a price page")


def test_a_cache_write_is_charged_once() -> None:
    raw = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 12304,
        "cache_read_input_tokens": 0,
        "output_tokens": 550,
    }
    assert SONNET.charge(read_usage(raw, convention="exclusive").counts()) == Decimal("0.054399")


def test_an_inclusive_input_is_not_charged_twice() -> None:
    raw = {
        "prompt_tokens": 1000,
        "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 700},
    }
    right, wrong = read_usage(raw).counts(), read_usage(raw, convention="exclusive").counts()
    assert SONNET.charge(right) == Decimal("0.002985")
    assert SONNET.charge(wrong) == Decimal("0.005685")  # what an auditor offers as x1.90


def test_an_agents_own_figure_is_compared_with_the_exact_charge() -> None:
    haiku = Price("0.80", 4, "0.08", 1)
    counts = {
        "input_uncached_tokens": 18,
        "cache_write_tokens": 13560,
        "cache_read_tokens": 69460,
        "output_tokens": 2435,
    }
    charge = haiku.charge(counts)
    assert charge is not None and charge == Decimal("0.0288712")
    assert round(Decimal("3.67") / charge) == 127


def test_fresh_input_is_the_remainder() -> None:
    raw = {
        "prompt_tokens": 98805,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 66360, "cache_write_tokens": 32435},
    }
    want = (10 * SONNET.input + 66360 * SONNET.read + 32435 * SONNET.write + 7 * SONNET.output) / 1_000_000
    assert SONNET.charge(read_usage(raw).counts()) == want
    impossible = {**raw, "prompt_tokens": 5}
    assert SONNET.charge(read_usage(impossible).counts()) is None


def test_a_write_for_an_hour_has_its_own_price() -> None:
    counts = {
        "input_uncached_tokens": 0,
        "cache_read_tokens": 0,
        "cache_write_tokens": 10,
        "output_tokens": 0,
    }
    assert SONNET.charge(counts) == Decimal("0.0000375")
    assert SONNET.charge(counts, hour=True) == Decimal("0.00006")
    assert SONNET.charge({**counts, "cache_write_1h_tokens": 4}, hour=True) == Decimal("0.0000465")
    assert SONNET.charge({**counts, "cache_write_1h_tokens": 11}) is None


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"input_uncached_tokens": 5, "cache_read_tokens": 0},
        {"output_tokens": 5},
        {"output_tokens": 5, "input_uncached_tokens": 5},  # of an exclusive source: what was read is missing
    ],
)
def test_what_is_not_known_has_no_charge(counts: dict[str, int]) -> None:
    assert SONNET.charge(counts) is None


def test_an_input_without_its_parts_is_charged_whole() -> None:
    usage = read_usage({"prompt_tokens": 100, "completion_tokens": 10})
    assert SONNET.charge(usage.counts()) == Decimal("0.00045")


def test_a_missing_cache_price_is_never_nothing() -> None:
    price = Price(2, 8)
    assert (price.read, price.write, price.write_1h) == (2, Decimal("2.5"), 4)
    assert Price(2, 8, cache_write=2).write == 2
    assert Price(2, 8, cache_write=5).write_1h == 5
    assert Price(2, 8, cache_read=0).read == 0  # said to be free
    assert Price(2, 8, cache_write_1h=3).write_1h == 3


def test_long_requests_cost_more_as_a_whole() -> None:
    above = Price(6, "22.5", "0.6", 6)
    price = Price(3, 15, "0.3", 3, above_tokens=200_000, above=above)
    counts = {"input_uncached_tokens": 1, "cache_read_tokens": 200_000, "output_tokens": 0}
    assert price.charge(counts) == Decimal("0.120006")
    assert price.charge({**counts, "cache_read_tokens": 199_999}) == Decimal("0.0600027")
    assert price.bound(200_000, 0) == Decimal("0.6") and price.bound(200_001, 0) == Decimal("1.200006")


def test_a_bound_takes_the_dearest_input() -> None:
    assert SONNET.bound(1_000_000, 0) == Decimal("3.75")
    assert SONNET.bound(1_000_000, 0, hour=True) == 6
    assert SONNET.bound(0, 1_000_000) == 15
    assert Price(3, 15).bound(1_000_000, 0) == Decimal("3.75")  # it may all be written to a cache
    assert Price(3, 15, cache_write=3).bound(1_000_000, 0) == 3


@pytest.mark.parametrize("name", ["input", "output", "cache_read", "cache_write", "cache_write_1h"])
@pytest.mark.parametrize("amount", [3e-6, "0.0006", Decimal("0.00000001"), 3e6, 10_001, 76_160_000])
def test_a_price_that_is_off_by_a_million_is_refused(name: str, amount: Any) -> None:  # noqa: ANN401
    amounts: dict[str, Any] = {"input": 3, "output": 15, name: amount}
    with pytest.raises(ConfigError, match=r"per token|million") as error:
        Price(**amounts)
    assert f"Price({name}=" in str(error.value)


def test_a_price_may_come_from_a_table() -> None:
    assert Price(np.int64(3), np.float64(0.1), np.float32(0.3)) == Price(3, "0.1", "0.3")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="from 0"):
        Price(np.bool_(True), 1)  # type: ignore[arg-type]


def test_real_prices_at_both_ends_pass() -> None:
    assert Price("0.0011", 600).input == Decimal("0.0011")
    assert Price(0, 0).charge({"input_total_tokens": 9, "output_tokens": 9}) == 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Price(-1, 2), "from 0"),
        (lambda: Price(float("nan"), 2), "from 0"),
        (lambda: Price(1, "much"), "from 0"),
        (lambda: Price(True, 2), "from 0"),
        (lambda: Price(None, 2), "from 0"),  # type: ignore[arg-type]
        (lambda: Price(1, 2, as_of="yesterday"), "a day such as"),
        (lambda: Price(1, 2, source=""), "where the price"),
        (lambda: Price(1, 2, above_tokens=5), "both"),
        (lambda: Price(1, 2, above=Price(1, 2)), "both"),
        (lambda: Price(1, 2, above=Price(1, 2), above_tokens=0), "from 1"),
        (lambda: Price.of("gpt-5"), "provider:model"),
    ],
)
def test_what_is_wrong_is_said(make: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError, match=says):
        make()


def test_a_price_survives_as_plain_data() -> None:
    price = Price(3.0, 15, 0.1, as_of=datetime.datetime(2026, 1, 2), above_tokens=10, above=Price(6, 30))
    again = Price.from_dict(json.loads(json.dumps(price.to_dict())))
    assert again == price and hash(again) == hash(price)
    assert price.as_of == "2026-01-02" and price.to_dict()["cache_read"] == "0.1"


def test_a_gateway_with_a_price_crosses_to_the_measuring_process() -> None:
    pin = Pin(system="s", tools=[{"name": "read", "description": "d", "parameters": {"a": [1]}}])
    price = Price(3, 15, "0.3", above_tokens=10, above=Price(6, 30), as_of="2026-01-02")
    for settings in (
        Gateway(
            "http://127.0.0.1/v1", price=price, budget_usd="0.10", tools=["read"], mode="pinned", pin=pin
        ),
        Gateway("http://127.0.0.1/v1", price={"m": price}, admit="json:dumps", max_total_requests=3),
    ):
        assert decode(json.loads(json.dumps(encode(settings)))) == settings
    assert encode(price)["input"] == "3"


def test_without_the_table_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.delitem(sys.modules, "genai_prices.data_snapshot", raising=False)
    with pytest.raises(MissingExtra, match="pip install genai-prices"):
        Price.of("openai:gpt-5")


class Tiered:
    """A price that rises with the input."""

    def __init__(self, base: str, **above: str) -> None:
        self.base = Decimal(base)
        self.tiers = [
            types.SimpleNamespace(start=int(start.lstrip("_")), price=Decimal(price))
            for start, price in above.items()
        ]


def test_a_table_is_read_as_it_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is a fake spelled as genai-prices 0.2; it cannot show that a later one keeps to it."""
    asked: list[Any] = []

    def find(name: str, _provider: None, provider_id: str, _url: None) -> tuple[Any, Any]:
        asked.append((name, provider_id))
        if name == "unknown":
            raise LookupError
        prices = types.SimpleNamespace(
            input_mtok=None if name == "image" else Tiered("3", _200000="6"),
            output_mtok=Decimal(15),
            cache_read_mtok=Tiered("0.3", _200000="0.6", _500000="0.9"),
        )

        def get_prices(moment: datetime.datetime) -> Any:  # noqa: ANN401
            asked.append(moment)
            return prices

        return None, types.SimpleNamespace(id="sonnet-x", get_prices=get_prices)

    snapshot = types.SimpleNamespace(find_provider_model=find)
    module = types.ModuleType("genai_prices.data_snapshot")
    module.get_snapshot = lambda: snapshot  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "genai_prices", types.ModuleType("genai_prices"))
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", module)
    monkeypatch.setattr("agentlab.gateway.pricetable.metadata.version", lambda _name: "9.9")
    price = Price.of("anthropic:sonnet", as_of="2026-03-01")
    assert asked[0] == ("sonnet", "anthropic") and asked[1].date().isoformat() == price.as_of == "2026-03-01"
    assert price.source == "genai-prices 9.9, anthropic:sonnet-x"
    assert (price.input, price.output, price.cache_read, price.cache_write) == (3, 15, Decimal("0.3"), None)
    assert price.above_tokens == 200_000 and price.above is not None
    assert (price.above.input, price.above.cache_read) == (6, Decimal("0.6"))
    assert price.above.above is not None and price.above.above.cache_read == Decimal("0.9")
    with pytest.raises(ConfigError, match="does not know it"):
        Price.of("anthropic:unknown")
    with pytest.raises(ConfigError, match="no price per token"):
        Price.of("anthropic:image")


def test_the_rates_of_a_request_are_those_of_its_size() -> None:
    price = Price(3, 15, cache_read="0.30", above_tokens=200_000, above=Price(6, 22))
    assert price.rates(None) == price.rates(200_000) == {"input": "3", "cache_read": "0.30"}
    assert price.rates(200_001) == {"input": "6", "cache_read": "6"}


def test_the_installed_table_is_what_is_expected() -> None:
    """Where the optional package is installed its shape is checked, elsewhere that its absence is said."""
    if importlib.util.find_spec("genai_prices") is None:
        with pytest.raises(MissingExtra):
            Price.of("anthropic:claude-sonnet-4-5")
        return
    price = Price.of("anthropic:claude-sonnet-4-5", as_of="2026-07-01")
    assert (price.input, price.output, price.cache_read, price.cache_write) == (
        3,
        15,
        Decimal("0.3"),
        Decimal("3.75"),
    )
    assert price.cache_write_1h == 6 and price.above_tokens == 200_000
    with pytest.raises(ConfigError, match="does not know it"):
        Price.of("openai:no-such-model")
