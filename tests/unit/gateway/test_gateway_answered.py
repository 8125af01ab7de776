"""Which model answered, by the provider's own word: it may be another than was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway.dialects import DIALECTS

STREAMS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"model": "m-2", "choices": [{"delta": {"role": "assistant", "content": ""}}]},
        {"model": "m-2", "choices": [{"delta": {"content": "a"}}]},
    ],
    "responses": [
        {"type": "response.created", "response": {"model": "m-2"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "a"},
    ],
    "messages": [
        {"type": "message_start", "message": {"model": "m-2", "usage": {"input_tokens": 1}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    ],
    "gemini": [{"modelVersion": "m-2", "candidates": [{"content": {"parts": [{"text": "a"}]}}]}],
}
WHOLE: dict[str, dict[str, Any]] = {
    "chat": {"model": "m-2", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]},
    "responses": {"model": "m-2", "status": "completed", "output": []},
    "messages": {"model": "m-2", "content": [], "stop_reason": "end_turn"},
    "gemini": {"modelVersion": "m-2", "candidates": [{"finishReason": "STOP"}]},
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_names_its_model_even_if_it_is_cut(name: str) -> None:
    reader = DIALECTS[name].reader()
    pieces = [piece for said in STREAMS[name] for piece in reader.event(json.dumps(said).encode())[0]]
    assert [piece.text for piece in pieces] == ["a"]
    assert (reader.model, reader.terminal_seen) == ("m-2", False)


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_reply_names_its_model(name: str) -> None:
    reader = DIALECTS[name].reader()
    reader.whole(json.dumps(WHOLE[name]).encode())
    assert reader.model == "m-2"


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("odd", [None, 7, "", {"a": 1}])
def test_what_is_no_name_leaves_it_unknown(name: str, odd: object) -> None:
    reader = DIALECTS[name].reader()
    for said in STREAMS[name]:
        text = json.dumps(said).replace('"m-2"', json.dumps(odd))
        reader.event(text.encode())
    assert not reader.model


def test_a_chunk_without_choices_may_come_first() -> None:
    """As some resellers begin: with results of a filter and an empty name."""
    reader = DIALECTS["chat"].reader()
    reader.event(b'{"model":"","choices":[],"prompt_filter_results":[]}')
    reader.event(b'{"model":"m-2","choices":[{"delta":{"content":"a"}}]}')
    reader.event(b'{"model":"m-2","choices":[{"delta":{},"finish_reason":"stop"}]}')
    assert reader.model == "m-2"
