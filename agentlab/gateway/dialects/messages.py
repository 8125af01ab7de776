"""Anthropic Messages: ``POST /v1/messages``."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from ..canonical import Recent, canonical, encode, marked, marks_of
from ..usage import Usage, read_usage
from .base import BadRequest, Block, CacheUse, ModelRequest, Route, Tool
from .body import cap_of, dicts, load, mapping, name_of, named_frame, objects, text_of, text_or_none
from .messages_reply import FINISHES, MessagesReader, MessagesRenderer

_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_LIFETIMES = {"5m": 300, "1h": 3600}
_VOLATILE = frozenset({"cache_control", "id", "tool_use_id"})


class Messages:
    """Speak messages. Clients add ``/v1/messages`` to the URL that they are given."""

    name = "messages"
    base = ""
    convention: Literal["inclusive", "exclusive"] = "exclusive"
    whole_calls = False

    def route(self, path: str) -> Route | None:
        """Return what a path asks for."""
        return Route(self, path) if path == "/v1/messages" else None

    def parse(self, body: bytes) -> ModelRequest:
        """Read a request."""
        data = load(body)
        tools = objects(data.get("tools"), "tools")
        history = objects(data.get("messages"), "messages")
        if not history:
            raise BadRequest("messages is missing or empty")
        roles = tuple(_role(message) for message in history)
        system = data.get("system")
        system = [{"type": "text", "text": system}] if isinstance(system, str) else objects(system, "system")
        # Only a cache that follows marks asks, and then more than once.
        blocks = functools.cache(
            functools.partial(_blocks, tools, system, history, data.get("cache_control"))
        )
        has_marks = marked(body)
        return ModelRequest(
            model=text_or_none(data.get("model")),
            stream=data.get("stream") is True,
            wants_usage=True,
            tools=_offered(tools),
            roles=roles,
            user_texts=tuple(
                text_of(m.get("content")) for m, role in zip(history, roles, strict=True) if role == "user"
            ),
            result_of=_result_of(history),
            max_output_tokens=cap_of(data.get("max_tokens")),
            canonical=canonical(
                _plain_tools(tools),
                [*map(_plain, system)],
                [*map(_plain, history)],
                marks=marks_of(tools, system, *([message] for message in history)) if has_marks else (),
            ),
            body=data,
            marked=has_marks,
            session=text_or_none(mapping(data.get("metadata")).get("user_id")),
            last_text=text_of(history[-1].get("content")),
            blocks=blocks,
        )

    def renderer(self, request: ModelRequest, number: int) -> MessagesRenderer:
        """Return what spells the reply."""
        return MessagesRenderer(request, number)

    def reader(self) -> MessagesReader:
        """Return what reads one reply of a provider."""
        return MessagesReader()

    def asking_usage(self, request: ModelRequest) -> bytes | None:
        """Return None: a reply always reports usage."""
        return None

    def with_output_cap(self, request: ModelRequest, n: int) -> bytes | None:
        """Return the body with an output cap, when it has none."""
        return None if request.max_output_tokens is not None else encode({**request.body, "max_tokens": n})

    def login(self, key: str) -> dict[str, str]:
        """Return the header in which this provider takes its key."""
        return {"x-api-key": key}

    def finish(self, reason: str) -> str:
        """Return how the wire says a step's reason of the end."""
        return FINISHES.get(reason, reason)

    def error_body(self, status: int, message: str) -> bytes:
        """Return the typed body of an HTTP error."""
        return encode(_error(status, message))

    def error_frame(self, status: int, message: str) -> bytes:
        """Return an error inside a stream."""
        return named_frame(_error(status, message))

    def spell_usage(
        self,
        *,
        prompt: int,
        cache: CacheUse,
        output: int,
        reasoning: int,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Spell counted tokens: input without what was read from or written to the cache."""
        more = dict(given or {})
        more.pop("total_tokens", None)  # not on this wire
        prompt = more.pop("prompt_tokens", prompt)
        return {
            "input_tokens": max(0, prompt - cache.read - cache.written),
            "cache_creation_input_tokens": cache.written,
            "cache_read_input_tokens": cache.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": cache.written - cache.written_1h,
                "ephemeral_1h_input_tokens": cache.written_1h,
            },
            "output_tokens": more.pop("completion_tokens", output),
            "output_tokens_details": {"thinking_tokens": reasoning},
            **more,
        }

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object."""
        return read_usage(raw, convention=self.convention)


def _error(status: int, message: str) -> dict[str, Any]:
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _role(message: Mapping[str, Any]) -> str:
    """Return whose message it is; one with results of tools is the tools'."""
    role = message.get("role")
    if not isinstance(role, str):
        raise BadRequest("a message has no role")
    results = any(part.get("type") == "tool_result" for part in dicts(message.get("content")))
    return "tool" if role == "user" and results else role


def _result_of(history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the name of the tool whose result the last message ends with."""
    results = [part for part in dicts(history[-1].get("content")) if part.get("type") == "tool_result"]
    if not results:
        return None
    wanted = results[-1].get("tool_use_id")
    for message in reversed(history):
        for part in dicts(message.get("content")):
            if part.get("type") == "tool_use" and part.get("id") == wanted:
                return text_or_none(part.get("name"))
    return None


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Drop cache markers and the ids of calls, where the wire puts them."""
    plain = {key: value for key, value in item.items() if key not in _VOLATILE}
    content = plain.get("content")
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        plain["content"] = [_plain(mapping(p)) if isinstance(p, dict) else p for p in parts]
    return plain


_plain_tools: Recent[list[dict[str, Any]], list[dict[str, Any]]] = Recent(lambda tools: [*map(_plain, tools)])
_offered: Recent[list[dict[str, Any]], tuple[Tool, ...]] = Recent(
    lambda tools: tuple(Tool(name_of(tool, "a tool"), mapping(tool.get("input_schema"))) for tool in tools),
)


def _blocks(
    tools: Sequence[Mapping[str, Any]],
    system: Sequence[Mapping[str, Any]],
    history: Sequence[Mapping[str, Any]],
    automatic: object,
) -> list[Block]:
    """Return where each content block ends in the canonical prompt, and which are marked to be cached."""
    blocks: list[Block] = []
    at = len("[[")
    for part in (tools, system):
        for item in part:
            at += len(encode(_plain(item)))
            blocks.append(Block(at, _lifetime(item.get("cache_control"))))
            at += len(",")
        at += len("],[") - (len(",") if part else 0)
    for message in history:
        plain = _plain(message)
        inner = dicts(message.get("content"))
        if inner and len(inner) == len(cast("list[Any]", message["content"])):
            start = at + _offset(plain, "content") + len("[")
            for part in inner:
                start += len(encode(_plain(part)))
                blocks.append(Block(start, _lifetime(part.get("cache_control"))))
                start += len(",")
        else:
            blocks.append(Block(at + len(encode(plain)), None))
        at += len(encode(plain)) + len(",")
    lifetime = _lifetime(automatic)
    if blocks and lifetime is not None and blocks[-1].lifetime_s is None:
        blocks[-1] = Block(blocks[-1].end, lifetime)
    return blocks


def _offset(message: Mapping[str, Any], key: str) -> int:
    """Return where a key's value begins in the message's JSON."""
    keys = list(message)
    before = {name: message[name] for name in keys[: keys.index(key)]}
    return len(encode(before)) - len("}") + (len(",") if before else 0) + len(encode(key)) + len(":")


def _lifetime(marker: object) -> int | None:
    if not isinstance(marker, dict):
        return None
    return _LIFETIMES.get(str(mapping(marker).get("ttl", "5m")))
