"""The original cache script's discard reasons as coded issues, and back."""

from __future__ import annotations

import re

#: exact text -> (code, detail)
_TEXTS: dict[str, tuple[str, str | None]] = {
    "missing completed Read tool": ("missing_tool", "read"),
    "missing completed harmless TodoWrite tool": ("missing_tool", "todowrite"),
    "missing assistant final response": ("missing_text", None),
    "missing second user follow-up": ("missing_turn", "2"),
    "observed session/assistant routing does not match orchestrator/provider/model": (
        "routing_mismatch",
        None,
    ),
    "SSE subscription readiness timed out": ("stream_not_ready", None),
    "SSE delivered a malformed frame": ("stream_malformed", None),
    "SSE stream closed before collection completed": ("stream_closed", None),
    "SSE stream connection failed": ("stream_failed", None),
    "session entered retry state": ("retry", None),
    "session compaction observed": ("compaction", None),
    "POST /session returned no session id": ("http_error", "POST /session gave no session id"),
}
_ISSUES = {issue: text for text, issue in _TEXTS.items()}
_CODED = re.compile(r"(provider|assistant)_error:(.*)", re.DOTALL)
_HTTP = re.compile(r"([A-Z]+ \S+) returned HTTP (\d+)")
_HTTP_DETAIL = re.compile(r"([A-Z]+ \S+) HTTP (\d+)")

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
    if (
        code == "turn_error"
        and detail
        and (match := re.fullmatch(r"(provider|assistant) (.*)", detail, re.DOTALL))
    ):
        return f"{match[1]}_error:{match[2]}"
    if code == "http_error" and detail and (match := _HTTP_DETAIL.fullmatch(detail)):
        return f"{match[1]} returned HTTP {match[2]}"
    if code == "driver_error" and detail:
        return detail
    return f"{code}: {detail}" if detail else code
