"""OpenAI Responses: ``POST /v1/responses``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from ..canonical import Recent, canonical, encode, marked, marks_of
from ..usage import Usage, read_usage
from .base import BadRequest, CacheUse, ModelRequest, Route, Tool
from .body import cap_of, dicts, load, mapping, named_frame, objects, text_of, text_or_none
from .responses_reply import FINISHES, ResponsesReader, ResponsesRenderer

_SYSTEM = ("system", "developer")
_ERROR_TYPES = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
#: What names an item and not its content: random, and new in every session.
_VOLATILE = frozenset({"id", "call_id", "status", "internal_chat_message_metadata_passthrough"})


class Responses:
    """Speak responses."""

    name = "responses"
    base = "/v1"
    convention: Literal["inclusive", "exclusive"] = "inclusive"
    whole_calls = False

    def route(self, path: str) -> Route | None:
        """Return what a path asks for."""
        return Route(self, "/responses") if path == "/v1/responses" else None

    def parse(self, body: bytes) -> ModelRequest:
        """Read a request."""
        data = load(body)
        tools = objects(data.get("tools"), "tools")
        items = _items(data.get("input"))
        instructions = data.get("instructions")
        head = next((i for i, item in enumerate(items) if item.get("role") not in _SYSTEM), len(items))
        history = items[head:]
        system = [instructions] if isinstance(instructions, str) else []
        roles = tuple(_role(item) for item in history)
        has_marks = marked(body)
        return ModelRequest(
            model=text_or_none(data.get("model")),
            stream=data.get("stream") is True,
            wants_usage=True,
            tools=_offered(tools),
            roles=roles,
            user_texts=tuple(
                text_of(item.get("content"))
                for item, role in zip(history, roles, strict=True)
                if role == "user"
            ),
            result_of=_result_of(history),
            max_output_tokens=cap_of(data.get("max_output_tokens")),
            canonical=canonical(
                tools,
                system + [_plain(item) for item in items[:head]],
                [_plain(item) for item in history],
                marks=marks_of(tools, items[:head], *([item] for item in history)) if has_marks else (),
            ),
            body=data,
            marked=has_marks,
            session=text_or_none(data.get("prompt_cache_key")),
            last_text=text_of(items[-1].get("content")),
        )

    def renderer(self, request: ModelRequest, number: int) -> ResponsesRenderer:
        """Return what spells the reply."""
        return ResponsesRenderer(request, number)

    def reader(self) -> ResponsesReader:
        """Return what reads one reply of a provider."""
        return ResponsesReader()

    def asking_usage(self, request: ModelRequest) -> bytes | None:
        """Return None: a reply always reports usage."""
        return None

    def with_output_cap(self, request: ModelRequest, n: int) -> bytes | None:
        """Return the body with an output cap, when it has none."""
        if request.max_output_tokens is not None:
            return None
        return encode({**request.body, "max_output_tokens": n})

    def login(self, key: str) -> dict[str, str]:
        """Return the header in which this provider takes its key."""
        return {"authorization": f"Bearer {key}"}

    def finish(self, reason: str) -> str:
        """Return how the wire says a step's reason of the end."""
        return FINISHES.get(reason, reason)

    def error_body(self, status: int, message: str) -> bytes:
        """Return the typed body of an HTTP error."""
        return encode({"error": {"message": message, "type": _error(status), "param": None, "code": None}})

    def error_frame(self, status: int, message: str) -> bytes:
        """Return an error inside a stream."""
        error = {"code": _error(status), "message": message}
        response = {"object": "response", "status": "failed", "error": error, "output": [], "usage": None}
        return named_frame({"type": "response.failed", "response": response})

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
        more = dict(given or {})
        usage: dict[str, Any] = {
            "input_tokens": more.pop("prompt_tokens", prompt),
            "input_tokens_details": {"cached_tokens": cache.read},
            "output_tokens": more.pop("completion_tokens", output),
            "output_tokens_details": {"reasoning_tokens": reasoning},
        }
        if cache.written:
            usage["input_tokens_details"]["cache_write_tokens"] = cache.written
        usage |= more
        parts = [usage["input_tokens"], usage["output_tokens"]]
        if all(isinstance(part, int) for part in parts):
            usage.setdefault("total_tokens", sum(parts))
        return usage

    def read_usage(self, raw: object) -> Usage:
        """Read the provider's usage object."""
        return read_usage(raw, convention=self.convention)


def _error(status: int) -> str:
    return _ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def _items(given: object) -> list[dict[str, Any]]:
    if isinstance(given, str) and given:
        return [{"role": "user", "content": given}]
    items = objects(given, "input")
    if not items:
        raise BadRequest("input is missing or empty")
    return items


def _role(item: Mapping[str, Any]) -> str:
    """Return whose item it is; calls and thoughts are the assistant's."""
    role = item.get("role")
    if isinstance(role, str):
        return role
    kind = item.get("type")
    if not isinstance(kind, str):
        raise BadRequest("an item of the input has neither role nor type")
    return "tool" if kind.endswith("_output") else "assistant"


def _tool(tool: Mapping[str, Any]) -> Tool:
    """Return a tool; those of the provider's own have only a type."""
    name = tool.get("name", tool.get("type"))
    if not isinstance(name, str):
        raise BadRequest("a tool has neither name nor type")
    return Tool(name, mapping(tool.get("parameters")))


_offered: Recent[list[dict[str, Any]], tuple[Tool, ...]] = Recent(lambda tools: tuple(map(_tool, tools)))


def _result_of(history: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the name of the tool whose result ends the history."""
    if not history or _role(history[-1]) != "tool":
        return None
    wanted = history[-1].get("call_id")
    called = (item for item in reversed(history) if item.get("call_id") == wanted and "name" in item)
    return text_or_none(next(called, {}).get("name"))


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Drop what names an item, and cache markers in its parts."""
    plain = {key: value for key, value in item.items() if key not in _VOLATILE}
    content = plain.get("content")
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        marked = any("cache_control" in part for part in dicts(parts))
        if marked:
            plain["content"] = [_unmarked(part) for part in parts]
    return plain


def _unmarked(part: object) -> object:
    return (
        {k: v for k, v in mapping(part).items() if k != "cache_control"} if isinstance(part, dict) else part
    )
