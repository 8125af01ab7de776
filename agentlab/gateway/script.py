"""Settings of a scripted model: what it answers, at what pace, and which faults it plays."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from ..errors import ConfigError
from .promptcache import PromptCache

#: Keys of ``Step(when=...)`` and what each holds.
WHEN: dict[str, type] = {
    "has_tools": bool,
    "last_role": str,
    "last_user_contains": str,
    "turn": int,
    "tool_result_of": str,
    "model": str,
}
_FAULTS = ("status", "cut", "reset", "hang", "garbage", "error")


def _number(owner: str, name: str, value: object, *, low: float = 0.0) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value < float("inf"):
        raise ConfigError(f"{owner}({name}={value!r}): give a number from {low:g}")


@dataclasses.dataclass(frozen=True)
class Fault:
    """Break a reply in a chosen way.

    Parameters
    ----------
    kind : {"status", "cut", "reset", "hang", "garbage", "error"}
        An HTTP error status; a clean end without the final event; a TCP reset; silence without end; a frame
        that is not JSON; an error frame under HTTP 200. After ``garbage`` and ``error`` the stream ends.
    code : int, default 500
        HTTP status of ``"status"``, and the code inside an error frame.
    retry_after_s : float, optional
        Sent as ``retry-after`` with ``"status"``.
    after : int, default 1
        Pieces that are sent before the fault (not for ``"status"``).
    times : int or None, default 1
        How often a session meets it at this step; then the step succeeds. None: always.

    Examples
    --------
    >>> Fault("status", code=429, retry_after_s=1).times
    1
    """

    kind: Literal["status", "cut", "reset", "hang", "garbage", "error"]
    code: int = dataclasses.field(default=500, kw_only=True)
    retry_after_s: float | None = dataclasses.field(default=None, kw_only=True)
    after: int = dataclasses.field(default=1, kw_only=True)
    times: int | None = dataclasses.field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if self.kind not in _FAULTS:
            raise ConfigError(f"Fault({self.kind!r}): write one of {', '.join(_FAULTS)}")
        if isinstance(self.code, bool) or not isinstance(self.code, int) or not 400 <= self.code <= 599:
            raise ConfigError(f"Fault(code={self.code!r}): give an HTTP status from 400 to 599")
        if self.retry_after_s is not None:
            _number("Fault", "retry_after_s", self.retry_after_s)
        for name, low in (("after", 0), ("times", 1)):
            value = getattr(self, name)
            if value is None and name == "times":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ConfigError(f"Fault({name}={value!r}): give an integer from {low}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """Describe one reply of a scripted model.

    Parameters
    ----------
    text, reasoning : str or sequence of str
        What is said. A string is sent in pieces of one token (4 bytes); a sequence is sent piece by piece
        as it stands, and a piece of n tokens takes n times as long.
    tools : sequence of {"name": ..., "arguments": ...} or (name, arguments)
        Calls; arguments are a mapping, or a string that is sent as it is.
    usage : "computed", None or mapping
        Counted from the bytes that were sent; not reported at all; or counted with some keys of the
        provider's usage object set. Cached tokens cannot be set: they come from the prompt cache only.
    ttft_s : float, default 0
        Seconds from the end of the request's body to the first piece.
    tokens_per_s : float, optional
        Pace of the pieces against absolute deadlines; None: back to back.
    first_event_s : float, default 0
        Seconds to the reply's head and, in chat, the chunk that holds only the role.
    end_s : float, default 0
        Seconds from the last piece to the frames that end the reply.
    finish : str, optional
        Reported reason of the end; ``"tool_calls"`` or ``"stop"`` when absent.
    fault : Fault or mapping or str, optional
        What breaks.
    when : mapping
        With ``match="rule"``: all must hold. ``has_tools``, ``last_role``, ``last_user_contains``, ``turn``
        (number of user messages), ``tool_result_of`` (the last message is a result of this tool),
        ``model``. Empty: always.

    Examples
    --------
    >>> Step(text="Hello.", ttft_s=0.2, tokens_per_s=50).finish is None
    True
    """

    text: str | Sequence[str] = ""
    reasoning: str | Sequence[str] = ""
    tools: Sequence[Any] = ()
    usage: Literal["computed"] | Mapping[str, Any] | None = "computed"
    ttft_s: float = 0.0
    tokens_per_s: float | None = None
    first_event_s: float = 0.0
    end_s: float = 0.0
    finish: str | None = None
    fault: Fault | Mapping[str, Any] | str | None = None
    when: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("text", "reasoning"):
            value = getattr(self, name)
            if not isinstance(value, str):
                if not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
                    raise ConfigError(f"Step({name}={value!r}): give a string or a list of strings")
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "tools", tuple(_call(call) for call in self.tools))
        object.__setattr__(self, "fault", _fault(self.fault))
        for name in ("ttft_s", "first_event_s", "end_s"):
            _number("Step", name, getattr(self, name))
        if self.tokens_per_s is not None:
            _number("Step", "tokens_per_s", self.tokens_per_s, low=0.001)
        _check_usage(self.usage)
        _check_when(self.when)

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults, as plain JSON data.

        Returns
        -------
        dict
        """
        plain = dataclasses.asdict(self)
        default = dataclasses.asdict(Step())
        return {key: value for key, value in plain.items() if value != default[key]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Step:
        """Rebuild a step from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            Plain data.

        Returns
        -------
        Step
        """
        unknown = sorted(set(data) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ConfigError(f"a step has no {', '.join(map(repr, unknown))}")
        return cls(**data)


@dataclasses.dataclass(frozen=True)
class ScriptedModel:
    """Describe a model that answers by a script; its token counts are computed, never stated.

    Parameters
    ----------
    steps : sequence of Step
        The script.
    match : {"order", "rule"}
        ``"order"``: the k-th request of a session gets step k (a repeat of the same prompt its own step
        again); past the end the text says so and the request's reason is ``script_ended``. ``"rule"``: the
        first step whose ``when`` holds; else the reason is ``script_no_match``.
    cache : PromptCache
        Where cached tokens come from.
    side : str or None
        Text of the reply to requests without tools (titles, summaries), which take no step; None: they are
        matched like any other. A rule that asks for ``has_tools: false`` comes first.

    Examples
    --------
    >>> ScriptedModel([Step(text="Hi.")]).match
    'order'
    """

    steps: Sequence[Step]
    match: Literal["order", "rule"] = dataclasses.field(default="order", kw_only=True)
    cache: PromptCache = dataclasses.field(default=PromptCache(), kw_only=True)
    side: str | None = dataclasses.field(default="Side request.", kw_only=True)

    def __post_init__(self) -> None:
        steps = tuple(self.steps)
        if not steps or not all(isinstance(step, Step) for step in steps):
            raise ConfigError("ScriptedModel(steps=...): give at least one Step")
        object.__setattr__(self, "steps", steps)
        if self.match not in ("order", "rule"):
            raise ConfigError(f"ScriptedModel(match={self.match!r}): write 'order' or 'rule'")
        if self.match == "order" and any(step.when for step in steps):
            raise ConfigError("ScriptedModel: Step(when=...) needs match='rule'")
        if not isinstance(self.cache, PromptCache):
            raise ConfigError(f"ScriptedModel(cache={self.cache!r}): give a PromptCache")
        if self.side is not None and not isinstance(self.side, str):
            raise ConfigError(f"ScriptedModel(side={self.side!r}): give a text or None")

    def to_dict(self) -> dict[str, Any]:
        """Return the script as plain JSON data.

        Returns
        -------
        dict
        """
        return {
            "steps": [step.to_dict() for step in self.steps],
            "match": self.match,
            "cache": self.cache.to_dict(),
            "side": self.side,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScriptedModel:
        """Rebuild a script from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            Plain data; all keys but ``steps`` may be absent.

        Returns
        -------
        ScriptedModel

        Raises
        ------
        ConfigError
            A key is unknown or a value wrong.
        """
        data = dict(data)
        unknown = sorted(set(data) - {"steps", "match", "cache", "side", "about"})
        if unknown or "steps" not in data:
            raise ConfigError(
                f"a script has no {', '.join(map(repr, unknown))}" if unknown else "a script needs 'steps'"
            )
        data.pop("about", None)
        steps = [Step.from_dict(step) for step in data.pop("steps")]
        cache = PromptCache.from_dict(data.pop("cache", {}))
        return cls(steps, cache=cache, **data)

    @classmethod
    def load(cls, name: str | Path) -> ScriptedModel:
        """Load a shipped script, or a JSON file in the form of :meth:`to_dict`.

        Parameters
        ----------
        name : str or Path
            ``"cache-probe"``, or a path that ends in ``.json``.

        Returns
        -------
        ScriptedModel

        Raises
        ------
        ConfigError
            No such script, or it is not valid.

        Examples
        --------
        >>> len(ScriptedModel.load("cache-probe").steps) > 2
        True
        """
        shipped = Path(__file__).with_name("scripts")
        path = Path(name)
        if path.suffix != ".json":
            path = shipped / f"{name}.json"
            if not path.is_file():
                names = ", ".join(sorted(repr(p.stem) for p in shipped.glob("*.json")))
                raise ConfigError(
                    f"ScriptedModel.load({str(name)!r}): there is {names}; or give a path to a .json file"
                )
        try:
            return cls.from_dict(json.loads(path.read_bytes()))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{path}: not a script: {error}") from error


def _call(call: object) -> dict[str, Any]:
    """Normalise a tool call."""
    if isinstance(call, Mapping):
        name, arguments = call.get("name"), call.get("arguments", {})
        extra = set(cast("Mapping[str, Any]", call)) - {"name", "arguments"}
    elif isinstance(call, Sequence) and not isinstance(call, str) and len(call) == 2:
        (name, arguments), extra = call, set[str]()
    else:
        name, arguments, extra = None, None, set[str]()
    if extra or not isinstance(name, str) or not name or not isinstance(arguments, (Mapping, str)):
        raise ConfigError(
            f"Step(tools={call!r}): write ('name', {{...}}) or {{'name': ..., 'arguments': ...}}"
        )
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else dict(arguments)}


def _fault(fault: object) -> Fault | None:
    if fault is None or isinstance(fault, Fault):
        return fault
    if isinstance(fault, str):
        return Fault(cast("Any", fault))
    if isinstance(fault, Mapping):
        try:
            return Fault(**cast("dict[str, Any]", dict(fault)))
        except TypeError as error:
            raise ConfigError(f"Step(fault={fault!r}): {error}") from error
    raise ConfigError(f"Step(fault={fault!r}): give a Fault")


def _check_usage(usage: object) -> None:
    if usage is None or usage == "computed":
        return
    if not isinstance(usage, Mapping):
        raise ConfigError(f"Step(usage={usage!r}): write 'computed', None or a mapping")
    if "cach" in json.dumps(dict(usage)):
        raise ConfigError(
            f"Step(usage={usage!r}): cached tokens come from the PromptCache; no script states them"
        )


def _check_when(when: Mapping[str, Any]) -> None:
    for key, value in when.items():
        if key not in WHEN:
            raise ConfigError(f"Step(when={{{key!r}: ...}}): there is {', '.join(WHEN)}")
        if not isinstance(value, WHEN[key]) or (isinstance(value, bool) and WHEN[key] is not bool):
            raise ConfigError(f"Step(when={{{key!r}: {value!r}}}): give a {WHEN[key].__name__}")
