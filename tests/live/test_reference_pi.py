"""The original comparison: Pi and the reference agent with the same tools, prompt and payload."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentlab import Gateway, Pin, Price, Recordings, Reference, Scenario, ScriptedModel, Step, record
from agentlab.drivers.agentcli import AgentCLI
from agentlab.tools import SYSTEM, TOOLS
from agentlab.tools.pi import pi_flags

SCRIPT = ScriptedModel(
    [
        Step(actions=[{"do": "read", "path": "notes.txt"}]),
        Step(actions=[{"do": "edit", "path": "notes.txt", "old": "red", "new": "blue"}]),
        Step(
            tools=[
                {"name": "grep", "arguments": {"pattern": "colour"}},
                {"name": "read", "arguments": {"path": "../prompt"}},
            ]
        ),
        Step(text="The colour is blue."),
    ]
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    work = folder / "project"
    work.mkdir()
    (work / "notes.txt").write_text("colour = red\n" + "line\n" * 300)
    return folder


@pytest.fixture(scope="module")
def recs(study: Path) -> Recordings:
    work = study / "project"
    arms = {
        "pi": AgentCLI("pi", workspace=work, flags=pi_flags(SYSTEM)),
        "reference": Reference("lab/scripted", workspace=work),
    }
    pin = Pin(system=SYSTEM, tools=TOOLS, sampling={"temperature": 0, "max_output_tokens": 4096})
    gateway = Gateway(SCRIPT, mode="pinned", pin=pin, price=Price(3, 15), budget_usd=1)
    scenario = Scenario("original", turns=["Make the colour blue."])
    running = record(
        scenario, arms, runs=1, to=study / "s", gateway=gateway, quiet=None, host="inline", progress="none"
    )
    return running.result(timeout=60)


def rows(recs: Recordings, arm: str, kind: str) -> list[dict[str, Any]]:
    (file,) = Path(recs.path).glob(f"runs/*-{arm}/gateway.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    return [event for event in events if event["kind"] == kind]


def test_both_answer_and_send_the_same_bytes(recs: Recordings) -> None:
    assert list(recs.runs["result"]) == ["answered"] * 2
    assert recs.runs["eligible"].all(), recs.issues[["code", "detail"]].to_string()
    requests = recs.requests.set_index("arm")
    columns = ["prompt_hash", "canonical_bytes", "prefix_bytes", "input_total_tokens", "cache_read_tokens"]
    columns += ["output_tokens", "finish", "append_only", "cost_usd", "n_tools"]
    pi, reference = (requests.loc[arm, columns].reset_index(drop=True) for arm in ("pi", "reference"))
    assert len(pi) == 4
    assert pi.equals(reference)


def test_pis_calls_were_carried_out_by_the_gateway(recs: Recordings) -> None:
    calls = rows(recs, "pi", "tool.call")
    assert [(call["tool"], call["ok"]) for call in calls] == [
        ("read", True),
        ("edit", True),
        ("grep", True),
        ("read", False),
    ]
    assert rows(recs, "reference", "tool.call") == []
    tools = recs.tools.set_index("arm")
    assert list(tools.loc["pi", "status"]) == list(tools.loc["reference", "status"])
    assert list(recs.runs["n_tool_failures"]) == [1, 1]


def test_what_the_tools_said_is_the_same(recs: Recordings) -> None:
    (file,) = Path(recs.path).glob("runs/*-reference/events.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    ours = [e["hash"] for e in events if e["kind"] == "tool" and e["status"] != "running"]
    assert sorted(ours) == sorted(call["hash"] for call in rows(recs, "pi", "tool.call"))
