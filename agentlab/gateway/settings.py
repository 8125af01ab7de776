"""Settings of a gateway; starting one is in :mod:`agentlab.gateway.live`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ..errors import ConfigError, GatewayError
from .checks import given, integer, number
from .script import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

    from ..wire.children import Children
    from .live import Live

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclasses.dataclass(frozen=True)
class Gateway:
    """Put a metered boundary between agents and a model.

    The gateway is a process of its own on the loopback interface. It accepts the agents' requests in their
    own dialect (OpenAI chat completions so far) and records each with its stamps, the structure of its
    prompt and its tokens.

    Parameters
    ----------
    upstream : ScriptedModel or str
        What answers: a scripted model, or a provider's base URL such as ``https://api.example.com/v1``, to
        which requests are passed on in their own dialect, truly streamed.
    key_env : str, optional
        Name of the environment variable that holds the provider's key. Only the gateway's process gets the
        key; it is never stored.
    max_requests : int, optional
        Requests over the gateway's life; further ones are refused with HTTP 400 and the reason ``limit``.
    max_seconds : float, optional
        Seconds from the start after which requests are refused likewise.
    mode : {"pass"}
        Requests go on as the agent sent them (usage is asked for in streams where the agent does not).
    price, budget_usd : None
        Not there yet.

    Raises
    ------
    ConfigError
        A setting is wrong or not there yet.

    Examples
    --------
    >>> Gateway(ScriptedModel.load("cache-probe")).mode
    'pass'
    """

    upstream: ScriptedModel | str
    price: None = dataclasses.field(default=None, kw_only=True)
    budget_usd: None = dataclasses.field(default=None, kw_only=True)
    max_requests: int | None = dataclasses.field(default=None, kw_only=True)
    max_seconds: float | None = dataclasses.field(default=None, kw_only=True)
    mode: Literal["pass"] = dataclasses.field(default="pass", kw_only=True)
    key_env: str | None = dataclasses.field(default=None, kw_only=True)
    _open: list[Live] = dataclasses.field(default_factory=list["Live"], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_upstream(self.upstream, self.key_env)
        for name in ("price", "budget_usd"):
            if getattr(self, name) is not None:
                raise ConfigError(f"Gateway({name}=...): prices and budgets are not there yet; leave it out")
        if given(self.mode) != "pass":
            raise ConfigError(f"Gateway(mode={self.mode!r}): only 'pass' is there so far")
        if self.max_requests is not None:
            integer("Gateway", "max_requests", self.max_requests, low=1)
        if self.max_seconds is not None:
            number("Gateway", "max_seconds", self.max_seconds, above=True)

    @property
    def env_names(self) -> tuple[str, ...]:
        """Names of the environment variables that the starting process needs."""
        return () if self.key_env is None else (self.key_env,)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON data; keys are never among them.

        Returns
        -------
        dict
        """
        model = self.upstream
        return {
            "upstream": {"url": model} if isinstance(model, str) else {"scripted": model.to_dict()},
            "max_requests": self.max_requests,
            "max_seconds": self.max_seconds,
            "mode": self.mode,
            "key_env": self.key_env,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Gateway:
        """Rebuild the settings from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            Plain data.

        Returns
        -------
        Gateway
        """
        data = dict(data)
        upstream = data.pop("upstream")
        model = ScriptedModel.from_dict(upstream["scripted"]) if "scripted" in upstream else upstream["url"]
        return cls(model, **data)

    async def start(
        self,
        folder: str | Path | None = None,
        *,
        keep: Literal["numbers", "content"] = "numbers",
        children: Children | None = None,
    ) -> Live:
        """Start the gateway's process.

        Parameters
        ----------
        folder : str or Path, optional
            Where requests that belong to no run are recorded, in ``gateway.jsonl`` (``gateway-2.jsonl`` ...
            when it exists); None: in a private folder that is removed at the end.
        keep : {"numbers", "content"}
            Whether prompts and answers are recorded too.
        children : Children, optional
            What the process is started with and ends with; None: its own.

        Returns
        -------
        Live
            The running gateway; end it with ``await live.close()``.

        Raises
        ------
        ConfigError
            The key's environment variable is not set, or the cache's rule cannot be imported.
        RecordingError
            The folder cannot be written to.
        StartupError
            The process did not become ready.
        """
        from .live import start

        return await start(self, folder=folder, keep=keep, children=children)

    async def __aenter__(self) -> Live:
        if self._open:
            raise GatewayError("this gateway is running already; for another one call gateway.start()")
        live = await self.start()
        self._open.append(live)
        return live

    async def __aexit__(self, *_: object) -> None:
        await self._open.pop().close()


def _check_upstream(upstream: object, key_env: object) -> None:
    if key_env is not None and not (isinstance(key_env, str) and key_env.isidentifier()):
        # The value is not shown: it may be the key itself.
        raise ConfigError("Gateway(key_env=...): give the name of an environment variable, not the key")
    if isinstance(upstream, ScriptedModel):
        if key_env is not None:
            raise ConfigError("Gateway(key_env=...): a scripted model needs no key")
        return
    if not isinstance(upstream, str):
        raise ConfigError(
            f"Gateway({type(upstream).__name__}): give a ScriptedModel or a provider's URL; tapes are not "
            "there yet"
        )
    url = urlsplit(upstream)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigError("Gateway(upstream=...): give a URL such as https://api.example.com/v1")
    if url.username or url.password or url.query or url.fragment:
        raise ConfigError("Gateway(upstream=...): give the URL without login, query or fragment; see key_env")
    if url.scheme == "http" and key_env is not None and url.hostname not in _LOOPBACK:
        raise ConfigError(f"Gateway({upstream!r}): a key is sent over https only")
