"""What all drivers refuse alike: values of a wrong kind, before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import agentlab as al

DRIVERS: dict[str, Callable[..., Any]] = {
    "OpenCode": lambda **o: al.OpenCode("lab/scripted", **o),
    "AgentCLI": lambda **o: al.AgentCLI("pi", **o),
    "Reference": lambda **o: al.Reference("lab/scripted", **o),
}
WRONG = [("system", 3), ("system", "a\0b"), ("workspace", 3), ("gateway", 3), ("gateway", "http://x/v1")]


@pytest.mark.parametrize(("name", "value"), WRONG)
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_value_of_a_wrong_kind_is_refused(driver: str, name: str, value: object) -> None:
    with pytest.raises(al.ConfigError, match=rf"{driver}\({name}="):
        DRIVERS[driver](**{name: value})


@pytest.mark.parametrize("model", [3, None, "lab/a\0b", "lab", "lab/a b"])
def test_a_model_has_a_provider_and_a_name(model: Any) -> None:  # noqa: ANN401
    for driver in (al.OpenCode, al.Reference):
        with pytest.raises(al.ConfigError, match="provider/model"):
            driver(model)
    with pytest.raises(al.ConfigError, match="provider/model"):
        al.AgentCLI("pi", model=model)


@pytest.mark.parametrize("agent", [3, None, "", "pie"])
def test_an_agent_is_one_of_the_catalogue(agent: Any) -> None:  # noqa: ANN401
    with pytest.raises(al.ConfigError, match="known are pi, opencode"):
        al.AgentCLI(agent)


def test_an_argument_holds_no_nul() -> None:
    with pytest.raises(al.ConfigError, match="flags"):
        al.AgentCLI("pi", flags=["a\0b"])


def test_a_driver_is_shown_by_what_was_given_and_without_secrets() -> None:
    assert repr(al.OpenCode("lab/m")) == "OpenCode(model='lab/m')"
    assert repr(al.WebChat(al.OpenCode("lab/m"), typing=True)) == (
        "WebChat(model=OpenCode(model='lab/m'), typing=True)"
    )
    options = {"apiKey": "planted-1", "headers": {"Authorization": "Basic planted-2"}}
    drivers = {
        "config": al.OpenCode("own/m", config={"provider": {"own": {"options": options}}}, system="x" * 9999),
        "flags": al.AgentCLI("pi", flags=["--api-key", "planted-3"]),
        "env": al.Terminal("codex", sessions=(1, 4), env={"KEY": "planted-4"}),
    }
    shown = repr(drivers)
    assert "planted" not in shown and "own/m" in shown and "sessions=[1, 4]" in shown
    assert len(shown) < 1000
