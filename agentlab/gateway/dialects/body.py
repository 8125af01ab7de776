"""JSON of requests and replies, shared by the dialects; what is wrong is said without the content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from ..canonical import decode, decode_object, encode
from .base import BadRequest


def load(body: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Parameters
    ----------
    body : bytes
        As received.

    Returns
    -------
    dict
        Not to be changed: its tools are shared with other requests.

    Raises
    ------
    BadRequest
        It is none.
    """
    try:
        data = decode_object(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(data, dict):
        raise BadRequest("the body is not a JSON object")
    return cast("dict[str, Any]", data)


def json_or_none(data: bytes) -> Any:  # noqa: ANN401
    """Return what a provider's reply or event holds; None when it is no JSON.

    Parameters
    ----------
    data : bytes
        As received.

    Returns
    -------
    JSON data or None
    """
    try:
        return decode(data)
    except (ValueError, RecursionError):
        return None


def object_or_none(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a provider's reply or event is; None when it is none.

    Parameters
    ----------
    data : bytes
        As received.

    Returns
    -------
    dict or None
    """
    said = json_or_none(data)
    return cast("dict[str, Any]", said) if isinstance(said, dict) else None


def arguments_of(text: str) -> Any:  # noqa: ANN401
    """Return a call's arguments for a wire that holds an object and cannot hold broken JSON.

    Parameters
    ----------
    text : str
        As the model wrote them; may be empty.

    Returns
    -------
    JSON data
        What is broken stands as it is under ``arguments``.
    """
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {"arguments": text}


def frame(data: Mapping[str, Any]) -> bytes:
    """Return one frame of an event stream.

    Parameters
    ----------
    data : mapping
        JSON data.

    Returns
    -------
    bytes
    """
    return b"data: " + encode(data) + b"\n\n"


def named_frame(data: Mapping[str, Any]) -> bytes:
    """Return one frame of an event stream, named by its type.

    Parameters
    ----------
    data : mapping
        JSON data with ``type``.

    Returns
    -------
    bytes
    """
    return b"event: " + str(data["type"]).encode() + b"\n" + frame(data)


def objects(value: object, name: str) -> list[dict[str, Any]]:
    """Return a list of objects; None is an empty one.

    Parameters
    ----------
    value : object
        Anything decoded from JSON.
    name : str
        Of the key, for the error.

    Returns
    -------
    list of dict

    Raises
    ------
    BadRequest
        It is another value.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not set(map(type, cast("list[Any]", value))) <= {dict}:
        raise BadRequest(f"{name} is not a list of objects")
    return cast("list[dict[str, Any]]", value)


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; whatever else there is is left out.

    Parameters
    ----------
    value : object
        Anything decoded from JSON.

    Returns
    -------
    list of dict
    """
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def mapping(value: object) -> dict[str, Any]:
    """Return an object, or an empty one in place of anything else.

    Parameters
    ----------
    value : object
        Anything decoded from JSON.

    Returns
    -------
    dict
    """
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or the texts of its parts.

    Parameters
    ----------
    content : object
        Anything decoded from JSON.

    Returns
    -------
    str
    """
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in dicts(content))
    return "".join(text for text in texts if isinstance(text, str))


def name_of(item: Mapping[str, Any], what: str) -> str:
    """Return the name of a tool.

    Parameters
    ----------
    item : mapping
        Its declaration.
    what : str
        For the error.

    Returns
    -------
    str

    Raises
    ------
    BadRequest
        It has none.
    """
    name = item.get("name")
    if not isinstance(name, str):
        raise BadRequest(f"{what} has no name")
    return name


def cap_of(value: object) -> int | None:
    """Return an output cap in tokens, or None for what is no number.

    Parameters
    ----------
    value : object
        Anything decoded from JSON.

    Returns
    -------
    int or None
    """
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text_or_none(value: object) -> str | None:
    """Return a text, or None for anything else.

    Parameters
    ----------
    value : object
        Anything decoded from JSON.

    Returns
    -------
    str or None
    """
    return value if isinstance(value, str) else None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
