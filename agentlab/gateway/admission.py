"""Whether a request may pass: each check in its order, before anything is spent."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ..errors import ConfigError

if TYPE_CHECKING:
    from .attribution import Owner
    from .dialects.base import ModelRequest

_LONGEST = 200


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """Tell an ``admit`` function about the request it decides on.

    Parameters
    ----------
    request : int
        Number of the request, 1-based over the gateway's life.
    run_id, arm : str or None
        Its run.
    n_before : int
        Requests of the run that were sent before it.
    run_s : float
        Seconds since the run began.
    dialect, model, session : str or None
        As the request says.
    tool_names : tuple of str
        Tools it offers.
    roles : tuple of str
        Role of each message of its history.
    body_bytes : int
        Its size.
    max_output_tokens : int or None
        Its output cap.
    committed_usd : Decimal
        What is charged and reserved so far.
    """

    request: int
    run_id: str | None
    arm: str | None
    n_before: int
    run_s: float
    dialect: str
    model: str | None
    session: str | None
    tool_names: tuple[str, ...]
    roles: tuple[str, ...]
    body_bytes: int
    max_output_tokens: int | None
    committed_usd: Decimal


Admit = Callable[[Asked], "bool | str | None"]


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Say why a request does not pass.

    Parameters
    ----------
    reason : str
        ``"balance"``, ``"ledger"``, ``"limit"``, ``"tools"``, ``"admission"``, ``"price"`` or ``"budget"``;
        ``"invalid_body: ..."``, ``"upstream_unreachable: ..."`` and the like, with what happened.
    message : str
        What the agent is told beside its code, unless that would make it ask again; no evidence.
    """

    reason: str
    message: str = ""

    @property
    def code(self) -> str:
        """The reason alone."""
        return self.reason.partition(":")[0]

    @property
    def ending(self) -> str | None:
        """How it ends a run: a value of ``_ENDINGS``, or None: not at all."""
        return _ENDINGS.get(self.code)

    def __str__(self) -> str:
        if not self.message:
            return self.reason
        return self.code if _ASKS_AGAIN.search(self.message) else f"{self.code}: {self.message}"


#: By such numbers and words, whatever the status, OpenCode takes an error for one that is worth another try.
_ASKS_AGAIN = re.compile(
    r"429|5[02]\d|rate.?limit|rate increased|too many|overload|unavailable|at capacity|exhausted|terminated"
    r"|(internal|server|network|returned).error|connect|socket|fetch|get.?addr|not.?found|eai|econn|time.{0,2}.?out"
    r"|again|retry",
    re.IGNORECASE,
)
_ENDINGS = {
    **{code: code for code in ("budget", "balance", "limit")},
    "ledger": "error",
    "upstream_redirect": "upstream",
    "upstream_unreachable": "upstream",
}


