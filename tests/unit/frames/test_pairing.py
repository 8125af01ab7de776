"""Messages of an agent without stamps of their begin, and the gateway's exchanges."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from agentlab.frames.conversation import Message
from agentlab.frames.pairing import pair


def exchange(number: int, begin_ms: int, end_ms: int, status: str = "ok") -> Any:  # noqa: ANN401
    """Make as much of the gateway's side as pairing looks at."""
    return SimpleNamespace(
        number=number, begin={}, status=status, begin_ns=begin_ms * 10**6, end_ns=end_ms * 10**6
    )


def message(name: str, told_ms: int, **state: Any) -> Message:  # noqa: ANN401
    return Message(name, "s", state, told_ms * 10**6, completed_ns=told_ms * 10**6)


def pairs(messages: list[Message], exchanges: list[Any]) -> dict[int, str | None]:
    groups, reason = pair(messages, exchanges)
    assert reason is None
    return {group[-1].number: told.id if told else None for told, group in groups}


def test_an_agent_that_never_says_complete_and_tells_late_is_paired_by_order() -> None:
    # On a busy machine a message is read after the next exchange has ended.
    messages = [message("a", 40), message("b", 40), message("c", 70)]
    exchanges = [exchange(1, 0, 10), exchange(2, 20, 30), exchange(3, 50, 60)]
    assert pairs(messages, exchanges) == {1: "a", 2: "b", 3: "c"}


def test_an_agent_that_tells_of_some_requests_only_is_paired_by_arrival() -> None:
    messages = [message("a", 12), message("b", 65)]
    exchanges = [exchange(1, 0, 10), exchange(2, 20, 30), exchange(3, 50, 60)]
    assert pairs(messages, exchanges) == {1: "a", 2: None, 3: "b"}
