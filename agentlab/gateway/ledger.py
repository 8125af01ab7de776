"""What may be spent: reserved before a request is sent, settled after it, never above the budget.

The file is the truth. A reservation is a line on disk before anything is sent, so a process that is killed at
any moment leaves a ledger whose sum is never below what was really charged: a reservation without its
settlement counts in full. One file serves all gateways of a study and all its resumptions, also at the same
time: each change is made under a lock, after reading what others appended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Generator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigError, RecordingError
from .book import EXACT, Book, LedgerState, fold, text

_encode = msgspec.json.Encoder().encode


@dataclasses.dataclass(frozen=True)
class Hold:
    """One reservation.

    Parameters
    ----------
    id : str
        Unique over all lives of the ledger.
    usd : Decimal
        What is held.
    """

    id: str
    usd: Decimal


class Ledger:
    """Admit requests against a budget.

    Parameters
    ----------
    file : str, Path or None
        ``ledger.jsonl``; appended to. None: in memory only.
    account : str
        Whose rows these are; the same name after a resumption.
    budget_usd : Decimal, optional
        Limit of this account.
    total_usd : Decimal, optional
        Limit of all accounts of the file together.

    Attributes
    ----------
    halted : str or None
        ``"balance"`` or ``"error"``: nothing more is admitted.
    halt_detail : str or None
        ``"http_402"``, ``"charge_above_reservation"`` or the file system's error, e.g. ``"ENOSPC"``.

    Raises
    ------
    RecordingError
        The file cannot be opened, or holds rows that are none of a ledger.

    Examples
    --------
    >>> ledger = Ledger(None, budget_usd=Decimal("1.00"))
    >>> holds = [ledger.reserve(Decimal("0.30")) for _ in range(4)]
    >>> holds[3] is None, ledger.book.committed()
    (True, Decimal('0.90'))
    >>> ledger.settle(holds[0], measured=Decimal("0.05"))
    Decimal('0.05')
    """

    def __init__(
        self,
        file: str | Path | None,
        *,
        account: str = "gateway",
        budget_usd: Decimal | None = None,
        total_usd: Decimal | None = None,
    ) -> None:
        self.life = secrets.token_hex(4)
        self.book = Book()
        self.halted: str | None = None
        self.halt_detail: str | None = None
        self._account = account
        self._budget, self._total = budget_usd, total_usd
        self._number = 0
        self._offset = 0
        self._path = None if file is None else Path(file)
        self._fd: int | None = None
        self._mine: dict[str, tuple[Hold, Mapping[str, Any]]] = {}
        if self._path is not None and self._path.exists():
            with self._locked():
                pass

    def begin(self, **about: Any) -> None:  # noqa: ANN401
        """Write down by which rules this life counts, e.g. its prices.

        Parameters
        ----------
        **about
            Fields of the row; None is left out.

        Raises
        ------
        RecordingError
            The file cannot be written.
        """
        fields = {key: value for key, value in about.items() if value is not None}
        self._write("opened", None, {"life": self.life, **fields})
        if self.halted is not None:
            raise RecordingError(f"{self._path}: the ledger cannot be written: {self.halt_detail}")

    def reserve(self, amount: Decimal, *, t: int | None = None, **about: Any) -> Hold | None:  # noqa: ANN401
        """Hold an amount, and write it down, before anything is sent.

        Parameters
        ----------
        amount : Decimal
            Upper bound of the charge, USD.
        t : int, optional
            CLOCK_MONOTONIC, ns; now when absent.
        **about
            Further fields of the row, e.g. ``request, run_id, arm, model, body_bytes``; None is left out.

        Returns
        -------
        Hold or None
            None: the budget has not enough left, or the ledger is halted.
        """
        if self.halted is not None:
            return None
        if not (amount.is_finite() and amount >= 0):
            raise ConfigError(f"Ledger.reserve({amount!r}): give an amount in USD, from 0")
        self._number += 1
        hold = Hold(f"{self.life}-{self._number}", amount)
        about = {key: value for key, value in about.items() if value is not None}
        row = {"id": hold.id, **about, "reserved_usd": text(amount)}
        if not self._write("reserved", t, row, amount=amount):
            return None
        self._mine[hold.id] = (hold, about)
        return hold

    def settle(
        self,
        hold: Hold,
        *,
        measured: Decimal | None,
        t: int | None = None,
        **about: Any,  # noqa: ANN401
    ) -> Decimal:
        """Replace a reservation by its charge.

        A second settlement of the same reservation changes nothing.

        Parameters
        ----------
        hold : Hold
            From :meth:`reserve`.
        measured : Decimal or None
            The charge; None: it is not known, and the whole reservation is kept.
        t : int, optional
            CLOCK_MONOTONIC, ns; now when absent.
        **about
            Further fields of the row, e.g. ``input_total_tokens, status, why``.

        Returns
        -------
        Decimal
            What was charged. A charge above its reservation halts the ledger.
        """
        charge = hold.usd if measured is None else measured
        if hold.id not in self._mine:
            return charge
        kept = {key: self._mine[hold.id][1].get(key) for key in ("request", "run_id", "arm")}
        fields: dict[str, Any] = {"id": hold.id, **kept, **about, "charged_usd": text(charge)}
        fields |= {"uncertain": True} if measured is None else {"measured_usd": text(measured)}
        del self._mine[hold.id]
        self._write("settled", t, {key: value for key, value in fields.items() if value is not None})
        if charge > hold.usd:
            self.halt("error", "charge_above_reservation", t=t)
        return charge

    def refuse(self, reason: str, *, t: int | None = None, **about: Any) -> None:  # noqa: ANN401
        """Count a request that was not admitted.

        Parameters
        ----------
        reason : str
            ``"budget"``, ``"limit"``, ``"tools"``, ``"admission"``, ``"balance"`` ...
        t : int, optional
            CLOCK_MONOTONIC, ns; now when absent.
        **about
            Further fields of the row.
        """
        fields = {key: value for key, value in about.items() if value is not None}
        self._write("refused", t, {"reason": reason, **fields})

    def halt(self, why: str, detail: str, *, t: int | None = None) -> None:
        """Admit nothing more in this life.

        Parameters
        ----------
        why : {"balance", "error"}
            The ending.
        detail : str
            A short code.
        t : int, optional
            CLOCK_MONOTONIC, ns; now when absent.
        """
        if self.halted is not None:
            return
        self.halted, self.halt_detail = why, detail
        self._write("halted", t, {"life": self.life, "why": why, "detail": detail})

    @property
    def limited(self) -> bool:
        """Whether a budget limits it: the account's, or one of all accounts together."""
        return self._budget is not None or self._total is not None

    @property
    def committed(self) -> Decimal:
        """What the account has charged and holds by now, USD."""
        return self.book.committed(self._account)

    def state(self, *, priced: bool = True) -> LedgerState:
        """Return where the account stands.

        Parameters
        ----------
        priced : bool
            Whether requests have a price.

        Returns
        -------
        LedgerState
        """
        state = self.book.state(self._account, life=self.life, priced=priced, budget=self._budget)
        return dataclasses.replace(state, halted=self.halted)

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _write(
        self, kind: str, t: int | None, fields: Mapping[str, Any], *, amount: Decimal | None = None
    ) -> bool:
        """Append a row, unless its amount is more than the budgets have left; say whether it was.

        A ledger that cannot be written admits nothing more; what is open stays reserved.
        """
        try:
            with self._locked():
                if amount is not None and not self._has_left(amount):
                    return False
                self._append(kind, t, fields)
        except (OSError, RecordingError) as error:
            code = error.errno if isinstance(error, OSError) else None
            if self.halted is None:
                self.halted, self.halt_detail = "error", errno.errorcode.get(code or 0, "EIO")
            return False
        return True

    def _has_left(self, amount: Decimal) -> bool:
        limits = ((self._budget, self._account), (self._total, None))
        return all(
            limit is None or EXACT.add(self.book.committed(account), amount) <= limit
            for limit, account in limits
        )

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the file, and know what others have appended."""
        if self._path is None:
            yield
            return
        if self._fd is None:
            try:
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._fd = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise RecordingError(
                    f"{self._path}: the ledger cannot be opened: {error.strerror}"
                ) from error
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            if os.fstat(self._fd).st_size != self._offset:
                self._catch_up(self._fd)
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _catch_up(self, fd: int) -> None:
        """Read what was appended by others, and close a line that a crash or a full disk has torn."""
        size = os.fstat(fd).st_size
        data = _read_from(fd, self._offset)
        fold(self.book, data, where=str(self._path))
        if data and not data.endswith(b"\n") and os.write(fd, b"\n") == 1:
            size += 1
        self._offset = size

    def _append(self, kind: str, t: int | None, fields: Mapping[str, Any]) -> None:
        stamp = time.monotonic_ns() if t is None else t
        row = {"t": stamp, "kind": kind, "account": self._account, **fields}
        if self._fd is not None:
            line = _line(row)
            written = os.write(self._fd, line)
            if written < len(line):  # what stands there is read and closed before the next line
                raise OSError(errno.ENOSPC, "short write")
            self._offset += written
        self.book.apply(row)


def _line(row: Mapping[str, Any]) -> bytes:
    try:
        return _encode(row) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate in a name
        return json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _read_from(fd: int, offset: int) -> bytes:
    parts: list[bytes] = []
    while part := os.pread(fd, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)
