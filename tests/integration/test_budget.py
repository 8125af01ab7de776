"""A study's budget, on the real gateway; the agent is a toy that asks the model and believes its answer."""

import contextlib
import dataclasses
import socket
from decimal import Decimal

import httpx
import pytest

import agentlab as al
from agentlab.drivers.base import Identity
from agentlab.engine.budget import told_cost
from agentlab.engine.slots import recorded
from agentlab.engine.study import Study, prepare
from agentlab.errors import BudgetExceeded, ConfigError, UpstreamError

ASK = {"model": "scripted", "max_tokens": 1000, "messages": [{"role": "user", "content": "x" * 400}]}
PRICE = al.Price(1, 100)  # a reply is reserved at 0.1 USD and costs a fraction of it
SCENARIO = al.Scenario("ask", turns=["one", "two"])


@dataclasses.dataclass(frozen=True)
class Asker:
    gateway: al.Gateway | None = None

    def identify(self):
        return Identity(driver="asker", version="1", model="lab/scripted")

    @contextlib.asynccontextmanager
    async def open(self, arm):
        yield _Opened(arm)


@dataclasses.dataclass(frozen=True)
class _Opened:
    arm: object

    @contextlib.asynccontextmanager
    async def session(self, run):
        yield _Session(self.arm.gateway, run)


@dataclasses.dataclass(frozen=True)
class _Session:
    gateway: object
    run: object

    async def prompt(self, text):
        async with httpx.AsyncClient(trust_env=False) as client:
            reply = await client.post(
                self.gateway.base_url("chat") + "/chat/completions",
                json=ASK,
                headers={"authorization": f"Bearer {self.gateway.token}"},
            )
        self.run.emit("turn.reply", session="s", turn=1, http_status=reply.status_code, text_chars=3)


def gateway(**options):
    said = al.Step(text="word " * 200)
    return al.Gateway(al.ScriptedModel([said], match="rule", side=None), price=PRICE, **options)


def record(folder, **options):
    settings = {"runs": 3, "gateway": gateway(), "host": "inline", "quiet": None, "progress": "none"}
    return al.record(SCENARIO, Asker(), to=folder / "study", **{**settings, **options}).result(timeout=60)


def statuses(folder):
    return [(run["status"], [issue["code"] for issue in run["issues"]]) for run in recorded(folder / "study")]


def test_a_spent_budget_ends_the_study_and_a_larger_one_resumes_it(tmp_path):
    with pytest.raises(BudgetExceeded, match=r"(?s)more than the budget has left .*2 of 3 runs are kept"):
        record(tmp_path, budget_usd="0.19")
    assert statuses(tmp_path) == [("complete", [])] * 2 + [("cancelled", ["budget_spent"])]
    charges = [row["charged_usd"] for row in _ends(tmp_path) if "charged_usd" in row]
    assert 0 < sum(map(float, charges)) <= 0.19
    recs = record(tmp_path, budget_usd=1)
    assert len(recs.where(status="complete")) == 3
    assert all(recs.where(status="complete").runs["eligible"])


def test_two_arms_share_the_studys_budget_whatever_their_gateways(tmp_path):
    arms = {"a": Asker(gateway=gateway()), "b": Asker(gateway=gateway())}
    with pytest.raises(BudgetExceeded):
        al.record(
            SCENARIO,
            arms,
            to=tmp_path / "study",
            budget_usd="0.19",
            host="inline",
            quiet=None,
            progress="none",
        ).result(timeout=60)
    assert sum(float(row["charged_usd"]) for row in _ends(tmp_path) if "charged_usd" in row) <= 0.19


def test_a_runs_own_cap_discards_the_run_and_the_study_goes_on(tmp_path):
    recs = record(tmp_path, gateway=gateway(max_requests=1))
    assert statuses(tmp_path) == [("complete", ["request_limit"])] * 3
    assert not any(recs.runs["eligible"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gateway": None}, r"arm 'asker' has no gateway.*Gateway\(\.\.\., price=Price"),
        ({"gateway": al.Gateway(al.ScriptedModel.load("cache-probe"))}, "a gateway without a price"),
        ({"budget_usd": 0}, "above 0"),
        ({"budget_usd": "much"}, "much"),
    ],
)
def test_a_budget_that_nobody_can_keep_is_refused_before_anything_starts(tmp_path, options, words):
    with pytest.raises(ConfigError, match=words):
        record(tmp_path, **{"budget_usd": 1, **options})
    assert not (tmp_path / "study").exists()


def test_what_a_paid_study_may_cost_is_said_before_it_starts(tmp_path):
    settings = {"scenario": SCENARIO, "arms": {"a": Asker()}, "runs": 4, "order": "sequential", "seed": 1}
    paid = al.Gateway("http://127.0.0.1:9/v1", price=PRICE, budget_usd=2)
    study = prepare(Study(folder=tmp_path / "s", gateway=paid, **settings), "resume")
    slots = study.missing()
    assert told_cost(study, slots) == (
        "4 runs to come: what a run costs is not known yet, at most 2.00 USD, which the budget has left"
    )
    assert (
        told_cost(dataclasses.replace(study, gateway=gateway()), slots) is None
    )  # a scripted model costs nothing


@pytest.mark.parametrize(
    ("budgets", "shared", "whole", "most"),
    [
        ((1, 2), None, None, "at most 3.00 USD"),  # each arm's gateway has a budget of its own
        ((1, 2), None, "2.5", "at most 2.50 USD"),
        ((1, 2), None, 5, "at most 3.00 USD"),
        ((1, None), None, None, "no budget limits it"),
        ((1, ...), 4, None, "at most 5.00 USD"),  # the other asks the study's
        ((..., ...), 4, 3, "at most 3.00 USD"),
        ((1, ...), None, None, "no budget limits it"),  # nobody counts what the other spends
    ],
)
def test_what_limits_a_study_is_said_whoever_has_the_budget(tmp_path, budgets, shared, whole, most):
    def paid(budget):
        return al.Gateway("http://127.0.0.1:9/v1", price=PRICE, budget_usd=budget)

    arms = {str(n): Asker() if b is ... else Asker(gateway=paid(b)) for n, b in enumerate(budgets)}
    common = None if shared is None else paid(shared)
    study = Study(
        folder=tmp_path / "s",
        gateway=common,
        scenario=SCENARIO,
        arms=arms,
        runs=4,
        order="sequential",
        seed=1,
    )
    study = prepare(dataclasses.replace(study, budget_usd=whole and Decimal(str(whole))), "resume")
    assert most in told_cost(study, study.missing())


def test_a_dead_provider_ends_the_study_at_once_and_its_run_is_made_again(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens: connections are refused
        dead = al.Gateway(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", price=PRICE)
        for _ in range(2):
            with pytest.raises(
                UpstreamError, match=r"(?s)connection refused\): look at its address.*0 of 3 runs"
            ):
                record(tmp_path, gateway=dead)
    said = "agentlab: 3 runs to come: what a run costs is not known yet, no budget limits it"
    assert capsys.readouterr().err.splitlines()[0] == said, "before anything is asked"
    assert statuses(tmp_path) == [("cancelled", ["upstream_unreachable"])] * 2
    assert {row["charged_usd"] for row in _ends(tmp_path)} == {"0"}


def _ends(folder):
    recs = al.load(folder / "study")
    return [event for run in recs for event in run.gateway_events if event["kind"] == "request.end"]
