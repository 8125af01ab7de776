"""OpenAI chat completions: ``POST /v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from ..canonical import Recent, canonical, encode, marked, marks_of
from ..usage import Usage, read_usage
from .base import BadRequest, CacheUse, ModelRequest, Route, Tool
from .body import cap_of, dicts, frame, load, mapping, name_of, objects, text_of, text_or_none
from .chat_reply import ChatReader, ChatRenderer

_CAPS = ("max_completion_tokens", "max_tokens")
_SYSTEM = ("system", "developer")
_ERROR_TYPES = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class Chat:
    """Speak chat completions."""

    name = "chat"
    base = "/v1"
    convention: Literal["inclusive", "exclusive"] = "inclusive"
    whole_calls = False

    def route(self, path: str) -> Route | None:
        """Return what a path asks for."""
        return Route(self, "/chat/completions") if path == "/v1/chat/completions" else None

    def parse(self, body: bytes) -> ModelRequest:
        """Read a request."""
        data = load(body)
        tools = objects(data.get("tools"), "tools")
        messages = objects(data.get("messages"), "messages")
        if not messages:
            raise BadRequest("messages is missing or empty")
        roles = cast("list[str]", [message.get("role") for message in messages])
        if set(map(type, roles)) != {str}:
            raise BadRequest("a message has no role")
        head = next((i for i, role in enumerate(roles) if role not in _SYSTEM), len(roles))
        history = messages[head:]
        parts = (tools, messages[:head], history)
        has_marks = marked(body)
        plain = (_plain_tools(tools), *(_all_plain(part) for part in parts[1:])) if has_marks else parts
        said = [_anonymous(message) for message in plain[2]]
        marks = marks_of(tools, messages[:head], *([m] for m in history)) if has_marks else ()
        options = data.get("stream_options")
        caps = [cap_of(data.get(name)) for name in _CAPS]
        return ModelRequest(
            model=text_or_none(data.get("model")),
            stream=data.get("stream") is True,
            wants_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
            tools=_offered(tools),
            roles=tuple(roles[head:]),
            user_texts=tuple(
                text_of(m.get("content"))
                for m, role in zip(history, roles[head:], strict=True)
                if role == "user"
            ),
            result_of=_result_of(history),
            # Of two, many a provider knows only the other.
            max_output_tokens=max((cap for cap in caps if cap is not None), default=None),
            canonical=canonical(plain[0], plain[1], said, marks=marks),
            body=data,
            marked=has_marks,
            session=text_or_none(data.get("prompt_cache_key")),
            last_text=text_of(messages[-1].get("content")) if roles[-1] == "user" else "",
        )

    def renderer(self, request: ModelRequest, number: int) -> ChatRenderer:
        """Return what spells the reply."""
        return ChatRenderer(request, number)

    def reader(self) -> ChatReader:
        """Return what reads one reply of a provider."""
        return ChatReader()

    def asking_usage(self, request: ModelRequest) -> bytes | None:
        """Return the body with usage asked for, when the agent does not ask itself."""
        if not request.stream or request.wants_usage:
            return None
        options = request.body.get("stream_options")
        options = {**options} if isinstance(options, Mapping) else {}
        return encode({**request.body, "stream_options": {**options, "include_usage": True}})

    def with_output_cap(self, request: ModelRequest, n: int) -> bytes | None:
        """Return the body with an output cap, when it has none.

        Models of the o and gpt families know ``max_completion_tokens``, most other providers of this wire
        only ``max_tokens``.
        """
        if request.max_output_tokens is not None:
            return None
        own = (request.model or "").rpartition("/")[2].startswith(("gpt-", "o1", "o3", "o4", "chatgpt"))
        body = {key: value for key, value in request.body.items() if key not in _CAPS}
        return encode({**body, "max_completion_tokens" if own else "max_tokens": n})

    def login(self, key: str) -> dict[str, str]:
        """Return the header in which this provider takes its key."""
        return {"authorization": f"Bearer {key}"}

    def finish(self, reason: str) -> str:
        """Return how the wire says a step's reason of the end: as it stands."""
        return reason

    def error_body(self, status: int, message: str) -> bytes:
        """Return the typed body of an HTTP error."""
        default = "server_error" if status >= 500 else "invalid_request_error"
        kind = _ERROR_TYPES.get(status, default)
        return encode({"error": {"message": message, "type": kind, "param": None, "code": None}})

    def error_frame(self, status: int, message: str) -> bytes:
        """Return an error inside a stream."""
        error = {"message": message, "type": _ERROR_TYPES.get(status, "server_error"), "code": status}
        return frame({"error": error})

    def spell_usage(
        self,
        *,
        prompt: int,
        cache: CacheUse,
        output: int,
        reasoning: int,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Spell counted tokens."""
        given = given or {}
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": output, **given}
        parts = [usage["prompt_tokens"], usage["completion_tokens"]]
        if all(isinstance(part, int) for part in parts):
            usage.setdefault("total_tokens", sum(parts))
        counted = {
            "prompt_tokens_details": {"cached_tokens": cache.read}
            | ({"cache_write_tokens": cache.written} if cache.written else {}),
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
        for key, details in counted.items():
            usage[key] = {**details, **(given.get(key) or {})}
        return usage

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object."""
        return read_usage(raw, convention=self.convention)


def _tool(tool: Mapping[str, Any]) -> Tool:
    function = tool.get("function")
    said = mapping(function) if isinstance(function, Mapping) else tool
    return Tool(name_of(said, "a tool"), mapping(said.get("parameters")))


_offered: Recent[list[dict[str, Any]], tuple[Tool, ...]] = Recent(lambda tools: tuple(map(_tool, tools)))


def _result_of(history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the name of the tool whose result ends the history."""
    if not history or history[-1].get("role") != "tool":
        return None
    wanted = history[-1].get("tool_call_id")
    for message in reversed(history):
        for call in dicts(message.get("tool_calls")):
            if call.get("id") == wanted:
                return text_or_none(mapping(call.get("function")).get("name"))
    return None


def _anonymous(message: dict[str, Any]) -> dict[str, Any]:
    """Drop the ids of calls, which are random and say nothing."""
    if "tool_call_id" in message:
        message = message.copy()
        del message["tool_call_id"]
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message = {**message, "tool_calls": [_without_id(call) for call in cast("list[Any]", calls)]}
    return message


def _without_id(call: Any) -> Any:  # noqa: ANN401
    if isinstance(call, dict) and "id" in call:
        call = cast("dict[str, Any]", call).copy()
        del call["id"]
    return call


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Drop cache markers, where the wire puts them; a property of that name in a tool's schema stays."""
    plain = {key: value for key, value in item.items() if key != "cache_control"}
    content = plain.get("content")
    if isinstance(content, list):
        plain["content"] = [_plain(p) if isinstance(p, dict) else p for p in cast("list[Any]", content)]
    function = plain.get("function")
    if isinstance(function, dict) and "cache_control" in function:
        plain["function"] = {
            k: v for k, v in cast("dict[str, Any]", function).items() if k != "cache_control"
        }
    return plain


def _all_plain(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [*map(_plain, items)]


_plain_tools = Recent(_all_plain)
