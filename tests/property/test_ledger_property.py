"""No order of reserving, settling, losing and restarting exceeds a budget or loses a charge."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from agentlab.gateway import book
from agentlab.gateway.ledger import Hold, Ledger

cents = st.integers(0, 400).map(lambda n: Decimal(n) / 1000)
N = 3


class LedgerMachine(RuleBasedStateMachine):
    """Three gateways on one file; ``true`` is what a provider would have billed at most so far."""

    holds = Bundle("holds")

    @initialize(budget=st.integers(0, 2000).map(lambda n: Decimal(n) / 1000), own=cents)
    def begin(self, budget: Decimal, own: Decimal) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "ledger.jsonl"
        self.budget, self.own = budget, own
        self.true = Decimal(0)
        self.open: dict[str, Decimal] = {}
        self.ledgers = [self.fresh(number) for number in range(N)]

    def fresh(self, number: int) -> Ledger:
        own = self.own if number == 0 else None
        return Ledger(self.file, account=f"gateway-{number}", budget_usd=own, total_usd=self.budget)

    @rule(target=holds, number=st.integers(0, N - 1), amount=cents)
    def reserve(self, number: int, amount: Decimal) -> object:
        ledger = self.ledgers[number]
        before = book.read(self.file)
        hold = ledger.reserve(amount)
        room = before.committed() + amount <= self.budget
        room &= number != 0 or before.committed("gateway-0") + amount <= self.own
        assert (hold is not None) == room  # refused only when there is no room
        if hold is None:
            return multiple()
        self.open[hold.id] = hold.usd
        return (number, ledger, hold)

    @rule(held=consumes(holds), share=st.none() | st.integers(0, 100))
    def settle(self, held: tuple[int, Ledger, Hold], share: int | None) -> None:
        number, ledger, hold = held
        if self.ledgers[number] is not ledger:
            return  # it died with its gateway
        measured = None if share is None else hold.usd * share / 100
        self.true += hold.usd if measured is None else measured
        del self.open[hold.id]
        assert ledger.settle(hold, measured=measured) <= hold.usd
        ledger.settle(hold, measured=Decimal(0))

    @rule(held=consumes(holds))
    def cancel(self, held: tuple[int, Ledger, Hold]) -> None:
        """End a request that was never sent."""
        number, ledger, hold = held
        if self.ledgers[number] is ledger:
            del self.open[hold.id]
            assert ledger.settle(hold, measured=Decimal(0)) == 0

    @rule(number=st.integers(0, N - 1), cut=st.integers(0, 40))
    def crash(self, number: int, cut: int) -> None:
        """Kill a gateway and start it again: nobody knows what its open requests cost.

        A line that was being written is torn; all earlier ones are whole.
        """
        ledger = self.ledgers[number]
        mine = [key for key in self.open if key.startswith(f"{ledger.life}-")]
        self.true += sum((self.open.pop(key) for key in mine), Decimal(0))
        ledger.close()
        if cut:
            with self.file.open("ab") as file:
                file.write(b'{"t":1,"kind":"reserved","account":"gateway-0","id":"x","reserved_usd"'[:cut])
        self.ledgers[number] = self.fresh(number)

    @invariant()
    def holds_true(self) -> None:
        if not hasattr(self, "file"):
            return
        committed = book.read(self.file).committed()
        assert committed <= self.budget
        assert committed == self.true + sum(self.open.values(), Decimal(0))
        for ledger in self.ledgers:  # nothing is held but for what is open, and all that is open is held
            mine = [usd for key, usd in self.open.items() if key.startswith(f"{ledger.life}-")]
            assert ledger.state().reserved_usd == sum(mine, Decimal(0))
            assert ledger.halted is None

    def teardown(self) -> None:
        if not hasattr(self, "file"):
            return
        for ledger in self.ledgers:
            ledger.close()
        self.folder.cleanup()


LedgerMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestLedger = LedgerMachine.TestCase
