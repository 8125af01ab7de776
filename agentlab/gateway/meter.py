"""What one request may cost and did cost: bounds before it is sent, the charge after it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from .inputs import UNSEEN, Beginnings, Inputs, beginnings
from .ledger import Hold, Ledger, text
from .prices import Price

if TYPE_CHECKING:
    from .attribution import Owner
    from .dialects.base import Dialect, ModelRequest
    from .exchange import Exchange


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reserved:
    """A request that may be sent.

    Parameters
    ----------
    hold : Hold
        What is held for it.
    price : Price
        Of its model.
    hour : bool
        Whether it may write to a cache for an hour.
    body : bytes
        What is sent: with an output cap, if it had none and its wire can say one.
    request : ModelRequest
        The same, parsed.
    evidence : mapping
        Fields of ``request.begin``.
    prompt : list of tuple of (int, int)
        Beginnings of its prompt.
    """

    hold: Hold
    price: Price
    hour: bool
    body: bytes
    request: ModelRequest
    evidence: Mapping[str, Any]
    prompt: Beginnings


#: By these a provider turns a request away before any work.
_OVERLOADED = (503, 529)


class Meter:
    """Reserve and settle.

    Parameters
    ----------
    ledger : Ledger
        Where to.
    prices : Price or mapping of str to Price
        Of every model, or by the model's name.
    bound : {"calibrated", "hard"}
        How many tokens an input may have: ``"hard"`` is one for each byte of the wire; ``"calibrated"`` is
        what was counted of an earlier request that this one begins as, and one for each byte of the rest.
    max_output_tokens : int
        Output cap of requests that name none.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        prices: Price | Mapping[str, Price],
        bound: Literal["calibrated", "hard"],
        max_output_tokens: int,
    ) -> None:
        self._ledger = ledger
        self._prices = prices
        self._calibrated = bound == "calibrated"
        self._inputs = Inputs()
        self._cap = max_output_tokens

    def price(self, model: str | None) -> Price | None:
        """Return the price of a model.

        Parameters
        ----------
        model : str or None
            Its name.

        Returns
        -------
        Price or None
            None: the model has none, so its requests cannot be admitted.
        """
        return self._prices if isinstance(self._prices, Price) else self._prices.get(model or "")

    def reserve(
        self, dialect: Dialect, request: ModelRequest, body: bytes, *, t: int, number: int, owner: Owner
    ) -> Reserved | None:
        """Hold what a request can cost at most.

        Parameters
        ----------
        dialect : Dialect
            Its wire.
        request : ModelRequest
            What is asked; its model has a price.
        body : bytes
            As it would be sent.
        t : int
            Stamp, ns.
        number : int
            Of the request.
        owner : Owner
            Its run.

        Returns
        -------
        Reserved or None
            None: the budget has not enough left, or the ledger is halted.
        """
        price = self.price(request.model)
        assert price is not None
        cap, source = request.max_output_tokens, "agent"
        if cap is None or cap <= 0:  # 0 and -1 mean "as much as you like" to some servers
            cap, source = self._cap, "assumed"
            request = dataclasses.replace(request, max_output_tokens=None)
            capped = dialect.with_output_cap(request, cap)
            if capped is not None:
                source, body = "injected", capped
                if dialect.asking_usage(request) is not None:  # which is spelled from the parsed body
                    request = dataclasses.replace(request, body=json.loads(capped))
        hour = request.marked and b'"1h"' in body
        prompt = beginnings(request)
        n_tokens = self._inputs.most(prompt, len(body))
        bound = "calibrated" if n_tokens < len(body) else "hard"
        amount = price.bound(n_tokens + UNSEEN, cap * _choices(request.body), hour=hour)
        sizes = {"bound": bound, "output_cap": source, "output_cap_tokens": cap}
        about = {"request": number, "run_id": owner.run_id, "arm": owner.arm, "model": request.model}
        hold = self._ledger.reserve(amount, t=t, **about, dialect=dialect.name, body_bytes=len(body), **sizes)
        if hold is None:
            return None
        evidence = {"reserved_usd": text(amount), **sizes}
        return Reserved(
            hold=hold, price=price, hour=hour, body=body, request=request, evidence=evidence, prompt=prompt
        )

    def settle(self, reserved: Reserved, exchange: Exchange, *, t: int) -> dict[str, Any]:
        """Replace a reservation by what the request cost.

        A reply that is whole and reports its usage is charged exactly. A request that never left, or that the
        provider turned away (with 400 to 499, or 503 or 529, by which it says that it is overloaded),
        costs nothing. All else (a cut stream, another status from 500 on, an agent that went away, usage that
        is missing or contradicts itself) keeps its reservation.

        Parameters
        ----------
        reserved : Reserved
            From :meth:`reserve`.
        exchange : Exchange
            How it ended.
        t : int
            Stamp, ns.

        Returns
        -------
        dict
            Fields of ``request.end``.
        """
        measured, total = self._measured(reserved, exchange)
        charge = self._ledger.settle(
            reserved.hold, measured=measured, t=t, status=exchange.status, input_total_tokens=total
        )
        if self._calibrated and measured is not None and total is not None:
            self._inputs.learn(reserved.prompt, total)
        if exchange.status == 402 and not exchange.refused:
            self._ledger.halt("balance", "http_402", t=t)
        money = {
            "charged_usd": text(charge),
            "committed_usd": text(self._ledger.committed),
            "price": reserved.price.rates(total),
        }
        return {**money, "uncertain": True} if measured is None else {**money, "measured_usd": text(measured)}

    def _measured(self, reserved: Reserved, exchange: Exchange) -> tuple[Decimal | None, int | None]:
        status = exchange.status or 0
        if exchange.refused or 400 <= status < 500 or status in _OVERLOADED:
            return Decimal(0), None
        usage = exchange.usage
        if not (200 <= status < 300 and exchange.terminal_seen and usage.reason is None):
            return None, None
        if usage.input_total_tokens == 0:  # no request is empty: these zeros stand for "not counted"
            return None, None
        return reserved.price.charge(usage.counts(), hour=reserved.hour), usage.input_total_tokens


def _choices(body: Mapping[str, Any]) -> int:
    """Return how many answers are asked for; each may be as long as the cap."""
    asked = [body.get("n")]
    for name in ("generationConfig", "generation_config"):
        options = body.get(name)
        if isinstance(options, Mapping):
            asked += [options.get(key) for key in ("candidateCount", "candidate_count")]
    finite = (n for n in asked if isinstance(n, int) or (isinstance(n, float) and math.isfinite(n)))
    return max([1, *map(math.ceil, finite)])
