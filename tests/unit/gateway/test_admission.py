"""The gate in all dialects: the order of its checks, the cap it sets, the payload it pins."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from agentlab.errors import ConfigError
from agentlab.gateway import Gateway, Pin, Price, ScriptedModel, Step
from agentlab.gateway import dialects as wires
from agentlab.gateway.admission import Asked, Refusal, admit_name, load_admit
from agentlab.gateway.attribution import Owner
from agentlab.gateway.dialects.base import BadRequest, Route
from agentlab.gateway.exchange import Exchange
from agentlab.gateway.gate import Arrival, Decision, Gate
from agentlab.gateway.inputs import UNSEEN
from agentlab.gateway.journal import Journal
from agentlab.gateway.ledger import Ledger

D = Decimal
MODEL = ScriptedModel([Step(text="a")])
PRICE = Price(1, 10, cache_write="1.25", cache_write_1h=2)
SCHEMA = {"type": "object", "properties": {}}
S = 10**9

#: dialect -> path, body without an output cap
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [{"role": "system", "content": "old"}, {"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}],
            "temperature": 1,
        },
    ),
    "responses": (
        "/v1/responses",
        {
            "model": "m",
            "instructions": "old",
            "input": [{"role": "developer", "content": "old"}, {"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "name": "read", "parameters": SCHEMA}],
            "temperature": 1,
        },
    ),
    "messages": (
        "/v1/messages",
        {
            "model": "m",
            "system": "old",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"name": "read", "input_schema": SCHEMA}],
            "temperature": 1,
            "top_k": 3,
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "systemInstruction": {"parts": [{"text": "old"}]},
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "tools": [{"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]}],
            "generationConfig": {"temperature": 1, "topK": 3},
        },
    ),
}
each_dialect = pytest.mark.parametrize("dialect", list(ASKS))


class Desk:
    """A gate with a clock that is set by hand."""

    def __init__(self, gateway: Gateway, *, total: Decimal | None = None) -> None:
        self.ledger = Ledger(None, budget_usd=gateway.budget, total_usd=total)
        self.gate = Gate(gateway, self.ledger, t=0)
        self.number = 0

    def ask(
        self,
        dialect: str = "chat",
        body: dict[str, Any] | bytes | None = None,
        *,
        owner: Owner | None = None,
        t: float = 0,
    ) -> Decision:
        path, plain = ASKS[dialect]
        data = json.dumps(plain if body is None else body).encode() if not isinstance(body, bytes) else body
        route = wires.route("POST", path)
        assert isinstance(route, Route)
        self.number += 1
        request, bad = None, ""
        try:
            request = route.parse(data)
        except BadRequest as error:
            bad = str(error)
        arrival = Arrival(
            route=route, body=data, number=self.number, owner=owner or Owner(), session=None, t=int(t * S)
        )
        return self.gate.decide(arrival, request, bad)

    def reason(self, *args: Any, **how: Any) -> str | None:  # noqa: ANN401
        refusal = self.ask(*args, **how).refusal
        return None if refusal is None else refusal.code


def settle(decision: Decision, *, status: int, usage: dict[str, Any] | None = None) -> dict[str, Any]:
    exchange = Exchange(Journal(), number=1, owner=Owner(), keep_content=False)
    dialect = wires.DIALECTS["chat"]
    exchange.begin(
        0, session=None, dialect=dialect, path="", body=b"", request=decision.request, link=wires_link()
    )
    exchange.status, exchange.terminal_seen = status, usage is not None
    exchange.report(usage)
    assert decision.settle is not None
    return dict(decision.settle(exchange, 1))


def wires_link() -> Any:  # noqa: ANN401
    from agentlab.gateway.attribution import Link

    return Link()


def never(_: Asked) -> bool:
    return False


def test_checks_come_in_their_order() -> None:
    """Of all that is wrong with a request the first check speaks, and only the last one touches money."""
    gateway = Gateway(
        MODEL, price={"n": PRICE}, budget_usd="0.000001", max_total_requests=1, tools=["bash"], admit=never
    )
    desk = Desk(gateway)
    bad = b"{"
    desk.gate._admission.sent(Owner())  # pyright: ignore[reportPrivateUsage]
    assert desk.reason(body=bad) == "limit"
    desk.ledger.halted = "balance"
    assert desk.reason(body=bad) == "balance"
    desk.ledger.halted = "error"
    assert desk.reason(body=bad) == "ledger"
    for settings, wanted in (
        ({}, "tools"),
        ({"tools": ["read"]}, "admission"),
        ({"tools": None, "admit": None}, "price"),
        ({"tools": None, "admit": None, "price": PRICE}, "budget"),
        ({"tools": None, "admit": None, "price": PRICE, "budget_usd": 1}, None),
    ):
        told: dict[str, Any] = {
            "price": {"n": PRICE},
            "budget_usd": "0.000001",
            "tools": ["bash"],
            "admit": never,
            **settings,
        }
        fresh = Desk(Gateway(MODEL, **told))
        assert fresh.reason(body=bad) == "invalid_body" and fresh.reason() == wanted
        assert (fresh.ledger.book.committed() > 0) == (wanted is None)
        assert fresh.ledger.halted is None


@each_dialect
def test_a_missing_output_cap_is_set_in_every_dialect(dialect: str) -> None:
    desk = Desk(Gateway(MODEL, price=PRICE, max_output_tokens=1234))
    decision = desk.ask(dialect)
    reserved = decision.reserved
    assert reserved is not None and decision.request is not None
    assert reserved.evidence["output_cap"] == "injected" and decision.request.max_output_tokens is None
    route = wires.route("POST", ASKS[dialect][0])
    assert route is not None and route.parse(reserved.body).max_output_tokens == 1234
    assert reserved.hold.usd == PRICE.bound(len(reserved.body) + UNSEEN, 1234)
    again = desk.ask(dialect, json.loads(reserved.body))
    assert again.reserved is not None and again.reserved.evidence["output_cap"] == "agent"
    assert again.reserved.body == again.body


@pytest.mark.parametrize("cap", [0, -1])
@pytest.mark.parametrize("model", ["m", "gpt-5"])
def test_a_cap_that_is_none_is_replaced(model: str, cap: int) -> None:
    desk = Desk(Gateway(MODEL, price=PRICE, max_output_tokens=1000))
    reserved = desk.ask(body={**ASKS["chat"][1], "model": model, "max_tokens": cap}).reserved
    assert reserved is not None and reserved.hold.usd > D("0.01")
    assert reserved.evidence["output_cap"] == "injected"
    sent = json.loads(reserved.body)
    assert [sent[key] for key in ("max_tokens", "max_completion_tokens") if key in sent] == [1000]


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        ("responses", {"previous_response_id": "resp_1"}),
        ("responses", {"input": [{"type": "item_reference", "id": "rs_1"}]}),
        ("gemini", {"cachedContent": "cachedContents/1"}),
    ],
)
def test_input_that_the_provider_keeps_has_no_bound(dialect: str, more: dict[str, Any]) -> None:
    asked = {**ASKS[dialect][1], **more}
    own, study = Gateway(MODEL, price=PRICE, budget_usd=1), Gateway(MODEL, price=PRICE)
    for desk in (Desk(own), Desk(study, total=D(1))):
        assert desk.reason(dialect, asked) == "budget" and desk.ledger.book.committed() == 0
    assert Desk(study).reason(dialect, asked) is None


def test_the_higher_of_two_caps_is_reserved() -> None:
    desk = Desk(Gateway(MODEL, price=PRICE))
    caps = {"max_tokens": 3000, "max_completion_tokens": 10}
    reserved = desk.ask(body={**ASKS["chat"][1], **caps}).reserved
    assert reserved is not None and reserved.evidence["output_cap_tokens"] == 3000


def test_each_answer_that_is_asked_for_may_be_as_long_as_the_cap() -> None:
    desk = Desk(Gateway(MODEL, price=PRICE))
    one, three, float_ = (
        desk.ask(body={**ASKS["chat"][1], "max_tokens": 100, "n": n}).reserved for n in (1, 3, 3.0)
    )
    assert one is not None and three is not None and float_ is not None
    assert three.hold.usd - one.hold.usd == D("0.002")  # 200 tokens at 10 USD a million
    assert float_.hold.usd - three.hold.usd < D("0.00001")  # its two bytes more


@pytest.mark.parametrize("options", ["generationConfig", "generation_config"])
@pytest.mark.parametrize("count", ["candidateCount", "candidate_count"])
def test_each_candidate_of_gemini_counts_however_it_is_spelled(options: str, count: str) -> None:
    desk = Desk(Gateway(MODEL, price=PRICE))
    plain = {key: value for key, value in ASKS["gemini"][1].items() if key != "generationConfig"}
    told = [{**plain, options: {"maxOutputTokens": 100, count: n}} for n in (1, 3)]
    one, three = (desk.ask("gemini", body).reserved for body in told)
    assert one is not None and three is not None
    assert three.hold.usd - one.hold.usd == D("0.002")


@pytest.mark.parametrize(("ttl", "rate"), [(None, "1.25"), ("5m", "1.25"), ("1h", "2")])
def test_a_cache_write_is_reserved_at_the_price_of_its_lifetime(ttl: str | None, rate: str) -> None:
    marker = {"type": "ephemeral"} | ({} if ttl is None else {"ttl": ttl})
    system = [{"type": "text", "text": "s", "cache_control": marker}]
    desk = Desk(Gateway(MODEL, price=PRICE))
    reserved = desk.ask("messages", {**ASKS["messages"][1], "max_tokens": 1, "system": system}).reserved
    assert reserved is not None
    assert reserved.hold.usd == ((len(reserved.body) + UNSEEN) * D(rate) + 10) / 10**6


@each_dialect
def test_a_pin_makes_all_agents_say_the_same(dialect: str) -> None:
    tool = {"name": "read", "description": "Read.", "parameters": SCHEMA}
    pin = Pin(system="new", tools=[tool], sampling={"temperature": 0, "max_output_tokens": 77})
    desk = Desk(Gateway(MODEL, mode="pinned", pin=pin))
    decision = desk.ask(dialect)
    request = decision.request
    assert decision.refusal is None and request is not None
    assert request.tool_names == ("read",) and request.max_output_tokens == 77
    text = decision.body.decode()
    assert '"new"' in text and '"old"' not in text and '"temperature":0' in text
    assert "top_k" not in text and "topK" not in text and "Read." in text
    assert request.user_texts == ("hi",)
    assert (
        desk.reason(dialect, json.loads(json.dumps(ASKS[dialect][1]).replace('"read"', '"Read"'))) == "tools"
    )


@each_dialect
def test_a_request_without_tools_keeps_its_own_system_text(dialect: str) -> None:
    pin = Pin(system="new", sampling={"temperature": 0})
    desk = Desk(Gateway(MODEL, mode="pinned", pin=pin, tools=["read"]))
    title = {key: value for key, value in ASKS[dialect][1].items() if key != "tools"}
    decision = desk.ask(dialect, title)
    assert decision.refusal is None
    assert b'"old"' in decision.body and b'"new"' not in decision.body
    assert b'"temperature":0' in decision.body


@each_dialect
def test_a_refusal_is_an_invalid_request_in_the_dialects_own_words(dialect: str) -> None:
    """What each agent takes as final; whether it does is measured on the real agents."""
    error = json.loads(wires.DIALECTS[dialect].error_body(400, f"refused: {Refusal('budget', 'spent')}"))
    kind = error["error"].get("type") or error["error"].get("status")
    assert kind in ("invalid_request_error", "INVALID_ARGUMENT")
    assert "budget: spent" in error["error"]["message"]


def test_a_run_is_ended_by_the_first_refusal_that_is_final() -> None:
    desk = Desk(Gateway(MODEL, max_requests=1, tools=["read"]))
    one, two = Owner("r1", "a"), Owner("r2", "a")
    other = json.loads(json.dumps(ASKS["chat"][1]).replace('"read"', '"bash"'))
    assert desk.reason(owner=one) is None
    assert desk.reason(body=other, owner=two) == "tools"  # the agent may go on with others
    assert desk.reason(owner=one) == "limit" and desk.reason(body=b"[", owner=one) == "limit"
    assert desk.gate.endings == {"r1": "limit"}
    assert desk.ledger.state(priced=False).refused == {"tools": 1, "limit": 2}


def test_a_runs_clock_starts_with_the_run() -> None:
    desk = Desk(Gateway(MODEL, max_seconds=10))
    owner = Owner("r1", "a")
    desk.gate.begin("r1", t=100 * S)
    assert desk.reason(owner=owner, t=109) is None and desk.reason(owner=owner, t=111) == "limit"
    assert desk.reason(t=9) is None and desk.reason(t=11) == "limit"  # outside of runs: since the start
    assert desk.reason(owner=Owner(warm_up=True), t=500) is None


@pytest.mark.parametrize(
    ("status", "usage", "fields"),
    [
        (
            200,
            {"prompt_tokens": 10, "completion_tokens": 5},
            {"measured_usd": "0.00006", "charged_usd": "0.00006"},
        ),
        (200, {"prompt_tokens": 10}, None),
        (200, {"prompt_tokens": -1, "completion_tokens": 5}, None),
        (200, None, None),
        (502, None, None),
        (503, None, {"measured_usd": "0", "charged_usd": "0"}),
        (0, None, None),
        (404, None, {"measured_usd": "0", "charged_usd": "0"}),
    ],
)
def test_what_is_known_is_charged_and_the_rest_kept(
    status: int, usage: dict[str, Any] | None, fields: dict[str, str] | None
) -> None:
    desk = Desk(Gateway(MODEL, price=PRICE))
    decision = desk.ask()
    assert decision.reserved is not None
    kept = {"charged_usd": format(decision.reserved.hold.usd, "f"), "uncertain": True}
    rates = {"price": {"input": "1", "cache_read": "1"}}
    told = settle(decision, status=status, usage=usage)
    assert Decimal(told.pop("committed_usd")) == Decimal(told["charged_usd"])
    assert told == {**(kept if fields is None else fields), **rates}
    assert desk.ledger.halted is None


def test_an_empty_account_ends_the_run_at_once() -> None:
    desk = Desk(Gateway(MODEL, price=PRICE))
    settle(desk.ask(owner=Owner("r1", "a")), status=402)
    assert desk.ledger.halted == "balance" and desk.gate.endings == {"r1": "balance"}
    assert desk.reason(owner=Owner("r2", "a")) == "balance"


def test_a_scripted_model_with_a_budget_and_no_price_is_free() -> None:
    desk = Desk(Gateway(MODEL, budget_usd=1))
    for _ in range(3):
        decision = desk.ask()
        assert decision.reserved is not None and decision.reserved.hold.usd == 0
    assert Desk(Gateway(MODEL)).ask().reserved is None  # and without a budget nothing is reserved


@pytest.mark.parametrize("cap", [{"max_requests": 500}, {"max_total_requests": 429}, {"max_seconds": 503}])
def test_no_number_stands_in_what_an_agent_is_told(cap: dict[str, Any]) -> None:
    """OpenCode asks again when it reads 500 in an error, whatever its status."""
    desk = Desk(Gateway(MODEL, **cap))
    for _ in range(cap.get("max_requests") or cap.get("max_total_requests") or 0):
        desk.gate._admission.sent(Owner())  # pyright: ignore[reportPrivateUsage]
    refusal = desk.ask(t=504 * S).refusal
    assert refusal is not None and refusal.code == "limit"
    assert not any(map(str.isdigit, str(refusal)))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("the research stage is over", "admission: the research stage is over"),
        ("at most 500 requests", "admission"),
        ("claude-3-7-sonnet-20250219 has no price", "admission"),
        ("Rate limit of this stage", "admission"),
        ("connection refused", "admission"),
        ("read timed out, try again later", "admission"),
        ("", "admission"),
    ],
)
def test_an_agent_is_told_nothing_that_makes_it_ask_again(message: str, told: str) -> None:
    assert str(Refusal("admission", message)) == told


def test_functions_are_found_by_their_names() -> None:
    assert admit_name(never) == f"{__name__}:never" and load_admit("json:dumps") is json.dumps
    for wrong in ("json", "json:", ":dumps", "js on:dumps", 5, lambda _: True):
        with pytest.raises(ConfigError, match="admit"):
            admit_name(wrong)
    for absent in ("no_such_module_here:f", "json:absent", "json:__name__"):
        with pytest.raises(ConfigError, match="admit"):
            load_admit(absent)


@pytest.mark.parametrize(
    ("said", "refused"),
    [(True, None), (None, None), (False, ""), ("later", "later"), (0, ""), ("x" * 900, "x" * 200)],
)
def test_only_true_and_nothing_admit(
    said: Any,  # noqa: ANN401
    refused: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[Asked] = []

    def decide(asked: Asked) -> Any:  # noqa: ANN401
        heard.append(asked)
        return said

    monkeypatch.setattr(json, "decide", decide, raising=False)
    desk = Desk(Gateway(MODEL, admit="json:decide", price=PRICE))
    decision = desk.ask(owner=Owner("r", "a"), t=2)
    assert (decision.refusal.message if decision.refusal else None) == refused
    assert heard[0].tool_names == ("read",) and heard[0].run_id == "r" and heard[0].n_before == 0
    assert heard[0].committed_usd == 0 and heard[0].model == "m" and heard[0].run_s == 2
