"""Whatever is said: what is shared and what is lost of a prompt add up, on every wire."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentlab.gateway.canonical import Canonical
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.prefix import compare

KEYS = {"chat": "messages", "responses": "input", "messages": "messages", "gemini": "contents"}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "cache_control", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"])},
    optional={"content": VALUES, "parts": VALUES, "tool_calls": VALUES, "tool_call_id": VALUES},
)
HISTORIES = st.lists(MESSAGES, min_size=1, max_size=5)


def prompt(name: str, history: list[dict[str, Any]]) -> Canonical:
    return DIALECTS[name].parse(json.dumps({KEYS[name]: history}).encode()).canonical


@given(name=st.sampled_from(sorted(KEYS)), one=HISTORIES, kept=st.integers(0, 5), more=HISTORIES)
def test_shared_and_lost_bytes_are_the_earlier_prompt(
    name: str, one: list[dict[str, Any]], kept: int, more: list[dict[str, Any]]
) -> None:
    before, after = prompt(name, one), prompt(name, one[:kept] + more)
    change = compare(before, after)
    assert change.prefix_bytes + change.lost_bytes == len(before.data)
    assert before.data[: change.prefix_bytes] == after.data[: change.prefix_bytes]
    assert change.append_only == (change.first_changed is None) == (change.changed is None)
    if change.append_only:
        assert change.lost_bytes == 0 and change.state in ("append_only", "same_meaning")
    else:
        ends = (before.data[change.prefix_bytes :][:1], after.data[change.prefix_bytes :][:1])
        assert ends[0] != ends[1]


@given(name=st.sampled_from(sorted(KEYS)), one=HISTORIES, more=HISTORIES)
def test_whatever_is_appended_the_prompt_is_append_only(
    name: str, one: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    before, after = prompt(name, one), prompt(name, one + more)
    assert after.data.startswith(before.data) and compare(before, after).append_only


@given(name=st.sampled_from(sorted(KEYS)), one=HISTORIES)
def test_another_order_of_keys_never_changes_the_meaning(name: str, one: list[dict[str, Any]]) -> None:
    turned = [dict(reversed(message.items())) for message in one]
    assert compare(prompt(name, one), prompt(name, turned)).state in ("append_only", "same_meaning")
