"""A ledger killed by SIGKILL at any point is never below what was really charged."""

from __future__ import annotations

import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from agentlab.gateway.ledger import Ledger

# What the provider bills stands in a file of its own, written when the request has been sent.
DRIVER = """
import os, signal, sys
from decimal import Decimal
from pathlib import Path
from agentlab.gateway.ledger import Ledger

file, billed, point = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
real = os.write

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def write(fd, data):
    kind = b'"reserved"' if point.startswith("reserved") else b'"settled"'
    if armed and kind in data:
        if point.endswith("before_write"):
            die()
        if point.endswith("in_write"):
            real(fd, data[: len(data) // 2])
            die()
    return real(fd, data)

os.write, armed = write, False
ledger = Ledger(file, budget_usd=Decimal(10))
first = ledger.reserve(Decimal("0.50"))
billed.write_text("0.20")
ledger.settle(first, measured=Decimal("0.20"))
armed = True
hold = ledger.reserve(Decimal("0.50"))
if point == "before_dispatch":
    die()
billed.write_text("0.55")  # 0.35 of this request so far
if point == "mid_stream":
    die()
ledger.settle(hold, measured=Decimal("0.35"))
die()
"""


@pytest.mark.parametrize(
    ("point", "billed", "charged"),
    [
        ("reserved_before_write", "0.20", "0.20"),  # and nothing was sent
        ("reserved_in_write", "0.20", "0.20"),
        ("before_dispatch", "0.20", "0.70"),
        ("mid_stream", "0.55", "0.70"),
        ("settled_before_write", "0.55", "0.70"),
        ("settled_in_write", "0.55", "0.70"),
        ("after_all", "0.55", "0.55"),
    ],
)
def test_the_restarted_ledger_is_never_below(tmp_path: Path, point: str, billed: str, charged: str) -> None:
    file, bill = tmp_path / "ledger.jsonl", tmp_path / "billed"
    command = [sys.executable, "-c", DRIVER, str(file), str(bill), point]
    assert subprocess.run(command, timeout=30, check=False).returncode == -signal.SIGKILL
    again = Ledger(file, budget_usd=Decimal(10))
    state = again.state()
    assert bill.read_text() == billed
    assert state.charged_usd == Decimal(charged) >= Decimal(billed)
    assert state.uncertain == (1 if charged == "0.70" else 0) and state.reserved_usd == 0
    assert again.reserve(10 - Decimal(charged)) is not None and again.reserve(Decimal("0.01")) is None
    again.close()
