"""What breaks behind the real agents: coded, settled, and nothing left running."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from agentlab import Fault, Gateway, Price, Recordings, Scenario, Step, Timeouts, record
from agentlab.errors import AgentlabError, UpstreamError
from agentlab.gateway.book import read

from .agent_studies import (
    ALL,
    TASK,
    TASK_STEPS,
    TIMEOUTS,
    agent,
    broken,
    events,
    last,
    recorded,
    scripted,
    stopped,
)

FAULTS = {
    "429": (Fault("status", code=429), "http_429"),
    "500": (Fault("status", code=500), "http_500"),
    "reset": (Fault("reset", after=2), "reset"),
    "cut": (Fault("cut", after=2), "cut"),
}
#: Agents that take a stream that ends cleanly, but without its final event, for a whole answer.
DECEIVED = {("pi", "cut"), ("gemini_cli", "cut")}
CASES = [(name, fault) for name in ("codex", "claude_code", "pi", "gemini_cli") for fault in FAULTS]
SLOW = [("cline", "cut"), ("mini_swe_agent", "500"), *[("opencode", fault) for fault in FAULTS]]
PRICE = Price(3, 15)


@pytest.fixture(scope="module")
def broken_runs(real_agents, tmp_path_factory) -> Recordings:
    """The task with a fault in its second reply, on each agent with a gateway of its own."""
    folder = tmp_path_factory.mktemp("faults")
    arms = {
        f"{name} {fault}": agent(
            name,
            folder / "workspace",
            gateway=Gateway(broken(FAULTS[fault][0]), price=PRICE, max_requests=12),
        )
        for name, fault in [*CASES, *SLOW]
    }
    scenario = Scenario("faults", turns=[TASK], timeouts=TIMEOUTS)
    return recorded(scenario, arms, folder)


def _run(recs: Recordings, arm: str) -> tuple[Path, Recordings]:
    part = recs.where(arm=arm)
    return Path(part[0].path), part


@pytest.mark.parametrize(("name", "fault"), [case for case in CASES if case not in DECEIVED])
def test_a_fault_ends_the_run_with_its_code(broken_runs, name, fault):
    _, recs = _run(broken_runs, f"{name} {fault}")
    row = recs.runs.iloc[0]
    assert (row["result"], row["result_reason"]) == ("error", FAULTS[fault][1])
    assert not row["eligible"]
    assert set(recs.issues["code"]) == {"turn_error"}
    requests = recs.requests
    assert len(requests) == 2, "retries are off"
    assert requests["status"].tolist()[0] == "ok"
    assert requests["status"].tolist()[1] != "ok"


@pytest.mark.parametrize(("name", "fault"), sorted(DECEIVED))
def test_an_answer_that_was_cut_is_not_believed(broken_runs, name, fault):
    _, recs = _run(broken_runs, f"{name} {fault}")
    assert recs.runs.iloc[0]["result_reason"] == "turn_unproven"
    assert not recs.runs.iloc[0]["eligible"]
    assert "turn_unproven" in set(recs.issues["code"])


def test_slow_agents_too(broken_runs):
    _, cline = _run(broken_runs, "cline cut")
    assert cline.runs.iloc[0]["result_reason"] == "cut"
    _, mini = _run(broken_runs, "mini_swe_agent 500")
    assert mini.runs.iloc[0]["result_reason"] == "http_500"
    assert len(mini.requests) == 2, "retries are off"


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "cut"])
def test_opencode_asks_again_and_it_is_seen(broken_runs, fault):
    _, opencode = _run(broken_runs, f"opencode {fault}")
    assert opencode.runs.iloc[0]["result"] == "answered", "its own retry, which cannot be switched off"
    assert opencode.requests["attempt"].max() == 2
    assert opencode.issues["code"].tolist() == ["retry"], "seen by the gateway alone"
    assert not opencode.runs.iloc[0]["eligible"]


def test_opencode_goes_on_with_half_a_call_and_is_not_believed(broken_runs):
    _, deceived = _run(broken_runs, "opencode cut")
    assert deceived.runs.iloc[0]["result"] == "answered", "half of a call was called invalid, and it went on"
    assert deceived.issues[["code", "detail"]].values.tolist() == [
        ["gateway_fault", "cut; the agent went on"]
    ]


@pytest.mark.parametrize(("name", "fault"), [*CASES, *SLOW])
def test_money_is_settled(broken_runs, name, fault):
    """Whole replies exactly; a broken one keeps its reservation unless the provider refused it."""
    _, recs = _run(broken_runs, f"{name} {fault}")
    requests = recs.requests
    assert requests["charged_usd"].notna().all()
    kept = requests[requests["uncertain"]]
    assert kept["http_status"].tolist() == ([] if fault == "429" else [500 if fault == "500" else 200])
    assert (requests["cost_usd"].isna() == requests["uncertain"]).all()
    assert recs.runs.iloc[0]["charged_usd"] == pytest.approx(requests["charged_usd"].sum())


@pytest.mark.parametrize(("name", "dialect"), [("pi", "chat"), ("gemini_cli", "gemini")])
def test_a_providers_cut_reaches_the_agent_as_a_reset(real_agents, tmp_path, monkeypatch, name, dialect):
    """Those that take a clean end for a whole answer would else carry out half of a call."""
    arms = {name: agent(name, tmp_path / "workspace")}

    async def study() -> Recordings:
        async with Gateway(broken(FAULTS["cut"][0])) as provider:
            monkeypatch.setenv("LAB_KEY", provider.token)
            gateway = Gateway(provider.base_url(dialect), key_env="LAB_KEY", price=PRICE)
            scenario = Scenario("cut", turns=[TASK], timeouts=TIMEOUTS)
            return await record(
                scenario, arms, runs=1, to=tmp_path / "s", gateway=gateway, host="inline", progress="none"
            )

    recs = asyncio.run(study())
    assert recs.runs["result_reason"].tolist() == ["cut"], "the agent itself says that it failed"
    assert recs.requests["fault"].tolist()[-1] == "cut"
    assert recs.requests["uncertain"].tolist() == [False, True]
    assert recs.tools["name"].count() == 1, "no half of a call was carried out"


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("codex", "0.21"),
        ("claude_code", "0.21"),
        ("pi", "0.06"),
        ("opencode", "0.17"),
        ("gemini_cli", "0.23"),
    ],
)
def test_a_budget_that_is_reached_ends_the_run(real_agents, tmp_path, name, budget):
    flags = ["--tools", "Read,Edit,Bash"] if name == "claude_code" else []
    arm = agent(name, tmp_path / "workspace", flags=flags, max_output_tokens=2000)
    budget = Decimal(budget)
    gateway = Gateway(scripted(), price=PRICE, budget_usd=budget, bound="hard", max_output_tokens=2000)
    error, run = stopped(Scenario("budget", turns=[TASK], timeouts=TIMEOUTS), arm, tmp_path / "s", gateway)
    assert isinstance(error, AgentlabError)
    assert last(run, "result")["status"] == "budget"
    ends = [event for event in events(run, "gateway.jsonl") if event["kind"] == "request.end"]
    assert ends[0]["status"] == 200, "reached in mid-task"
    assert ends[-1]["status"] == 400
    assert sum(end["status"] == 400 for end in ends) == 1, "taken as final"
    assert 0 < read(tmp_path / "s" / "part-0" / "ledger.jsonl").committed() <= budget


def test_an_agent_that_is_killed_is_told_from_one_that_answers(real_agents, tmp_path):
    """Its own shell kills it; what it left in the background ends with the run."""
    kill = Step(actions=[{"do": "run", "command": "sleep 300 & kill -9 $PPID; sleep 300"}])
    model = scripted([TASK_STEPS[0], kill, TASK_STEPS[3]])
    arms = {name: agent(name, tmp_path / "workspace") for name in ("pi", "codex", "claude_code")}
    recs = recorded(
        Scenario("killed", turns=[TASK], timeouts=TIMEOUTS), arms, tmp_path, gateway=Gateway(model)
    )
    rows = recs.runs.set_index("arm")
    assert set(rows["result"]) == {"error"}
    assert set(rows["result_reason"]) == {"signal_9"}
    assert set(rows["exit_code"]) == {-9}
    assert set(recs.issues["code"]) == {"turn_error"}


def test_an_agent_that_is_killed_in_mid_stream_keeps_its_reservation(real_agents, tmp_path):
    command = 'setsid sh -c "sleep 5; kill -9 $PPID" >/dev/null 2>&1 & echo started'
    kill = Step(actions=[{"do": "run", "command": command}])
    counting = " ".join(map(str, range(1000)))  # Gemini CLI would take the same word again for a loop
    model = scripted([TASK_STEPS[0], kill, Step(text=counting, tokens_per_s=50)])
    arms = {name: agent(name, tmp_path / "workspace") for name in ALL}
    scenario = Scenario("killed", turns=[TASK], timeouts=TIMEOUTS)
    recs = recorded(scenario, arms, tmp_path, gateway=Gateway(model, price=PRICE, budget_usd=20))
    assert set(recs.runs["result_reason"]) == {"signal_9"} and len(recs.runs) == len(ALL)
    assert set(recs.issues["code"]) == {"turn_error"}, "nothing was left running"
    left = recs.requests[recs.requests["fault"] == "client_gone"]
    assert set(left["arm"]) == set(ALL) and left["uncertain"].all()
    assert recs.requests[recs.requests["uncertain"]]["request"].count() == len(ALL)


@pytest.mark.parametrize("name", ["codex", "opencode", "gemini_cli"])
def test_a_dead_provider_is_told_at_once(real_agents, tmp_path, name):
    gateway = Gateway("http://127.0.0.1:9/v1", price=PRICE, budget_usd=5)
    scenario = Scenario("dead", turns=[TASK], timeouts=TIMEOUTS)
    error, run = stopped(scenario, agent(name, tmp_path / "workspace"), tmp_path / "s", gateway)
    assert isinstance(error, UpstreamError) and "connection refused" in str(error)
    assert last(run, "result")["reason"] == "upstream_unreachable"
    ends = [event for event in events(run, "gateway.jsonl") if event["kind"] == "request.end"]
    assert len({end["request"] for end in ends}) <= 2, "a title and the task: neither was repeated"
    assert read(tmp_path / "s" / "part-0" / "ledger.jsonl").committed() == 0


def test_silence_is_a_stall(real_agents, tmp_path):
    model = broken(Fault("hang"))
    arms = {"codex": agent("codex", tmp_path / "workspace")}
    scenario = Scenario("silence", turns=[TASK], timeouts=Timeouts(prompt=60, stall=3))
    recs = recorded(scenario, arms, tmp_path, gateway=Gateway(model))
    row = recs.runs.iloc[0]
    assert (row["result"], row["result_reason"]) == ("timeout", "stall")
    assert recs.issues["code"].tolist() == ["turn_stalled"]
