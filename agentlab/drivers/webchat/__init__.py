"""A web chat in a real browser, watched while its answers stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ConfigError
from ...scenario import digest
from ..base import Arm, Driver, Identity, Opened, RunsAlone, check_kinds
from . import checks
from .api import CommandApi, HttpApi
from .page import PAGES, AppCounters, ChatPage, find_page
from .presets import PRESETS, Recorder, find_preset

if TYPE_CHECKING:
    from ...gateway import Gateway

__all__ = ["PAGES", "PRESETS", "AppCounters", "ChatPage", "CommandApi", "HttpApi", "Recorder", "WebChat"]


@dataclasses.dataclass(frozen=True, repr=False)
class WebChat(RunsAlone):
    """Record a chat page in Chromium while its answers stream.

    Each run has a browser with a fresh profile and a session of its own. The prompt is sent through the
    app's own API once the page's event stream is open and its composer is there; recorded is until the app
    says that it is idle, and then the scenario's ``tail_s``.

    Parameters
    ----------
    model : str or driver
        ``"provider/model"``; with ``page="opencode"`` also an :class:`agentlab.OpenCode` with settings of
        your own.
    page : {"opencode", "openchamber"} or ChatPage
        Which page.
    url : str, optional
        Address of a server that runs already. OpenCode's is started here without one.
    directory : path, optional
        Folder that the app works in, where it has an API of its own.
    agent : str, optional
        Agent of every prompt.
    session : str, optional
        A session that exists already, instead of a new one; it is not deleted. Only for a server that runs
        already.
    keep_session : bool, default False
        Do not delete the session that was made.
    preset : {"light", "cpu", "original", "deep", "film", "off"}
        How it is recorded. ``light`` (trace only) is for numbers; ``cpu`` adds a sampler and the probe of
        call sites, for explanations; ``original`` is for baselines of the older script; ``deep`` adds stacks
        of style and layout; ``film`` pictures (needs ``keep="content"``); ``off`` only counters of the
        browser, so that the price of looking can be measured.
    categories : sequence of str, optional
        Categories of the trace in place of the preset's.
    sampling_us : int, optional
        Wanted interval of the CPU sampler in place of the preset's, us; 0: no sampler.
    probe : bool, optional
        Whether callbacks of the page are counted by call site, in place of the preset's.
    typing : bool, default False
        Type into the composer while the answer streams, to measure its response (INP).
    viewport : (int, int), default (1600, 1000)
        Size of the window, px.
    headless : bool, default True
        Without a window.
    service_worker : {"bypass", "use"}
        Whether the page's service worker may answer its requests.
    browser : path or str, optional
        Chromium or Chrome; looked up in the PATH when absent.
    profile : path, optional
        Folder of a browser profile to use; else each run has a new one.
    trace_buffer_kb : int, optional
        Size of the browser's trace buffer, KiB; its default is 200 MiB.
    gateway : Gateway, optional
        Model boundary of this arm; goes before that of ``record``.

    Raises
    ------
    ConfigError
        A setting is wrong, or does not go with the page.

    Examples
    --------
    >>> WebChat("lab/scripted").identify().settings["recorder"]["preset"]
    'light'
    """

    model: str | Driver | None = None
    _: dataclasses.KW_ONLY
    page: str | ChatPage = "opencode"
    url: str | None = None
    directory: str | Path | None = None
    agent: str | None = None
    session: str | None = None
    keep_session: bool = False
    preset: Literal["light", "cpu", "original", "deep", "film", "off"] = "light"
    categories: Sequence[str] | None = None
    sampling_us: int | None = None
    probe: bool | None = None
    typing: bool = False
    viewport: Sequence[int] = (1600, 1000)
    headless: bool = True
    service_worker: Literal["bypass", "use"] = "bypass"
    browser: str | Path | None = None
    profile: str | Path | None = None
    trace_buffer_kb: int | None = None
    gateway: Gateway | None = None

    def __post_init__(self) -> None:
        find_page(self.page)
        find_preset(self.preset)
        check_kinds(self)
        checks.check(self)
        object.__setattr__(self, "viewport", tuple(self.viewport))
        if self.categories is not None:
            object.__setattr__(self, "categories", tuple(self.categories))
        if self.chat is not None and self.gateway is None:  # the engine asks the arm's driver for it
            object.__setattr__(self, "gateway", getattr(self.chat, "gateway", None))

    @property
    def shown(self) -> ChatPage:
        """The page that is recorded."""
        return find_page(self.page)

    @property
    def recorder(self) -> Recorder:
        """How it is recorded: the preset with what was set in its place."""
        recorder = find_preset(self.preset)
        if self.categories is not None:
            recorder = dataclasses.replace(recorder, categories=tuple(self.categories))
        if self.sampling_us is not None:
            recorder = dataclasses.replace(recorder, sampling_us=self.sampling_us or None)
        if self.probe is not None:
            recorder = dataclasses.replace(recorder, probe=self.probe)
        return recorder

    @property
    def chat(self) -> Driver | None:
        """The driver that talks to the app; None: the page names an API of its own."""
        return self.model if isinstance(self.model, Driver) else checks.default_chat(self)

    def recorded(self, *presets: str) -> dict[str, WebChat]:
        """Return arms that differ only in how they are recorded.

        Parameters
        ----------
        *presets : str
            As ``preset``. ``("light", "cpu")``: numbers of the first, explanations of the second;
            ``("off", "light")``: the price of looking.

        Returns
        -------
        dict of str to WebChat
            To be given to :func:`agentlab.record`.

        Examples
        --------
        >>> list(WebChat("lab/scripted").recorded("light", "cpu"))
        ['light', 'cpu']
        """
        return {preset: dataclasses.replace(self, preset=preset) for preset in presets}  # pyright: ignore[reportArgumentType]

    def identify(self) -> Identity:
        """Say what is measured; nothing private is in it.

        Returns
        -------
        Identity
            With the settings of the driver that talks to the app as ``chat``, and the recorder's set-up as
            ``recorder``. Addresses and folders are told by digest.

        Raises
        ------
        ConfigError, StartupError
            As of that driver.
        """
        settings: dict[str, Any] = {
            "page": self.shown.identity(),
            "recorder": self.recorder.identity(),
            "typing": self.typing,
            "viewport": list(self.viewport),
            "headless": self.headless,
            "service_worker": self.service_worker,
            "profile": self.profile is not None,
            "browser": None if self.browser is None else Path(self.browser).name,
            "trace_buffer_kb": self.trace_buffer_kb,
        }
        if self.chat is not None:
            about = self.chat.identify()
            settings["chat"] = {"driver": about.driver, **about.settings}
            return Identity(driver="webchat", version=about.version, model=about.model, settings=settings)
        settings["chat"] = {
            "url": digest(self.url),
            "directory": None if self.directory is None else digest(str(self.directory)),
            "agent": self.agent,
            "session": self.session is not None,
        }
        assert self.model is None or isinstance(self.model, str)
        return Identity(driver="webchat", version=None, model=self.model, settings=settings)

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Start the arm's server, where one is started here; the browser starts with each run.

        Parameters
        ----------
        arm : Arm
            From the engine.

        Returns
        -------
        async context manager
            Gives what opens sessions; entered once per arm.

        Raises
        ------
        ConfigError
            The scenario says nothing, the browser is not found, or ``film`` is not to keep content.
        StartupError
            The server does not become ready.
        """
        from .webchatarm import open_arm

        if not arm.scenario.turns:
            raise ConfigError(
                f"the scenario {arm.scenario.name!r} has no turns, and nothing streams unasked; "
                'give Scenario(name, turns=["Explain foxes."])'
            )
        return open_arm(self, arm)
