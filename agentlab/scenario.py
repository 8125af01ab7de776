"""What is asked of an agent: prompts, requirements, deadlines."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any, Literal, cast

from .errors import AgentlabWarning, ConfigError, did_you_mean
from .redact import shown

_PLACE = re.compile(r"\{([A-Za-z_]+)\}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Bound the phases of a run, in seconds.

    Parameters
    ----------
    start : float, default 30
        Until a server or agent is ready.
    prompt : float, default 600
        Until a turn is complete.
    stall : float, default 60
        Longest silence inside a turn; heartbeats do not count.
    cleanup : float, default 10
        For a normal end. On Cancel, interrupt or loss of the owner it is 1.5 s, then processes are killed.

    Examples
    --------
    >>> Timeouts(stall=5).prompt
    600
    """

    start: float = 30
    prompt: float = 600
    stall: float = 60
    cleanup: float = 10

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
                raise ConfigError(f"Timeouts({field.name}={value!r}): give a number of seconds above 0")


@dataclasses.dataclass(frozen=True, repr=False)
class Scenario:
    """Describe one measured task: what is said to the agent and what makes a run usable.

    Parameters
    ----------
    name : str
        Short name; the default study folder begins with it.
    turns : sequence of str
        Prompts, one a turn. ``{nonce}`` is replaced by a fresh value for each run, which is never stored.
    require : sequence of str, optional
        ``"text"`` (the last turn ends with visible text) and ``"tool:NAME"`` (a completed call). A run that
        misses one gets an issue with ``discard``.
    timeouts : Timeouts, optional
        Deadlines.
    settle_s : float, default 0
        Seconds between the opening of a session and its first turn.
    tail_s : float, default 0
        Seconds of capture after the last turn.
    warmup : {"none", "original"}
        Rows flagged ``warmup``: none, or request 1 and turn 1 of each session (the rule of the original
        cache report). The only turn of a scenario is never warm-up.

    Examples
    --------
    >>> Scenario("hello", turns=["Say hello."]).warmup
    'none'
    """

    name: str
    turns: Sequence[str] = ()
    require: Sequence[str] = dataclasses.field(default=(), kw_only=True)
    timeouts: Timeouts = dataclasses.field(default=Timeouts(), kw_only=True)
    settle_s: float = dataclasses.field(default=0.0, kw_only=True)
    tail_s: float = dataclasses.field(default=0.0, kw_only=True)
    warmup: Literal["none", "original"] = dataclasses.field(default="none", kw_only=True)

    def __repr__(self) -> str:
        return shown(self)

    def __post_init__(self) -> None:
        if not self.name or self.name.strip(".") == "" or any(c in self.name for c in "/\\\0\n"):
            raise ConfigError(f"Scenario({self.name!r}): give a short name without slashes")
        for field in ("turns", "require"):
            values = getattr(self, field)
            if isinstance(values, str) or not all(isinstance(v, str) and v.strip() for v in values):
                raise ConfigError(f"Scenario({field}={values!r}): give a list of non-empty strings")
            object.__setattr__(self, field, tuple(values))
        for need in self.require:
            if need != "text" and not (need.startswith("tool:") and len(need) > 5):
                raise ConfigError(f"Scenario(require={need!r}): write 'text' or 'tool:NAME'")
        if not isinstance(cast("Any", self.timeouts), Timeouts):
            raise ConfigError(f"Scenario(timeouts={self.timeouts!r}): give Timeouts(prompt=..., stall=...)")
        _warn_of_misspelt_places(self.turns)
        for field in ("settle_s", "tail_s"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 86_400:
                raise ConfigError(f"Scenario({field}={value!r}): give seconds from 0")
        if self.warmup not in ("none", "original"):
            raise ConfigError(f"Scenario(warmup={self.warmup!r}): write 'none' or 'original'")

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as plain JSON data.

        Returns
        -------
        dict
            Field by field; ``timeouts`` nested.
        """
        return cast("dict[str, Any]", json.loads(json.dumps(dataclasses.asdict(self))))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scenario:
        """Rebuild a scenario from :meth:`to_dict`.

        Parameters
        ----------
        data : dict
            Plain data.

        Returns
        -------
        Scenario
        """
        data = dict(data)
        timeouts = Timeouts(**data.pop("timeouts", {}))
        return cls(data.pop("name"), data.pop("turns", ()), timeouts=timeouts, **data)


def _warn_of_misspelt_places(turns: Sequence[str]) -> None:
    for place in dict.fromkeys(found for turn in turns for found in _PLACE.findall(turn)):
        if place != "nonce" and (place == "turn" or did_you_mean(place, ["nonce"])):
            warnings.warn(
                f"Scenario(turns=...): {{{place}}} is sent as it stands; only {{nonce}} is replaced",
                AgentlabWarning,
                stacklevel=4,
            )


def digest(data: Any) -> str:  # noqa: ANN401
    """Return a short digest of plain data that does not depend on the order of keys.

    Parameters
    ----------
    data : JSON data
        Numbers, strings, lists, dicts.

    Returns
    -------
    str
        16 hexadecimal digits of SHA-256.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(text: str) -> dict[str, Any]:
    """Return what may be stored of a private text: its digest and length.

    Parameters
    ----------
    text : str
        A prompt or system text.

    Returns
    -------
    dict
        ``sha256`` (16 hexadecimal digits) and ``n_chars``.
    """
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()[:16], "n_chars": len(text)}
