"""Chains: what follows what, what it is for, and which request is a repeat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentlab.gateway import ScriptedModel, Step
from agentlab.gateway.chains import Chains, Link
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import ModelRequest
from agentlab.gateway.scripted import Model

CHAT, MESSAGES = DIALECTS["chat"], DIALECTS["messages"]


def request(
    *texts: str, tools: tuple[str, ...] = ("read",), system: str = "s", **more: object
) -> ModelRequest:
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": t} for t in texts)]
    offered = [{"function": {"name": name}} for name in tools]
    return CHAT.parse(json.dumps({"model": "m", "messages": messages, "tools": offered, **more}).encode())


class Talk:
    """One conversation, requests numbered from 1."""

    def __init__(self) -> None:
        self.chains, self.number = Chains(), 0

    def __call__(self, *texts: str, key: str = "s", **more: Any) -> Link:  # noqa: ANN401
        self.number += 1
        return self.chains.link(key, self.number, request(*texts, **more))


def test_a_chain_grows_and_its_repeats_are_counted() -> None:
    say = Talk()
    assert say("a") == Link("main")
    after = say("a", "b")
    assert after.chain == "main" and after.change is not None and after.change.append_only
    assert (after.attempt, after.retry_of) == (1, None)
    assert [(link.attempt, link.retry_of) for link in (say("a", "b"), say("a", "b"))] == [(2, 2), (3, 3)]
    assert say("a", "b", "c").attempt == 1


def test_a_repeat_is_compared_with_what_came_before_the_request_that_it_repeats() -> None:
    """Else a broken prefix would be hidden where the request that broke it was answered with a 429."""
    say = Talk()
    say("a")
    broken = say("a", "b", system="z")
    again, third = say("a", "b", system="z"), say("a", "b", system="z")
    assert broken.change is not None and broken.change.lost_bytes > 0
    assert again.change == third.change == broken.change
    assert (again.follows, again.retry_of, third.follows, third.retry_of) == (1, 2, 1, 3)
    grown = say("a", "b", "c", system="z")
    assert grown.follows == 4 and grown.change is not None and grown.change.append_only
    first = Talk()
    assert (first("a").change, first("a").change, first("a").attempt) == (None, None, 3)


def test_a_changed_system_text_or_tool_set_stays_in_its_chain() -> None:
    say = Talk()
    say("a")
    system = say("a", "b", system="z").change
    assert system is not None and (system.first_changed, system.append_only) == ("system", False)
    tools = say("a", "b", "c", system="z", tools=("read", "bash"))
    assert tools.chain == "main"
    assert tools.change is not None and tools.change.first_changed == "tools"


def test_sessions_and_body_keys_are_conversations_of_their_own() -> None:
    say = Talk()
    say("a")
    assert say("a", key="t") == Link("main")
    assert say("a", prompt_cache_key="k") == Link("main")
    assert say("a", "b", prompt_cache_key="k").change is not None


def test_side_requests_do_not_disturb_the_main_chain() -> None:
    say = Talk()
    title: dict[str, Any] = {
        "tools": (),
        "system": "You are a title generator. You output ONLY a thread title.",
    }
    assert say("Generate a title", **title) == Link("title")
    say("a")
    assert say("Generate a title", **title).attempt == 2
    assert say("conversation", tools=(), system="You summarize conversations.") == Link("compaction")
    assert say("x", tools=(), system="Something else.") == Link(None)
    grown = say("a", "b")
    assert grown.chain == "main" and grown.change is not None and grown.change.append_only


def test_another_prompt_with_tools_is_a_subagent_and_goes_its_own_way() -> None:
    say = Talk()
    say("a")
    assert say("find it", system="You search.") == Link("subagent")
    assert say("a", "b").chain == "main"
    grown = say("find it", "there", system="You search.")
    assert grown.chain == "subagent" and grown.change is not None and grown.change.append_only


def test_a_main_chain_is_found_again_after_any_number_of_subagents() -> None:
    say = Talk()
    say("a")
    for k in range(40):
        assert say(f"find {k}", system=f"You search {k}.") == Link("subagent")
    grown = say("a", "b")
    assert grown.chain == "main" and grown.change is not None and grown.change.append_only


def test_a_compaction_that_keeps_its_prefix_is_compared_and_not_followed() -> None:
    say = Talk()
    say("a")
    say("a", "b")
    asks = "Your task is to create a detailed summary of the conversation so far, with care."
    summary = say("a", "b", asks)
    assert summary.chain == "compaction" and summary.change is not None and summary.change.append_only
    assert say("a", "b", asks).retry_of == 3
    after = say("This session is continued: summary")
    assert after.chain == "main"
    assert after.change is not None and after.change.first_changed == "message 1"
    grown = say("This session is continued: summary", "c")
    assert grown.chain == "main" and grown.change is not None and grown.change.append_only


def test_what_follows_a_compaction_goes_on_even_under_another_system_text() -> None:
    say = Talk()
    say("a", system="version 1")
    say("a", "Your task is to create a detailed summary of the conversation so far.", system="version 1")
    after = say("A summary.", system="version 2")
    assert after.chain == "main" and after.change is not None and after.change.first_changed == "system"
    assert say("Something else.", system="version 3").chain == "subagent"


@pytest.mark.parametrize("tools", [(), ("read",)])
def test_codex_asks_for_its_checkpoint_in_the_last_message(tools: tuple[str, ...]) -> None:
    say = Talk()
    say("a", tools=("read",))
    assert say("a", "You are performing a CONTEXT CHECKPOINT COMPACTION.", tools=tools).chain == "compaction"


def test_an_agent_without_tools_has_a_main_chain() -> None:
    say = Talk()
    assert say("a", tools=()) == Link("main")
    assert say("a", "b", tools=()).chain == "main"


def test_a_question_ahead_of_the_talk_makes_no_subagent_of_it() -> None:
    say = Talk()
    assert say("quota", tools=(), system="") == say("a") == Link("main")
    assert say("find it", system="You search.") == Link("subagent")
    assert say("a", "b").chain == "main"


def test_the_user_id_of_messages_names_the_conversation() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "metadata": {"user_id": "u"}}
    assert MESSAGES.parse(json.dumps(body).encode()).session == "u"


def test_old_conversations_are_dropped() -> None:
    say = Talk()
    for k in range(300):
        say("a", key=f"s{k}")
    assert say("a", key="s0").retry_of is None
    assert say("a", key="s299").retry_of == 300


def test_fields_are_those_of_the_journal() -> None:
    say = Talk()
    assert say("a").fields() == {"chain": "main", "attempt": 1, "retry_of": None}
    assert set(say("a", "b").fields()) - set(Link().fields()) == {
        "follows",
        "prefix_state",
        "lost_bytes",
        "changed",
        "prefix_bytes",
        "first_changed",
        "append_only",
    }


def test_claude_asks_for_its_summary_beside_a_tools_result() -> None:
    asks = {"type": "text", "text": "Your task is to create a detailed summary of the conversation so far."}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    body: dict[str, Any] = {
        "tools": [{"name": "Read"}],
        "messages": [{"role": "user", "content": [result, asks]}],
    }
    request = MESSAGES.parse(json.dumps(body).encode())
    assert Chains().link("s", 1, request).chain == "compaction"
    script = ScriptedModel([Step(text="step")], side="A summary.")
    answer = Model(script).answer(request, dialect=MESSAGES, session="s", namespace="n")
    assert "".join(piece.text for _, piece in answer.pieces) == "A summary."
    body["messages"][0]["content"] = [
        {**result, "content": asks["text"]}
    ]  # a file that says so asks for nothing
    assert Chains().link("s", 1, MESSAGES.parse(json.dumps(body).encode())).chain == "main"
