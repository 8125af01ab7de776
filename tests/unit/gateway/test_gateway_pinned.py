"""The pinned mode: messages of chat that say the same are spelled the same."""

from typing import Any

import pytest

from agentlab import Pin

PIN = Pin(system="s")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"role": "user", "content": "hi"}),
        (
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]},
            {"tool_calls": [{"id": "c"}], "role": "assistant", "content": None},
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c"}], "reasoning_content": "r"},
            {"reasoning_content": "r", "role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        ),
        (
            {"role": "tool", "content": "x", "tool_call_id": "c"},
            {"tool_call_id": "c", "role": "tool", "content": "x"},
        ),
    ],
)
def test_equal_meaning_is_equal_bytes(one: dict[str, Any], other: dict[str, Any]) -> None:
    said = [
        PIN.apply("chat", {"messages": [message], "tools": [{}]})["messages"][-1] for message in (one, other)
    ]
    assert said[0] == said[1]
    assert list(said[0]) == list(said[1])


def test_what_says_more_stays() -> None:
    two = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    marked = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]
    image = [{"type": "image_url", "image_url": {"url": "u"}}]
    for content in (two, marked, image, [], ""):
        message = {"role": "user", "content": content}
        assert PIN.apply("chat", {"messages": [message], "tools": [{}]})["messages"][-1] == message


def test_sampling_is_the_pins_however_the_agent_spells_its_own() -> None:
    pin = Pin(system="s", sampling={"temperature": 0, "max_output_tokens": 9})
    asked = {"messages": [], "max_tokens": 1, "max_completion_tokens": 2, "seed": 3}
    assert pin.apply("chat", asked) == {"messages": [], "temperature": 0, "max_completion_tokens": 9}
    options = {"temperature": 1, "top_p": 1, "top_k": 1, "max_output_tokens": 1, "response_mime_type": "m"}
    wanted = {"responseMimeType": "m", "temperature": 0, "maxOutputTokens": 9}
    assert pin.apply("gemini", {"generation_config": options}) == {"generationConfig": wanted}
    for junk in ([1], 5, "x", None):
        said = pin.apply("gemini", {"generationConfig": junk})
        assert said == {"generationConfig": {"temperature": 0, "maxOutputTokens": 9}}
