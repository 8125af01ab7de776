"""The ledger: nothing above the budget, nothing lost, and a file that reads itself back."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentlab.errors import ConfigError, RecordingError
from agentlab.gateway import book, ledger
from agentlab.gateway.ledger import Ledger

D = Decimal


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_eight_parallel_calls_of_030_against_100() -> None:
    ours = Ledger(None, budget_usd=D("1.00"))
    holds = [ours.reserve(D("0.30")) for _ in range(8)]
    admitted = [hold for hold in holds if hold is not None]
    assert len(admitted) == 3
    for hold in admitted:
        ours.settle(hold, measured=D("0.30"))
    state = ours.state()
    assert state.charged_usd == D("0.90") <= 1 and state.reserved_usd == 0
    assert ours.halted is None  # a budget that is not enough for one call may be for the next
    assert ours.reserve(D("0.10")) is not None and ours.reserve(D("0.01")) is None


def test_two_ledgers_of_one_file_share_a_budget(tmp_path: Path) -> None:
    """Threads stand for processes: each has a descriptor and a memory of its own."""
    file, admitted = tmp_path / "ledger.jsonl", []
    barrier = threading.Barrier(8)

    def call(number: int) -> None:
        mine = Ledger(file, account=f"arm-{number}", total_usd=D("1.00"))
        barrier.wait()
        hold = mine.reserve(D("0.30"))
        if hold is not None:
            admitted.append(hold)
            mine.settle(hold, measured=D("0.25"))
        mine.close()

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 3
    assert book.read(file).committed() == D("0.75")


def test_an_account_has_its_own_limit_inside_the_total(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    one = Ledger(file, account="one", budget_usd=D("0.5"), total_usd=D(2))
    two = Ledger(file, account="two", total_usd=D(2))
    assert one.reserve(D("0.6")) is None and one.reserve(D("0.4")) is not None
    assert two.reserve(D("1.7")) is None and two.reserve(D("1.6")) is not None
    assert one.reserve(D("0.1")) is None  # its own limit would allow it, the total does not
    assert two.state().left_usd is None and one.state().left_usd == D("0.1")


def test_a_reservation_is_on_disk_before_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    ours = Ledger(file)
    hold = ours.reserve(D("0.1"), t=5, request=1, run_id="r", arm="a", model=None)
    assert hold is not None
    assert rows(file) == [
        {
            "t": 5,
            "kind": "reserved",
            "account": "gateway",
            "id": hold.id,
            "request": 1,
            "run_id": "r",
            "arm": "a",
            "reserved_usd": "0.1",
        }
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    ours.settle(hold, measured=D("0.0000001"), t=6)
    assert rows(file)[1]["charged_usd"] == "0.0000001" and rows(file)[1]["run_id"] == "r"
    assert book.read(file).runs == {("r", "a"): D("0.0000001")}


def test_what_is_not_known_keeps_the_whole_reservation(tmp_path: Path) -> None:
    ours = Ledger(tmp_path / "ledger.jsonl", budget_usd=D(1))
    hold = ours.reserve(D("0.4"))
    assert hold is not None and ours.settle(hold, measured=None) == D("0.4")
    state = ours.state()
    assert (state.charged_usd, state.uncertain, state.uncertain_usd) == (D("0.4"), 1, D("0.4"))
    assert state.halted is None and "1 uncertain (0.40 USD kept)" in str(state)
    assert "measured_usd" not in rows(tmp_path / "ledger.jsonl")[1]


def test_a_charge_above_its_reservation_is_counted_and_halts(tmp_path: Path) -> None:
    ours = Ledger(tmp_path / "ledger.jsonl", budget_usd=D(1))
    hold, other = ours.reserve(D("0.2")), ours.reserve(D("0.2"))
    assert hold is not None and other is not None
    assert ours.settle(hold, measured=D("0.3")) == D("0.3")
    assert (ours.halted, ours.halt_detail) == ("error", "charge_above_reservation")
    assert ours.reserve(D("0.01")) is None
    ours.settle(other, measured=D("0.1"))  # what is under way is still settled
    assert ours.state().charged_usd == D("0.4")
    assert [row["kind"] for row in rows(tmp_path / "ledger.jsonl")][-2:] == ["halted", "settled"]
    assert (
        book.read(tmp_path / "ledger.jsonl").state("gateway", life=ours.life, priced=True, budget=None).halted
        == "error"
    )
    again = Ledger(tmp_path / "ledger.jsonl", budget_usd=D(1))
    assert again.halted is None and again.state().halted is None  # it is the user who goes on


def test_a_second_settlement_changes_nothing() -> None:
    ours = Ledger(None)
    hold = ours.reserve(D(1))
    assert hold is not None
    ours.settle(hold, measured=D("0.5"))
    ours.settle(hold, measured=D("0.7"))
    assert ours.state().charged_usd == D("0.5") and ours.state().n_settled == 1


def test_a_file_that_cannot_be_written_admits_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ledger.jsonl"
    ours = Ledger(file, budget_usd=D(1))
    first = ours.reserve(D("0.1"))
    assert first is not None
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "full")
        return real(fd, data[:20])

    monkeypatch.setattr(ledger.os, "write", full)
    assert ours.reserve(D("0.1")) is None
    assert (ours.halted, ours.halt_detail) == ("error", "ENOSPC")
    ours.settle(first, measured=D("0.01"))
    assert ours.book.committed() == D("0.1")  # not on disk, so not believed
    monkeypatch.setattr(ledger.os, "write", real)
    assert ours.reserve(D("0.1")) is None
    ours.close()
    again = Ledger(file, budget_usd=D(1))
    assert again.state().charged_usd == D("0.1") and again.state().uncertain == 1
    assert again.reserve(D("0.9")) is not None
    again.close()
    assert book.read(file).committed() == D(1)


def test_what_follows_a_torn_line_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ledger.jsonl"
    ours = Ledger(file, budget_usd=D(1))
    first = ours.reserve(D("0.1"))
    assert first is not None
    real = os.write
    monkeypatch.setattr(ledger.os, "write", lambda fd, data: real(fd, data[:20]))
    assert ours.reserve(D("0.1")) is None and ours.halted == "error"
    monkeypatch.setattr(ledger.os, "write", real)  # there is room again
    ours.settle(first, measured=D("0.01"))
    ours.close()
    again = Ledger(file)
    assert again.state().charged_usd == again.book.committed() == ours.book.committed() == D("0.01")
    again.close()


def test_a_file_that_cannot_be_opened_admits_nothing(tmp_path: Path) -> None:
    ours = Ledger(tmp_path / "absent" / "ledger.jsonl")
    assert ours.reserve(D(1)) is None and ours.halted == "error"
    with pytest.raises(RecordingError, match="cannot be opened"):
        Ledger(tmp_path)


def test_a_restart_reads_what_was_spent(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    first = Ledger(file, budget_usd=D(1))
    for measured in (D("0.2"), None):
        hold = first.reserve(D("0.3"))
        assert hold is not None
        first.settle(hold, measured=measured)
    first.reserve(D("0.25"))
    first.refuse("limit")
    first.close()
    again = Ledger(file, budget_usd=D(1))
    state = again.state()
    assert state.charged_usd == D("0.75") and state.uncertain == 2 and state.refused == {"limit": 1}
    assert state.left_usd == D("0.25") and state.ending == "limit"
    assert again.reserve(D("0.26")) is None and again.reserve(D("0.25")) is not None


@pytest.mark.parametrize("cut", [1, 2, 10, 60])
def test_a_torn_last_line_is_left_out_and_closed(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "ledger.jsonl"
    ours = Ledger(file)
    first, second = ours.reserve(D("0.1")), ours.reserve(D("0.2"))
    assert first is not None and second is not None
    ours.settle(first, measured=D("0.01"))
    ours.close()
    data = file.read_bytes()
    file.write_bytes(data[:-cut])
    again = Ledger(file)
    # Without its settlement a reservation counts in full; a line that lacks only its end is whole.
    assert again.state().charged_usd == (D("0.21") if cut == 1 else D("0.3"))
    assert again.reserve(D("0.4")) is not None
    again.close()
    assert book.read(file).committed() == (D("0.61") if cut == 1 else D("0.7"))


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "5",
        '{"kind":"reserved"}',
        '{"kind":"reserved","id":"a-1","account":"x","reserved_usd":"-1"}',
        '{"kind":"reserved","id":"a-1","account":"x","reserved_usd":"much"}',
        '{"kind":"settled","id":"a-1","account":"x","charged_usd":0.1}',
        '{"kind":"settled","id":"a-1","account":"x","charged_usd":"NaN"}',
    ],
)
def test_what_is_no_ledger_is_said_and_not_guessed(tmp_path: Path, line: str) -> None:
    file = tmp_path / "ledger.jsonl"
    file.write_text(line + "\n")
    for read in (book.read, Ledger):
        with pytest.raises(RecordingError, match="none of a ledger"):
            read(file)


def test_two_thousand_rows_are_read_in_a_moment(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    ours = Ledger(file)
    for number in range(1000):
        hold = ours.reserve(D("0.001"), request=number, model="m", body_bytes=32000)
        assert hold is not None
        ours.settle(hold, measured=D("0.0005"), input_total_tokens=8000)
    assert len(rows(file)) == 2000 and {row["kind"] for row in rows(file)} == {"reserved", "settled"}
    began = time.perf_counter()
    assert book.read(file).committed() == D("0.5")
    assert time.perf_counter() - began < 1


def test_an_absurd_charge_is_counted() -> None:
    ours = Ledger(None)
    hold = ours.reserve(D("0.001"))
    assert hold is not None
    ours.settle(hold, measured=D(10**400))
    assert ours.halted == "error" and ours.book.committed() >= D(10**400)


def test_an_amount_is_an_amount() -> None:
    for amount in (D(-1), D("nan"), D("inf")):
        with pytest.raises(ConfigError, match="from 0"):
            Ledger(None).reserve(amount)


def test_without_a_price_no_charge_is_claimed() -> None:
    ours = Ledger(None)
    ours.refuse("limit")
    state = ours.state(priced=False)
    assert state.charged_usd is None and state.ending == "limit"
    assert str(state) == "no price, so no charge is known, 1 refused (limit)"


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0", "0.00 USD"), ("0.00001", "0.0001 USD"), ("12", "12.00 USD"), ("0.054399", "0.0544 USD")],
)
def test_amounts_are_shown_rounded_up(amount: str, shown: str) -> None:
    assert book.usd(D(amount)) == shown
