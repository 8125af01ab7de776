"""Streams of all wires: wherever the bytes are cut the pieces, usage and end are the same."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentlab.gateway.attribution import Owner
from agentlab.gateway.chains import Chains
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import CacheUse, Dialect, Piece
from agentlab.gateway.dialects.chat_reply import ChatReader
from agentlab.gateway.exchange import Exchange
from agentlab.gateway.journal import Journal
from agentlab.wire.sse import SSEParser

SECRET = "sk-planted-7f3e"
names = st.sampled_from(sorted(DIALECTS))
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
calls = st.dictionaries(st.sampled_from(["path", "old", "é"]), texts, max_size=2)
cuts = st.lists(st.integers(0, 5000), max_size=12)


@st.composite
def answers(draw: st.DrawFn) -> list[Piece]:
    """Draw a reply: reasoning, text and calls in pieces."""
    pieces = [Piece("reasoning", text) for text in draw(st.lists(texts, max_size=2))]
    pieces += [Piece("text", text) for text in draw(st.lists(texts, max_size=4))]
    for index, arguments in enumerate(draw(st.lists(calls, max_size=2))):
        spelled = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
        pieces += [Piece("tool", "", index, (f"c{index}", "read")), Piece("tool", spelled, index)]
    return pieces


def asked(dialect: Dialect, secret: str = "hi") -> bytes:
    says: dict[str, Any] = {"chat": {"messages": [{"role": "user", "content": secret}]}}
    says["chat"] |= {"tools": [{"function": {"name": "read", "description": secret}}]}
    says["chat"] |= {"stream": True, "stream_options": {"include_usage": True}, "prompt_cache_key": secret}
    says["responses"] = {"input": secret, "instructions": secret, "metadata": {"a": secret}, "user": secret}
    says["messages"] = {"messages": [{"role": "user", "content": secret}], "system": secret}
    says["messages"] |= {"metadata": {"user_id": secret}, "stop_sequences": [secret]}
    says["gemini"] = {"contents": [{"role": "user", "parts": [{"text": secret}]}], "labels": {"a": secret}}
    return json.dumps(says[dialect.name]).encode()


def stream(dialect: Dialect, pieces: list[Piece]) -> bytes:
    """Spell a reply on a wire."""
    if dialect.whole_calls:
        named = {piece.index: piece.call for piece in pieces if piece.call}
        pieces = [
            Piece(piece.kind, piece.text, piece.index, named.get(piece.index))
            if piece.kind == "tool"
            else piece
            for piece in pieces
            if not piece.call
        ]
    renderer = dialect.renderer(dialect.parse(asked(dialect)), 1)
    usage = dialect.spell_usage(prompt=9, cache=CacheUse(2), output=5, reasoning=1)
    spelled = [renderer.opening(usage), *map(renderer.piece, pieces)]
    return b"".join([*spelled, renderer.closing(dialect.finish("stop"), usage)])


def read(dialect: Dialect, parts: list[bytes]) -> tuple[Any, ...]:
    parser, reader = SSEParser(), dialect.reader()
    events = [event for part in parts for event in parser.feed(part, 0)]
    pieces = [piece for event in events for piece in reader.event(event.data)[0]]
    return pieces, reader.usage, reader.finish, reader.terminal_seen, reader.error, reader.malformed


def cut(data: bytes, at: list[int]) -> list[bytes]:
    ends = [0, *sorted(min(end, len(data)) for end in at), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(ends)]


@settings(max_examples=150, deadline=None)
@given(names, answers(), cuts)
def test_wherever_a_stream_is_cut_it_reads_the_same(name: str, pieces: list[Piece], at: list[int]) -> None:
    dialect = DIALECTS[name]
    data = stream(dialect, pieces)
    whole = read(dialect, [data])
    assert read(dialect, cut(data, at)) == whole
    heard, usage, finish, terminal, error, malformed = whole
    for kind in ("text", "reasoning"):
        said = [piece.text for piece in pieces if piece.kind == kind]
        assert "".join(piece.text for piece in heard if piece.kind == kind) == "".join(said)
    for index in {piece.index for piece in pieces if piece.kind == "tool"}:
        spelled = "".join(p.text for p in heard if p.kind == "tool" and p.index == index)
        wanted = "".join(p.text for p in pieces if p.kind == "tool" and p.index == index)
        assert json.loads(spelled) == json.loads(wanted)
    assert (finish, terminal, error, malformed) == (dialect.finish("stop"), True, False, False)
    counts = dialect.read_usage(usage)
    assert (counts.input_total_tokens, counts.cache_read_tokens, counts.output_tokens) == (9, 2, 5)


@settings(max_examples=100, deadline=None)
@given(names, answers(), st.data())
def test_a_stream_that_ends_early_says_no_output(name: str, pieces: list[Piece], data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    whole = stream(dialect, pieces)
    end = data.draw(st.integers(0, len(whole)))
    _, usage, _, terminal, _, _ = read(dialect, [whole[:end]])
    counts = dialect.read_usage(usage)
    if not terminal and name != "messages":  # there the count of the last but one event is final
        assert counts.output_tokens is None and counts.reason in ("no_usage", "usage_partial")
    elif terminal and name != "chat":  # there the count follows the end
        assert counts.output_tokens == 5


@given(names, st.binary(max_size=300))
def test_whatever_a_provider_sends_is_read_without_a_fall(name: str, data: bytes) -> None:
    reader = DIALECTS[name].reader()
    reader.event(data)
    reader.whole(data)
    DIALECTS[name].read_usage(reader.usage)


WORDS = (
    "type index item delta content parts text usage choices candidates output id role response output_index "
    "content_block message input functionCall name finishReason args error partial_json usageMetadata"
)
keys = st.sampled_from(WORDS.split())
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | keys,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(names, json_data)
@example("responses", {"type": []})  # once a fall
def test_odd_json_is_read_without_a_fall(name: str, data: object) -> None:
    dialect = DIALECTS[name]
    reader, body = dialect.reader(), json.dumps(data).encode()
    reader.event(body)
    reader.whole(body)
    dialect.read_usage(reader.usage)


said = st.none() | st.text(max_size=3) | st.integers(0, 1) | st.just([])
deltas = st.dictionaries(
    st.sampled_from(["content", "reasoning_content", "reasoning", "role", "tool_calls", "refusal"]), said
)
choices = st.fixed_dictionaries(
    {"delta": deltas | said}, optional={"finish_reason": said, "index": said, "logprobs": said}
)
chunks = st.fixed_dictionaries(
    {"choices": st.lists(choices, max_size=2) | said}, optional={"usage": said, "error": said, "id": said}
)


@settings(max_examples=300, deadline=None)
@given(chunks)
@example({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
@example({"choices": [{"delta": {"content": None, "reasoning": "r"}, "finish_reason": None}]})
@example({"choices": [{"delta": {"content": chr(0xD800)}}]})
def test_the_short_way_through_a_chat_chunk_says_what_the_long_one_says(chunk: object) -> None:
    body = json.dumps(chunk).encode()
    short, long = ChatReader(), ChatReader()
    vars(long)["_read_text"] = lambda _: None
    assert short.event(body) == long.event(body)
    for name in ("terminal_seen", "finish", "error", "malformed", "usage"):
        assert getattr(short, name) == getattr(long, name)


@settings(max_examples=40, deadline=None)
@given(names, answers())
def test_nothing_that_was_said_is_in_numbers_mode_evidence(
    tmp_path_factory: Any,  # noqa: ANN401
    name: str,
    pieces: list[Piece],
) -> None:
    dialect = DIALECTS[name]
    file: Path = tmp_path_factory.mktemp("evidence") / "gateway.jsonl"
    journal = Journal()
    exchange = Exchange(journal, number=1, owner=Owner("r", "a", str(file)), keep_content=False)
    body = asked(dialect, SECRET)
    request = dialect.parse(body)
    link = Chains().link("s", 1, request)
    exchange.begin(1, session=None, dialect=dialect, path="/p", body=body, request=request, link=link)
    for piece in [*pieces, Piece("text", SECRET), Piece("tool", SECRET, 0, (SECRET, SECRET))]:
        exchange.chunk(piece, t=2)
    usage = dialect.spell_usage(prompt=9, cache=CacheUse(), output=5, reasoning=0)
    exchange.report({**usage, "note": SECRET})
    exchange.status, exchange.terminal_seen = 200, True
    exchange.end(3)
    journal.close_all()
    evidence = file.read_bytes()
    assert SECRET.encode() not in evidence and evidence.count(b"\n") == 2 + len(pieces) + 2
