"""One reply of a scripted model: what it says, at what pace, and how it breaks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from ..errors import ConfigError
from ..redact import shown
from .actions import checked
from .checks import given, integer, number

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
        integer("Fault", "code", self.code, low=400, high=599)
        integer("Fault", "after", self.after, low=0)
        if self.times is not None:
            integer("Fault", "times", self.times, low=1)
        if self.retry_after_s is not None:
            number("Fault", "retry_after_s", self.retry_after_s)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Step:
    """Describe one reply of a scripted model.

    Parameters
    ----------
    text, reasoning : str or sequence of str
        What is said. A string is sent in pieces of one token (4 bytes); a sequence is sent piece by piece
        as it stands, and a piece of n tokens takes n times as long.
    repeat : int or (int, int), default 1
        How often ``text`` is said. A pair is a range, both ends included: the number is drawn from the
        prompt's own bytes, so the same prompt gets the same answer and different ones vary as a model's do.
    tools : sequence of {"name": ..., "arguments": ...} or (name, arguments)
        Calls; arguments are a mapping, or a string that is sent as it is.
    actions : sequence of mapping
        What is done, whatever the agent's tools are called: ``{"do": "read", "path": ...}``, ``edit`` (path,
        old, new), ``write`` (path, text), ``run`` (command; and path: the file that is read where no
        command can be run), ``answer`` (text). Each is spelled with the tools that the request offers,
        through the shell where none fits; when there is none at all the request's reason is
        ``script_no_tool``.
    usage : "computed", None or mapping
        Counted from the bytes that were sent; not reported at all; or counted with some keys of the
        provider's usage object set (``prompt_tokens`` and ``completion_tokens`` on every wire). Cached tokens
        cannot be set: they come from the prompt cache only.
    ttft_s : float, default 0
        Seconds from the end of the request's body to the first piece.
    tokens_per_s : float, optional
        Pace of the pieces against absolute deadlines; None: back to back.
    first_event_s : float, default 0
        Seconds to the reply's head and, but for Gemini, the frames before its first piece.
    end_s : float, default 0
        Seconds from the last piece to the frames that end the reply.
    finish : str, optional
        Reported reason of the end: ``"tool_calls"`` or ``"stop"`` when absent, ``"length"``, or one of the
        provider's own; the first three are said as the wire says them.
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
    repeat: int | Sequence[int] = 1
    tools: Sequence[Any] = ()
    actions: Sequence[Mapping[str, str]] = ()
    usage: Literal["computed"] | Mapping[str, Any] | None = "computed"
    ttft_s: float = 0.0
    tokens_per_s: float | None = None
    first_event_s: float = 0.0
    end_s: float = 0.0
    finish: str | None = None
    fault: Fault | Mapping[str, Any] | str | None = None
    when: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        return shown(self)

    def __post_init__(self) -> None:
        for name in ("text", "reasoning"):
            object.__setattr__(self, name, _said(name, getattr(self, name)))
        object.__setattr__(self, "repeat", _repeat(self.repeat))
        object.__setattr__(self, "tools", tuple(_call(call) for call in self.tools))
        object.__setattr__(self, "actions", tuple(checked(action) for action in self.actions))
        object.__setattr__(self, "fault", _fault(self.fault))
        for name in ("ttft_s", "first_event_s", "end_s"):
            number("Step", name, getattr(self, name))
        if self.tokens_per_s is not None:
            number("Step", "tokens_per_s", self.tokens_per_s, low=0.001)
        if self.finish is not None and (not isinstance(given(self.finish), str) or not self.finish):
            raise ConfigError(f"Step(finish={self.finish!r}): give a reason such as 'length', or None")
        object.__setattr__(self, "usage", _usage(self.usage))
        object.__setattr__(self, "when", _when(self.when))

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


def _json(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy that is plain JSON data."""
    try:
        return json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"Step({name}={value!r}): not plain JSON data: {error}") from error


def _said(name: str, value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    pieces = tuple(cast("Sequence[object]", value)) if isinstance(value, Sequence) else (None,)
    if not all(isinstance(piece, str) for piece in pieces):
        raise ConfigError(f"Step({name}={value!r}): give a string or a list of strings")
    return cast("tuple[str, ...]", pieces)


def _repeat(repeat: object) -> int | tuple[int, int]:
    if not isinstance(repeat, Sequence) or isinstance(repeat, str):
        integer("Step", "repeat", repeat, low=1)
        return cast("int", repeat)
    ends = tuple(cast("Sequence[int]", repeat))
    for end in ends:
        integer("Step", "repeat", end, low=1)
    if len(ends) != 2 or ends[0] > ends[1]:
        raise ConfigError(f"Step(repeat={repeat!r}): give a number, or (smallest, largest)")
    return ends[0], ends[1]


def _call(call: object) -> dict[str, Any]:
    """Normalise a tool call."""
    name: object = None
    arguments: object = None
    if isinstance(call, Mapping) and set(cast("Mapping[str, Any]", call)) <= {"name", "arguments"}:
        name, arguments = call.get("name"), call.get("arguments", {})
    elif (
        isinstance(call, Sequence) and not isinstance(call, str) and len(cast("Sequence[object]", call)) == 2
    ):
        name, arguments = cast("Sequence[object]", call)
    if not isinstance(name, str) or not name or not isinstance(arguments, (Mapping, str)):
        raise ConfigError(
            f"Step(tools={call!r}): write ('name', {{...}}) or {{'name': ..., 'arguments': ...}}"
        )
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else _json("tools", arguments)}


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


def _usage(usage: object) -> str | dict[str, Any] | None:
    if usage is None or (isinstance(usage, str) and usage == "computed"):
        return usage
    if not isinstance(usage, Mapping):
        raise ConfigError(f"Step(usage={usage!r}): write 'computed', None or a mapping")
    plain = _json("usage", usage)
    if "cach" in json.dumps(plain):
        raise ConfigError(
            f"Step(usage={usage!r}): cached tokens come from the PromptCache; no script states them"
        )
    return plain


def _when(when: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in when.items():
        if key not in WHEN:
            raise ConfigError(f"Step(when={{{key!r}: ...}}): there is {', '.join(WHEN)}")
        if not isinstance(value, WHEN[key]) or (isinstance(value, bool) and WHEN[key] is not bool):
            raise ConfigError(f"Step(when={{{key!r}: {value!r}}}): give a {WHEN[key].__name__}")
    return dict(when)
