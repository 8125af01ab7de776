"""How a chat app is asked, over HTTP or by its command line: a session, a prompt, its state."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from ...errors import ConfigError

_PLACE = re.compile(r"\{(\w+)\}")
_PLACES = ("url", "port", "session", "directory", "prompt", "model", "provider", "model_id", "agent", "title")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandApi:
    """Name the commands of an app that answers with JSON on its standard output.

    In their arguments ``{url}``, ``{port}``, ``{session}``, ``{directory}``, ``{prompt}``, ``{model}``,
    ``{agent}`` and ``{title}`` are replaced. An argument whose place is not known is left out, with the
    option before it.

    Parameters
    ----------
    create, send, status : sequence of str
        Commands that make a session, send a prompt, and tell a session's state.
    delete : sequence of str, optional
        Command that deletes a session; None: it stays.
    read : sequence of str, optional
        Command that tells the last answer, as text or as JSON; None: what the page shows cannot be compared.
    session_key, answer_key : str
        Where session id and answer stand in the JSON of ``create`` and ``read``: inner keys after a dot, in
        a list its number (``"messages.-1.text"``: of the last one).
    state_keys : sequence of str
        Where the state stands in the JSON of ``status``; the first that is there counts.
    busy : sequence of str
        States in which an answer is under way; any other means idle.
    env : sequence of str
        Names of further variables that the commands get; of the environment they get PATH, HOME and the like.

    Raises
    ------
    ConfigError
        A command is missing, names a place that is not known, or sends no prompt.

    Examples
    --------
    >>> CommandApi(create=["chat", "new"], send=["chat", "say", "{prompt}"], status=["chat", "state"]).busy
    ('busy', 'retry')
    """

    create: Sequence[str]
    send: Sequence[str]
    status: Sequence[str]
    delete: Sequence[str] | None = None
    read: Sequence[str] | None = None
    session_key: str = "sessionId"
    state_keys: Sequence[str] = ("sessionStatus.type", "status")
    answer_key: str = "text"
    busy: Sequence[str] = ("busy", "retry")
    env: Sequence[str] = ()

    def __post_init__(self) -> None:
        for field in ("create", "send", "status", "delete", "read"):
            words = getattr(self, field)
            if words is None and field in ("delete", "read"):
                continue
            if isinstance(words, str) or not words or not all(isinstance(word, str) for word in words):
                raise ConfigError(f"CommandApi({field}={words!r:.80}): give a list of words")
            _check_places(f"CommandApi({field}=...)", *words)
            object.__setattr__(self, field, tuple(words))
        _check_prompt("CommandApi", *self.send)
        _set_words(self, "state_keys", "busy", "env")


@dataclasses.dataclass(frozen=True, kw_only=True)
class HttpApi:
    """Name the calls of an app that answers with JSON over HTTP.

    Each is ``"METHOD /path"``; places as in :class:`CommandApi`.

    Parameters
    ----------
    create, send, status : str
        Calls that make a session, send a prompt, and tell a session's state.
    body : str
        JSON body of ``send``, as text with places; they are replaced by JSON strings.
    delete, read : str, optional
        As in :class:`CommandApi`.
    session_key, answer_key : str
        As in :class:`CommandApi`.
    state_keys, busy : sequence of str
        As in :class:`CommandApi`.

    Raises
    ------
    ConfigError
        A call is missing, has another form, or sends no prompt.

    Examples
    --------
    >>> HttpApi(create="POST /chats", send="POST /chats/{session}", status="GET /chats/{session}").body
    '{"text": {prompt}}'
    """

    create: str
    send: str
    status: str
    body: str = '{"text": {prompt}}'
    delete: str | None = None
    read: str | None = None
    session_key: str = "id"
    state_keys: Sequence[str] = ("status",)
    answer_key: str = "text"
    busy: Sequence[str] = ("busy",)

    def __post_init__(self) -> None:
        for field in ("create", "send", "status", "delete", "read"):
            call = getattr(self, field)
            if call is None and field in ("delete", "read"):
                continue
            if not isinstance(call, str) or not re.fullmatch(r"[A-Z]+ /\S*", call):
                raise ConfigError(f"HttpApi({field}={call!r:.80}): write 'METHOD /path', e.g. 'POST /chats'")
            _check_places(f"HttpApi({field}=...)", call)
        body: Any = self.body
        if not isinstance(body, str):
            raise ConfigError(
                f"HttpApi(body={body!r:.80}): give JSON as text, e.g. '{{\"text\": {{prompt}}}}'"
            )
        _check_places("HttpApi(body=...)", self.body)
        _check_prompt("HttpApi", self.send, self.body)
        _set_words(self, "state_keys", "busy")


def _check_prompt(where: str, *texts: str) -> None:
    if not any("{prompt}" in text for text in texts):
        raise ConfigError(f"{where}(send=...): write {{prompt}} where the prompt stands; else none is sent")


def _set_words(api: CommandApi | HttpApi, *fields: str) -> None:
    for field in fields:
        words = getattr(api, field)
        listed = isinstance(words, Sequence) and not isinstance(words, str)
        if not listed or not all(isinstance(word, str) and word for word in words):
            raise ConfigError(f"{type(api).__name__}({field}={words!r:.80}): give a list of texts")
        object.__setattr__(api, field, tuple(words))


def _check_places(where: str, *texts: str) -> None:
    for place in (found for text in texts for found in _PLACE.findall(text)):
        if place not in _PLACES:
            raise ConfigError(f"{where}: {{{place}}} is none of {', '.join(_PLACES)}")
