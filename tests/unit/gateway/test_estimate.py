"""An estimate says what it rests on, and nothing when it rests on nothing."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from agentlab.errors import ConfigError
from agentlab.gateway.estimate import estimate_usd
from agentlab.gateway.ledger import Ledger

D = Decimal


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Two runs of "pi" (0.10; 0.10 + 0.20), one of "codex" (1.00), and a request outside of runs (0.50)."""
    ours = Ledger(tmp_path / "ledger.jsonl")
    spent = [("1", "pi", "0.10"), ("2", "pi", "0.10"), ("2", "pi", "0.20"), ("3", "codex", "1")]
    for run_id, arm, usd in [*spent, (None, None, "0.5")]:
        hold = ours.reserve(D(2), run_id=run_id, arm=arm)
        assert hold is not None
        ours.settle(hold, measured=D(usd))
    ours.close()
    return tmp_path / "ledger.jsonl"


def test_recorded_runs_of_the_arm_say_it(ledger: Path) -> None:
    found = estimate_usd({"pi": 5, "codex": 1}, ledger=ledger, budget_usd=10)
    assert found.expected_usd == D("2.0") and found.n_recorded == 3 and found.most_usd == D("8.1")
    assert str(found) == (
        "6 runs to come: about 2.00 USD (by 3 recorded), at most 8.10 USD, which the budget has left"
    )


def test_an_arm_without_a_run_takes_the_typical_or_the_mean(ledger: Path) -> None:
    assert estimate_usd({"new": 3}, ledger=ledger, typical_usd="0.2").expected_usd == D("0.6")
    mean = estimate_usd({"new": 3}, ledger=ledger)
    assert mean.expected_usd is not None and round(mean.expected_usd, 6) == D("1.4") and mean.n_recorded == 3


def test_nothing_known_is_said(tmp_path: Path) -> None:
    found = estimate_usd({"pi": 1}, ledger=tmp_path / "absent.jsonl")
    assert found.expected_usd is None and found.most_usd is None
    assert str(found) == "1 run to come: what a run costs is not known yet, no budget limits it"
    assert estimate_usd({"pi": 0}).expected_usd == 0


def test_a_spent_budget_has_nothing_left(ledger: Path) -> None:
    assert estimate_usd({"pi": 1}, ledger=ledger, budget_usd="0.5").most_usd == 0
    with pytest.raises(ConfigError, match="typical_usd"):
        estimate_usd({"pi": 1}, typical_usd=-1)
