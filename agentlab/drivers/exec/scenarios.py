"""The scenario file: commands that end, print and live on in the ways that break exec sessions."""

from __future__ import annotations

import dataclasses
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ...errors import ConfigError, did_you_mean
from .refusals import check_seconds, checked

_SHIPPED = Path(__file__).parents[2] / "data" / "exec" / "scenarios.json"
_OPS = ("start", "write", "poll", "pause", "signal")
_WANT = {"state", "exit_code", "ended_by", "report_ms", "background"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """One thing that is done to a command.

    Parameters
    ----------
    op : {"start", "write", "poll", "pause", "signal"}
        The first is ``"start"``, and only the first.
    yield_s : float, default 10
        Longest wait of a start, write or poll, 0.1 to 30 s.
    text, times, end : str, int, str
        What a write types: `text` so many times, then `end`.
    until : {"exit", "print"}, optional
        Repeat a poll until the command has ended, or until something was printed, at most 200 times.
    s : float
        Length of a pause, in seconds.
    number, to : int, str
        Signal from outside, and the process (its name) that gets it.
    """

    op: Literal["start", "write", "poll", "pause", "signal"]
    yield_s: float = 10.0
    text: str = ""
    times: int = 1
    end: str = ""
    until: Literal["exit", "print"] | None = None
    s: float = 0.0
    number: int = signal.SIGTERM
    to: str = "a"

    def __post_init__(self) -> None:
        if self.op not in _OPS:
            raise ConfigError(f"op {self.op!r}: write one of {', '.join(_OPS)}")
        check_seconds(self.yield_s)
        if self.until not in (None, "exit", "print"):
            raise ConfigError(f"until {self.until!r}: write 'exit' or 'print', or leave it out")
        for name in ("text", "end", "to"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} {getattr(self, name)!r}: give a text")
        if type(self.times) is not int or self.times < 0:
            raise ConfigError(f"times {self.times!r}: give a whole number from 0")
        if type(self.s) not in (int, float) or not self.s >= 0:
            raise ConfigError(f"s {self.s!r}: give seconds from 0")
        if self.number not in {*signal.Signals}:
            raise ConfigError(f"number {self.number!r}: give the number of a signal")

    @property
    def typed(self) -> str:
        """All that a write types."""
        return self.text * self.times + self.end


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecScenario:
    """A command and what is done to it.

    Parameters
    ----------
    name : str
        Short name.
    command : str
        For ``bash -lc``; ``{say}`` stands for the printing program (``agentlab/drivers/exec/printer.py``),
        whose first argument is a name: ``a`` is the command itself, ``b`` a process in the background.
    calls : sequence of Call
        In order.
    about : str
        One line for people.
    tty : bool, default True
        On a pseudo-terminal, or over pipes.
    timeout_s : float, optional
        When the command is ended.
    alone : bool
        Not beside other scenarios: it fills the machine.
    want : mapping
        What is right: any of ``state``, ``exit_code``, ``ended_by`` (as the last call that reported them),
        ``report_ms`` (longest time from the command's end to its report), ``background`` (processes that
        live on after the exit). Bytes lost and survivors are 0 in all of them.

    Raises
    ------
    ConfigError
        It does not begin with a start, or a value is wrong.
    """

    name: str
    command: str
    calls: Sequence[Call]
    about: str = ""
    tty: bool = True
    timeout_s: float | None = None
    alone: bool = False
    want: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        starts = [i for i, call in enumerate(self.calls) if call.op == "start"]
        if not self.name or not self.command or starts != [0]:
            raise ConfigError("it needs a name, a command, and one start, first")
        checked(self.command)
        check_seconds(10.0, self.timeout_s)
        for name in ("tty", "alone"):
            if type(getattr(self, name)) is not bool:
                raise ConfigError(f"{name} {getattr(self, name)!r}: write true or false")
        if unknown := sorted(set(self.want) - _WANT):
            raise ConfigError(f"want {unknown[0]!r}: there are {', '.join(sorted(_WANT))}")
        object.__setattr__(self, "calls", tuple(self.calls))


def exec_scenarios(
    names: Sequence[str] = (), *, file: str | Path | None = None, tty: bool | None = None
) -> dict[str, ExecScenario]:
    """Read a scenario file.

    Parameters
    ----------
    names : sequence of str, optional
        Only these, in the file's order.
    file : path, optional
        A JSON file of one's own; default: the one that is shipped.
    tty : bool, optional
        Only those on a terminal (True) or over pipes (False).

    Returns
    -------
    dict of str to ExecScenario

    Raises
    ------
    ConfigError
        The file cannot be read, or there is no such scenario.

    Examples
    --------
    >>> exec_scenarios(["no-newline"])["no-newline"].want["exit_code"]
    0
    """
    path = _SHIPPED if file is None else Path(file)
    try:
        found = [_made(data) for data in json.loads(path.read_text(encoding="utf-8"))["scenarios"]]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{path}: not a file of exec scenarios: {error!r}") from None
    by_name = {scenario.name: scenario for scenario in found}
    if len(by_name) < len(found):
        raise ConfigError(f"{path}: two scenarios of one name")
    for name in names:
        if name not in by_name:
            near = did_you_mean(name, list(by_name))
            raise ConfigError(f"there is no scenario {name!r}; there are {', '.join(by_name)}{near}")
    return {
        name: scenario
        for name, scenario in by_name.items()
        if (not names or name in names) and tty in (None, scenario.tty)
    }


def _made(data: Mapping[str, Any]) -> ExecScenario:
    try:
        fields: dict[str, Any] = {**data, "calls": [Call(**call) for call in data["calls"]]}
        return ExecScenario(**fields)
    except (ConfigError, TypeError, KeyError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ConfigError(f"scenario {data.get('name')!r}: {what}") from None
