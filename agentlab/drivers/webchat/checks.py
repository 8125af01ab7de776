"""What is refused in the settings of WebChat before anything starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..base import Driver

if TYPE_CHECKING:
    from . import WebChat

#: Settings of an API of the page's own, which another driver has itself or does not need.
_APP = ("url", "directory", "agent", "session", "keep_session")


def check(driver: WebChat) -> None:
    """Refuse settings that are wrong, or do not go together.

    Parameters
    ----------
    driver : WebChat
        Settings.

    Raises
    ------
    ConfigError
        Names the setting.
    """
    _check_app(driver)
    if driver.service_worker not in ("bypass", "use"):
        raise ConfigError(f"WebChat(service_worker={driver.service_worker!r}): write 'bypass' or 'use'")
    size: Any = driver.viewport
    if not _whole_numbers(size, 2) or not all(200 <= n <= 10_000 for n in size):
        raise ConfigError(f"WebChat(viewport={size!r}): give width and height in px, e.g. (1600, 1000)")
    for name in ("keep_session", "typing", "headless", "probe"):
        value = getattr(driver, name)
        if not isinstance(value, bool) and not (name == "probe" and value is None):
            raise ConfigError(f"WebChat({name}={value!r}): write True or False")
    us: Any = driver.sampling_us
    if us is not None and (not _whole_numbers([us], 1) or (us and not 50 <= us <= 1_000_000)):
        raise ConfigError(f"WebChat(sampling_us={us!r}): give microseconds from 50, or 0 for no sampler")
    kb: Any = driver.trace_buffer_kb
    if kb is not None and (not _whole_numbers([kb], 1) or kb < 1):
        raise ConfigError(f"WebChat(trace_buffer_kb={kb!r}): give KiB from 1")
    if driver.categories is not None and not _texts(driver.categories):
        raise ConfigError("WebChat(categories=...): give a list of names, e.g. ['devtools.timeline']")
    for name in ("browser", "profile"):
        value = getattr(driver, name)
        if value is not None and not isinstance(value, str | Path):
            raise ConfigError(f"WebChat({name}={value!r:.80}): give a path")


def default_chat(driver: WebChat) -> Driver | None:
    """Return the driver that talks to the app where none was given; None: the page names an API.

    Parameters
    ----------
    driver : WebChat
        Settings.

    Returns
    -------
    Driver or None

    Raises
    ------
    ConfigError
        There is nobody who could.
    """
    if driver.shown.api is not None:
        return None
    if driver.shown.name != "opencode":
        raise ConfigError(
            f"WebChat(page={driver.shown.name!r}): who sends the prompts? Give the page an api=, or the "
            "driver of its app in place of the model"
        )
    from ..opencode import OpenCode  # the one driver that another stands on: its server shows the page

    settings: dict[str, Any] = {"gateway": driver.gateway}
    if driver.url is not None:
        settings["url"] = driver.url
    if driver.agent is not None:
        settings["agent"] = driver.agent
    assert not isinstance(driver.model, Driver)
    return OpenCode(driver.model or "", **settings)


def _check_app(driver: WebChat) -> None:
    given = [name for name in _APP if getattr(driver, name) not in (None, False)]
    if isinstance(driver.model, Driver):
        if driver.shown.api is not None:
            raise ConfigError(f"WebChat(..., page={driver.shown.name!r}): it has an api=; give it a model")
        if given or driver.gateway not in (None, getattr(driver.model, "gateway", None)):
            name = given[0] if given else "gateway"
            raise ConfigError(
                f"WebChat({type(driver.model).__name__}(...), {name}=...): give that to the driver"
            )
        return
    if driver.url is not None:
        check_url(driver.url)
    if driver.shown.api is None:
        for name in ("directory", "session", "keep_session"):
            if name in given:
                raise ConfigError(f"WebChat({name}=...): only for a page that names its api=")
        default_chat(driver)
        return
    if driver.url is None:
        raise ConfigError(
            f"WebChat(page={driver.shown.name!r}, url=...): give the address of the app, e.g. "
            "'http://localhost:3000'"
        )
    if driver.gateway is not None:
        raise ConfigError("WebChat(url=..., gateway=...): an app that runs already asks its own provider")


def check_url(url: object) -> None:
    """Refuse what is no plain address of a server.

    Parameters
    ----------
    url : object
        What a user gave.

    Raises
    ------
    ConfigError
        It is none, or holds a login or a query.
    """
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        good = parts.scheme in ("http", "https") and parts.hostname is not None and parts.port != 0
    except ValueError:
        good, parts = False, urlsplit("")
    if not good or parts.username is not None or parts.query or parts.fragment:
        raise ConfigError("WebChat(url=...): write http://HOST:PORT, without login, query or fragment")


def _whole_numbers(values: Any, n: int) -> bool:  # noqa: ANN401
    if isinstance(values, str | bytes | os.PathLike) or not isinstance(values, Sequence) or len(values) != n:
        return False
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _texts(values: Any) -> bool:  # noqa: ANN401
    return not isinstance(values, str) and all(isinstance(value, str) and value for value in values)
