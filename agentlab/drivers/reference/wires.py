"""How the reference agent spells a request in each of the four dialects: the smallest that each allows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from ...tools import TOOLS
from .context import Assistant, Item, Result, User


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wire:
    """Spell requests.

    Parameters
    ----------
    dialect : {"chat", "responses", "messages", "gemini"}
        Of the gateway.
    model : str
        Its name at the provider.
    system : str
        System text.
    max_output_tokens : int
        Output cap.
    """

    dialect: str
    model: str
    system: str
    max_output_tokens: int

    @property
    def path(self) -> str:
        """Below the gateway's base URL of the dialect."""
        model = quote(self.model, safe="")
        return {
            "chat": "/chat/completions",
            "responses": "/responses",
            "messages": "/v1/messages",
            "gemini": f"/v1beta/models/{model}:streamGenerateContent?alt=sse",
        }[self.dialect]

    def body(self, items: Sequence[Item]) -> bytes:
        """Spell a request.

        Parameters
        ----------
        items : sequence of Item
            The conversation; it begins with a user's text.

        Returns
        -------
        bytes
            JSON.
        """
        return json.dumps(_SPELLINGS[self.dialect](self, items), ensure_ascii=False).encode()

    def tokens(self, items: Sequence[Item]) -> int:
        """Estimate a request's length.

        Parameters
        ----------
        items : sequence of Item
            The conversation.

        Returns
        -------
        int
            A token for each four bytes.
        """
        return -(-len(self.body(items)) // 4)


def _chat(wire: Wire, items: Sequence[Item]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": wire.system}]
    for item in items:
        match item:
            case User(text):
                messages.append({"role": "user", "content": text})
            case Assistant(text, calls):
                message: dict[str, Any] = {"role": "assistant", "content": text or None}
                if calls:
                    message["tool_calls"] = [
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {"name": call.name, "arguments": call.arguments},
                        }
                        for call in calls
                    ]
                messages.append(message)
            case Result(call):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": item.text})
    return {
        "model": wire.model,
        "messages": messages,
        "tools": [{"type": "function", "function": tool} for tool in TOOLS],
        "max_completion_tokens": wire.max_output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _responses(wire: Wire, items: Sequence[Item]) -> dict[str, Any]:
    said: list[dict[str, Any]] = []
    for item in items:
        match item:
            case User(text):
                said.append(_message("user", "input_text", text))
            case Assistant(text, calls):
                said += [_message("assistant", "output_text", text)] if text else []
                said += [
                    {
                        "type": "function_call",
                        "call_id": call.id,
                        "name": call.name,
                        "arguments": call.arguments,
                    }
                    for call in calls
                ]
            case Result(call):
                said.append({"type": "function_call_output", "call_id": call.id, "output": item.text})
    return {
        "model": wire.model,
        "instructions": wire.system,
        "input": said,
        "tools": [{"type": "function", **tool, "strict": False} for tool in TOOLS],
        "max_output_tokens": wire.max_output_tokens,
        "store": False,
        "stream": True,
    }


def _message(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _messages(wire: Wire, items: Sequence[Item]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for item in items:
        match item:
            case User(text):
                _add(messages, "user", "content", [{"type": "text", "text": text}])
            case Assistant(text, calls):
                blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
                blocks += [
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)}
                    for call in calls
                ]
                _add(messages, "assistant", "content", blocks)
            case Result(call, seen):
                block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id, "content": item.text}
                _add(messages, "user", "content", [block if seen.ok else {**block, "is_error": True}])
    # The prompt is cached up to its end: what this wire caches must be marked.
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return {
        "model": wire.model,
        "system": [{"type": "text", "text": wire.system, "cache_control": {"type": "ephemeral"}}],
        "messages": messages,
        "tools": [
            {"name": t["name"], "description": t["description"], "input_schema": t["parameters"]}
            for t in TOOLS
        ],
        "max_tokens": wire.max_output_tokens,
        "stream": True,
    }


def _gemini(wire: Wire, items: Sequence[Item]) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for item in items:
        match item:
            case User(text):
                _add(contents, "user", "parts", [{"text": text}])
            case Assistant(text, calls):
                parts: list[dict[str, Any]] = [{"text": text}] if text else []
                parts += [
                    {"functionCall": {"name": call.name, "args": _object(call.arguments)}} for call in calls
                ]
                _add(contents, "model", "parts", parts)
            case Result(call, seen):
                response = {"output" if seen.ok else "error": item.text}
                _add(
                    contents,
                    "user",
                    "parts",
                    [{"functionResponse": {"name": call.name, "response": response}}],
                )
    return {
        "contents": contents,
        "systemInstruction": {"parts": [{"text": wire.system}]},
        "tools": [{"functionDeclarations": list(TOOLS)}],
        "generationConfig": {"maxOutputTokens": wire.max_output_tokens},
    }


def _add(messages: list[dict[str, Any]], role: str, key: str, parts: list[dict[str, Any]]) -> None:
    """Add to the last message of the same role: these wires want roles to alternate."""
    if messages and messages[-1]["role"] == role:
        messages[-1][key] += parts
    else:
        messages.append({"role": role, key: parts})


def _object(arguments: str) -> dict[str, Any]:
    """Return arguments as the object that some wires want; what is none was refused, and is told as empty."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


_SPELLINGS: dict[str, Callable[[Wire, Sequence[Item]], dict[str, Any]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
