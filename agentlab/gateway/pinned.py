"""The same system text, tools and sampling for every agent: the ``pinned`` mode's canonical payload."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..errors import ConfigError
from ..redact import shown
from .checks import given, integer, number

_SAMPLING = ("temperature", "top_p", "max_output_tokens")
_NAMES: set[object] = {"name", "description", "parameters"}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Pin:
    """State what every agent's requests are made to say, each in its own wire's spelling.

    In chat, messages that say the same are spelled the same: a lone text block as a text, no text beside
    calls of tools as null, keys in one order. Requests that offer no tools (titles, summaries, compactions)
    keep their own system text and get the sampling only: another system text would ask them for something
    else.

    Parameters
    ----------
    system : str
        System text in place of the agent's own.
    tools : sequence of mapping
        Tools in place of the agent's own, each ``{"name", "description", "parameters"}`` with a JSON schema;
        agents whose tools have other names are refused (``tools``). Empty: the agent's own.
    sampling : mapping
        ``temperature``, ``top_p``, ``max_output_tokens``; any other sampling of the agent's is taken out.
    empty_reasoning : bool
        Whether assistant messages of chat that call tools without reasoning get an empty
        ``reasoning_content``, which some thinking models insist on.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> pin = Pin(system="Use the supplied tools.", sampling={"temperature": 0})
    >>> pin.apply("chat", {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{}],
    ...                    "seed": 1})["temperature"]
    0
    """

    system: str
    tools: Sequence[Mapping[str, Any]] = ()
    sampling: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])
    empty_reasoning: bool = False

    def __repr__(self) -> str:
        return shown(self)

    def __post_init__(self) -> None:
        if not isinstance(given(self.system), str):
            raise ConfigError("Pin(system=...): give a text")
        for tool in cast("Sequence[object]", self.tools):
            known = isinstance(tool, Mapping) and set(cast("Mapping[object, Any]", tool)) == _NAMES
            if not known or not isinstance(cast("Mapping[str, Any]", tool)["name"], str):
                raise ConfigError("Pin(tools=...): give each tool as {name, description, parameters}")
        if unknown := set(self.sampling) - set(_SAMPLING):
            raise ConfigError(f"Pin(sampling=...): there is {', '.join(_SAMPLING)}, not {sorted(unknown)}")
        for name, value in self.sampling.items():
            if name == "max_output_tokens":
                integer("Pin", name, value, low=1)
            else:
                number("Pin", name, value)
        try:
            plain = json.loads(json.dumps({"tools": list(self.tools)}, allow_nan=False))["tools"]
        except (TypeError, ValueError) as error:
            raise ConfigError(f"Pin(tools=...): they are no plain JSON: {error}") from error
        object.__setattr__(self, "tools", tuple(plain))
        object.__setattr__(self, "sampling", dict(self.sampling))

    @property
    def tool_names(self) -> tuple[str, ...] | None:
        """Names that agents must offer; None: any."""
        return tuple(str(tool["name"]) for tool in self.tools) or None

    def apply(self, dialect: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request's body as it is sent.

        Parameters
        ----------
        dialect : {"chat", "responses", "messages", "gemini"}
            Its wire.
        body : mapping
            As the agent sent it.

        Returns
        -------
        dict
        """
        return _SPELLINGS[dialect](self, body)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON data.

        Returns
        -------
        dict
        """
        return {
            "system": self.system,
            "tools": list(self.tools),
            "sampling": dict(self.sampling),
            "empty_reasoning": self.empty_reasoning,
        }


def _chat(pin: Pin, body: Mapping[str, Any]) -> dict[str, Any]:
    cap = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
    names = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": cap}
    drop = ["frequency_penalty", "logit_bias", "presence_penalty", "seed"]
    if "max_output_tokens" in pin.sampling:
        drop += ["max_tokens", "max_completion_tokens"]
    out = _sampled(pin, body, names, drop=drop)
    messages = [_one_spelling(message) for message in body.get("messages") or ()]
    if body.get("tools"):
        rest = [m for m in messages if m.get("role") not in ("system", "developer")]
        messages = [{"role": "system", "content": pin.system}, *rest]
        if pin.tools:
            out["tools"] = [{"type": "function", "function": dict(tool)} for tool in pin.tools]
    if pin.empty_reasoning:
        for message in messages:
            if message.get("role") == "assistant" and message.get("tool_calls"):
                message.setdefault("reasoning_content", "")
    return {**out, "messages": messages}


def _one_spelling(message: Mapping[str, Any]) -> dict[str, Any]:
    """Spell a message of chat in one of the ways that say the same."""
    content = message.get("content")
    if isinstance(content, list) and len(cast("list[Any]", content)) == 1:
        (block,) = cast("list[Any]", content)
        if isinstance(block, Mapping) and set(cast("Mapping[str, Any]", block)) == {"type", "text"}:
            content = cast("Mapping[str, Any]", block)["text"]
    if content == "" and message.get("tool_calls"):
        content = None
    said: dict[str, Any] = {"role": message.get("role"), "content": content}
    for key in ("tool_calls", "tool_call_id"):
        if key in message:
            said[key] = message[key]
    return said | {key: value for key, value in message.items() if key not in said}


def _responses(pin: Pin, body: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: name for name in _SAMPLING}
    out = _sampled(pin, body, names)
    if not body.get("tools"):
        return out
    items = body.get("input")
    if isinstance(items, list):
        system = ("system", "developer")
        out["input"] = [
            item
            for item in cast("list[Any]", items)
            if not isinstance(item, Mapping) or cast("Mapping[str, Any]", item).get("role") not in system
        ]
    if pin.tools:
        out["tools"] = [{"type": "function", **tool, "strict": False} for tool in pin.tools]
    return {**out, "instructions": pin.system}


def _messages(pin: Pin, body: Mapping[str, Any]) -> dict[str, Any]:
    names = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens"}
    out = _sampled(pin, body, names, drop=("top_k",))
    if not body.get("tools"):
        return out
    if pin.tools:
        out["tools"] = [
            {"name": t["name"], "description": t["description"], "input_schema": t["parameters"]}
            for t in pin.tools
        ]
    return {**out, "system": pin.system}


def _gemini(pin: Pin, body: Mapping[str, Any]) -> dict[str, Any]:
    names = {"temperature": "temperature", "top_p": "topP", "max_output_tokens": "maxOutputTokens"}
    drop = ("topK", "seed", "presencePenalty", "frequencyPenalty")
    options = body.get("generationConfig", body.get("generation_config"))
    given_options = cast("Mapping[str, Any]", options) if isinstance(options, Mapping) else {}
    out = {key: value for key, value in body.items() if key != "generation_config"}
    camel = {_camel(key): value for key, value in given_options.items()}
    out["generationConfig"] = _sampled(pin, camel, names, drop=drop)
    if not body.get("tools"):
        return out
    if pin.tools:
        out["tools"] = [{"functionDeclarations": [dict(tool) for tool in pin.tools]}]
    out.pop("system_instruction", None)
    return {**out, "systemInstruction": {"parts": [{"text": pin.system}]}}


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _sampled(
    pin: Pin, body: Mapping[str, Any], names: Mapping[str, str], *, drop: Sequence[str] = ()
) -> dict[str, Any]:
    """Set the pinned sampling; an output cap that is not pinned stays the agent's."""
    gone = {*drop, *(wire for name, wire in names.items() if name != "max_output_tokens")}
    kept = {key: value for key, value in body.items() if key not in gone}
    return kept | {names[name]: value for name, value in pin.sampling.items()}


_SPELLINGS: dict[str, Callable[[Pin, Mapping[str, Any]], dict[str, Any]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
