"""Gemini: ``POST /v1beta/models/MODEL:generateContent`` and ``:streamGenerateContent?alt=sse``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..canonical import Recent, canonical, encode
from ..usage import Usage, read_usage
from .base import BadRequest, CacheUse, ModelRequest, Route, Tool
from .body import cap_of, dicts, load, mapping, name_of, objects, text_or_none
from .gemini_reply import FINISHES, GeminiReader, GeminiRenderer, frame

# No name of a model leads to another address of the provider, whose key goes with the call.
_PATH = re.compile(
    r"/v1(?:beta|alpha)?/models/(?P<model>(?!(?:.*/)?\.{1,2}(?:/|:))[^:?#%\\\s]+)"
    r":(?P<call>generateContent|streamGenerateContent)"
)
_ERROR_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_ROLES = {"model": "assistant"}


class Gemini:
    """Speak generateContent. Clients add ``/v1beta/models/...`` to the URL that they are given."""

    name = "gemini"
    base = ""
    convention: Literal["inclusive", "exclusive"] = "inclusive"
    whole_calls = True

    def route(self, path: str) -> Route | None:
        """Return what a path asks for: here it also says the model, and whether the reply is streamed."""
        found = _PATH.fullmatch(path)
        if found is None:
            return None
        return Route(self, path, model=found["model"], stream=found["call"] == "streamGenerateContent")

    def parse(self, body: bytes) -> ModelRequest:
        """Read a request; its model is in the path."""
        data = load(body)
        tools = objects(data.get("tools"), "tools")
        history = objects(data.get("contents"), "contents")
        if not history:
            raise BadRequest("contents is missing or empty")
        system = data.get("systemInstruction", data.get("system_instruction"))
        options = mapping(data.get("generationConfig", data.get("generation_config")))
        roles = tuple(_role(content) for content in history)
        return ModelRequest(
            model=None,
            stream=False,
            wants_usage=True,
            tools=_offered(tools),
            roles=roles,
            user_texts=tuple(
                _text(content) for content, role in zip(history, roles, strict=True) if role == "user"
            ),
            result_of=_result_of(history),
            max_output_tokens=cap_of(options.get("maxOutputTokens", options.get("max_output_tokens"))),
            canonical=canonical(tools, [] if system is None else [system], [*map(_plain, history)]),
            body=data,
            last_text=_text(history[-1]),
        )

    def renderer(self, request: ModelRequest, number: int) -> GeminiRenderer:
        """Return what spells the reply."""
        return GeminiRenderer(request, number)

    def reader(self) -> GeminiReader:
        """Return what reads one reply of a provider."""
        return GeminiReader()

    def asking_usage(self, request: ModelRequest) -> bytes | None:
        """Return None: a reply always reports usage."""
        return None

    def with_output_cap(self, request: ModelRequest, n: int) -> bytes | None:
        """Return the body with an output cap, when it has none."""
        if request.max_output_tokens is not None:
            return None
        key = "generation_config" if "generation_config" in request.body else "generationConfig"
        options = {**mapping(request.body.get(key)), "maxOutputTokens": n}
        options.pop("max_output_tokens", None)
        return encode({**request.body, key: options})

    def login(self, key: str) -> dict[str, str]:
        """Return the header in which this provider takes its key."""
        return {"x-goog-api-key": key}

    def finish(self, reason: str) -> str:
        """Return how the wire says a step's reason of the end."""
        return FINISHES.get(reason, reason)

    def error_body(self, status: int, message: str) -> bytes:
        """Return the typed body of an HTTP error."""
        return encode(_error(status, message))

    def error_frame(self, status: int, message: str) -> bytes:
        """Return an error inside a stream."""
        return frame(_error(status, message))

    def spell_usage(
        self,
        *,
        prompt: int,
        cache: CacheUse,
        output: int,
        reasoning: int,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Spell counted tokens: the prompt with what was cached, thoughts beside the candidates."""
        more = dict(given or {})
        said = more.pop("completion_tokens", output)
        usage: dict[str, Any] = {
            "promptTokenCount": more.pop("prompt_tokens", prompt),
            "cachedContentTokenCount": cache.read,
            "candidatesTokenCount": max(0, said - reasoning),
            "thoughtsTokenCount": reasoning,
        }
        if "total_tokens" in more:
            usage["totalTokenCount"] = more.pop("total_tokens")
        usage |= more
        parts = [usage[key] for key in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")]
        if all(isinstance(part, int) for part in parts):
            usage.setdefault("totalTokenCount", sum(parts))
        return usage

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object."""
        return read_usage(raw, convention=self.convention, reasoning="outside")


def _error(status: int, message: str) -> dict[str, Any]:
    default = "INTERNAL" if status >= 500 else "FAILED_PRECONDITION"
    return {"error": {"code": status, "message": message, "status": _ERROR_STATUS.get(status, default)}}


def _declarations(tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the functions of a tool; one of the provider's own is named by its key."""
    said = tool.get("functionDeclarations", tool.get("function_declarations"))
    return [{"name": key} for key in tool] if said is None else objects(said, "functionDeclarations")


def _tool(said: Mapping[str, Any]) -> Tool:
    return Tool(name_of(said, "a tool"), mapping(said.get("parametersJsonSchema", said.get("parameters"))))


_offered: Recent[list[dict[str, Any]], tuple[Tool, ...]] = Recent(
    lambda tools: tuple(_tool(said) for tool in tools for said in _declarations(tool))
)


def _response(part: Mapping[str, Any]) -> dict[str, Any]:
    return mapping(part.get("functionResponse", part.get("function_response")))


def _role(content: Mapping[str, Any]) -> str:
    """Return whose content it is; one with results of functions is the tools'."""
    if any(_response(part) for part in dicts(content.get("parts"))):
        return "tool"
    role = content.get("role", "user")
    if not isinstance(role, str):
        raise BadRequest("the role of a content is not a text")
    return _ROLES.get(role, role)


def _text(content: Mapping[str, Any]) -> str:
    texts = (part.get("text") for part in dicts(content.get("parts")))
    return "".join(text for text in texts if isinstance(text, str))


def _result_of(history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the name of the function whose result the last content ends with."""
    results = [said for part in dicts(history[-1].get("parts")) if (said := _response(part))]
    return text_or_none(results[-1].get("name")) if results else None


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the ids of calls."""
    plain = dict(content)
    parts = dicts(content.get("parts"))
    if any(mapping(value).get("id") for part in parts for value in part.values()):
        plain["parts"] = [{key: _without_id(value) for key, value in part.items()} for part in parts]
    return plain


def _without_id(value: object) -> object:
    return {k: v for k, v in mapping(value).items() if k != "id"} if isinstance(value, dict) else value
