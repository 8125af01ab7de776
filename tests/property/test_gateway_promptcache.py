"""The prompt cache serves exactly what the rule says of the bytes that are shared."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.gateway.cacherules import openai_rule
from agentlab.gateway.canonical import Canonical, canonical
from agentlab.gateway.prefix import compare, shared_prefix
from agentlab.gateway.promptcache import PrefixStore


def _blob(seed: int, n: int) -> bytes:
    return bytes((seed * (k + 7)) % 251 for k in range(n))


blobs = st.builds(_blob, st.integers(1, 250), st.integers(0, 9000))
json_text = st.text(max_size=40)
messages = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": json_text})


def served(n_bytes: int) -> int:
    n = n_bytes // 4
    return 0 if n < 1024 else n // 128 * 128


def prompt(data: bytes) -> Canonical:
    return Canonical(data, ())


@settings(max_examples=60, deadline=None)
@given(st.lists(blobs, min_size=1, max_size=4), blobs)
def test_what_is_served_is_zero_or_whole_steps_of_the_prompt(seen: list[bytes], asked: bytes) -> None:
    store = PrefixStore(openai_rule)
    for data in seen:
        store.remember("n", prompt(data))
    cached = store.lookup("n", prompt(asked))
    assert cached == 0 or (cached >= 1024 and cached % 128 == 0)
    assert cached <= prompt(asked).n_tokens
    assert cached <= max(served(shared_prefix(data, asked) + 3) for data in seen)
    assert store.lookup("cold", prompt(asked)) == 0


@settings(max_examples=80, deadline=None)
@given(blobs.filter(len), st.data())
def test_a_changed_byte_leaves_the_steps_before_it(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    store = PrefixStore(openai_rule)
    store.remember("n", prompt(data))
    assert store.lookup("n", prompt(changed)) == served(at)


@settings(max_examples=80, deadline=None)
@given(blobs, blobs)
def test_appending_serves_all_steps_of_what_was_there(data: bytes, more: bytes) -> None:
    store = PrefixStore(openai_rule)
    store.remember("n", prompt(data))
    cached = store.lookup("n", prompt(data + more))
    assert cached == served(len(data))


@settings(max_examples=60, deadline=None)
@given(blobs, st.floats(0, 1000), st.floats(0.1, 500))
def test_nothing_lives_longer_than_its_lifetime(data: bytes, age: float, lifetime: float) -> None:
    now = [0.0]
    store = PrefixStore(openai_rule, lifetime_s=lifetime, clock=lambda: now[0])
    store.remember("n", prompt(data))
    now[0] = age
    cached = store.lookup("n", prompt(data))
    whole = served(4 * prompt(data).n_tokens)
    assert cached == (0 if age > lifetime else whole)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_the_shared_prefix_is_the_longest(a: bytes, b: bytes) -> None:
    n = shared_prefix(a, b)
    assert a[:n] == b[:n]
    assert n == min(len(a), len(b)) or a[n] != b[n]


@given(st.lists(messages, max_size=6), st.lists(messages, max_size=4), st.lists(json_text, max_size=3))
def test_a_longer_history_begins_with_the_shorter_one(
    history: list[dict[str, str]], more: list[dict[str, str]], system: list[str]
) -> None:
    before, after = canonical([], system, history), canonical([], system, history + more)
    assert after.data.startswith(before.data)
    change = compare(before, after)
    assert change.append_only and change.prefix_bytes == len(before.data)
    assert json.loads(after.data + b"]]") == [[], system, history + more]
