"""OpenCode over HTTP and server-sent events."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...agents.base import split_model
from ...agents.opencode import SAFE_PERMISSIONS, VERSION
from ...agents.plugins import Given, find_plugin
from ...errors import AgentlabWarning, ConfigError
from ...scenario import digest, fingerprint
from .. import workspace
from ..base import Arm, Identity, Opened, RunsAlone, check_kinds
from . import checks

if TYPE_CHECKING:
    from ...gateway import Gateway

_PLACE = re.compile(r"\{[a-z_]+\}")
#: What only a server that is started here can be given.
_OURS = ("plugins", "config", "permissions", "snapshot", "workspace", "server", "version")


@dataclasses.dataclass(frozen=True, repr=False)
class OpenCode(RunsAlone):
    """Run OpenCode: one isolated server per arm (or per run), one fresh session per run.

    Parameters
    ----------
    model : str
        ``"provider/model"``. Behind a gateway any name; else a provider that OpenCode or ``config`` knows.
    agent : str, default "build"
        Agent of every prompt: one of OpenCode's, of a plugin, or of ``config={"agent": {...}}``.
    plugins : sequence of str, path or (str or path, settings)
        ``"oh-my-opencode-slim"`` or ``"oh-my-opencode-slim@VERSION"`` once it is installed with
        :func:`agentlab.install`; others by the path of their file or package folder. Their files are part of
        the arm's identity. One that does not load is a StartupError.
    config : mapping
        Merged over the generated ``opencode.json``; e.g. ``{"agent": {"terse": {"mode": "primary",
        "prompt": "..."}}}``.
    system : str, optional
        System text of every prompt, added to the agent's own; ``{turn}`` is replaced by the turn's number.
    permissions : mapping or str
        OpenCode's ``permission``. The default never asks and never leaves the workspace.
    snapshot : bool, default False
        Whether OpenCode commits the workspace in git around each step (dearer by about 0.1 CPU-s a prompt).
    title : str or None, default "agentlab"
        Title of the sessions. None lets OpenCode ask the model for one: one more request a session.
    workspace : path or str, optional
        Folder that is copied afresh for each run, or ``"git+PATH@REF"``, a commit of a local repository that
        is checked out cleanly for each (no later history, no remote, no submodules). A small generated
        project when absent.
    server : {"arm", "run"}
        One server for all runs of the arm, or a fresh one for each.
    url : str, optional
        Use a server that runs already, by ``http`` or ``https`` (``SSL_CERT_FILE`` names authorities of one's
        own; proxies are not used). It is not configured here, so no gateway can stand before its model, what
        it runs with is unknown (issue ``foreign_server``), and it is not ended. Sessions made there are
        deleted.
    auth : (user, password), optional
        HTTP Basic credentials of that server; held in memory only.
    headers : sequence of (name, value)
        Sent with every request to that server, the same name also twice; held in memory only.
    build : str, optional
        What you call the build that runs there, e.g. of a plugin: two builds are two arms.
    retries : int, default 2
        How often a call to that server is repeated after a broken connection, HTTP 429 or 5xx. Only what
        reads, and the creation of a session when none can have been made; never a prompt.
    retry_delay_s : float, default 0.5
        Before the first repetition, seconds; doubled for each further one.
    gateway : Gateway, optional
        Model boundary of this arm; goes before that of ``record``.
    version : str
        Version of OpenCode; install it with ``agentlab.install("opencode")``.

    Raises
    ------
    ConfigError
        A setting is wrong, or does not go with ``url``.
    StartupError
        A plugin is not installed.

    Examples
    --------
    >>> OpenCode("lab/scripted", system="Turn {turn} of the day.").identify().driver
    'opencode'
    """

    model: str
    _: dataclasses.KW_ONLY
    agent: str = "build"
    plugins: Sequence[Given] = ()
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    system: str | None = None
    permissions: Mapping[str, Any] | str = dataclasses.field(default_factory=lambda: dict(SAFE_PERMISSIONS))
    snapshot: bool = False
    title: str | None = "agentlab"
    workspace: str | Path | None = None
    server: Literal["arm", "run"] = "arm"
    url: str | None = None
    auth: tuple[str, str] | None = dataclasses.field(default=None, repr=False)
    headers: Sequence[tuple[str, str]] = dataclasses.field(default=(), repr=False)
    build: str | None = None
    retries: int = 2
    retry_delay_s: float = 0.5
    gateway: Gateway | None = None
    version: str = VERSION

    def __post_init__(self) -> None:
        check_kinds(self)
        checks.check_kinds(self)
        split_model("OpenCode", self.model)
        if self.server not in ("arm", "run"):
            raise ConfigError(f"OpenCode(server={self.server!r}): write 'arm' or 'run'")
        if not self.agent.strip():
            raise ConfigError("OpenCode(agent=''): name an agent, e.g. 'build'")
        if self.system is not None and (odd := set(_PLACE.findall(self.system)) - {"{turn}"}):
            text = f"OpenCode(system=...): {sorted(odd)[0]} is sent as it stands; only {{turn}} is replaced"
            warnings.warn(text, AgentlabWarning, stacklevel=3)
        checks.check_permissions(self.permissions)
        checks.check_config(self.config)
        if self.workspace is not None:
            object.__setattr__(self, "workspace", workspace.checked(self.workspace))
        if not isinstance(self.plugins, list | tuple):
            raise ConfigError("OpenCode(plugins=...): give a list of plugins")
        object.__setattr__(self, "plugins", tuple(self.plugins))
        for plugin in self.plugins:
            find_plugin(plugin)
        object.__setattr__(self, "headers", checks.checked_headers(self.headers))
        if self.auth is not None:
            object.__setattr__(self, "auth", checks.checked_auth(self.auth))
            if "authorization" in [name.lower() for name, _ in self.headers]:
                raise ConfigError("OpenCode(auth=..., headers=...): both say who asks; give one of them")
        self._check_url()

    def _check_url(self) -> None:
        """Refuse settings without effect: who gives them believes that they hold."""
        if self.retries < 0 or not 0 <= self.retry_delay_s < float("inf"):
            raise ConfigError("OpenCode(retries=..., retry_delay_s=...): give numbers from 0")
        if self.url is None:
            only = [name for name in ("auth", "headers", "build") if getattr(self, name)]
            if only:
                raise ConfigError(f"OpenCode({only[0]}=...): only for a server that runs already; give url=")
            return
        object.__setattr__(self, "url", checks.checked_url(self.url))
        if self.gateway is not None:
            raise ConfigError(f"OpenCode(url=..., gateway=...): {checks.NO_GATEWAY}")
        plain = OpenCode(self.model)
        given = [name for name in _OURS if getattr(self, name) != getattr(plain, name)]
        if given:
            raise ConfigError(
                f"OpenCode(url=..., {given[0]}=...): has no effect on a server that runs already; "
                "start it so, and leave the setting away"
            )

    def identify(self) -> Identity:
        """Say what is measured; nothing private is in it.

        Returns
        -------
        Identity
            Texts of the user as digests and lengths, folders by name only. Of a server that runs already,
            version and settings are None: unknown.

        Raises
        ------
        ConfigError, StartupError
            A plugin or the workspace is gone.
        """
        settings: dict[str, Any] = {
            "agent": self.agent,
            "system": None if self.system is None else fingerprint(self.system),
            "title": self.title is not None,
        }
        if self.url is not None:
            settings |= {name: None for name in _OURS if name != "version"}
            settings |= {"attached": digest(self.url), "build": self.build}
            settings |= {"retries": self.retries, "retry_delay_s": self.retry_delay_s}
            return Identity(driver="opencode", version=None, model=self.model, settings=settings)
        settings |= {
            "plugins": [find_plugin(plugin).identity() for plugin in self.plugins],
            "config": digest(dict(self.config)) if self.config else None,
            "permissions": self.permissions if isinstance(self.permissions, str) else dict(self.permissions),
            "snapshot": self.snapshot,
            "workspace": workspace.identity(self.workspace),
            "server": self.server,
            "attached": None,
        }
        return Identity(driver="opencode", version=self.version, model=self.model, settings=settings)

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Start the arm's server and warm it up.

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
            The scenario says nothing.
        StartupError
            The server does not become ready, or lacks the agent or the model.
        """
        from .server import open_arm

        if not arm.scenario.turns:
            raise ConfigError(
                f"the scenario {arm.scenario.name!r} has no turns, and OpenCode does nothing unasked; "
                'give Scenario(name, turns=["Say hello."])'
            )

        return open_arm(self, arm)
