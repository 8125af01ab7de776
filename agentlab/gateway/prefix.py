"""How a prompt follows the one before it: what a provider's cache can serve again, and what broke it.

Only numbers and known words leave: which segment, its role and type, lengths and an offset, never content.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal, cast

from .canonical import Canonical

State = Literal["append_only", "same_meaning", "changed"]

#: Words of the wires that may be written down; any other is "other", because an agent's text may stand there.
_WORDS = frozenset(
    (
        *("system", "developer", "user", "assistant", "model", "tool", "function"),
        *("text", "input_text", "output_text", "image", "image_url", "input_image", "input_file", "document"),
        *("tool_use", "tool_result", "thinking", "redacted_thinking", "reasoning", "message"),
        *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
        *("functionCall", "functionResponse", "inlineData", "thought"),
    )
)


@dataclasses.dataclass(frozen=True)
class Changed:
    """Describe the first segment that differs.

    Parameters
    ----------
    before_bytes : int
        Its length in the earlier prompt.
    after_bytes : int or None
        Its length now; None: it is gone.
    at_bytes : int
        Offset inside the segment of the first byte that differs.
    item : int or None
        1-based tool, block of the system text or part of the message that differs first.
    role, type : str or None
        What the message is, in the wire's words.
    """

    before_bytes: int
    after_bytes: int | None
    at_bytes: int
    item: int | None = None
    role: str | None = None
    type: str | None = None

    def fields(self) -> dict[str, int | str]:
        """Return what is known of it.

        Returns
        -------
        dict
        """
        return {key: value for key, value in dataclasses.asdict(self).items() if value is not None}


@dataclasses.dataclass(frozen=True)
class Change:
    """Say how a prompt follows the one before it.

    Parameters
    ----------
    prefix_bytes : int
        Shared prefix in bytes; the whole earlier prompt when it was only appended to.
    lost_bytes : int
        Bytes of the earlier prompt behind the shared prefix.
    first_changed : str or None
        ``"tools"``, ``"system"`` or ``"message K"`` (1-based in the history); None when nothing changed.
    state : {"append_only", "same_meaning", "changed"}
        ``"same_meaning"``: nothing that was said before is said otherwise, yet its bytes differ: the order
        of keys, null for an absent key, a lone text block for a text, or only its cache markers (these are
        not in the canonical bytes, so `first_changed` is None and nothing is lost).
    changed : Changed or None
        The first changed segment.
    """

    prefix_bytes: int
    lost_bytes: int
    first_changed: str | None
    state: State
    changed: Changed | None = None

    @property
    def append_only(self) -> bool:
        """Whether every earlier segment is still there, in place, its canonical bytes unchanged."""
        return self.first_changed is None

    def fields(self) -> dict[str, Any]:
        """Return what ``request.begin`` says of it.

        Returns
        -------
        dict
        """
        return {
            "prefix_state": self.state,
            "prefix_bytes": self.prefix_bytes,
            "lost_bytes": self.lost_bytes,
            "append_only": self.append_only,
            "first_changed": self.first_changed,
            "changed": None if self.changed is None else self.changed.fields(),
        }


def compare(before: Canonical, after: Canonical) -> Change:
    """Compare two prompts of one conversation.

    Parameters
    ----------
    before, after : Canonical
        In the order they were sent.

    Returns
    -------
    Change

    Examples
    --------
    >>> from agentlab.gateway.canonical import canonical
    >>> one = canonical([], [], [{"role": "user", "content": "a"}])
    >>> other = canonical([], [], [{"content": "a", "role": "user"}, {"role": "user", "content": "b"}])
    >>> compare(one, other).state, compare(one, other).first_changed
    ('same_meaning', 'message 1')
    """
    index = _first_difference(before, after)
    prefix = len(before.data) if index is None else shared_prefix(before.data, after.data)
    lost = len(before.data) - prefix
    if index is None:
        same = _marks(before, len(before.segments)) == _marks(after, len(before.segments))
        return Change(prefix, lost, None, "append_only" if same else "same_meaning")
    name = before.segments[index].name if index < 2 else f"message {index - 1}"
    try:
        state: State = "same_meaning" if _means_the_same(before, after, index) else "changed"
        return Change(prefix, lost, name, state, _describe(before, after, index))
    except RecursionError:  # nested hundreds of levels deep: what differs is not looked into
        return Change(prefix, lost, name, "changed")


def shared_prefix(a: bytes, b: bytes) -> int:
    """Return the length of the common prefix, by bisection on slices.

    Parameters
    ----------
    a, b : bytes
        Two prompts.

    Returns
    -------
    int
        In bytes.

    Examples
    --------
    >>> shared_prefix(b"abcd", b"abxd")
    2
    """
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _marks(prompt: Canonical, n: int) -> tuple[str, ...]:
    return (prompt.marks or ("",) * len(prompt.segments))[:n]


def _first_difference(before: Canonical, after: Canonical) -> int | None:
    for index, old in enumerate(before.segments):
        if index >= len(after.segments) or after.segments[index] != old:
            return index
    return None


def _means_the_same(before: Canonical, after: Canonical, first: int) -> bool:
    if len(before.segments) > len(after.segments):
        return False
    return all(
        before.segments[i] == after.segments[i] or _meaning(before.part(i)) == _meaning(after.part(i))
        for i in range(first, len(before.segments))
    )


def _meaning(part: bytes) -> str:
    return json.dumps(_plain(json.loads(part)), sort_keys=True)


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    said = cast("Mapping[str, Any]", value)
    plain = {key: _plain(item) for key, item in said.items() if item is not None}
    if isinstance(content := plain.get("content"), str):
        plain["content"] = [{"type": "text", "text": content}]
    return plain


def _describe(before: Canonical, after: Canonical, index: int) -> Changed:
    old = before.part(index)
    if index >= len(after.segments):
        return Changed(len(old), None, 0, None, *_words(json.loads(old), None))
    new = after.part(index)
    one, other = json.loads(old), json.loads(new)
    item = _first_item(_items(one), _items(other))
    words = (None, None) if index < 2 else _words(one, item)
    return Changed(len(old), len(new), shared_prefix(old, new), item, *words)


def _items(part: Any) -> list[Any] | None:  # noqa: ANN401
    if isinstance(part, Mapping):
        message = cast("Mapping[str, Any]", part)
        part = message.get("content", message.get("parts"))
    return cast("list[Any]", part) if isinstance(part, list) else None


def _first_item(one: list[Any] | None, other: list[Any] | None) -> int | None:
    """Return the 1-based place of the first item that differs, None where there are no items to compare."""
    if one is None or other is None:
        return None
    pairs = zip(one, other, strict=False)
    # as text: to Python 1 and True are equal, and the order of keys tells nothing apart
    at = next((i for i, (a, b) in enumerate(pairs) if json.dumps(a) != json.dumps(b)), None)
    if at is None and len(one) == len(other):
        return None
    return (min(len(one), len(other)) if at is None else at) + 1


def _words(message: Any, item: int | None) -> tuple[str | None, str | None]:  # noqa: ANN401
    """Return role and type of a message: of the part that differs, else its own."""
    if not isinstance(message, Mapping):
        return None, None
    said = cast("Mapping[str, Any]", message)
    parts = _items(said) or []
    part = parts[item - 1] if item is not None and item <= len(parts) else said
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind is None and "parts" in said and isinstance(part, Mapping) and part is not said:
        kind = next(iter(cast("Mapping[str, Any]", part)), None)  # Gemini names a part by its key
    return _word(said.get("role")), _word(kind)


def _word(value: object) -> str | None:
    if value is None:
        return None
    return value if isinstance(value, str) and value in _WORDS else "other"
