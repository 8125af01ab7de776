"""What tokens cost, in exact decimals: USD per million tokens, frozen with the day and the source."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from ..errors import ConfigError
from .book import EXACT
from .checks import given, integer

Money = Decimal | float | str

_MILLION = 1_000_000
# Published prices lie between 0.0011 (cached input) and 600 (output) USD per million tokens: what is
# far outside was meant per token, or multiplied by a million once too often.
_LOWEST, _HIGHEST = Decimal("0.001"), Decimal(10_000)
_WRITE = Decimal("1.25")
_NAMES = ("input", "output", "cache_read", "cache_write", "cache_write_1h")


@dataclasses.dataclass(frozen=True, init=False)
class Price:
    """State what a model costs, in USD per million tokens.

    A missing cache price is never 0. Cached input is then charged as ``input``, a cache write as 1.25 times
    ``input``, and one that is kept for an hour as twice ``input`` or as ``cache_write`` if that is more: the
    published multiples of Anthropic, and OpenAI's where it bills writes. A provider that reports no writes
    bills none.

    Parameters
    ----------
    input, output : Decimal, int, float or str
        Fresh input, and output with its reasoning; 0 or from 0.001 to 10,000.
    cache_read, cache_write, cache_write_1h : Decimal, int, float or str, optional
        Input read from the prompt cache, written to it, and written to be kept for an hour.
    as_of : datetime.date or str, optional
        Day on which the price held, e.g. ``"2026-11-29"``.
    source : str
        Where it was found.
    above_tokens : int, optional
        Requests with more input tokens than this, cached ones included, cost ``above`` as a whole.
    above : Price, optional
        Their price.

    Raises
    ------
    ConfigError
        A price is negative, not a number, or off by the factor of a million: typed per token.

    Examples
    --------
    >>> price = Price(3, 15, cache_read="0.30", cache_write="3.75", source="price page", as_of="2026-11-29")
    >>> price.charge({"input_uncached_tokens": 3, "cache_write_tokens": 12304, "cache_read_tokens": 0,
    ...               "output_tokens": 550})
    Decimal('0.054399')
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write: Decimal | None
    cache_write_1h: Decimal | None
    as_of: str | None
    source: str
    above_tokens: int | None
    above: Price | None

    def __init__(
        self,
        input: Money,
        output: Money,
        cache_read: Money | None = None,
        cache_write: Money | None = None,
        cache_write_1h: Money | None = None,
        *,
        as_of: datetime.date | str | None = None,
        source: str = "given",
        above_tokens: int | None = None,
        above: Price | None = None,
    ) -> None:
        amounts = (input, output, cache_read, cache_write, cache_write_1h)
        for name, amount in zip(_NAMES, amounts, strict=True):
            missing = amount is None and name.startswith("cache")
            object.__setattr__(self, name, None if missing else _per_million(name, amount))
        if not isinstance(given(source), str) or not source:
            raise ConfigError("Price(source=...): say where the price was found")
        if (above is None) != (above_tokens is None) or not isinstance(given(above), Price | None):
            raise ConfigError("Price(above_tokens=..., above=...): give both, tokens and a Price, or neither")
        if above_tokens is not None:
            integer("Price", "above_tokens", above_tokens, low=1)
        object.__setattr__(self, "as_of", _day(as_of))
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "above_tokens", above_tokens)
        object.__setattr__(self, "above", above)

    def charge(self, counts: Mapping[str, int | None], *, hour: bool = False) -> Decimal | None:
        """Return what a request cost, exactly.

        Parameters
        ----------
        counts : mapping of str to int
            Token columns of the requests table; ``cache_write_1h_tokens`` is the part of
            ``cache_write_tokens`` that is kept for an hour. An input whose parts were not reported is charged
            whole as fresh input, or as the dearest of its possible parts if that is more.
        hour : bool
            Whether writes that were not told apart may be kept for an hour.

        Returns
        -------
        Decimal or None
            In USD; None: output or input is unknown, or they contradict each other.
        """
        read, write = counts.get("cache_read_tokens"), counts.get("cache_write_tokens") or 0
        fresh, total, output = (
            counts.get(name) for name in ("input_uncached_tokens", "input_total_tokens", "output_tokens")
        )
        long = counts.get("cache_write_1h_tokens")
        long = (write if hour else 0) if long is None else long
        known = fresh is not None and read is not None
        if output is None or not (known or total is not None) or long > write:
            return None
        whole = (fresh or 0) + (read or 0) + write if known else total or 0
        price = self._for(whole)
        if not known:
            return _sum((whole, max(price.input, price.read)), (output, price.output))
        return _sum(
            (fresh or 0, price.input),
            (read or 0, price.read),
            (write - long, price.write),
            (long, price.write_1h),
            (output, price.output),
        )

    def bound(self, input_tokens: int, output_tokens: int, *, hour: bool = False) -> Decimal:
        """Return the most that a request of this size can cost.

        Parameters
        ----------
        input_tokens, output_tokens : int
            Its largest possible size.
        hour : bool
            Whether it may write to the cache for an hour.

        Returns
        -------
        Decimal
            In USD: the input at the highest price that can apply to it, and the output.
        """
        most = _sum((input_tokens, self._highest(hour)), (output_tokens, self.output))
        if self.above is None or self.above_tokens is None or input_tokens <= self.above_tokens:
            return most
        return max(most, self.above.bound(input_tokens, output_tokens, hour=hour))

    def rates(self, input_tokens: int | None) -> dict[str, str]:
        """Return what fresh and cached input cost in a request, USD per million tokens.

        Parameters
        ----------
        input_tokens : int or None
            Its whole input; None: unknown, the lower tier is taken.

        Returns
        -------
        dict
            ``input`` and ``cache_read`` (by the rule when it was not given) as decimal strings.
        """
        price = self._for(input_tokens or 0)
        return {"input": format(price.input, "f"), "cache_read": format(price.read, "f")}

    @property
    def read(self) -> Decimal:
        """Price of input read from the cache, by the rule when it was not given."""
        return self.input if self.cache_read is None else self.cache_read

    @property
    def write(self) -> Decimal:
        """Price of input written to the cache."""
        return _WRITE * self.input if self.cache_write is None else self.cache_write

    @property
    def write_1h(self) -> Decimal:
        """Price of input written to the cache for an hour."""
        return max(2 * self.input, self.write) if self.cache_write_1h is None else self.cache_write_1h

    def to_dict(self) -> dict[str, Any]:
        """Return the price as plain JSON data, decimals as strings.

        Returns
        -------
        dict
        """
        data = {name: None if (v := getattr(self, name)) is None else format(v, "f") for name in _NAMES}
        above = None if self.above is None else self.above.to_dict()
        data |= {"as_of": self.as_of, "source": self.source}
        return data if above is None else {**data, "above_tokens": self.above_tokens, "above": above}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Price:
        """Rebuild a price from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            Plain data.

        Returns
        -------
        Price
        """
        told = dict(data)
        if told.get("above") is not None:
            told["above"] = cls.from_dict(told["above"])
        return cls(**told)

    @classmethod
    def of(cls, model: str, *, as_of: datetime.date | str | None = None) -> Price:
        """Look a price up in the table of the optional package ``genai-prices``.

        The table is the installed one; nothing is fetched. What is found is plain data and frozen into a
        study, so a later table changes no old figure.

        Parameters
        ----------
        model : str
            ``"provider:model"``, e.g. ``"anthropic:claude-sonnet-4-5"``.
        as_of : datetime.date or str, optional
            Day whose price is wanted; None: today (UTC).

        Returns
        -------
        Price

        Raises
        ------
        MissingExtra
            The package is not installed.
        ConfigError
            The table does not know the model.
        """
        from .pricetable import look_up

        day = _day(as_of) or datetime.datetime.now(datetime.UTC).date().isoformat()
        return look_up(model, day)

    def _highest(self, hour: bool) -> Decimal:
        return max(self.input, self.read, self.write, *([self.write_1h] if hour else []))

    def _for(self, n_input: int) -> Price:
        if self.above is None or self.above_tokens is None or n_input <= self.above_tokens:
            return self
        return self.above._for(n_input)