class Admission:
    """Decide on requests.

    Parameters
    ----------
    max_requests : int or None
        Requests of one run; outside of runs, of the gateway's life.
    max_total_requests : int or None
        Requests of the gateway's life.
    max_seconds : float or None
        Wall clock of one run; outside of runs, of the gateway's life.
    tools : tuple of str or None
        The pinned set of tools.
    admit : callable or None
        Of the user.
    t : int
        Stamp of the gateway's start, ns.
    """

    def __init__(
        self,
        *,
        max_requests: int | None,
        max_total_requests: int | None,
        max_seconds: float | None,
        tools: tuple[str, ...] | None,
        admit: Admit | None,
        t: int,
    ) -> None:
        self._most, self._most_total = max_requests, max_total_requests
        self._seconds = max_seconds
        self._tools = None if tools is None else sorted(tools)
        self._admit = admit
        self._started: dict[str | None, int] = {None: t}
        self._sent: dict[str | None, int] = {}
        self._total = 0

    def begin(self, run_id: str, *, t: int) -> None:
        """Start a run's clock.

        Parameters
        ----------
        run_id : str
            The run.
        t : int
            Stamp, ns.
        """
        self._started.setdefault(run_id, t)

    def sent(self, owner: Owner) -> None:
        """Count a request that is sent.

        Parameters
        ----------
        owner : Owner
            Its run.
        """
        self._sent[owner.run_id] = self._sent.get(owner.run_id, 0) + 1
        self._total += 1

    def over(self, owner: Owner, *, t: int) -> Refusal | None:
        """Check the caps; what comes between the runs of a study is not limited by those of a run.

        Parameters
        ----------
        owner : Owner
            Whose request it is.
        t : int
            Stamp, ns.

        Returns
        -------
        Refusal or None
        """
        if self._most_total is not None and self._total >= self._most_total:
            return Refusal("limit", "all requests of this gateway were made")
        if owner.warm_up:
            return None
        if self._most is not None and self._sent.get(owner.run_id, 0) >= self._most:
            return Refusal("limit", "all requests of the run were made")
        if self._seconds is not None and self._run_s(owner, t) > self._seconds:
            return Refusal("limit", "the time of the run is over")
        return None

    def unfit(
        self,
        request: ModelRequest,
        *,
        number: int,
        owner: Owner,
        dialect: str,
        session: str | None,
        body_bytes: int,
        t: int,
        committed: Decimal,
    ) -> Refusal | None:
        """Check the pinned tools, and ask the user's function.

        A request that offers no tools passes the first check: it can call none. Titles, summaries and
        compactions are such requests.

        Parameters
        ----------
        request : ModelRequest
            What is asked.
        number : int
            Of the request.
        owner : Owner
            Its run.
        dialect : str
            Its wire.
        session : str or None
            The agent's session.
        body_bytes : int
            Its size.
        t : int
            Stamp, ns.
        committed : Decimal
            What is charged and reserved, USD.

        Returns
        -------
        Refusal or None
        """
        names = request.tool_names
        if self._tools is not None and names and sorted(names) != self._tools:
            return Refusal("tools", "its tools are not the pinned ones")
        if self._admit is None:
            return None
        asked = Asked(
            request=number,
            run_id=owner.run_id,
            arm=owner.arm,
            n_before=self._sent.get(owner.run_id, 0),
            run_s=self._run_s(owner, t),
            dialect=dialect,
            model=request.model,
            session=session,
            tool_names=names,
            roles=request.roles,
            body_bytes=body_bytes,
            max_output_tokens=request.max_output_tokens,
            committed_usd=committed,
        )
        try:
            said = self._admit(asked)
        except (Exception, SystemExit) as error:  # the user's code must not open the gate, nor end it
            return Refusal("admission", f"the admit function raised {type(error).__name__}")
        if said is None or said is True:
            return None
        return Refusal("admission", said[:_LONGEST] if isinstance(said, str) else "")

    def _run_s(self, owner: Owner, t: int) -> float:
        return (t - self._started.get(owner.run_id, self._started[None])) / 1e9


def load_admit(name: str | None) -> Admit | None:
    """Import the user's function.

    Parameters
    ----------
    name : str or None
        ``"module:function"``.

    Returns
    -------
    callable or None

    Raises
    ------
    ConfigError
        It cannot be imported.
    """
    if name is None:
        return None
    module, _, function = name.partition(":")
    try:
        found: Any = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"Gateway(admit={name!r}): it cannot be imported: {error}") from error
    if not callable(found) or inspect.iscoroutinefunction(found):
        raise ConfigError(f"Gateway(admit={name!r}): it is no plain function")
    return cast("Admit", found)


def admit_name(admit: object) -> str:
    """Return ``"module:function"`` of what was given: the gateway's process has to find it by name.

    Parameters
    ----------
    admit : str or callable
        The setting.

    Returns
    -------
    str
    """
    if isinstance(admit, str):
        module, colon, function = admit.partition(":")
        if colon and function.isidentifier() and all(part.isidentifier() for part in module.split(".")):
            return admit
        raise ConfigError(f"Gateway(admit={admit!r}): write 'module:function'")
    if inspect.iscoroutinefunction(admit):
        raise ConfigError(f"Gateway(admit={admit!r}): an async function cannot decide; write a plain one")
    module, name = getattr(admit, "__module__", None), str(getattr(admit, "__qualname__", ""))
    if not callable(admit) or not module or module == "__main__" or not name.isidentifier():
        raise ConfigError(
            f"Gateway(admit={admit!r}): the gateway's process imports it by name, so write it as a function "
            "of a module, not in the notebook or as a lambda"
        )
    return f"{module}:{name}"
