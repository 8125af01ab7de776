"""Settings of a gateway; starting one is in :mod:`agentlab.gateway.live`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError
from .script import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

    from .live import Live


@dataclasses.dataclass(frozen=True)
class Gateway:
    """Put a metered boundary between agents and a model.

    The gateway is a process of its own on the loopback interface. It accepts the agents' requests in their own
    dialect (OpenAI chat completions so far) and records each with its stamps, prompt structure and tokens.

    Parameters
    ----------
    upstream : ScriptedModel
        What answers. A provider's URL and a tape are not there yet.
    max_requests : int, optional
        Requests over the gateway's life; further ones are refused with HTTP 400 and the reason ``limit``.
    max_seconds : float, optional
        Seconds from the start after which requests are refused likewise.
    mode : {"pass"}
        Requests go on as the agent sent them.
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

    upstream: ScriptedModel
    price: None = dataclasses.field(default=None, kw_only=True)
    budget_usd: None = dataclasses.field(default=None, kw_only=True)
    max_requests: int | None = dataclasses.field(default=None, kw_only=True)
    max_seconds: float | None = dataclasses.field(default=None, kw_only=True)
    mode: Literal["pass"] = dataclasses.field(default="pass", kw_only=True)
    _open: list[Live] = dataclasses.field(default_factory=list["Live"], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.upstream, ScriptedModel):
            raise ConfigError(
                f"Gateway({type(self.upstream).__name__}): give a ScriptedModel; provider URLs and tapes as "
                "upstream are not there yet"
            )
        for name in ("price", "budget_usd"):
            if getattr(self, name) is not None:
                raise ConfigError(f"Gateway({name}=...): prices and budgets are not there yet; leave it out")
        if self.mode != "pass":
            raise ConfigError(f"Gateway(mode={self.mode!r}): only 'pass' is there so far")
        _check_limit("max_requests", self.max_requests, int)
        _check_limit("max_seconds", self.max_seconds, float)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON data.

        Returns
        -------
        dict
        """
        return {
            "upstream": {"scripted": self.upstream.to_dict()},
            "max_requests": self.max_requests,
            "max_seconds": self.max_seconds,
            "mode": self.mode,
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
        return cls(ScriptedModel.from_dict(upstream["scripted"]), **data)

    async def start(
        self, folder: str | Path | None = None, *, keep: Literal["numbers", "content"] = "numbers"
    ) -> Live:
        """Start the gateway's process.

        Parameters
        ----------
        folder : str or Path, optional
            Where requests that belong to no run are recorded, in ``gateway.jsonl``; None: in a private
            folder that is removed at the end.
        keep : {"numbers", "content"}
            Whether prompts and answers are recorded too.

        Returns
        -------
        Live
            The running gateway; end it with ``await live.close()``.

        Raises
        ------
        StartupError
            The process did not become ready.
        """
        from .live import start

        return await start(self, folder=folder, keep=keep)

    async def __aenter__(self) -> Live:
        live = await self.start()
        self._open.append(live)
        return live

    async def __aexit__(self, *_: object) -> None:
        await self._open.pop().close()


def _check_limit(name: str, value: object, kind: type) -> None:
    wanted = (int,) if kind is int else (int, float)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, wanted) or not 0 < value < float("inf"):
        raise ConfigError(f"Gateway({name}={value!r}): give a number above 0 or None")
