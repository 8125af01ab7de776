"""The gate each request passes, in order: halted, caps, body, tools, the user's function, pin, budget."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from .admission import Admission, Refusal, admit_name, load_admit
from .attribution import Owner
from .canonical import encode
from .dialects.base import BadRequest, ModelRequest, Route
from .dialects.body import dicts
from .exchange import Exchange
from .ledger import Ledger
from .meter import Meter, Reserved
from .settings import Gateway

#: Of responses and gemini: input that is not in the body, so that no bound of its cost is known.
_KEPT = ("previous_response_id", "conversation", "prompt", "cachedContent", "cached_content")
_LONGEST = 100  # characters of a name in a message


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arrival:
    """A request as it arrived.

    Parameters
    ----------
    route : Route
        What its address says.
    body : bytes
        As the agent sent it.
    number : int
        1-based over the gateway's life.
    owner : Owner
        Its run.
    session : str or None
        The agent's session.
    t : int
        Stamp of the body's last read, ns.
    """

    route: Route
    body: bytes
    number: int
    owner: Owner
    session: str | None
    t: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decision:
    """What is done with it.

    Parameters
    ----------
    body : bytes
        The request as it is recorded: the agent's, or what was made of it in the pinned mode.
    request : ModelRequest or None
        The same, parsed; None: it cannot be read.
    refusal : Refusal or None
        Why it does not pass.
    reserved : Reserved or None
        What is held for it, and what is sent then; None: it has no price.
    settle : callable or None
        Settles it.
    """

    body: bytes
    request: ModelRequest | None
    refusal: Refusal | None = None
    reserved: Reserved | None = None
    settle: Callable[[Exchange, int], Mapping[str, Any]] | None = None


class Gate:
    """Decide on requests, and keep the money.

    Parameters
    ----------
    gateway : Gateway
        The settings.
    ledger : Ledger
        Where money and refusals are written down.
    t : int
        Stamp of the start, ns.

    Attributes
    ----------
    endings : dict of str to str
        What ended each run, for those that were ended here: ``"budget"``, ``"balance"``, ``"limit"``,
        ``"upstream"`` or ``"error"``.

    Raises
    ------
    ConfigError
        ``admit`` cannot be imported.
    """

    def __init__(self, gateway: Gateway, ledger: Ledger, *, t: int) -> None:
        self.endings: dict[str, str] = {}
        self._pin = gateway.pin
        self._ledger = ledger
        prices = gateway.prices
        self._meter = None
        if prices is not None:
            cap = gateway.max_output_tokens
            self._meter = Meter(ledger, prices=prices, bound=gateway.bound, max_output_tokens=cap)
        self._admission = Admission(
            max_requests=gateway.max_requests,
            max_total_requests=gateway.max_total_requests,
            max_seconds=gateway.max_seconds,
            tools=gateway.tool_set,
            admit=load_admit(None if gateway.admit is None else admit_name(gateway.admit)),
            t=t,
        )

    def begin(self, run_id: str, *, t: int) -> None:
        """Start a run's clock.

        Parameters
        ----------
        run_id : str
            The run.
        t : int
            Stamp, ns.
        """
        self._admission.begin(run_id, t=t)

    def decide(self, arrival: Arrival, request: ModelRequest | None, bad: str) -> Decision:
        """Decide, and reserve what it can cost.

        Parameters
        ----------
        arrival : Arrival
            The request.
        request : ModelRequest or None
            Parsed.
        bad : str
            Why it cannot be.

        Returns
        -------
        Decision
        """
        body, reserved = arrival.body, None
        refusal = self._refusal(arrival, request, bad)
        if refusal is None and request is not None:
            if self._pin is not None:
                body, request, refusal = self._pinned(arrival, request)
            if refusal is None and self._meter is not None:
                reserved, refusal = self._reserve(self._meter, arrival, request, body)
        if refusal is not None:
            self.note(arrival.owner, refusal, request=arrival.number, t=arrival.t)
            return Decision(body=body, request=request, refusal=refusal)
        self._admission.sent(arrival.owner)
        settle = None if reserved is None else functools.partial(self._settle, arrival.owner, reserved)
        return Decision(body=body, request=request, reserved=reserved, settle=settle)

    def _refusal(self, arrival: Arrival, request: ModelRequest | None, bad: str) -> Refusal | None:
        if self._ledger.halted is not None:
            return Refusal(
                "balance" if self._ledger.halted == "balance" else "ledger", "nothing more is sent"
            )
        over = self._admission.over(arrival.owner, t=arrival.t)
        if over is not None:
            return over
        if request is None:
            return Refusal(f"invalid_body: {bad}")
        return self._admission.unfit(
            request,
            number=arrival.number,
            owner=arrival.owner,
            dialect=arrival.route.dialect.name,
            session=arrival.session,
            body_bytes=len(arrival.body),
            t=arrival.t,
            committed=self._ledger.book.committed(),
        )

    def _pinned(self, arrival: Arrival, request: ModelRequest) -> tuple[bytes, ModelRequest, Refusal | None]:
        assert self._pin is not None
        body = encode(self._pin.apply(arrival.route.dialect.name, request.body))
        try:
            return body, arrival.route.parse(body), None
        except BadRequest as error:
            return arrival.body, request, Refusal(f"invalid_body: {error}")

    def _reserve(
        self, meter: Meter, arrival: Arrival, request: ModelRequest, body: bytes
    ) -> tuple[Reserved | None, Refusal | None]:
        if meter.price(request.model) is None:
            model = f"the model {request.model[:_LONGEST]!r}" if request.model else "a model without a name"
            return None, Refusal(
                "price", f"the gateway has no price for {model}: add it to Gateway(price=...)"
            )
        kept = _kept(request.body) if self._ledger.limited else None
        if kept is not None:
            return None, Refusal("budget", f"{kept} stands for input of unknown size, kept by the provider")
        reserved = meter.reserve(
            arrival.route.dialect,
            request,
            body,
            t=arrival.t,
            number=arrival.number,
            owner=arrival.owner,
        )
        if reserved is not None:
            return reserved, None
        if self._ledger.halted is not None:  # while it was written
            return None, Refusal("ledger", "the reservation cannot be written down")
        return None, Refusal("budget", "the budget has not enough left for what it could cost")

    def _settle(self, owner: Owner, reserved: Reserved, exchange: Exchange, t: int) -> dict[str, Any]:
        assert self._meter is not None
        fields = self._meter.settle(reserved, exchange, t=t)
        if self._ledger.halted is not None and owner.run_id is not None:
            self.endings.setdefault(owner.run_id, self._ledger.halted)
        return fields

    def note(self, owner: Owner, refusal: Refusal, *, request: int, t: int | None = None) -> None:
        """Write a refusal down, and how it ends its run.

        Parameters
        ----------
        owner : Owner
            The run.
        refusal : Refusal
            By the gate, or by what is behind it.
        request : int
            Number of the request.
        t : int, optional
            Stamp, ns; now when absent.
        """
        self._ledger.refuse(refusal.code, t=t, request=request, run_id=owner.run_id)
        if refusal.ending is not None and owner.run_id is not None:
            self.endings.setdefault(owner.run_id, refusal.ending)


def _kept(body: Mapping[str, Any]) -> str | None:
    """Say what stands in a request for input that its provider keeps."""
    found = next((key for key in _KEPT if body.get(key)), None)
    if found is None and any(item.get("type") == "item_reference" for item in dicts(body.get("input"))):
        return "item_reference"
    return found
