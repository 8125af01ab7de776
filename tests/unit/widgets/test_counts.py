"""The card of a study on terminals counts what such a study has, and says both figures under pressure."""

import re

import pytest

import agentlab as al
from agentlab.testing.memory import SyntheticTool, write_memory_study
from agentlab.widgets.cards import recordings_card
from agentlab.widgets.counts import TALK, TERMINAL, counted


@pytest.fixture(scope="module")
def recs(tmp_path_factory):
    arms = {
        "codex": SyntheticTool(anon_mib=26, file_mib=85, pressed_rate=0.5),
        "pi": SyntheticTool(unreadable_rate=1.0),
    }
    return al.load(write_memory_study(tmp_path_factory.mktemp("c") / "s", arms=arms, runs=3, sessions=(1, 2)))


def test_sessions_and_settled_samples_are_counted_and_no_turns(recs):
    assert counted(recs) == TERMINAL
    plain = recordings_card(recs)["text/plain"]
    assert "turns" not in plain.partition("Scenario")[0] and "input unknown" in plain
    used = recs.where(eligible=True)
    n = len(used.where(arm="pi").sessions)
    assert re.search(rf"pi +6 +6 +none +{n} +0 +0 +6", plain)  # of no run is the memory of each process known
    settled = used.where(arm="codex").table("memory").query("settled and total_bytes.notna()")
    assert re.search(rf"codex .*memory_pressure \d +\d+ +0 +{len(settled)} +0", plain)


def test_both_figures_are_said(recs):
    said = [line for line in recordings_card(recs)["text/plain"].splitlines() if "MiB without" in line]
    assert said and all(
        line.startswith("settled total, runs under memory pressure: codex, ") for line in said
    )


def test_a_conversation_is_counted_as_before():
    assert counted(al.load(al.example("cache"))) == TALK
