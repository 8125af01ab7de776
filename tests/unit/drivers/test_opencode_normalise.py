"""OpenCode's events in the vocabulary of docs/events.md."""

import pytest

from agentlab.drivers.opencode.api import event_unix_ms, message_id
from agentlab.drivers.opencode.normalise import Normaliser, error_fields, history, message, tokens

SESSION, MESSAGE = "ses_1", "msg_1"


def part(kind: str, number: str = "prt_1", **fields):
    return {"part": {"id": number, "sessionID": SESSION, "messageID": MESSAGE, "type": kind, **fields}}


def delta(text: str, number: str = "prt_1"):
    return {"sessionID": SESSION, "messageID": MESSAGE, "partID": number, "field": "text", "delta": text}


def feed(normaliser, kind, properties):
    return list(normaliser.feed(kind, properties, 1_000))


@pytest.fixture
def started():
    normaliser = Normaliser()
    feed(normaliser, "message.updated", {"info": {"id": MESSAGE, "sessionID": SESSION, "role": "assistant"}})
    return normaliser


def test_reasoning_is_told_apart_by_the_part_not_by_the_field(started):
    feed(started, "message.part.updated", part("reasoning", text=""))
    [(kind, fields, content)] = feed(started, "message.part.delta", delta("hm "))
    assert (kind, fields["chunk"], fields["n_chars"], fields["visible"]) == ("chunk", "reasoning", 3, True)
    assert content == {"text": "hm "}


def test_bytes_and_visibility_of_a_chunk(started):
    feed(started, "message.part.updated", part("text", text=""))
    [(_, fields, _)] = feed(started, "message.part.delta", delta("\n\n"))
    assert fields["visible"] is False
    [(_, fields, _)] = feed(started, "message.part.delta", delta("é€"))
    assert (fields["n_chars"], fields["n_bytes"], fields["visible"]) == (2, 5, True)


def test_text_without_deltas_is_one_chunk_and_not_counted_twice(started):
    assert feed(started, "message.part.updated", part("text", text="")) == []
    [(_, fields, _)] = feed(started, "message.part.updated", part("text", text="whole answer"))
    assert fields["n_chars"] == 12
    assert feed(started, "message.part.updated", part("text", text="whole answer", time={"end": 5})) == []


def test_the_final_text_after_deltas_is_no_new_chunk(started):
    feed(started, "message.part.updated", part("text", text=""))
    feed(started, "message.part.delta", delta("abc"))
    assert feed(started, "message.part.updated", part("text", text="abc")) == []


def test_a_prompt_is_not_an_answer():
    normaliser = Normaliser()
    feed(normaliser, "message.updated", {"info": {"id": MESSAGE, "sessionID": SESSION, "role": "user"}})
    [(kind, fields, content)] = feed(
        normaliser, "message.part.updated", part("text", text="my secret prompt")
    )
    assert (kind, fields["type"], content) == ("other", "part.text", None)
    assert "secret" not in str(fields)


def test_identical_updates_are_counted_and_dropped(started):
    update = part("tool", tool="bash", callID="c", state={"status": "running", "time": {"start": 7}})
    assert [kind for _ in range(200) for kind, *_ in feed(started, "message.part.updated", update)] == [
        "tool"
    ]
    assert started.n_repeats == 199


def test_tool_states():
    entry = {
        "info": {"id": MESSAGE, "sessionID": SESSION, "role": "assistant"},
        "parts": [
            part(
                "tool",
                tool="read",
                callID="c",
                state={"status": "error", "input": {"a": 1}, "error": "no /etc"},
            )["part"]
        ],
    }
    _, (kind, fields, content) = history([entry])
    assert (kind, fields["name"], fields["status"], fields["source"]) == ("tool", "read", "error", "history")
    assert "/etc" not in str(fields) and content == {"input": {"a": 1}, "error": "no /etc"}


def test_tokens_exclude_cache_from_input_and_reasoning_from_output():
    raw = {"total": 50392, "input": 12, "output": 75, "reasoning": 5, "cache": {"read": 50000, "write": 300}}
    assert tokens(raw) == {
        "input_uncached_tokens": 12,
        "cache_read_tokens": 50000,
        "cache_write_tokens": 300,
        "reasoning_tokens": 5,
        "output_tokens": 80,
        "total_tokens": 50392,
    }


@pytest.mark.parametrize(
    "raw", [None, {}, {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}]
)
def test_no_usage_is_unknown_not_zero(raw):
    assert tokens(raw) == {}


def test_a_true_zero_has_a_total():
    raw = {"total": 0, "input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    assert tokens(raw)["output_tokens"] == 0


def test_an_error_keeps_its_name_and_loses_its_message():
    error = {
        "name": "APIError",
        "data": {"message": "the answer was 42", "statusCode": 400, "isRetryable": False},
    }
    assert error_fields(error) == {"name": "APIError", "status_code": 400, "retryable": False}
    _, fields, content = message({"id": "m", "role": "assistant", "error": error}, "stream")
    assert fields["error"] == "APIError" and content is None and "42" not in str(fields)


def test_status_idle_and_compaction():
    n = Normaliser()
    status = {
        "sessionID": SESSION,
        "status": {"type": "retry", "attempt": 2, "message": "private", "next": 9},
    }
    assert feed(n, "session.status", status) == [
        (
            "status",
            {"session": SESSION, "state": "retry", "attempt": 2, "next_unix_ms": 9, "server_unix_ms": 1_000},
            None,
        )
    ]
    assert feed(n, "session.idle", {"sessionID": SESSION})[0][0] == "idle"
    assert feed(n, "session.compacted", {"sessionID": SESSION})[0][0] == "compacted"
    assert feed(n, "todo.updated", {"sessionID": SESSION, "todos": [1]})[0][:2][0] == "other"


def test_event_ids_carry_the_publish_time():
    assert event_unix_ms("evt_22781b63f001f3oK6mIrXVMGDQ", 1_795_959_141_943 + 60_000) == 1_795_959_141_951
    assert event_unix_ms("evt_nothex______", 1) is None


def test_message_ids_sort_by_time_like_the_servers():
    first, second, later = (
        message_id(1_795_959_141_943),
        message_id(1_795_959_141_943),
        message_id(1_795_959_141_944),
    )
    assert first != second and len(first) == len("msg_22781edd30017Zb3Hps67zj3A4")
    assert first[:13] == "msg_22781b637" and later > first
