"""The gateway: one metered model boundary in front of the agents, and the scripted model behind it."""

from __future__ import annotations

_WHERE = {
    "Fault": "script",
    "Gateway": "settings",
    "PromptCache": "promptcache",
    "ScriptedModel": "script",
    "Step": "script",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
