"""The scripted model: which step answers, with what pieces, when, and for how many tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.errors import ConfigError
from agentlab.gateway import Fault, PromptCache, ScriptedModel, Step
from agentlab.gateway.attribution import WARM_UP
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.scripted import Answer, Model

CHAT = DIALECTS["chat"]
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("read", "bash")]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(name: str, call: str = "c") -> list[dict[str, Any]]:
    function = {"name": name, "arguments": "{}"}
    return [
        {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call, "content": "result"},
    ]


def ask(
    model: Model, *messages: dict[str, Any], session: str = "s", tools: list[Any] = TOOLS, run: str = "r"
) -> Answer:
    body = {"model": "m", "messages": messages or [user("hi")], "tools": tools, "stream": True}
    request = CHAT.parse(json.dumps(body).encode())
    answer = model.answer(request, dialect=CHAT, session=session, namespace=run)
    model.prefilled(answer, request)
    return answer


def text_of(answer: Answer) -> str:
    return "".join(piece.text for _, piece in answer.pieces if piece.kind == "text")


def times_of(step: Step) -> list[float]:
    answer = ask(Model(ScriptedModel([step])))
    return [round(at, 9) for at, _ in answer.pieces]


def test_in_order_each_session_gets_its_own_steps() -> None:
    model = Model(ScriptedModel([Step(text="one"), Step(text="two")]))
    assert text_of(ask(model, user("a"))) == "one"
    assert text_of(ask(model, user("a"), session="other")) == "one"
    assert text_of(ask(model, user("b"))) == "two"
    end = ask(model, user("c"))
    assert (text_of(end), end.reason) == ("The script has ended.", "script_ended")


def test_a_repeat_of_the_same_prompt_is_the_same_step() -> None:
    model = Model(ScriptedModel([Step(text="one"), Step(text="two")]))
    said = [text_of(ask(model, user(text))) for text in ("a", "a", "b", "a", "b")]
    assert said == ["one", "one", "two", "one", "two"]


def test_side_requests_take_no_step() -> None:
    model = Model(ScriptedModel([Step(text="one")], side="A title"))
    assert text_of(ask(model, user("title?"), tools=[])) == "A title"
    assert text_of(ask(model)) == "one"
    every = Model(ScriptedModel([Step(text="one")], side=None))
    assert text_of(ask(every, tools=[])) == "one"


@pytest.mark.parametrize(
    ("when", "messages", "holds"),
    [
        ({}, [user("x")], True),
        ({"has_tools": True}, [user("x")], True),
        ({"has_tools": False}, [user("x")], False),
        ({"last_role": "tool"}, [user("x"), *called("read")], True),
        ({"last_role": "tool"}, [user("x")], False),
        ({"last_user_contains": "json"}, [user("a.json"), *called("read")], True),
        ({"last_user_contains": "json"}, [user("a.json"), user("b")], False),
        ({"turn": 2}, [user("a"), *called("read"), user("b")], True),
        ({"turn": 1}, [user("a"), *called("read"), user("b")], False),
        ({"tool_result_of": "read"}, [user("a"), *called("bash", "1"), *called("read", "2")], True),
        ({"tool_result_of": "bash"}, [user("a"), *called("bash", "1"), *called("read", "2")], False),
        ({"tool_result_of": "read"}, [user("a"), *called("read"), user("b")], False),
        ({"model": "m"}, [user("x")], True),
        ({"model": "n"}, [user("x")], False),
        ({"turn": 1, "last_role": "user"}, [user("x")], True),
        ({"turn": 1, "last_role": "tool"}, [user("x")], False),
    ],
)
def test_a_rule_holds_when_all_of_it_does(
    when: dict[str, Any], messages: list[dict[str, Any]], holds: bool
) -> None:
    model = Model(ScriptedModel([Step(text="yes", when=when)], match="rule"))
    answer = ask(model, *messages)
    assert (answer.reason is None) == holds
    assert (text_of(answer) == "yes") == holds


def test_the_first_rule_that_holds_answers_and_side_requests_need_their_own() -> None:
    steps = [Step(text="turn 2", when={"turn": 2}), Step(text="else")]
    model = Model(ScriptedModel(steps, match="rule", side="side"))
    assert text_of(ask(model, user("a"), user("b"))) == "turn 2"
    assert text_of(ask(model)) == "else"
    assert text_of(ask(model, tools=[])) == "side"
    named = Step(text="title", when={"has_tools": False})
    assert text_of(ask(Model(ScriptedModel([Step(), named], match="rule")), tools=[])) == "title"


def test_faults_come_as_often_as_said_in_each_session() -> None:
    fault = Fault("cut", times=2)
    model = Model(ScriptedModel([Step(text="a", fault=fault)], match="rule"))
    assert [ask(model).fault for _ in range(3)] == [fault, fault, None]
    assert ask(model, session="other").fault == fault
    always = Model(ScriptedModel([Step(fault=Fault("hang", times=None))], match="rule"))
    assert all(ask(always).fault for _ in range(5))


def test_a_string_is_cut_into_tokens_at_character_borders() -> None:
    answer = ask(Model(ScriptedModel([Step(text="abcdefghij 😀é日本")])))
    pieces = [piece.text for _, piece in answer.pieces]
    assert "".join(pieces) == "abcdefghij 😀é日本"
    assert all(len(piece.encode()) <= 4 for piece in pieces)
    assert pieces[:3] == ["abcd", "efgh", "ij "]


def test_pieces_are_due_when_their_last_token_is() -> None:
    assert times_of(Step(text="abcdefghij", ttft_s=0.5, tokens_per_s=10)) == [0.5, 0.6, 0.7]
    # Several tokens in a chunk: 1, 4 and 7 of them.
    assert times_of(Step(text=["a" * 4, "b" * 16, "c" * 28], ttft_s=0.5, tokens_per_s=10)) == [0.5, 0.9, 1.6]
    # Empty text is sent, and takes no time.
    assert times_of(Step(text=["", ""], ttft_s=0.2, tokens_per_s=10)) == [0.2, 0.2]
    assert times_of(Step(text="abcdefgh", ttft_s=0.1)) == [0.1, 0.1]


def test_reasoning_then_text_then_calls_at_one_pace() -> None:
    step = Step(reasoning="1234", text="5678", tools=[("read", {"a": 1})], ttft_s=1, tokens_per_s=1)
    answer = ask(Model(ScriptedModel([step])))
    assert [(round(at, 6), piece.kind, piece.text) for at, piece in answer.pieces] == [
        (1, "reasoning", "1234"),
        (2, "text", "5678"),
        (2, "tool", ""),
        (3, "tool", '{"a"'),
        (4, "tool", ":1}"),
    ]
    assert answer.finish == "tool_calls"
    assert answer.end_s == 4
    assert ask(Model(ScriptedModel([Step(text="ab", ttft_s=1, end_s=0.3)]))).end_s == 1.3
    assert ask(Model(ScriptedModel([Step(ttft_s=1)]))).end_s == 1


def test_tokens_are_counted_from_bytes() -> None:
    step = Step(reasoning="12345", text="é" * 4, tools=[("read", "{}")])
    usage = ask(Model(ScriptedModel([step]))).usage
    assert usage is not None
    assert usage["completion_tokens"] == 2 + 2 + 1
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 2
    request = json.dumps([TOOLS, [], [user("hi")]], separators=(",", ":"))[:-2]
    assert usage["prompt_tokens"] == -(-len(request) // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + 5


def test_usage_can_be_kept_back_or_bent_but_its_cached_part_is_the_caches() -> None:
    assert ask(Model(ScriptedModel([Step(text="a", usage=None)]))).usage is None
    bent = Model(ScriptedModel([Step(text="a", usage={"prompt_tokens": 1})], match="rule"))
    long = user("x" * 6000)
    assert ask(bent, long).usage["prompt_tokens_details"] == {"cached_tokens": 0}  # type: ignore[index]
    again = ask(bent, long).usage
    assert again is not None
    assert again["prompt_tokens"] == 1 and again["prompt_tokens_details"]["cached_tokens"] >= 1024
    assert CHAT.read_usage(again).reason == "usage_implausible"


def test_the_cache_belongs_to_a_namespace_and_a_model() -> None:
    model = Model(ScriptedModel([Step(text="a")], match="rule", cache=PromptCache()))

    def cached(run: str) -> int:
        usage = ask(model, user("x" * 6000), run=run).usage
        assert usage is not None
        return usage["prompt_tokens_details"]["cached_tokens"]

    assert [cached("r1"), cached("r1"), cached("r2")] == [0, 1408, 0]


def test_the_cache_probe_drives_both_turns_in_any_wording() -> None:
    model = Model(ScriptedModel.load("cache-probe"))
    first = user("Session marker: abc. Read package.json, then write one todo.")
    steps = [
        ask(model, first),
        ask(model, first, *called("read")),
        ask(model, first, *called("read"), *called("todowrite", "d")),
        ask(model, first, *called("read"), user("Session marker: abc. Reply exactly: follow-up complete.")),
        ask(model, user("Say hello.")),
    ]
    names = [[piece.call[1] for _, piece in step.pieces if piece.call] for step in steps]
    assert names == [["read"], ["todowrite"], [], [], []]
    assert [step.finish for step in steps] == ["tool_calls", "tool_calls", "stop", "stop", "stop"]
    assert text_of(steps[3]) == "follow-up complete."
    assert text_of(steps[2]).strip() and text_of(steps[4]).strip()


def test_a_range_of_repeats_is_drawn_from_the_prompt() -> None:
    script = ScriptedModel([Step(text=["word ", "by word. "], repeat=(2, 40))] * 30)
    lengths = [len(text_of(ask(Model(script), user(f"nonce {k}")))) // 14 for k in range(30)]
    assert all(2 <= length <= 40 for length in lengths) and len(set(lengths)) > 10
    assert text_of(ask(Model(script), user("nonce 3"))) == "word by word. " * lengths[3]
    assert text_of(ask(Model(ScriptedModel([Step(text="ab", repeat=3)])), user("x"))) == "ababab"


@pytest.mark.parametrize("repeat", [0, -1, True, 1.5, (3, 2), (1, 2, 3), "2", (0, 4)])
def test_a_repeat_that_makes_no_sense_is_refused(repeat: Any) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError, match=r"Step\(repeat="):
        Step(text="x", repeat=repeat)


def test_a_throw_away_prompt_takes_no_step_and_meets_no_fault() -> None:
    model = Model(ScriptedModel([Step(text="one", fault=Fault("status", times=None))]))
    warm = ask(model, user("a"), session="w", run=WARM_UP)
    assert (text_of(warm), warm.fault, warm.reason) == ("Ready.", None, None)
    assert ask(model, user("a"), session="w", run="run 1").fault is not None
