"""OpenCode over HTTP and server-sent events."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ...agents.opencode import SAFE_PERMISSIONS, VERSION, split_model
from ...errors import AgentlabWarning, ConfigError
from ...scenario import digest, fingerprint
from ..base import Arm, Identity, Opened, RunsAlone

if TYPE_CHECKING:
    from ...gateway import Gateway

NO_GATEWAY = "a server that runs already asks its own provider; leave url away, or measure without a gateway"


_PLACE = re.compile(r"\{[a-z_]+\}")
_ANSWERS = ("allow", "ask", "deny")


@dataclasses.dataclass(frozen=True)
class OpenCode(RunsAlone):
    """Run OpenCode: one isolated server per arm (or per run), one fresh session per run.

    Parameters
    ----------
    model : str
        ``"provider/model"``. Behind a gateway any name; else a provider that OpenCode or ``config`` knows.
    agent : str, default "build"
        Agent of every prompt.
    plugins : sequence of str or path
        Local plugins by path or ``file://`` URL.
    config : mapping
        Merged over the generated ``opencode.json``.
    system : str, optional
        System text of every prompt, added to the agent's own; ``{turn}`` is replaced by the turn's number.
    permissions : mapping or str
        OpenCode's ``permission``. The default never asks and never leaves the workspace.
    snapshot : bool, default False
        Whether OpenCode commits the workspace in git around each step (dearer by about 0.1 CPU-s a prompt).
    title : str or None, default "agentlab"
        Title of the sessions. None lets OpenCode ask the model for one: one more request a session.
    workspace : path, optional
        Folder that is copied afresh for each run; a small generated project when absent.
    server : {"arm", "run"}
        One server for all runs of the arm, or a fresh one for each.
    url : str, optional
        Use a server that runs already. It is not configured here, so no gateway can stand before its model,
        and not ended.
    auth : (user, password), optional
        HTTP Basic credentials of that server; never stored.
    headers : sequence of (name, value)
        Sent with every request; never stored.
    gateway : Gateway, optional
        Model boundary of this arm; goes before that of ``record``.
    version : str
        Version of OpenCode; install it with ``agentlab.install("opencode")``.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> OpenCode("lab/scripted", system="Turn {turn} of the day.").identify().driver
    'opencode'
    """

    model: str
    _: dataclasses.KW_ONLY
    agent: str = "build"
    plugins: Sequence[str | Path] = ()
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
    gateway: Gateway | None = None
    version: str = VERSION

    def __post_init__(self) -> None:
        split_model(self.model)
        if self.server not in ("arm", "run"):
            raise ConfigError(f"OpenCode(server={self.server!r}): write 'arm' or 'run'")
        if not self.agent.strip():
            raise ConfigError("OpenCode(agent=''): name an agent, e.g. 'build'")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"OpenCode(url={self.url!r}): write http://HOST:PORT")
        if self.url is not None and self.gateway is not None:
            raise ConfigError(f"OpenCode(url=..., gateway=...): {NO_GATEWAY}")
        if self.workspace is not None and not Path(self.workspace).is_dir():
            raise ConfigError(f"OpenCode(workspace={str(self.workspace)!r}): there is no such folder")
        if self.system is not None and (odd := set(_PLACE.findall(self.system)) - {"{turn}"}):
            text = f"OpenCode(system=...): {sorted(odd)[0]} is sent as it stands; only {{turn}} is replaced"
            warnings.warn(text, AgentlabWarning, stacklevel=3)
        _check_permissions(self.permissions)
        if self.auth is not None:
            user, password = self.auth
            object.__setattr__(self, "auth", (str(user), str(password)))
        pairs = tuple((str(name), str(value).strip()) for name, value in self.headers)
        object.__setattr__(self, "headers", pairs)
        object.__setattr__(self, "plugins", tuple(self.plugins))

    def identify(self) -> Identity:
        """Say what is measured; nothing private is in it.

        Returns
        -------
        Identity
            Texts of the user as digests and lengths, folders by name only.
        """
        settings: dict[str, Any] = {
            "agent": self.agent,
            "plugins": [_of_path(Path(str(plugin).removeprefix("file://"))) for plugin in self.plugins],
            "config": digest(dict(self.config)) if self.config else None,
            "system": None if self.system is None else fingerprint(self.system),
            "permissions": self.permissions if isinstance(self.permissions, str) else dict(self.permissions),
            "snapshot": self.snapshot,
            "title": self.title is not None,
            "workspace": None if self.workspace is None else _of_path(Path(self.workspace)),
            "server": self.server,
            "attached": None if self.url is None else digest(self.url),
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
        StartupError
            The server does not become ready, or lacks the agent or the model.
        """
        from .server import open_arm

        return open_arm(self, arm)


def _check_permissions(permissions: Mapping[str, Any] | str) -> None:
    """Refuse what OpenCode would answer with an error only after it was started."""
    rules: list[Any] = [permissions]
    while rules:
        rule = rules.pop()
        if isinstance(rule, Mapping):
            rules += cast("Mapping[str, Any]", rule).values()
        elif rule not in _ANSWERS:
            answers = ", ".join(_ANSWERS)
            raise ConfigError(f"OpenCode(permissions=...): {rule!r} is none of {answers}")


def _of_path(path: Path) -> dict[str, Any]:
    """Return what tells one file or folder from another: its name, and a digest of all that is in it."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    held = [
        (str(p.relative_to(path)), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files if p.is_file()
    ]
    return {"name": path.name, "digest": digest(held)}
