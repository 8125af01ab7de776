"""The money of a study: its limit, what is said of it beforehand; and how a gateway ends a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from ..errors import BudgetExceeded, ConfigError, GatewayError, UpstreamError
from .slots import Slot
from .study import Study

#: How the gateway ended a run -> its issue code; all but ``limit``, the run's own cap, end the study.
ENDINGS = {
    "budget": "budget_spent",
    "balance": "balance_empty",
    "error": "ledger_halted",
    "limit": "request_limit",
    "upstream": "upstream_unreachable",
}


def checked_budget(amount: Any, study: Study) -> Decimal | None:  # noqa: ANN401
    """Read ``record(budget_usd=)``.

    Parameters
    ----------
    amount : Decimal, int, float, str or None
        As it was given.
    study : Study
        Its gateways are what keeps a budget.

    Returns
    -------
    Decimal or None

    Raises
    ------
    ConfigError
        No amount of money, or an arm whose spending nobody can see.
    """
    if amount is None:
        return None
    from ..gateway.prices import money

    budget = money("record", "budget_usd", amount)
    if budget == 0:
        raise ConfigError("record(budget_usd=0): give an amount above 0")
    for name, gateway in _gateways(study).items():
        if gateway is None or gateway.price is None:
            lacks = "has no gateway" if gateway is None else "has a gateway without a price"
            raise ConfigError(
                f"record(budget_usd={amount}): arm {name!r} {lacks}, so nobody counts what it spends; "
                "give gateway=Gateway(..., price=Price(...))"
            )
    return budget


def told_cost(study: Study, slots: Iterable[Slot]) -> str | None:
    """Say what the missing runs may cost.

    Parameters
    ----------
    study : Study
        A prepared study.
    slots : iterable of Slot
        Its missing runs.

    Returns
    -------
    str or None
        One sentence; None when no money is at stake: no price, or scripted models only.
    """
    priced = [gateway for gateway in _gateways(study).values() if gateway is not None and gateway.price]
    if not any(isinstance(gateway.upstream, str) for gateway in priced):
        return None
    from ..gateway.estimate import estimate_usd

    left = Counter(slot.arm for slot in slots)
    return str(estimate_usd(left, ledger=study.folder / "ledger.jsonl", budget_usd=_limit(study)))


def ending_of(gateway: Any, run_id: str) -> str | None:  # noqa: ANN401
    """Return how the gateway ended a run: a key of :data:`ENDINGS`, or None."""
    return getattr(gateway, "endings", {}).get(run_id)


def end_study(ending: str, gateway: Any) -> GatewayError:  # noqa: ANN401
    """Return the error that ends a study whose gateway admits nothing more.

    Parameters
    ----------
    ending : {"budget", "balance", "upstream", "error"}
        How the gateway ended the run.
    gateway : LiveGateway
        The gateway.

    Returns
    -------
    GatewayError
    """
    spent = f"ledger: {gateway.ledger}"
    if ending == "budget":
        return BudgetExceeded(f"the next request could cost more than the budget has left ({spent})")
    if ending == "upstream":
        why = [row["reason"] for row in gateway.of_run() if str(row.get("reason")).startswith("upstream_")]
        return UpstreamError(
            f"the provider cannot be used ({why[-1]}): look at its address and at the network, then record "
            "again; what was measured is kept"
        )
    if ending == "balance":
        return GatewayError(f"the provider's account is empty: it answered with HTTP 402 ({spent})")
    return GatewayError(f"the ledger can no longer be trusted, so nothing more is sent ({spent})")


def _limit(study: Study) -> Decimal | None:
    """Return the least of the study's budget and of what its gateways have together, or None."""
    own = [gateway for arm in study.arms.values() if (gateway := getattr(arm, "gateway", None)) is not None]
    shared = [study.gateway] if len(own) < len(study.arms) else []
    paid = [gateway for gateway in own + shared if gateway is None or isinstance(gateway.upstream, str)]
    each = [gateway.budget for gateway in paid if gateway is not None and gateway.budget is not None]
    together = sum(each, Decimal(0)) if len(each) == len(paid) else None
    return min((limit for limit in (study.budget_usd, together) if limit is not None), default=None)


def _gateways(study: Study) -> dict[str, Any]:
    own = {name: getattr(arm, "gateway", None) for name, arm in study.arms.items()}
    return {name: study.gateway if gateway is None else gateway for name, gateway in own.items()}
