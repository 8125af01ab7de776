"""What is to be known of a chat page: where a session is shown, when it is ready, where its answers stand."""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import Any
from urllib.parse import quote, urlsplit

from ...errors import ConfigError, did_you_mean
from ...scenario import digest
from .api import CommandApi, HttpApi

_PLACE = re.compile(r"\{(\w+)\}")
_PLACES = ("url", "session", "directory", "directory64")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppCounters:
    """Name the counters that an app keeps of its own work.

    Parameters
    ----------
    begin : str
        Script that switches them on and clears them.
    read : str
        Expression whose value has the form ``[{"metric": ..., "total": ms, "count": ..., "max": ms}, ...]``.
    prepare : str
        Script that is run before the page's own.
    lists : str
        Beginning of the names of the metrics that count renderings of the list of messages; where it is
        given one of them must have counted.

    Examples
    --------
    >>> AppCounters(begin="app.reset()", read="app.snapshot().entries").lists
    ''
    """

    begin: str
    read: str
    prepare: str = ""
    lists: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChatPage:
    """Describe a chat page, so that :class:`agentlab.WebChat` can record it.

    Parameters
    ----------
    name : str
        Short name; stands in the recording.
    address : str
        URL of a session. ``{url}`` is the server's, ``{session}`` the session's id, ``{directory}`` its
        folder, ``{directory64}`` that in URL-safe base64 without padding.
    composer : str
        CSS selector of the field for the prompt: the page is ready once it is there.
    answer : str
        CSS selector of the elements that hold the text of answers, and nothing else.
    message : str
        CSS selector of all messages, the user's too.
    stream : str, optional
        Part of the URL of the request, or web socket, over which the page is told of the answer: the prompt
        is not sent before it is open. None: there is none, and nothing is awaited.
    api : HttpApi or CommandApi, optional
        How sessions are made, prompted and asked for their state; None: by the driver given to ``WebChat``.
    counters : AppCounters, optional
        Counters of the app.
    prepare : str
        Script that is run before the page's own, e.g. to set its local storage.

    Raises
    ------
    ConfigError
        A part is missing, or the address has a place that is not known.

    Examples
    --------
    >>> ChatPage(name="mine", address="{url}/chat/{session}", composer="textarea", answer=".answer").stream
    """

    name: str
    address: str
    composer: str
    answer: str
    message: str = "[data-message-id]"
    stream: str | None = None
    api: HttpApi | CommandApi | None = None
    counters: AppCounters | None = None
    prepare: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "address", "composer", "answer", "message"):
            value = getattr(self, field)
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"ChatPage({field}={value!r}): give a text")
        for place in _PLACE.findall(self.address):
            if place not in _PLACES:
                raise ConfigError(f"ChatPage(address=...): {{{place}}} is none of {', '.join(_PLACES)}")
        if "{session}" not in self.address:
            raise ConfigError("ChatPage(address=...): write {session} where the session's id stands")

    def address_of(self, *, url: str, session: str, directory: str | None = None) -> str:
        """Return the URL of a session.

        Parameters
        ----------
        url : str
            The server's, without a slash at its end.
        session : str
            Id of the session.
        directory : str, optional
            Its folder.

        Returns
        -------
        str

        Raises
        ------
        ConfigError
            The address needs a folder, and none is known.

        Examples
        --------
        >>> OPENCODE.address_of(url="http://127.0.0.1:4096", session="ses_1", directory="/a")
        'http://127.0.0.1:4096/L2E/session/ses_1'
        """
        if directory is None and "{directory" in self.address:
            raise ConfigError(f"the page {self.name!r} shows sessions of a folder: give directory=")
        folder = directory or ""
        values = {
            "url": url.rstrip("/"),
            "session": quote(session, safe=""),
            "directory": quote(folder, safe=""),
            "directory64": base64.urlsafe_b64encode(folder.encode()).decode().rstrip("="),
        }
        return _PLACE.sub(lambda match: values[match[1]], self.address)

    def identity(self) -> dict[str, Any]:
        """Return it as plain data; scripts and selectors of the user by digest.

        Returns
        -------
        dict
        """
        return {"name": self.name, "digest": digest(dataclasses.asdict(self))}


#: OpenCode's own web UI, as ``opencode serve`` serves it.
OPENCODE = ChatPage(
    name="opencode",
    address="{url}/{directory64}/session/{session}",
    composer='[data-component="prompt-input"]',
    answer='[data-component="text-part"] [data-component="markdown"]',
    stream="/global/event",
)

#: OpenChamber, over its command line.
OPENCHAMBER = ChatPage(
    name="openchamber",
    address="{url}/?session={session}",
    composer="textarea, [contenteditable]",
    answer='[data-message-id]:not([data-message-role="user"])',
    stream="/global/event",
    api=CommandApi(
        create=("openchamber", "session", "create", "--dir", "{directory}", "--port", "{port}",
                "--title", "{title}", "--json"),
        send=("openchamber", "session", "send", "--dir", "{directory}", "--port", "{port}",
              "--session", "{session}", "--prompt", "{prompt}", "--model", "{model}", "--agent", "{agent}",
              "--json"),
        status=("openchamber", "session", "status", "--dir", "{directory}", "--port", "{port}",
                "--session", "{session}", "--json"),
        read=("openchamber", "session", "messages", "--dir", "{directory}", "--port", "{port}",
              "--session", "{session}", "--json"),
        answer_key="messages.-1.text",
    ),
    counters=AppCounters(
        prepare="localStorage.setItem('openchamber_sync_perf', '1');"
        "localStorage.setItem('openchamber_stream_perf', '1');",
        begin="(window.__openchamberStreamPerformance?.setEnabled?.(true),"
        "window.__openchamberStreamPerformance?.reset?.(),"
        "window.__openchamberSyncPerformance?.reset?.(), 0)",
        read="[...(window.__openchamberStreamPerformance?.getSnapshot?.()?.entries ?? []),"
        "...(window.__openchamberSyncPerformance?.getSnapshot?.()?.entries ?? [])]",
        lists="ui.message_list",
    ),
)  # fmt: skip

PAGES = {page.name: page for page in (OPENCODE, OPENCHAMBER)}


def find_page(page: object) -> ChatPage:
    """Return the page that is meant.

    Parameters
    ----------
    page : ChatPage or str
        A name of :data:`PAGES`.

    Returns
    -------
    ChatPage

    Raises
    ------
    ConfigError
        There is none of that name.
    """
    if isinstance(page, ChatPage):
        return page
    if isinstance(page, str) and page in PAGES:
        return PAGES[page]
    hint = did_you_mean(page, PAGES)
    if isinstance(page, str) and urlsplit(page).scheme in ("http", "https"):
        hint = "; an address goes into url="
    known = ", ".join(map(repr, PAGES))
    raise ConfigError(f"WebChat(page={page!r:.80}): write one of {known}, or give a ChatPage(...){hint}")
