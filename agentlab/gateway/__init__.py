"""The gateway: one metered model boundary in front of the agents, and the scripted model behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pinned import Pin
    from .prices import Price
    from .promptcache import PromptCache
    from .script import ScriptedModel
    from .settings import Gateway
    from .step import Fault, Step
    from .tape import Tape

_WHERE = {
    "Fault": "step",
    "Gateway": "settings",
    "Pin": "pinned",
    "Price": "prices",
    "PromptCache": "promptcache",
    "ScriptedModel": "script",
    "Step": "step",
    "Tape": "tape",
}

__all__ = ["Fault", "Gateway", "Pin", "Price", "PromptCache", "ScriptedModel", "Step", "Tape"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
