"""Agents, OpenCode's server and the reference agent in one study: their requests stand in the same tables."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import agentlab as al
from agentlab import cli

ARMS = ["pi", "opencode", "opencode_server", "reference", "windowed"]
PRICE = {"input": Decimal(3), "output": Decimal(15), "cached": Decimal("0.30")}  # USD per million tokens


@pytest.fixture(scope="module")
def study(real_agents, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("comparison") / "study"
    code = cli.main(
        ["record", "agents", *ARMS, "--gateway-script", "task", "--price", "3,15,0.30", "--budget-usd", "5",
         "--runs", "1", "--seed", "3", "--quiet-wait", "0", "--progress", "none", "--to", str(folder)]
    )  # fmt: skip
    assert code == 0
    return folder


@pytest.fixture(scope="module")
def recs(study: Path) -> al.Recordings:
    return al.load(study)


def _lines(study: Path, arm: str, name: str) -> list[dict[str, Any]]:
    (file,) = study.glob(f"runs/*-{arm}/{name}")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_arm_answers_with_its_tools(recs):
    runs = recs.runs.set_index("arm")
    assert sorted(runs.index) == sorted(ARMS)
    assert set(runs["result"]) == {"answered"}, recs.issues
    assert runs["eligible"].all()
    assert (runs["n_tools"] == 3).all()
    assert (runs["n_tool_failures"] == 0).all()


def test_both_ways_to_run_opencode_send_the_same_prompts(recs):
    """The server and the command line are one agent: same tools, same system text but for its folder."""
    main = recs.requests.query("chain == 'main'").set_index("arm")
    command, server = main.loc["opencode"], main.loc["opencode_server"]
    assert len(command) == len(server) == 4
    assert command["n_tools"].tolist() == server["n_tools"].tolist()
    assert abs(command["canonical_bytes"].iloc[0] / server["canonical_bytes"].iloc[0] - 1) < 0.1
    assert command["append_only"].iloc[1:].all() and server["append_only"].iloc[1:].all()


def test_requests_of_all_drivers_have_the_same_columns_filled(recs):
    sent = recs.requests.query("counted")
    assert set(sent["source"]) <= {"gateway", "both"}
    known = [
        "canonical_bytes",
        "body_bytes",
        "input_total_tokens",
        "output_tokens",
        "cost_usd",
        "charged_usd",
    ]
    known += ["dialect", "chain", "prefix_state", "convention", "terminal_seen", "prompt_hash"]
    assert not sent[known].isna().any().any()
    assert (
        not recs.runs.set_index("arm")["start_cpu_s"]
        .drop(["opencode_server", "reference", "windowed"])
        .isna()
        .any()
    )


@pytest.mark.parametrize("arm", ARMS)
def test_a_row_of_the_table_follows_from_the_evidence(study, recs, arm):
    """Counted again from gateway.jsonl and events.jsonl with nothing of agentlab's."""
    begins, ends = {}, {}
    for line in _lines(study, arm, "gateway.jsonl"):
        if line["kind"] in ("request.begin", "request.end"):
            (begins if line["kind"] == "request.begin" else ends)[line["request"]] = line
    cost, tokens = Decimal(0), defaultdict(int)
    for end in ends.values():
        usage = end["usage"]  # as the provider spelled it: its prompt tokens hold the cached ones
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        tokens["input_total_tokens"] += usage["prompt_tokens"]
        tokens["cache_read_tokens"] += cached
        tokens["output_tokens"] += usage["completion_tokens"]
        cost += (usage["prompt_tokens"] - cached) * PRICE["input"] + cached * PRICE["cached"]
        cost += usage["completion_tokens"] * PRICE["output"]
    row = recs.runs.set_index("arm").loc[arm]
    assert row["n_requests"] == len(begins) == len(ends)
    assert row["cost_usd"] == pytest.approx(float(cost / 1_000_000), abs=1e-12)
    assert {name: row[name] for name in tokens} == tokens
    requests = recs.requests.query("arm == @arm and counted")
    assert requests["body_bytes"].sum() == sum(begin["body_bytes"] for begin in begins.values())
    starts = [line for line in _lines(study, arm, "events.jsonl") if line["kind"] == "process.first_request"]
    assert [row["start_cpu_s"]] == [line["cpu_s"] for line in starts] if starts else row.isna()["start_cpu_s"]


def test_the_ledger_and_the_tables_agree(study, recs):
    rows = [json.loads(line) for line in (study / "ledger.jsonl").read_text().splitlines()]
    settled: dict[str | None, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row["kind"] == "settled":
            settled[row.get("run_id")] += Decimal(row["charged_usd"])
    warm_up = settled.pop(None)  # a server's throw-away prompt is paid for and in no run
    assert 0 < warm_up < Decimal("0.03")
    charged = recs.runs.set_index("run_id")["charged_usd"]
    assert {run: float(usd) for run, usd in settled.items()} == pytest.approx(charged.to_dict(), abs=1e-9)


def test_the_windowed_arm_is_the_one_with_a_broken_prefix(recs):
    runs = recs.runs.set_index("arm")
    assert runs["n_context_cuts"].to_dict() == {arm: int(arm == "windowed") for arm in ARMS}
    lost = recs.requests.groupby("arm")["lost_bytes"].sum()
    assert lost.drop("windowed").eq(0).all()
    assert lost["windowed"] > 1000


def test_compare_in_a_terminal_works_on_it(study, capsys):
    arguments = [str(study), "--reference", "reference"]
    for metric in ("COST", "REQUESTS", "PREFIX_REUSE", "REQUEST_BYTES"):
        arguments += ["--metric", metric]
    assert cli.main(["compare", *arguments]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"\b{arm}\b", out) for arm in ARMS)


def test_resuming_records_nothing_again(study, capsys):
    before = sorted(path.name for path in (study / "runs").iterdir())
    code = cli.main(
        ["record", "agents", *ARMS, "--gateway-script", "task", "--price", "3,15,0.30", "--budget-usd", "5",
         "--runs", "1", "--seed", "3", "--quiet-wait", "0", "--to", str(study)]
    )  # fmt: skip
    assert code == 0
    assert sorted(path.name for path in (study / "runs").iterdir()) == before
    out, err = capsys.readouterr()
    assert "already recorded" in out + err
    assert out.splitlines()[-1].startswith("windowed  ") and "start CPU s" in out