def _sum(*parts: tuple[int, Decimal]) -> Decimal:
    total = Decimal(0)
    for n_tokens, price in parts:
        if n_tokens:
            total = EXACT.add(total, EXACT.multiply(Decimal(n_tokens), price))
    return EXACT.divide(total, Decimal(_MILLION))


def money(owner: str, name: str, value: object) -> Decimal:
    """Read an amount.

    Parameters
    ----------
    owner, name : str
        Whose setting.
    value : object
        Decimal, int, float (as it is printed; NumPy's too) or str.

    Returns
    -------
    Decimal
        Finite and not negative.
    """
    try:
        amount = Decimal(str(value)) if isinstance(value, Decimal | Real | str) else Decimal("nan")
    except decimal.InvalidOperation:
        amount = Decimal("nan")
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        raise ConfigError(f"{owner}({name}={value!r}): give an amount in USD, from 0")
    return amount


def _per_million(name: str, value: object) -> Decimal:
    amount = money("Price", name, value)
    if 0 < amount < _LOWEST:
        raise ConfigError(
            f"Price({name}={value}): this is a price per token; prices are in USD per million tokens, "
            f"so that would be {name}={format((amount * _MILLION).normalize(), 'f')}"
        )
    if amount > _HIGHEST:
        raise ConfigError(
            f"Price({name}={value}): no model costs this much per million tokens; it looks multiplied by a "
            f"million once too often: {name}={format((amount / _MILLION).normalize(), 'f')}?"
        )
    return amount


def _day(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        value = value.date()
    try:
        day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))
    except ValueError:
        raise ConfigError(f"Price(as_of={value!r}): give a day such as '2026-11-29'") from None
    return day.isoformat()
