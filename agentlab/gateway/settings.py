"""Settings of a gateway; starting one is in :mod:`agentlab.gateway.live`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import SplitResult, urlsplit

from ..errors import ConfigError, GatewayError
from ..redact import shown
from .admission import Admit, admit_name
from .checks import given, integer, number
from .pinned import Pin
from .prices import Money, Price, money
from .script import ScriptedModel
from .tape import Tape

if TYPE_CHECKING:
    from pathlib import Path

    from ..wire.children import Children
    from .live import Live

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Where OpenSSL looks for authorities that are trusted besides or instead of the system's.
TRUST = ("SSL_CERT_DIR", "SSL_CERT_FILE")


@dataclasses.dataclass(frozen=True, repr=False)
class Gateway:
    """Put a metered boundary between agents and a model.

    The gateway is a process of its own on the loopback interface. It accepts the agents' requests in their
    own dialect (see :meth:`Live.base_url`) and records each with its stamps, the structure of its prompt, its
    tokens and, with a price, its money. What it refuses gets HTTP 400 with its dialect's own body for an
    invalid request, the one answer that every agent takes as final; the reason stands in the evidence.

    Parameters
    ----------
    upstream : ScriptedModel, Tape or str
        What answers: a scripted model, a tape, or a provider's base URL such as
        ``https://api.example.com/v1``, to which requests are passed on in their own dialect, truly streamed.
        Authorities that ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` name are trusted; proxies are not used.
    price : Price or mapping of str to Price, optional
        What tokens cost; by the model's name, when they differ: a model that is not among them is refused
        (``price``). On a scripted model it simulates the cost.
    budget_usd : Decimal, int, float or str, optional
        What may be spent, over all resumptions that use the same folder. What a request can cost at most is
        reserved before it is sent; one that does not fit is refused (``budget``).
    max_requests : int, optional
        Requests of one run, and outside of runs over the gateway's life; further ones are refused
        (``limit``).
    max_seconds : float, optional
        Wall clock of one run, and outside of runs of the gateway's life; likewise.
    mode : {"pass", "pinned"}
        ``"pass"``: requests go on as the agent sent them (usage is asked for in streams where the agent does
        not; with a price an output cap is set where there is none). ``"pinned"``: they say what ``pin`` says,
        and usage comes back in one spelling.
    bound : {"calibrated", "hard"}
        How many tokens an input is taken to have before it is sent. ``"hard"``: one for each byte.
        ``"calibrated"``: what was counted of an earlier request that this one begins as, and one for each
        byte of the rest; hard where there is none. Both add 1,000 for what providers put before a prompt. No
        text has more than either, so the budget holds however many requests are under way; calibrated, more
        of them fit at once, and into the last of the budget. Only what no byte shows can pass them, and then
        halts the gateway: a provider that ignores the output cap, a dearer service tier, images, files
        behind an address or an id, tools on the provider's side.
    tools : sequence of str, optional
        The tools that every agent must offer, exactly; requests with others are refused (``tools``). Requests
        without tools pass, for they can call none: titles, summaries.
    admit : str or callable, optional
        Decides on each request before its money is reserved: a function of an importable module (or its name,
        ``"module:function"``) that takes an :class:`~agentlab.gateway.admission.Asked` and returns True or
        None, or False or a text to refuse (``admission``). A refusal spends nothing and halts nothing. The
        agent is told the text, unless it may make it ask again (429, 500, "rate limit").
    max_output_tokens : int, default 16384
        Output cap of requests that name none, where there is a price: it is written into the request where
        its dialect has a place for it, else assumed.
    max_total_requests : int, optional
        Requests over the gateway's life, over all runs.
    pin : Pin, optional
        System text, tools and sampling of the pinned mode.
    key_env : str, optional
        Name of the environment variable that holds the provider's key. Only the gateway's process gets the
        key; it is never stored.

    Raises
    ------
    ConfigError
        A setting is wrong.

    Examples
    --------
    >>> Gateway(ScriptedModel.load("cache-probe")).mode
    'pass'
    >>> Gateway("https://api.example.com/v1", price=Price(3, 15), budget_usd="0.50").budget
    Decimal('0.50')
    """

    upstream: ScriptedModel | Tape | str
    price: Price | Mapping[str, Price] | None = dataclasses.field(default=None, kw_only=True)
    budget_usd: Money | None = dataclasses.field(default=None, kw_only=True)
    max_requests: int | None = dataclasses.field(default=None, kw_only=True)
    max_seconds: float | None = dataclasses.field(default=None, kw_only=True)
    mode: Literal["pass", "pinned"] = dataclasses.field(default="pass", kw_only=True)
    bound: Literal["calibrated", "hard"] = dataclasses.field(default="calibrated", kw_only=True)
    tools: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)
    admit: str | Admit | None = dataclasses.field(default=None, kw_only=True)
    max_output_tokens: int = dataclasses.field(default=16_384, kw_only=True)
    max_total_requests: int | None = dataclasses.field(default=None, kw_only=True)
    pin: Pin | None = dataclasses.field(default=None, kw_only=True)
    key_env: str | None = dataclasses.field(default=None, kw_only=True)
    _open: list[Live] = dataclasses.field(default_factory=list["Live"], init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        return shown(self)

    def __post_init__(self) -> None:
        _check_upstream(self.upstream, self.key_env)
        self._check_money()
        if given(self.mode) not in ("pass", "pinned"):
            raise ConfigError(f"Gateway(mode={self.mode!r}): write 'pass' or 'pinned'")
        if (self.mode == "pinned") != isinstance(given(self.pin), Pin):
            raise ConfigError("Gateway(mode='pinned', pin=Pin(...)): give both or neither")
        if given(self.bound) not in ("calibrated", "hard"):
            raise ConfigError(f"Gateway(bound={self.bound!r}): write 'calibrated' or 'hard'")
        for name in ("max_requests", "max_total_requests"):
            if getattr(self, name) is not None:
                integer("Gateway", name, getattr(self, name), low=1)
        integer("Gateway", "max_output_tokens", self.max_output_tokens, low=1)
        if self.max_seconds is not None:
            number("Gateway", "max_seconds", self.max_seconds, above=True)
        self._check_tools()
        if self.admit is not None:
            object.__setattr__(self, "admit", admit_name(self.admit))

    def _check_money(self) -> None:
        price = given(self.price)
        if isinstance(price, Mapping):
            table = dict(cast("Mapping[object, object]", price))
            fits = all(isinstance(k, str) and isinstance(v, Price) for k, v in table.items())
            object.__setattr__(self, "price", table)
        else:
            table, fits = None, price is None or isinstance(price, Price)
        if not fits or table == {}:
            raise ConfigError(
                "Gateway(price=...): give a Price(input=..., output=...), or {model: Price(...)}"
            )
        if self.budget_usd is None:
            return
        budget = money("Gateway", "budget_usd", self.budget_usd)
        if budget == 0:
            raise ConfigError("Gateway(budget_usd=0): give an amount above 0")
        if price is None and isinstance(self.upstream, str):
            raise ConfigError(
                f"Gateway(budget_usd={self.budget_usd}): without a price no spending is known; give price="
            )
        object.__setattr__(self, "budget_usd", budget)

    def _check_tools(self) -> None:
        if self.tools is None:
            return
        names: object = self.tools
        if isinstance(names, str) or not all(
            isinstance(name, str) for name in cast("Sequence[object]", names)
        ):
            raise ConfigError("Gateway(tools=...): give the names of the tools, e.g. ['read', 'bash']")
        object.__setattr__(self, "tools", tuple(self.tools))
        if not self.tools or len(set(self.tools)) < len(self.tools):
            raise ConfigError("Gateway(tools=...): give each tool's name once")
        pinned = None if self.pin is None else self.pin.tool_names
        if pinned is not None and sorted(pinned) != sorted(self.tools):
            raise ConfigError("Gateway(tools=...): these are not the tools of pin=; leave tools= out")

    @property
    def prices(self) -> Price | Mapping[str, Price] | None:
        """What tokens cost; what has a budget and no price is no provider, and free."""
        if self.price is None and self.budget_usd is not None:
            return Price(0, 0, source="nothing that is paid for")
        return self.price

    @property
    def budget(self) -> Decimal | None:
        """The budget in exact decimals, USD."""
        return None if self.budget_usd is None else money("Gateway", "budget_usd", self.budget_usd)

    @property
    def tool_set(self) -> tuple[str, ...] | None:
        """Names of the tools that every agent must offer; None: any."""
        if self.tools is not None:
            return tuple(self.tools)
        return None if self.pin is None else self.pin.tool_names

    @property
    def env_names(self) -> tuple[str, ...]:
        """Names of the environment variables that the starting process takes along."""
        return TRUST if self.key_env is None else (*TRUST, self.key_env)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON data; keys are never among them.

        Returns
        -------
        dict
        """
        model = self.upstream
        return {
            "upstream": {_kind(model): model if isinstance(model, str) else model.to_dict()},
            "price": price_to_dict(self.price),
            "budget_usd": None if self.budget is None else format(self.budget, "f"),
            "max_requests": self.max_requests,
            "max_seconds": self.max_seconds,
            "mode": self.mode,
            "bound": self.bound,
            "tools": None if self.tools is None else list(self.tools),
            "admit": self.admit,
            "max_output_tokens": self.max_output_tokens,
            "max_total_requests": self.max_total_requests,
            "pin": None if self.pin is None else self.pin.to_dict(),
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
        model = upstream.get("url")
        if model is None:
            model = (
                Tape(**upstream["tape"])
                if "tape" in upstream
                else ScriptedModel.from_dict(upstream["scripted"])
            )
        data["price"] = _price_from_dict(data.get("price"))
        if data.get("pin") is not None:
            data["pin"] = Pin(**data["pin"])
        return cls(model, **data)

    async def start(
        self,
        folder: str | Path | None = None,
        *,
        keep: Literal["numbers", "content"] = "numbers",
        children: Children | None = None,
        account: str = "gateway",
        total_usd: Decimal | None = None,
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
        account : str
            Whose rows it writes in the folder's ``ledger.jsonl``, which all gateways of a study share, over
            all its resumptions; ``budget_usd`` is the limit of this account.
        total_usd : Decimal, optional
            Limit of all accounts of that file together.

        Returns
        -------
        Live
            The running gateway; end it with ``await live.close()``.

        Raises
        ------
        ConfigError
            The key's environment variable is not set, or the cache's rule or ``admit`` cannot be imported.
        RecordingError
            The folder cannot be written to, or its ledger cannot be read.
        StartupError
            The process did not become ready.
        """
        from .live import start

        return await start(
            self, folder=folder, keep=keep, children=children, account=account, total_usd=total_usd
        )

    async def __aenter__(self) -> Live:
        if self._open:
            raise GatewayError("this gateway is running already; for another one call gateway.start()")
        live = await self.start()
        self._open.append(live)
        return live

    async def __aexit__(self, *_: object) -> None:
        await self._open.pop().close()


def _kind(upstream: ScriptedModel | Tape | str) -> str:
    if isinstance(upstream, str):
        return "url"
    return "tape" if isinstance(upstream, Tape) else "scripted"


def price_to_dict(price: Price | Mapping[str, Price] | None) -> dict[str, Any] | None:
    """Return prices as plain JSON data.

    Parameters
    ----------
    price : Price or mapping of str to Price or None
        One for all models, or by the model's name.

    Returns
    -------
    dict or None
    """
    if price is None or isinstance(price, Price):
        return None if price is None else price.to_dict()
    return {"models": {model: one.to_dict() for model, one in price.items()}}


def _price_from_dict(data: Mapping[str, Any] | None) -> Price | dict[str, Price] | None:
    if data is None:
        return None
    if "models" in data:
        return {model: Price.from_dict(one) for model, one in data["models"].items()}
    return Price.from_dict(data)


def _check_upstream(upstream: object, key_env: object) -> None:
    if key_env is not None and not (isinstance(key_env, str) and key_env.isidentifier()):
        # The value is not shown: it may be the key itself.
        raise ConfigError("Gateway(key_env=...): give the name of an environment variable, not the key")
    if isinstance(upstream, ScriptedModel | Tape):
        if key_env is not None:
            raise ConfigError("Gateway(key_env=...): a scripted model or a tape needs no key")
        return
    if not isinstance(upstream, str):
        raise ConfigError(
            f"Gateway({type(upstream).__name__}): give a provider's URL as text, or a model that runs here, "
            "ScriptedModel.load('cache-probe'), also of a script's path, or Tape('studies/...')"
        )
    url = _address(upstream)
    if url is None:
        raise ConfigError(
            "Gateway(upstream=...): give a URL such as https://api.example.com/v1, or a model that runs "
            "here, ScriptedModel.load('cache-probe')"
        )
    if url.username or url.password or url.query or url.fragment:
        raise ConfigError("Gateway(upstream=...): give the URL without login, query or fragment; see key_env")
    if url.scheme == "http" and key_env is not None and url.hostname not in _LOOPBACK:
        raise ConfigError(f"Gateway({upstream!r}): a key is sent over https only")


def _address(text: str) -> SplitResult | None:
    """Read a URL; None: it leads to no host."""
    try:
        url = urlsplit(text)
        host = (url.hostname or "").encode("idna")
        leads = url.scheme in ("http", "https") and url.port != 0
    except ValueError:  # a port or a name that cannot be
        return None
    return url if leads and host and not any(map(str.isspace, text)) else None
