"""The original cache script's discard reasons as coded issues, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..issues import CODES

_ROUTING = "observed session/assistant routing does not match orchestrator/provider/model"

#: exact text -> (code, detail), in the order in which the original looked
_TEXTS: dict[str, tuple[str, str | None]] = {
    "missing completed Read tool": ("missing_tool", "read"),
    "missing completed harmless TodoWrite tool": ("missing_tool", "todowrite"),
    "missing assistant final response": ("missing_text", None),
    "missing second user follow-up": ("missing_turn", "2"),
    _ROUTING: ("routing_mismatch", None),
    "SSE subscription readiness timed out": ("stream_not_ready", None),
    "SSE delivered a malformed frame": ("stream_malformed", None),
    "SSE stream closed before collection completed": ("stream_closed", None),
    "SSE stream connection failed": ("stream_failed", None),
    "session entered retry state": ("retry", None),
    "session compaction observed": ("compaction", None),
    "POST /session returned no session id": ("http_error", "POST /session returned no session id"),
}
_ISSUES = {issue: text for text, issue in _TEXTS.items()}
_CODED = re.compile(r"(provider|assistant)_error:(.*)", re.DOTALL)
_HTTP = re.compile(r"([A-Z]+ \S+) returned HTTP (\d+)")
#: Details of ours: as :func:`to_issue` makes them, and as the driver says them, with a name or advice behind.
_HTTP_DETAIL = re.compile(r"([A-Z]+ \S+)(?: returned)? HTTP (\d+)(?: \(\w+\)|: .*)?")
_ERROR_DETAIL = re.compile(r"(?:(provider|assistant) )?(\w+)(?: \d+)?")
#: What the original called an error of the provider, and every name that it let through.
_PROVIDER = ("APIError", "ProviderAuthError")
_NAMES = (
    *_PROVIDER,
    "MessageAbortedError",
    "StructuredOutputError",
    "ContextOverflowError",
    "MessageOutputLengthError",
    "Unknown",
)

#: What the report says of a session that could not be deleted.
CLEANUP = "session deletion failed"


def to_issue(text: str) -> tuple[str, str | None]:
    """Return the issue that a discard reason stands for.

    Parameters
    ----------
    text : str
        An entry of ``discardReasons``.

    Returns
    -------
    tuple
        Code of :data:`agentlab.issues.CODES` and detail. A text of no known form is the message of an
        exception: code ``driver_error``.

    Examples
    --------
    >>> to_issue("provider_error:APIError")
    ('turn_error', 'provider APIError')
    """
    if text in _TEXTS:
        return _TEXTS[text]
    if match := _CODED.fullmatch(text):
        return "turn_error", f"{match[1]} {match[2]}"
    if match := _HTTP.fullmatch(text):
        return "http_error", f"{match[1]} HTTP {match[2]}"
    code, _, detail = text.partition(": ")
    if code in CODES:  # as to_text writes what the original had no text for
        return code, detail or None
    return "driver_error", text


def to_text(code: str, detail: str | None) -> str:
    """Return the discard reason for an issue.

    Parameters
    ----------
    code : str
        Code of an issue.
    detail : str or None
        Its detail.

    Returns
    -------
    str
        The exact text of the original script where it had one for the issue, else code and detail.

    Examples
    --------
    >>> to_text("http_error", "POST /session HTTP 500")
    'POST /session returned HTTP 500'
    """
    if (code, detail) in _ISSUES:
        return _ISSUES[code, detail]
    if (code, None) in _ISSUES:
        # where it never told more, its text covers every detail
        return _ISSUES[code, None]
    if code == "turn_aborted":
        return "assistant_error:MessageAbortedError"
    if code == "turn_error" and (match := _ERROR_DETAIL.fullmatch(detail or "")):
        side = match[1] or ("provider" if match[2] in _PROVIDER else "assistant")
        return f"{side}_error:{error_code(match[2])}"
    if code == "http_error" and (match := _HTTP_DETAIL.fullmatch(detail or "")):
        return f"{match[1]} returned HTTP {match[2]}"
    if code == "driver_error" and detail:
        return detail
    return f"{code}: {detail}" if detail else code


def error_code(name: str | None) -> str:
    """Return the code that the original used for an error.

    Parameters
    ----------
    name : str or None
        Name of the agent's error.

    Returns
    -------
    str
        The name where it is among those it let through, else ``"unknown"``.
    """
    return name if name in _NAMES else "unknown"


def in_order(texts: Iterable[str]) -> list[str]:
    """Return discard reasons as they stand in a report: each once, in the original's order.

    Parameters
    ----------
    texts : iterable of str
        From :func:`to_text`.

    Returns
    -------
    list of str
        Those it had no text for last, in the order given.

    Examples
    --------
    >>> in_order(["not_quiet", "session entered retry state", "provider_error:APIError", "not_quiet"])
    ['provider_error:APIError', 'session entered retry state', 'not_quiet']
    """
    return sorted(dict.fromkeys(texts), key=_rank)


def _rank(text: str) -> tuple[int, int]:
    known = list(_TEXTS)
    if _CODED.fullmatch(text):
        return known.index(_ROUTING), 1
    return (known.index(text), 0) if text in _TEXTS else (len(known), 0)
