"""The prompt cache on small prompts: rule, lifetime, namespaces."""

from __future__ import annotations

import pytest

from agentlab.errors import ConfigError
from agentlab.gateway.cacherules import openai_rule
from agentlab.gateway.canonical import Canonical, canonical
from agentlab.gateway.prefix import compare
from agentlab.gateway.promptcache import PrefixStore


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def prompt(n_bytes: int, fill: bytes = b"x") -> Canonical:
    return Canonical(fill * n_bytes, ())


@pytest.mark.parametrize(
    ("n_bytes", "boundaries"),
    [
        (0, []),
        (4 * 1023, []),
        (4 * 1023 + 1, [1024]),
        (4 * 1024, [1024]),
        (4 * 1151, [1024]),
        (4 * 1152, [1024, 1152]),
        (4 * 1300, [1024, 1152, 1280]),
    ],
)
def test_openais_boundaries(n_bytes: int, boundaries: list[int]) -> None:
    assert list(openai_rule(prompt(n_bytes))) == boundaries


def test_nothing_is_served_cold_and_all_steps_of_a_repeat_are() -> None:
    store = PrefixStore(openai_rule)
    assert store.lookup("a", prompt(8000)) == 0
    store.remember("a", prompt(8000))
    assert store.lookup("a", prompt(8000)) == 1920  # of 2,000 tokens
    assert store.lookup("b", prompt(8000)) == 0
    assert store.lookup("a", prompt(5000)) == 1152
    assert store.lookup("a", prompt(4000)) == 0


def test_looking_up_does_not_remember() -> None:
    store = PrefixStore(openai_rule)
    store.lookup("a", prompt(8000))
    assert store.lookup("a", prompt(8000)) == 0


def test_a_prefix_is_forgotten_after_its_lifetime_without_use() -> None:
    clock = Clock()
    store = PrefixStore(openai_rule, lifetime_s=300, clock=clock)
    store.remember("a", prompt(8000))
    clock.now = 300
    assert store.lookup("a", prompt(8000)) == 1920
    store.remember("a", prompt(5000))  # uses the first 1,152 tokens only
    clock.now = 301
    assert store.lookup("a", prompt(8000)) == 1152
    clock.now = 600.1
    assert store.lookup("a", prompt(8000)) == 0


def test_memory_does_not_grow_with_what_is_forgotten() -> None:
    clock = Clock()
    store = PrefixStore(openai_rule, lifetime_s=10, clock=clock)
    for k in range(400):
        clock.now = float(k)
        store.remember("a", prompt(40_000, b"%c" % (k % 256)))
    assert len(store._seen) <= 2 * 4096
    assert store.lookup("a", prompt(40_000, b"%c" % (399 % 256))) > 0


@pytest.mark.parametrize("boundaries", [[10, 5], [51], [-1, 3]])
def test_a_rule_that_is_wrong_is_named(boundaries: list[int]) -> None:
    store = PrefixStore(lambda _prompt, _model: boundaries)
    with pytest.raises(ConfigError, match="boundary"):
        store.remember("a", prompt(200))


def test_what_changed_is_named() -> None:
    before = canonical(["t"], ["s"], ["m1", "m2"])
    cases = {
        None: canonical(["t"], ["s"], ["m1", "m2", "m3"]),
        "tools": canonical(["u"], ["s"], ["m1", "m2"]),
        "system": canonical(["t"], ["z"], ["m1", "m2"]),
        "message 1": canonical(["t"], ["s"], ["n1", "m2"]),
        "message 2": canonical(["t"], ["s"], ["m1"]),
    }
    for changed, after in cases.items():
        change = compare(before, after)
        assert change.first_changed == changed
        assert change.append_only == (changed is None)
        assert before.data[: change.prefix_bytes] == after.data[: change.prefix_bytes]
    assert compare(before, cases[None]).prefix_bytes == len(before.data)
    assert compare(before, before).append_only
