"""What a driver is, and what the engine gives it.

A driver of one's own is any object with ``identify()`` and ``open(arm)``. It captures and never computes:
everything observed goes through ``run.emit`` and ``run.issue``, so nothing can be returned but not recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..errors import ConfigError
from ..redact import redact_data, shown
from ..scenario import Scenario, digest

if TYPE_CHECKING:
    from ..recording import Recordings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Identity:
    """Say what is measured.

    Parameters
    ----------
    driver : str
        Name of the driver, e.g. ``"opencode"``.
    version : str or None
        Version of the agent; None: not known before it answers (an agent that was not started here).
    model : str, optional
        ``"provider/model"``.
    settings : mapping
        Redacted settings as plain JSON data: what tells two arms apart. Never holds a secret.
    """

    driver: str
    version: str | None
    model: str | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])


@runtime_checkable
class LiveGateway(Protocol):
    """A running gateway as a driver sees it."""

    @property
    def token(self) -> str:
        """Bearer token that the gateway accepts."""
        ...

    def base_url(self, dialect: str = "chat") -> str:
        """Return the base URL of one dialect, e.g. ``http://127.0.0.1:PORT/v1`` for ``"chat"``."""
        ...


@runtime_checkable
class Arm(Protocol):
    """One condition, as a driver's ``open`` sees it; entered once per arm."""

    @property
    def name(self) -> str:
        """Name of the arm."""
        ...

    @property
    def scenario(self) -> Scenario:
        """The scenario, with its time-outs."""
        ...

    @property
    def gateway(self) -> LiveGateway | None:
        """The gateway in front of this arm's model, or None."""
        ...

    @property
    def scratch(self) -> Path:
        """Private folder (0700) for homes, configs and logs of the arm; removed at the end."""
        ...

    @property
    def hurry(self) -> bool:
        """True once the study is being cancelled: clean up in 1.5 s instead of ``timeouts.cleanup``."""
        ...

    def own(self, pid: int) -> None:
        """Say that a process and all its descendants, of now and later, belong to the arm.

        Its memory is sampled with ``record(memory=True)``. Of ``Children`` give the watchdog,
        ``children.pid``, which is not counted itself.

        Parameters
        ----------
        pid : int
            Process id.
        """
        ...


@runtime_checkable
class Memory(Protocol):
    """The memory sampler of a run, as its driver sees it."""

    def mark(self, phase: str) -> None:
        """Say what the run does from now on.

        Parameters
        ----------
        phase : str
            ``"launch"``, ``"settle"``, ``"settled"``, ``"hold"`` or ``"end"``.
        """
        ...

    async def settled(self, *, window_s: float = 3.0, tolerance: float = 0.01, cap_s: float = 60.0) -> bool:
        """Wait for a plateau: the same processes, and their memory within the tolerance, over the window.

        Parameters
        ----------
        window_s : float
            Length of the plateau, s.
        tolerance : float
            Largest change of PSS + SwapPSS inside it, as a share of it.
        cap_s : float
            Longest wait, s.

        Returns
        -------
        bool
            False: it is still changing.
        """
        ...

    async def sampled(self, *, cap_s: float = 60.0) -> bool:
        """Wait for a sample of what each process holds that begins from now on.

        Parameters
        ----------
        cap_s : float
            Longest wait, s.

        Returns
        -------
        bool
            False: none was taken in time.
        """
        ...


@runtime_checkable
class Run(Protocol):
    """One repetition of one arm, as a driver's session sees it."""

    @property
    def run_id(self) -> str:
        """Id of the run, also the name of its folder."""
        ...

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        ...

    @property
    def n_sessions(self) -> int | None:
        """Sessions to keep open at once: this run's value of the driver's ``sessions``; None: not swept."""
        ...

    @property
    def memory(self) -> Memory | None:
        """The sampler of this run's memory; None: it is not sampled."""
        ...

    @property
    def folder(self) -> Path:
        """The run's folder, for files beside its events that hold nothing of what was said."""
        ...

    @property
    def content_folder(self) -> Path | None:
        """The run's folder with ``keep="content"``: for files (0600) that hold what was said; else None."""
        ...

    def own(self, pid: int) -> None:
        """Say that a process and its descendants belong to this run alone; see :meth:`Arm.own`."""
        ...

    def emit(
        self,
        kind: str,
        *,
        t: int | None = None,
        content: Mapping[str, Any] | None = None,
        **fields: Any,  # noqa: ANN401
    ) -> None:
        """Append one event.

        Parameters
        ----------
        kind : str
            See ``docs/events.md``.
        t : int, optional
            CLOCK_MONOTONIC in ns; now when absent. Pass the stamp of the socket read.
        content : mapping, optional
            Prompts, answers, arguments: written only with ``keep="content"``.
        **fields
            Plain JSON values: times, ids, lengths, hashes, counts.
        """
        ...

    def issue(self, code: str, detail: str | None = None, *, discard: bool = False) -> None:
        """Attach a coded doubt; ``discard=True`` makes the run ineligible.

        Parameters
        ----------
        code : str
            One of :data:`agentlab.issues.CODES`, or the driver's own.
        detail : str, optional
            Short, redacted again on writing.
        discard : bool
            Whether the run can still be used.
        """
        ...

    async def begin(self) -> None:
        """Say that the run's model requests begin: what the agent asked before is warm-up.

        The engine says it once the session is open. A driver whose agent asks its model already while the
        session opens says it before that, and after a throw-away prompt of its own. A second call does
        nothing.

        Raises
        ------
        GatewayError
            The gateway is gone; let it pass.
        """
        ...


