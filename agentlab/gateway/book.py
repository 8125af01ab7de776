"""The rows of a ledger folded into sums; reading one needs nothing else."""

from __future__ import annotations

import dataclasses
import decimal
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from ..errors import RecordingError

_ZERO = Decimal(0)
#: Sums are never below what was charged, whatever their length.
EXACT = decimal.Context(prec=60, rounding=decimal.ROUND_CEILING)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LedgerState:
    """Say where a ledger stands.

    Parameters
    ----------
    charged_usd : Decimal or None
        Settled charges, with what is kept of uncertain ones; None: nothing has a price here.
    reserved_usd : Decimal
        Of requests under way.
    uncertain : int
        Requests whose reservation is kept because what they cost is not known.
    uncertain_usd : Decimal
        Their part of ``charged_usd``.
    n_settled : int
        Settled requests, uncertain ones among them.
    refused : mapping of str to int
        Refused requests by reason.
    halted : str or None
        Why nothing more is admitted: ``"balance"`` (the provider's account is empty) or ``"error"``.
    budget_usd : Decimal or None
        The limit.
    """

    charged_usd: Decimal | None
    reserved_usd: Decimal
    uncertain: int
    uncertain_usd: Decimal
    n_settled: int
    refused: Mapping[str, int]
    halted: str | None
    budget_usd: Decimal | None

    @property
    def left_usd(self) -> Decimal | None:
        """What the budget has left; None without a budget."""
        if self.budget_usd is None:
            return None
        return self.budget_usd - (self.charged_usd or _ZERO) - self.reserved_usd

    @property
    def ending(self) -> str | None:
        """What stopped requests: ``"balance"``, ``"error"``, ``"budget"``, ``"limit"`` or nothing (None)."""
        if self.halted is not None:
            return self.halted
        return next((reason for reason in ("budget", "limit") if self.refused.get(reason)), None)

    def __str__(self) -> str:
        parts = ["no price, so no charge is known" if self.charged_usd is None else self._charged()]
        if self.reserved_usd:
            parts.append(f"{usd(self.reserved_usd)} reserved")
        if self.uncertain:
            parts.append(f"{self.uncertain} uncertain ({usd(self.uncertain_usd)} kept)")
        parts += [f"{n} refused ({reason})" for reason, n in sorted(self.refused.items())]
        if self.halted:
            parts.append(f"halted: {self.halted}")
        return ", ".join(parts)

    def _charged(self) -> str:
        of = "" if self.budget_usd is None else f" of {usd(self.budget_usd)}"
        return f"{usd(self.charged_usd or _ZERO)}{of} charged"


