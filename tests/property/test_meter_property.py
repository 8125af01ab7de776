"""However dense a text is, and however requests overlap: no charge is above its reservation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from agentlab.gateway.attribution import Owner
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import CacheUse, ModelRequest
from agentlab.gateway.inputs import UNSEEN
from agentlab.gateway.ledger import Ledger
from agentlab.gateway.meter import Meter, Reserved
from agentlab.gateway.prices import Price

PRICES = {
    "plain": Price(100, 1000),
    "cached": Price(100, 1000, cache_read=10, cache_write=125),
    "tiered": Price(100, 1000, 10, above_tokens=300, above=Price(200, 1500, 20)),
}
words = st.sampled_from(["a", "é ", "漢", '"', "\n"]) | st.text(min_size=1, max_size=3)
texts = st.builds(lambda word, n: word * n, words, st.integers(0, 2000))  # to be seen beside UNSEEN
tenths = st.sampled_from([0, 1, 3, 10])


def spelled(dialect: str, tools: str, system: str, history: Sequence[str]) -> bytes:
    turns = [("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(history)]
    said: dict[str, Any] = {"model": "m", "max_tokens": 20}
    said["messages"] = [{"role": role, "content": text} for role, text in turns]
    if dialect == "chat":
        said["messages"].insert(0, {"role": "system", "content": system})
        said["tools"] = [{"type": "function", "function": {"name": "read", "description": tools}}]
    elif dialect == "messages":
        said |= {"system": system, "tools": [{"name": "read", "description": tools, "input_schema": {}}]}
    elif dialect == "responses":
        said = {"model": "m", "input": said["messages"], "instructions": system, "max_output_tokens": 20}
        said["tools"] = [{"type": "function", "name": "read", "description": tools}]
    else:
        contents = [
            {"role": {"assistant": "model"}.get(r, r), "parts": [{"text": text}]} for r, text in turns
        ]
        said = {"contents": contents, "systemInstruction": {"parts": [{"text": system}]}}
        said |= {"generationConfig": {"maxOutputTokens": 20}}
        said["tools"] = [{"functionDeclarations": [{"name": "read", "description": tools}]}]
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Provider:
    """Count as densely as is possible, but each part always alike."""

    def __init__(self, unseen: int) -> None:
        self.unseen = unseen
        self.counted: dict[str, int] = {}

    def count(self, request: ModelRequest, tenth: int) -> int:
        parts = request.canonical.segments
        return self.unseen + sum(self.counted.setdefault(p.hash, p.n_bytes * tenth // 10) for p in parts)


class MeterMachine(RuleBasedStateMachine):
    """Sessions append, edit and begin anew; requests stay open as long as they like."""

    sessions, opened = Bundle("sessions"), Bundle("opened")

    @initialize(
        dialect=st.sampled_from(sorted(DIALECTS)),
        price=st.sampled_from(sorted(PRICES)),
        unseen=st.sampled_from([0, UNSEEN]),
        budget=st.sampled_from([1, 4, 1000]),
    )
    def begin(self, dialect: str, price: str, unseen: int, budget: int) -> None:
        self.dialect, self.price = DIALECTS[dialect], PRICES[price]
        self.budget = Decimal(budget)
        self.ledger = Ledger(None, budget_usd=self.budget)
        self.meter = Meter(self.ledger, prices=self.price, bound="calibrated", max_output_tokens=20)
        self.provider = Provider(unseen)
        self.number = 0
        self.billed = Decimal(0)
        self.most: dict[str, Decimal] = {}  # of what is open, by the densest count there can be

    @rule(target=sessions, tools=texts, system=texts, prompt=texts)
    def start(self, tools: str, system: str, prompt: str) -> object:
        return tools, system, (prompt,)

    @rule(target=sessions, session=sessions, more=st.lists(texts, min_size=1, max_size=3))
    def append(self, session: tuple[str, str, tuple[str, ...]], more: list[str]) -> object:
        return (*session[:2], (*session[2], *more))

    @rule(target=sessions, session=sessions, text=texts, at=st.integers(0, 5))
    def edit(self, session: tuple[str, str, tuple[str, ...]], text: str, at: int) -> object:
        history = list(session[2])
        history[at % len(history)] = text
        return (*session[:2], tuple(history))

    @rule(target=opened, session=sessions, tenth=tenths)
    def ask(self, session: tuple[str, str, tuple[str, ...]], tenth: int) -> object:
        body = spelled(self.dialect.name, *session)
        request = self.dialect.parse(body)
        self.number += 1
        reserved = self.meter.reserve(
            self.dialect, request, body, t=1, number=self.number, owner=Owner("r", "a", None)
        )
        if reserved is None:
            return multiple()
        n_tokens = self.provider.count(request, tenth)  # from now on it is billed, whoever hears of it
        bill = self.price.bound(n_tokens, 20)
        assert bill <= reserved.hold.usd
        self.most[reserved.hold.id] = bill
        return reserved, n_tokens

    @rule(
        held=consumes(opened),
        cached=tenths,
        output=st.integers(0, 20),
        heard=st.sampled_from([True, True, False]),
    )
    def answer(self, held: tuple[Reserved, int], cached: int, output: int, heard: bool) -> None:
        reserved, n_tokens = held
        cache = CacheUse(n_tokens * cached // 10)
        raw = self.dialect.spell_usage(prompt=n_tokens, cache=cache, output=output, reasoning=0)
        usage = self.dialect.read_usage(raw)
        exchange: Any = SimpleNamespace(status=200, refused=False, terminal_seen=heard, usage=usage)
        bill = self.price.charge(usage.counts())
        assert bill is not None
        told = self.meter.settle(reserved, exchange, t=2)
        certain = heard and n_tokens > 0
        assert Decimal(told["charged_usd"]) == (bill if certain else reserved.hold.usd)
        self.billed += bill
        del self.most[reserved.hold.id]

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.halted is None
            assert self.billed + sum(self.most.values(), Decimal(0)) <= self.budget


MeterMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestMeter = MeterMachine.TestCase