class Session(Protocol):
    """An agent's conversation inside a run."""

    async def prompt(self, text: str) -> None:
        """Submit one prompt and return when its turn is complete."""
        ...


class Opened(Protocol):
    """What ``Driver.open`` gives: servers are up and warm."""

    def session(self, run: Run) -> AbstractAsyncContextManager[Session]:
        """Open a session; clean-up sits in its exit, shielded from cancellation, with its own deadline."""
        ...


@runtime_checkable
class Driver(Protocol):
    """A way to run one kind of agent. Settings are frozen; one arm = one driver.

    It may have two further attributes: ``sessions`` (tuple of int above 0), a setting that is swept: each
    value is a run of its own in every block; and ``measures_memory`` (bool), with which memory is always
    sampled.
    """

    def identify(self) -> Identity:
        """Say what is measured, without starting anything."""
        ...

    def open(self, arm: Arm) -> AbstractAsyncContextManager[Opened]:
        """Start what the arm needs; entered once per arm."""
        ...


def check_kinds(driver: object) -> None:
    """Refuse values of a wrong kind in the settings that drivers share.

    Parameters
    ----------
    driver : object
        Settings: of ``system``, ``version``, ``workspace`` and ``gateway`` those that it has.

    Raises
    ------
    ConfigError
        One of them is of another kind.
    """
    of = type(driver).__name__
    for name in ("system", "version"):
        text = getattr(driver, name, None)
        wrong = not isinstance(text, str) or "\0" in text or (name == "version" and not text)
        if text is not None and wrong:
            raise ConfigError(f"{of}({name}=...): give a text, or leave it out")
    folder = getattr(driver, "workspace", None)
    if folder is not None and not isinstance(folder, str | Path):
        raise ConfigError(f"{of}(workspace={folder!r:.80}): give a folder, or 'git+PATH@REF'")
    gateway = getattr(driver, "gateway", None)
    if gateway is not None and not callable(getattr(gateway, "start", None)):
        raise ConfigError(f"{of}(gateway={gateway!r:.80}): give an agentlab.Gateway")


def shown_flags(flags: Sequence[str]) -> list[str]:
    """Return what is stored of an agent's arguments: themselves, or the digest of a path or a text.

    Parameters
    ----------
    flags : sequence of str
        The arguments.

    Returns
    -------
    list of str
        What looks like a secret, or follows an option that is named like one, is left out.

    Examples
    --------
    >>> shown_flags(["--bare", "--api-key", "abc"])
    ['--bare', '--api-key', '<redacted>']
    """
    shown: list[str] = redact_data(list(flags))
    return [
        digest(flag) if "/" in flag or len(flag) > 40 or any(map(str.isspace, flag)) else safe
        for flag, safe in zip(flags, shown, strict=True)
    ]


class RunsAlone:
    """Give a driver ``run``: one run of it alone, through the same engine as a study.

    A dataclass made with ``repr=False`` is also shown by what was given, without secrets.
    """

    def __repr__(self) -> str:
        return shown(self)

    async def run(self, scenario: Scenario, *, to: str | Path | None = None) -> Recordings:
        """Record one run of this driver.

        Parameters
        ----------
        scenario : Scenario
            What is asked.
        to : path, optional
            Study folder; ``studies/<scenario>-<UTC>`` when absent.

        Returns
        -------
        Recordings
            With one run.

        Raises
        ------
        ConfigError, StartupError, RecordingError
            As :func:`agentlab.record`.
        """
        from ..engine import record  # the door upwards: drivers themselves know no engine

        return await record(scenario, self, runs=1, to=to, progress="none")  # pyright: ignore[reportArgumentType]
