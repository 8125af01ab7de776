"""What a study will cost: said before it starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from .book import Book, read, usd
from .prices import Money, money

_ZERO = Decimal(0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """Say what the runs to come may cost.

    Parameters
    ----------
    n_runs : int
        Runs to come.
    n_recorded : int
        Recorded runs that the expectation rests on.
    expected_usd : Decimal or None
        None: nothing is known of what a run costs.
    most_usd : Decimal or None
        What the budget has left; None: nothing limits the cost.
    """

    n_runs: int
    n_recorded: int
    expected_usd: Decimal | None
    most_usd: Decimal | None

    def __str__(self) -> str:
        runs = f"{self.n_runs} run{'' if self.n_runs == 1 else 's'} to come"
        if self.expected_usd is None:
            likely = "what a run costs is not known yet"
        else:
            by = f"by {self.n_recorded} recorded" if self.n_recorded else "by the run given as typical"
            likely = f"about {usd(self.expected_usd)} ({by})"
        if self.most_usd is None:
            most = "no budget limits it"
        else:
            most = f"at most {usd(self.most_usd)}, which the budget has left"
        return f"{runs}: {likely}, {most}"


def estimate_usd(
    missing: Mapping[str, int],
    *,
    ledger: str | Path | None = None,
    budget_usd: Money | None = None,
    typical_usd: Money | None = None,
) -> Estimate:
    """Estimate what the missing runs of a study will cost.

    Each run is expected to cost the mean of the recorded runs of its arm; where there is none, what is given
    as typical, else the mean of all recorded runs.

    Parameters
    ----------
    missing : mapping of str to int
        Runs to come, by arm.
    ledger : str or Path, optional
        The study's ``ledger.jsonl``; it need not exist.
    budget_usd : Decimal, int, float or str, optional
        The budget, over all resumptions.
    typical_usd : Decimal, int, float or str, optional
        What one run is known to cost.

    Returns
    -------
    Estimate

    Raises
    ------
    RecordingError
        The ledger cannot be read.

    Examples
    --------
    >>> print(estimate_usd({"pi": 10, "codex": 10}, budget_usd=5, typical_usd="0.12"))
    20 runs to come: about 2.40 USD (by the run given as typical), at most 5.00 USD, which the budget has left
    """
    book = Book() if ledger is None else read(ledger)
    typical = None if typical_usd is None else money("estimate_usd", "typical_usd", typical_usd)
    by_arm: dict[str, list[Decimal]] = {}
    for (_, arm), charge in book.runs.items():
        by_arm.setdefault(arm, []).append(charge)
    all_runs = [charge for charges in by_arm.values() for charge in charges]
    expected, used = _ZERO, 0
    for arm, count in missing.items():
        charges = by_arm.get(arm) or ([] if typical is not None else all_runs)
        used += len(by_arm.get(arm, ()))
        each = _mean(charges) if charges else typical
        if each is None and count:
            return _estimate(missing, None, 0, book, budget_usd)
        expected += count * (each or _ZERO)
    return _estimate(
        missing, expected, used or (0 if typical is not None else len(all_runs)), book, budget_usd
    )


def _estimate(
    missing: Mapping[str, int], expected: Decimal | None, used: int, book: Book, budget: Money | None
) -> Estimate:
    most = None
    if budget is not None:
        most = max(_ZERO, money("estimate_usd", "budget_usd", budget) - book.committed())
    return Estimate(n_runs=sum(missing.values()), n_recorded=used, expected_usd=expected, most_usd=most)


def _mean(amounts: list[Decimal]) -> Decimal:
    return sum(amounts, _ZERO) / len(amounts)
