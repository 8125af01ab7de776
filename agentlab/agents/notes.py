"""How agents' reports are spelled as neutral events: shared by all readers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from .base import Note

_STATUS = re.compile(r"(?<![\d.])([45]\d\d)(?![\d.])")


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is an object of JSON, else an empty one: agents leave keys out and change them."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """Return a value if it is an array of JSON, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """Return a value if it is a count, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is unknown."""
    return {key: value for key, value in fields.items() if value is not None}


def piece(message: str, kind: Literal["text", "reasoning"], said: str, *, part: object = None) -> Note:
    """Spell a streamed piece.

    Parameters
    ----------
    message : str
        The message that it is a part of.
    kind : {"text", "reasoning"}
        What it is.
    said : str
        The text itself; counted, and kept only as content.
    part : str or int, optional
        Which part of the message.

    Returns
    -------
    Note
    """
    fields = {
        "message": message,
        "part": f"{message}/{kind if part is None else part}",
        "chunk": kind,
        "n_chars": len(said),
        "n_bytes": len(said.encode("utf-8", "surrogatepass")),
        "visible": bool(said.strip()),
    }
    return Note("chunk", fields, {"text": said})


def tokens(
    convention: Literal["inclusive", "exclusive"],
    *,
    input: object,
    cache_read: object = None,
    cache_write: object = None,
    output: object = None,
    reasoning: object = None,
    total: object = None,
) -> dict[str, Any]:
    """Spell a usage report in explicit columns.

    Parameters
    ----------
    convention : {"inclusive", "exclusive"}
        Whether the agent's "input" holds what came from and went to the cache.
    input, cache_read, cache_write, output, reasoning, total : object
        As the agent reported them; anything but a count is unknown.

    Returns
    -------
    dict
        Of an inclusive report the uncached part is a difference, known only where the cached one is; a
        negative one is left out.

    Examples
    --------
    >>> tokens("inclusive", input=100, cache_read=60, output=5)["input_uncached_tokens"]
    40
    """
    whole, read, write = count(input), count(cache_read), count(cache_write)
    uncached = whole
    if convention == "inclusive":
        uncached = None if whole is None or read is None else whole - read - (write or 0)
        if uncached is not None and uncached < 0:
            uncached = None
    return known(
        {
            "convention": convention,
            "input_uncached_tokens": uncached,
            "cache_read_tokens": read,
            "cache_write_tokens": write,
            "input_total_tokens": whole if convention == "inclusive" else None,
            "output_tokens": count(output),
            "reasoning_tokens": count(reasoning),
            "total_tokens": count(total),
        }
    )


def numbers(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a report as the agent spelled them, nested as they are; texts are left out."""
    kept: dict[str, Any] = {}
    for key, value in usage.items():
        if isinstance(value, Mapping):
            kept[key] = numbers(cast("Mapping[str, Any]", value))
        elif isinstance(value, int | float):
            kept[key] = value
    return kept


def tool(
    call: object,
    name: object,
    status: Literal["pending", "running", "completed", "error"],
    *,
    message: str | None,
    input: object = None,
    output: object = None,
    **fields: Any,  # noqa: ANN401
) -> Note:
    """Spell the state of a tool call.

    Parameters
    ----------
    call, name : object
        Its id and the tool's name.
    status : str
        Its state.
    message : str or None
        The message that called.
    input, output : object
        Kept only as content.
    **fields
        ``start_unix_ms`` and the like.

    Returns
    -------
    Note
    """
    content = known({"input": input, "output": output})
    about = {"message": message, "call": text(call) or str(call), "part": text(call) or str(call)}
    return Note(
        "tool",
        known({**about, "name": text(name) or None, "status": status, "source": "stream", **fields}),
        content or None,
    )


def failure(name: str, said: object) -> Note:
    """Spell an error that the agent tells of.

    Parameters
    ----------
    name : str
        A short name of its kind.
    said : object
        Its message: kept only as content, but for an HTTP status in it.

    Returns
    -------
    Note
    """
    fields = {"name": name, "status_code": status_code(text(said))}
    return Note("agent.error", known(fields), {"text": text(said)})


def status_code(said: str) -> int | None:
    """Find an HTTP error status in a message.

    Parameters
    ----------
    said : str
        The message.

    Returns
    -------
    int or None
        None when there is none, or more than one.

    Examples
    --------
    >>> status_code("API Error: 400 budget"), status_code("nothing")
    (400, None)
    """
    found = {int(code) for code in _STATUS.findall(said)}
    return found.pop() if len(found) == 1 else None
