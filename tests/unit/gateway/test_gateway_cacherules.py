"""Providers' cache rules on small prompts: boundaries by model, and Anthropic's marks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.breakpoints import BreakpointStore, smallest
from agentlab.gateway.cacherules import deepseek_rule, gemini_rule
from agentlab.gateway.canonical import Canonical
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import CacheUse, ModelRequest
from agentlab.gateway.promptcache import PromptCache

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def prompt(n_tokens: int) -> Canonical:
    return Canonical(b"x" * 4 * n_tokens, ())


def text(n_tokens: int, mark: dict[str, str] | None = None, fill: str = "x") -> dict[str, Any]:
    """Return a block of so many tokens."""
    empty = len(json.dumps({"type": "text", "text": ""}, separators=(",", ":")))
    block: dict[str, Any] = {"type": "text", "text": fill * (4 * n_tokens - empty - 1)}  # and a comma
    return block if mark is None else {**block, "cache_control": mark}


def request(
    *blocks: dict[str, Any], system: list[Any] | None = None, model: str = "claude-sonnet-4-5"
) -> ModelRequest:
    body = {"model": model, "system": system or [], "messages": [{"role": "user", "content": list(blocks)}]}
    return DIALECTS["messages"].parse(json.dumps(body).encode())


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_deepseeks_blocks() -> None:
    assert [len(list(deepseek_rule(prompt(n)))) for n in (63, 64, 127, 128)] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("gemini-2.5-pro", 2048),
        ("gemini-2.5-flash", 2048),
        ("gemini-3-pro-preview", 4096),
        ("gemini-3.5-flash", 4096),
        ("gemini-flash-latest", 4096),
        (None, 4096),
        ("gemini-2.0-flash", None),
        ("gemini-1.5-pro", None),
    ],
)
def test_geminis_smallest_prompts(model: str | None, least: int | None) -> None:
    assert next(iter(gemini_rule(prompt(9000), model)), None) == least
    if least is not None:
        assert list(gemini_rule(prompt(least - 1), model)) == []


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-sonnet-4-5-20250929", 1024),
        ("claude-sonnet-4.6", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-opus-4-1", 1024),
        ("claude-opus-4-20250514", 1024),
        ("claude-opus-4-8", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-3-5-haiku-20241022", 2048),
        ("claude-opus-4-5-20251101", 4096),
        ("anthropic/claude-opus-4.6", 4096),
        ("claude-haiku-4-5", 4096),
        ("scripted-1", 1024),
        (None, 1024),
    ],
)
def test_anthropics_smallest_prompts(model: str | None, least: int) -> None:
    assert smallest(model) == least


def test_what_is_marked_is_written_once_and_then_read() -> None:
    store = BreakpointStore()
    first = request(text(1500, MARK), text(100))
    used = store.serve("n", first)
    assert used.read == 0 and 1500 <= used.written <= 1510 and used.written_1h == 0
    assert used.written + 100 <= first.canonical.n_tokens <= used.written + 101
    assert store.serve("n", first) == used  # looking up stores nothing
    store.store("n", first)
    assert store.serve("n", first) == CacheUse(read=used.written)
    assert store.serve("m", first).read == 0


def test_a_prompt_that_grows_reads_up_to_its_last_mark_and_writes_the_rest() -> None:
    store = BreakpointStore()
    one = request(text(1500, MARK))
    written = store.serve("n", one).written
    store.store("n", one)
    used = store.serve("n", request(text(1500), text(200, MARK), text(50)))
    assert used.read == written and 199 <= used.written <= 201


def test_without_marks_or_below_the_smallest_prompt_nothing_is_cached() -> None:
    store = BreakpointStore()
    for asked in (
        request(text(3000)),
        request(text(900, MARK)),
        request(text(3000, MARK), model="claude-haiku-4-5"),
    ):
        store.store("n", asked)
        assert store.serve("n", asked) == CacheUse()
    chat = {"messages": [{"role": "user", "content": "x" * 9000}]}
    plain = DIALECTS["chat"].parse(json.dumps(chat).encode())
    store.store("n", plain)
    assert store.serve("n", plain) == CacheUse()


def test_a_mark_looks_back_over_twenty_blocks_itself_among_them() -> None:
    for between, found in ((18, True), (19, False)):
        store = BreakpointStore()
        store.store("n", request(text(1500, MARK)))
        grown = request(text(1500), *[text(10)] * between, text(10, MARK))
        assert (store.serve("n", grown).read > 0) == found


def test_only_four_marks_count() -> None:
    store = BreakpointStore()
    used = store.serve("n", request(*[text(1100, MARK)] * 6))
    assert 4 * 1100 <= used.written <= 4 * 1100 + 12


def test_an_hour_costs_more_and_lives_longer() -> None:
    clock = Clock()
    store = BreakpointStore(lifetime_s=300, clock=clock)
    asked = request(text(1200, HOUR), text(300, MARK), text(100))
    used = store.serve("n", asked)
    assert 1200 <= used.written_1h <= 1212 and 299 <= used.written - used.written_1h <= 301
    store.store("n", asked)
    clock.now += 301
    later = store.serve("n", asked)
    assert later.read == used.written_1h and later.written_1h == 0
    assert later.written == used.written - used.written_1h
    clock.now += 3600
    assert store.serve("n", asked).read == 0


def test_reading_keeps_a_prefix_alive() -> None:
    clock = Clock()
    store = BreakpointStore(lifetime_s=300, clock=clock)
    store.store("n", request(text(1500, MARK)))
    grown = request(text(1500), text(100, MARK))
    for _ in range(4):
        clock.now += 200
        assert store.serve("n", grown).read > 0
        store.store("n", grown)


def test_a_changed_byte_before_the_mark_is_a_miss() -> None:
    store = BreakpointStore()
    store.store("n", request(text(1500, MARK), system=[text(50)]))
    assert store.serve("n", request(text(1500, MARK), system=[text(50, fill="y")])).read == 0


def test_tools_and_system_come_first() -> None:
    store = BreakpointStore()
    system = [text(1500, MARK)]
    store.store("n", request(text(100), system=system))
    assert store.serve("n", request(text(100, fill="z"), system=system)).read >= 1500


def test_old_prefixes_are_swept() -> None:
    clock = Clock()
    store = BreakpointStore(lifetime_s=1, clock=clock)
    asked = request(text(1500, MARK))
    for k in range(5000):
        clock.now += 2
        store.store(f"n{k}", asked)
    assert len(store._until) < 4200  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("rule", ["openai", "anthropic", "deepseek", "gemini"])
def test_every_rule_is_a_setting(rule: str) -> None:
    cache = PromptCache(rule=rule, scope="study")
    assert PromptCache.from_dict(cache.to_dict()) == cache
    store = cache.open()
    asked = request(text(5000, MARK), model="gemini-2.5-pro")
    assert store.serve("n", asked).read == 0
    store.store("n", asked)
    assert store.serve("n", asked).read > 4900
