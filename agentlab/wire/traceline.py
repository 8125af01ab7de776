"""What a browser's trace and CPU profile may say when no content is kept: numbers, ids and names of code.

A trace holds addresses, titles, texts of marks and of the page, pictures. What stays is the event's name, its
categories, times, thread and ids, every number, enumerations of the browser, names of functions, and of a
script's address the last part; DevTools and Perfetto still open the result.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

#: Names of marks that begin so are ours and stay; those of others are replaced by a digest.
MARK = "agentlab:"

#: Strings under these keys are ids, enumerations of the browser or names of code, where they look so.
_SAFE_WORDS = """
class_like_name codeType event_type frame frame_type id id_ref interactionType invoker_type
isolate local mimeType navigationId object_name page parent priority property_like_name protocol
requestId requestMethod resourceType scope scriptId scroll_state source state
third_party_technology tileResolution traceId type
"""
_SAFE = frozenset(_SAFE_WORDS.split())
_FUNCTIONS = frozenset(("functionName", "source_location_function_name"))
#: Strings under these keys are addresses of scripts, or of pages.
_ADDRESSES = frozenset(("url", "fileName", "scriptName", "source_location_url", "sourceURL"))
#: Categories whose events are named by the page.
_NAMED_BY_PAGE = ("blink.user_timing", "blink.console")
_TOP_WORDS = "args bind_id bp cat dur flow_in flow_out id id2 name ph pid s scope sf tdur tid ts tts v"
_TOP = frozenset(_TOP_WORDS.split())
_SHORT = 120  # characters
_NAME = re.compile(r"[\w.:/#*+-]{0,120}")
_SCRIPT = re.compile(r"[\w.~@+-]{1,100}\.(?:[cm]?[jt]sx?|wasm|css|py)")
_THREAD = re.compile(r"[\w /:.#()-]{1,60}")
_EMPTY, _BLINK = b'{"args":{},"cat":"', b"blink."

_codec: tuple[Callable[[bytes], Any], Callable[[Any], bytes]] | None = None


def reduce_event_line(line: bytes) -> bytes | None:
    r"""Return an event of a trace without what is private in it.

    Parameters
    ----------
    line : bytes
        One event as JSON.

    Returns
    -------
    bytes or None
        One event as JSON, on one line; None when the line is no event.

    Examples
    --------
    >>> reduce_event_line(b'{"args":{"data":{"url":"http://x/a/app.js","n":1}},"name":"Layout","ph":"X"}')
    b'{"args":{"data":{"url":"app.js","n":1}},"name":"Layout","ph":"X"}'
    """
    if line.startswith(_EMPTY) and _BLINK not in line:
        return line  # nothing but numbers, ids and names of the browser's own
    decode, encode = _json()
    try:
        event = decode(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not isinstance(event.get("name"), str):
        return None
    kept = {key: value for key, value in event.items() if key in _TOP}
    categories = str(event.get("cat"))
    if _NAMED_BY_PAGE[0] in categories or _NAMED_BY_PAGE[1] in categories:
        kept["name"] = _mark(event["name"])
    args = event.get("args")
    if isinstance(args, dict) and event.get("ph") == "M":
        kept["args"] = {key: _thread(value) for key, value in args.items()}
    elif "args" in event:
        kept["args"] = _reduced(args)
    return encode(kept)


def reduce_profile(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a CPU profile in which addresses of scripts are their last part.

    Parameters
    ----------
    profile : mapping
        As ``Profiler.stop`` gives it, or a ``.cpuprofile`` file holds it.

    Returns
    -------
    dict
        The same with all its numbers.

    Examples
    --------
    >>> reduce_profile({"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": "file:///home/me/f.mjs"}}]})
    {'nodes': [{'id': 1, 'callFrame': {'functionName': 'f', 'url': 'f.mjs'}}]}
    """
    return _reduced(dict(profile))


def _json() -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    global _codec
    if _codec is None:
        import msgspec

        _codec = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    return _codec


def _reduced(value: Any, key: str = "") -> Any:  # noqa: ANN401
    """Reduce plain data; every place of a list stays, so that parallel lists stay parallel."""
    if isinstance(value, str):
        return _text(value, key)
    if isinstance(value, list):
        if (
            value
            and isinstance(value[0], (int, float))
            and not any(isinstance(v, (str, list)) for v in value)
        ):
            return value  # samples and times of a profile
        return [_reduced(one, key) for one in value]
    if isinstance(value, dict):
        return {name: _reduced(one, name) for name, one in value.items()}
    return value


def _text(value: str, key: str) -> str:
    if key in _SAFE:
        return value if _NAME.fullmatch(value) else ""
    if key in _FUNCTIONS:
        return value[:_SHORT]
    if key in _ADDRESSES:
        last = re.split(r"[?#]", value, maxsplit=1)[0].rpartition("/")[2]
        return last if _SCRIPT.fullmatch(last) else ""
    return ""


def _thread(value: object) -> object:
    """Keep names of threads and processes; a process's label is the title of its page, and too free."""
    if isinstance(value, str):
        return value if _THREAD.fullmatch(value) else ""
    return value if isinstance(value, (int, float)) else ""


def _mark(name: str) -> str:
    if name.startswith(MARK):
        return name[:_SHORT]
    return f"mark-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