@dataclasses.dataclass
class _Account:
    charged: Decimal = _ZERO
    held: Decimal = _ZERO
    uncertain_usd: Decimal = _ZERO
    uncertain: int = 0
    settled: int = 0
    refused: Counter[str] = dataclasses.field(default_factory=Counter[str])
    halted: tuple[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class _Open:
    account: str
    usd: Decimal


class Book:
    """Fold the rows of a ledger into sums.

    Attributes
    ----------
    runs : dict of (str, str) to Decimal
        Charge of each run, by run id and arm.
    """

    def __init__(self) -> None:
        self.open: dict[str, _Open] = {}
        self.accounts: dict[str, _Account] = {}
        self.runs: dict[tuple[str, str], Decimal] = {}
        self._all = _Account()

    def apply(self, row: Mapping[str, Any]) -> None:
        """Take one row in.

        Parameters
        ----------
        row : mapping
            A line of the file. Kinds that are not known are left out.
        """
        kind = row.get("kind")
        if kind == "reserved":
            self._reserve(row)
        elif kind == "settled":
            self._settle(row)
        elif kind == "refused":
            self.account(str(row["account"])).refused[str(row["reason"])] += 1
        elif kind == "halted":
            self.account(str(row["account"])).halted = (str(row["life"]), str(row["why"]))

    def account(self, name: str) -> _Account:
        """Return the sums of one account.

        Parameters
        ----------
        name : str
            Of the account.

        Returns
        -------
        _Account
        """
        if name not in self.accounts:
            self.accounts[name] = _Account()
        return self.accounts[name]

    def committed(self, account: str | None = None) -> Decimal:
        """Return what is charged and held.

        Parameters
        ----------
        account : str, optional
            None: over all accounts.

        Returns
        -------
        Decimal
        """
        sums = self._all if account is None else self.account(account)
        return EXACT.add(sums.charged, sums.held)

    def state(
        self,
        account: str,
        *,
        life: str | None,
        priced: bool,
        budget: Decimal | None,
        running: bool = True,
    ) -> LedgerState:
        """Sum one account up.

        Parameters
        ----------
        account : str
            Which one.
        life : str or None
            The gateway that is asked about.
        priced : bool
            Whether requests have a price.
        budget : Decimal or None
            The limit.
        running : bool
            Whether it lives: then its open reservations are under way, else they are uncertain as those of
            any other life.

        Returns
        -------
        LedgerState
        """
        sums = self.account(account)
        mine = [(key, hold.usd) for key, hold in self.open.items() if hold.account == account]
        lost = [usd for key, usd in mine if not (running and key.startswith(f"{life}-"))]
        kept = _sum(lost)
        return LedgerState(
            charged_usd=EXACT.add(sums.charged, kept) if priced or sums.settled or lost else None,
            reserved_usd=EXACT.subtract(sums.held, kept),
            uncertain=sums.uncertain + len(lost),
            uncertain_usd=EXACT.add(sums.uncertain_usd, kept),
            n_settled=sums.settled + len(lost),
            refused=dict(sums.refused),
            halted=sums.halted[1] if sums.halted is not None and sums.halted[0] == life else None,
            budget_usd=budget,
        )

    def _reserve(self, row: Mapping[str, Any]) -> None:
        amount = _amount(row["reserved_usd"])
        account = str(row["account"])
        self.open[str(row["id"])] = _Open(account, amount)
        for sums in (self._all, self.account(account)):
            sums.held = EXACT.add(sums.held, amount)

    def _settle(self, row: Mapping[str, Any]) -> None:
        charge = _amount(row["charged_usd"])
        hold = self.open.pop(str(row["id"]), None)
        if hold is not None:
            for sums in (self._all, self.account(hold.account)):
                sums.held = EXACT.subtract(sums.held, hold.usd)
        for sums in (self._all, self.account(str(row["account"]))):
            sums.settled += 1
            sums.charged = EXACT.add(sums.charged, charge)
            if row.get("uncertain") is True:
                sums.uncertain += 1
                sums.uncertain_usd = EXACT.add(sums.uncertain_usd, charge)
        if (run := row.get("run_id")) is not None:
            key = (str(run), str(row.get("arm")))
            self.runs[key] = EXACT.add(self.runs.get(key, _ZERO), charge)


def read(file: str | Path) -> Book:
    """Read a ledger file.

    Parameters
    ----------
    file : str or Path
        ``ledger.jsonl``; one that does not exist is empty.

    Returns
    -------
    Book

    Raises
    ------
    RecordingError
        It cannot be read, or holds rows that are none of a ledger.
    """
    book = Book()
    try:
        data = Path(file).read_bytes()
    except FileNotFoundError:
        return book
    except OSError as error:
        raise RecordingError(f"{file}: the ledger cannot be read: {error.strerror}") from error
    fold(book, data, where=str(file))
    return book


def fold(book: Book, data: bytes, *, where: str) -> None:
    """Take the lines of a file in.

    Parameters
    ----------
    book : Book
        Is changed.
    data : bytes
        JSON lines. One that is no JSON was torn by a crash: what it would have said was not acted upon.
    where : str
        For the message.

    Raises
    ------
    RecordingError
        A line is JSON and no row of a ledger.
    """
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        try:
            book.apply(cast("Mapping[str, Any]", row))
        except (AttributeError, KeyError, TypeError, ValueError, decimal.InvalidOperation):
            raise RecordingError(
                f"{where}: a row is none of a ledger, so what was spent is not known; move the file away to "
                "begin a new ledger"
            ) from None


def text(amount: Decimal) -> str:
    """Spell an amount for the disk.

    Parameters
    ----------
    amount : Decimal
        USD.

    Returns
    -------
    str
        Without exponent.
    """
    return format(amount, "f")


def usd(amount: Decimal) -> str:
    """Spell an amount for a reader, rounded up.

    Parameters
    ----------
    amount : Decimal
        USD.

    Returns
    -------
    str

    Examples
    --------
    >>> usd(Decimal("0.054399")), usd(Decimal("0.30"))
    ('0.0544 USD', '0.30 USD')
    """
    rounded = amount.quantize(Decimal("0.0001"), rounding=decimal.ROUND_CEILING, context=EXACT)
    plain = format(rounded, "f")
    while plain.endswith("0") and len(plain) - plain.index(".") > 3:
        plain = plain[:-1]
    return f"{plain} USD"


def _amount(value: object) -> Decimal:
    amount = Decimal(value) if isinstance(value, str) else Decimal("nan")
    if not amount.is_finite() or amount < 0:
        raise ValueError("an amount is no decimal string")
    return amount


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    total = _ZERO
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total
