"""Settings of the reference agent."""

from pathlib import Path
from typing import Any

import pytest

from agentlab.drivers.reference import Reference
from agentlab.engine.codec import decode, encode
from agentlab.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"model": "scripted"}, "provider/model"),
        ({"policy": "sliding"}, "'continuous' or 'windowed'"),
        ({"policy": "windowed"}, "give both or neither"),
        ({"window_tokens": 100}, "give both or neither"),
        ({"dialect": "grpc"}, "chat, responses, messages, gemini"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"max_output_tokens": True}, "max_output_tokens=True"),
        ({"workspace": "/nowhere/at/all"}, "no such folder"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Reference(settings.pop("model", "lab/scripted"), **settings)


def test_settings_cross_to_the_measuring_process(tmp_path: Path) -> None:
    driver = Reference(
        "lab/m/1", policy="windowed", window_tokens=8000, workspace=tmp_path, system="Private."
    )
    again = decode(encode(driver))
    assert again == driver
    assert again.identify() == driver.identify()
    assert "Private" not in str(driver.identify())
    assert str(tmp_path) not in str(driver.identify())


def test_what_differs_is_another_arm(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    arms = [
        Reference("lab/m"),
        Reference("lab/m", dialect="messages"),
        Reference("lab/m", system="Other."),
        Reference("lab/m", max_steps=3),
        Reference("lab/m", workspace=tmp_path),
    ]
    told = [str(arm.identify().settings) for arm in arms]
    (tmp_path / "a.txt").write_text("2")
    assert len({*told, str(arms[-1].identify().settings)}) == 6
