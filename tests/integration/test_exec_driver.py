"""Exec on real processes: every scenario comes out right by our rules, and the original's are told apart."""

from __future__ import annotations

import asyncio
from typing import Any

import psutil
import pytest

import agentlab as al
from agentlab.drivers.exec.driver import Exec
from agentlab.drivers.exec.scenarios import exec_scenarios

from ..waiting import lives

SCENARIOS = exec_scenarios()
#: The longest report of one end on a busy machine, ms; the waits are of 10 s.
_BUSY_MS = 500.0
#: Their median, ms; the original's rules cannot be below 100.
_MEDIAN_MS = 50.0


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> al.Recordings:
    """Both rules, one run each."""
    before = {process.pid for process in psutil.process_iter()}
    arms = {"ours": Exec(), "original": Exec(rules="original")}
    folder = tmp_path_factory.mktemp("exec") / "study"
    recorded = al.record(
        al.Scenario("exec"), arms, runs=1, seed=1, to=folder, host="inline", quiet=None, progress="none"
    )
    recs = recorded.result(timeout=120)
    left = [p for p in psutil.process_iter(["cmdline"]) if p.pid not in before]
    assert not [p for p in left if "printer.py" in " ".join(p.info["cmdline"] or ())]
    return recs


def _rows(study: al.Recordings, arm: str, scenario: str) -> Any:  # noqa: ANN401
    table = study.table("exec")
    return table[(table["arm"] == arm) & (table["scenario"] == scenario)].sort_values("call")


def test_all_is_played(study):
    assert study.runs["eligible"].tolist() == [True, True]
    closed = study.table("exec").query("op == 'close'")
    assert sorted(closed["scenario"]) == sorted([*SCENARIOS, *SCENARIOS])


@pytest.mark.parametrize("name", SCENARIOS)
def test_by_our_rules_each_scenario_is_as_wanted(study, name):
    rows, want = _rows(study, "ours", name), SCENARIOS[name].want
    close = rows[rows["op"] == "close"].iloc[0]
    assert rows[rows["op"] != "close"]["state"].iloc[-1] == want["state"]
    assert close["exit"] == want.get("exit_code", close["exit"])
    assert close["ended_by"] == want["ended_by"]
    assert close["lost_bytes"] == 0
    assert close["printed_bytes"] == close["seen_bytes"]
    assert (close["printed_bytes"] > 0) == (name != "not-found")
    if close["typed_bytes"]:
        assert close["typed_read_bytes"] == close["typed_bytes"]
    assert close["background"] == want.get("background", 0)
    assert close["survivors"] == 0
    if "report_ms" in want:
        assert rows["end_delay_ms"].max() < _BUSY_MS


def test_by_our_rules_an_end_is_reported_at_once(study):
    delays = study.table("exec").query("arm == 'ours'")["end_delay_ms"].dropna()
    assert len(delays) > 10
    assert delays.median() < _MEDIAN_MS


def test_what_is_known_of_each_call(study):
    rows = _rows(study, "ours", "bursts")
    calls = rows[rows["op"] != "close"]
    assert calls["op"].tolist() == ["start", *["poll"] * (len(calls) - 1)]
    assert calls["state"].tolist() == ["running"] * (len(calls) - 1) + ["exited"]
    assert (calls["wall_ms"].iloc[:-1] >= 500).all()
    told = calls[calls["n_prints"] > 0]
    assert told["n_prints"].sum() == 18
    assert (told["read_delay_ms"] > 0).all()
    assert (told["read_delay_ms"] <= told["delay_max_ms"]).all()
    assert (told["delay_min_ms"] <= told["delay_ms"]).all()


def test_the_originals_rules_wait_for_silence(study):
    for name, want in SCENARIOS.items():
        # in bursts the end may fall on a poll's deadline: then there is no silence to wait for
        if "report_ms" in want.want and name not in ("exit-before-poll", "bursts"):
            assert _rows(study, "original", name)["end_delay_ms"].max() >= 100, name
    assert _rows(study, "original", "background-never-quiet")["end_delay_ms"].max() >= 1000


def test_the_originals_rules_lose_and_leave(study):
    closed = study.table("exec").query("op == 'close' and arm == 'original'").set_index("scenario")
    lost = closed["lost_bytes"]
    assert set(lost[lost > 0].index) == {"background-prints-later", "background-never-quiet"}
    assert lost["background-prints-later"] >= 64
    left = closed["survivors"]
    assert left[left > 0].to_dict() == {
        "background-server": 1, "background-server-pipe": 1, "setsid-child": 1, "job-control": 2,
    }  # fmt: skip
    assert closed["typed_read_bytes"]["long-line"] == 4096
    named = study.issues.query("code == 'survivors'")
    assert set(named["arm"]) == {"original"}
    assert len(named) == 4


def test_the_originals_rules_forget(study):
    rows = _rows(study, "original", "interrupt-after-exit")
    assert rows["state"].dropna().tolist() == ["exited", "unknown_session"]


def test_a_scenario_with_turns_is_refused(tmp_path):
    running = al.record(
        al.Scenario("x", turns=["hello"]), Exec(), runs=1, to=tmp_path / "s", host="inline", quiet=None,
        progress="none",
    )  # fmt: skip
    with pytest.raises(al.ConfigError, match="without turns"):
        running.result(timeout=60)


async def test_cancel_ends_what_was_started(tmp_path):
    own = tmp_path / "own.json"
    own.write_text(
        '{"scenarios": [{"name": "long", "command": "{say} b setsid wait:60 & {say} a line wait:60",'
        ' "calls": [{"op": "start", "yield_s": 30}]}]}'
    )
    running = al.record(
        al.Scenario("exec"), Exec(file=own), runs=1, to=tmp_path / "s", host="inline", quiet=None,
        progress="none",
    )  # fmt: skip

    def printers() -> list[psutil.Process]:
        found = psutil.process_iter(["cmdline"])
        return [
            p
            for p in found
            if "printer.py" in (line := " ".join(p.info["cmdline"] or ())) and "e1.list" in line
        ]

    async with asyncio.timeout(20):
        while len(printers()) < 2:
            await asyncio.sleep(0.05)
    started = printers()
    running.cancel()
    recs = await running
    assert recs.runs["status"].tolist() == ["cancelled"]
    assert not [process for process in started if lives(process)]
