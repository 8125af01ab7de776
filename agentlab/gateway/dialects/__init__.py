"""The wires that agents speak; each is accepted as it is, none is translated."""

from __future__ import annotations

from .base import Dialect, Route
from .chat import Chat
from .gemini import Gemini
from .messages import Messages
from .responses import Responses

#: Name -> dialect.
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (Chat(), Responses(), Messages(), Gemini())
}


def route(method: str, path: str) -> Route | None:
    """Find what a call asks for.

    Counting tokens (``/v1/messages/count_tokens``, ``:countTokens``), lists of models and the like are no
    calls of a model: the gateway refuses them. No agent of those that were tried needs them.

    Parameters
    ----------
    method, path : str
        Of the HTTP request; the path without its query.

    Returns
    -------
    Route or None
        None: it is no call of a model.

    Examples
    --------
    >>> route("POST", "/v1/chat/completions").dialect.name
    'chat'
    >>> route("GET", "/v1/models") is None
    True
    """
    if method != "POST":
        return None
    return next((found for dialect in DIALECTS.values() if (found := dialect.route(path))), None)
