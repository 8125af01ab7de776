"""OpenAI chat completions: ``POST /v1/chat/completions``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn, cast

from ..canonical import canonical, encode
from ..usage import Usage, read_usage
from .base import BadRequest, ModelRequest, Route
from .chat_reply import ChatReader, ChatRenderer, frame

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

    def route(self, path: str) -> Route | None:
        """Return what a path asks for.

        Parameters
        ----------
        path : str
            Without its query.

        Returns
        -------
        Route or None
        """
        return Route(self, "/chat/completions") if path == "/v1/chat/completions" else None

    def parse(self, body: bytes) -> ModelRequest:
        """Read a request.

        Parameters
        ----------
        body : bytes
            JSON.

        Returns
        -------
        ModelRequest

        Raises
        ------
        BadRequest
            It is not a chat completion request.
        """
        data = _load(body)
        tools = _objects(data.get("tools"), "tools")
        messages = _objects(data.get("messages"), "messages")
        if not messages:
            raise BadRequest("messages is missing or empty")
        roles = [_role(message) for message in messages]
        head = next((i for i, role in enumerate(roles) if role not in _SYSTEM), len(roles))
        history = messages[head:]
        options = data.get("stream_options")
        cap = data.get("max_completion_tokens", data.get("max_tokens"))
        model = data.get("model")
        return ModelRequest(
            model=model if isinstance(model, str) else None,
            stream=data.get("stream") is True,
            wants_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
            tool_names=tuple(_tool_name(tool) for tool in tools),
            roles=tuple(roles[head:]),
            user_texts=tuple(
                _text(m) for m, role in zip(history, roles[head:], strict=True) if role == "user"
            ),
            result_of=_result_of(history),
            max_output_tokens=cap if isinstance(cap, int) and not isinstance(cap, bool) else None,
            canonical=canonical(
                [_plain(tool) for tool in tools],
                [_plain(message) for message in messages[:head]],
                [_plain(message) for message in history],
            ),
            body=data,
        )

    def renderer(self, request: ModelRequest, number: int) -> ChatRenderer:
        """Return what spells the reply.

        Parameters
        ----------
        request : ModelRequest
            What is answered.
        number : int
            Makes the reply's id.

        Returns
        -------
        ChatRenderer
        """
        return ChatRenderer(request, number)

    def reader(self) -> ChatReader:
        """Return what reads one reply of a provider.

        Returns
        -------
        ChatReader
        """
        return ChatReader()

    def asking_usage(self, request: ModelRequest) -> bytes | None:
        """Return the body with usage asked for, when the agent does not ask itself.

        Parameters
        ----------
        request : ModelRequest
            A streamed request.

        Returns
        -------
        bytes or None
            None: it asks already, or does not stream.
        """
        if not request.stream or request.wants_usage:
            return None
        options = request.body.get("stream_options")
        options = {**options} if isinstance(options, Mapping) else {}
        return encode({**request.body, "stream_options": {**options, "include_usage": True}})

    def error_body(self, status: int, message: str) -> bytes:
        """Return the typed body of an HTTP error.

        Parameters
        ----------
        status : int
            HTTP status.
        message : str
            For the reader.

        Returns
        -------
        bytes
            JSON.
        """
        default = "server_error" if status >= 500 else "invalid_request_error"
        kind = _ERROR_TYPES.get(status, default)
        return encode({"error": {"message": message, "type": kind, "param": None, "code": None}})

    def error_frame(self, status: int, message: str) -> bytes:
        """Return an error inside a stream.

        Parameters
        ----------
        status : int
            Put into ``code``.
        message : str
            For the reader.

        Returns
        -------
        bytes
            One frame.
        """
        error = {"message": message, "type": _ERROR_TYPES.get(status, "server_error"), "code": status}
        return frame({"error": error})

    def spell_usage(
        self,
        *,
        prompt: int,
        cached: int,
        output: int,
        reasoning: int,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Spell counted tokens.

        Parameters
        ----------
        prompt, cached, output, reasoning : int
            Tokens; cached inside prompt, reasoning inside output.
        given : mapping, optional
            Keys that are set instead; the total follows unless it is among them.

        Returns
        -------
        dict
            The ``usage`` object.
        """
        given = given or {}
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": output, **given}
        parts = [usage["prompt_tokens"], usage["completion_tokens"]]
        if all(isinstance(part, int) for part in parts):
            usage.setdefault("total_tokens", sum(parts))
        counted = {
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
        for key, details in counted.items():
            usage[key] = {**details, **(given.get(key) or {})}
        return usage

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object.

        Parameters
        ----------
        raw : mapping or None
            As received.

        Returns
        -------
        Usage
        """
        return read_usage(raw, convention=self.convention)


def _load(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(data, dict):
        raise BadRequest("the body is not a JSON object")
    return cast("dict[str, Any]", data)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _objects(value: object, name: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in cast("list[Any]", value)):
        raise BadRequest(f"{name} is not a list of objects")
    return cast("list[dict[str, Any]]", value)


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    if not isinstance(role, str):
        raise BadRequest("a message has no role")
    return role


def _tool_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else tool.get("name")
    if not isinstance(name, str):
        raise BadRequest("a tool has no name")
    return name


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return "".join(
        part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def _result_of(history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the name of the tool whose result ends the history."""
    if not history or history[-1].get("role") != "tool":
        return None
    wanted = history[-1].get("tool_call_id")
    for message in reversed(history):
        calls = message.get("tool_calls")
        for call in cast("list[Any]", calls) if isinstance(calls, list) else []:
            if isinstance(call, dict) and call.get("id") == wanted and isinstance(call.get("function"), dict):
                name = call["function"].get("name")
                return name if isinstance(name, str) else None
    return None


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
