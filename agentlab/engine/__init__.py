"""The engine: arms x runs, order, quiet wait, resume, clean-up."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError
from ..scenario import Scenario

if TYPE_CHECKING:
    from decimal import Decimal

    from ..drivers.base import Driver
    from ..gateway import Gateway
    from ..host.running import Running
    from .slots import Order
    from .study import Exists, Keep
    from .waiting import Quiet

_LONGEST_S = 30 * 24 * 3600


def record(
    scenario: Scenario,
    arms: Driver | str | Mapping[str, Driver | str],
    *,
    runs: int = 10,
    to: str | Path | None = None,
    exists: Exists = "resume",
    order: Order = "interleaved",
    seed: int | None = None,
    gateway: Gateway | None = None,
    budget_usd: Decimal | float | str | None = None,
    memory: bool = False,
    host: Literal["auto", "kernel", "process", "inline"] = "auto",
    kernel: str | None = None,
    detach: float | Literal[False] = False,
    keep: Keep = "numbers",
    quiet: Quiet | Literal["auto"] | None = "auto",
    progress: Literal["auto", "widget", "text", "none"] = "auto",
) -> Running:
    """Record a study: every arm ``runs`` times, in randomised interleaved blocks.

    Parameters
    ----------
    scenario : Scenario
        What is asked of the agents.
    arms : driver, or mapping of name to driver
        The conditions to compare. A string ``"module:function"`` is called in the measuring process.
    runs : int, default 10
        Runs of each arm, and of each of its swept values (``Terminal(sessions=(1, 4))`` sweeps two); the run
        is the unit of all statistics.
    to : path, optional
        Study folder; ``studies/<scenario>-<UTC>`` when absent.
    exists : {"resume", "refuse", "replace"}
        On a folder that holds this study already: make what is missing, raise, or delete it and start anew.
    order : {"interleaved", "sequential"}
        Blocks of one run of every arm in random order (needed for paired differences), or arm after arm.
    seed : int, optional
        Of the order; drawn and stored when absent.
    gateway : Gateway, optional
        Metered model boundary in front of all arms that have none of their own.
    budget_usd : Decimal, int, float or str, optional
        Most that all arms together may spend, in USD, over all resumptions; needs gateways with a price.
        Once a request could cost more than is left the study ends with ``BudgetExceeded``; what was measured
        stays.
    memory : bool, default False
        Sample the memory of every process that an arm starts (tables ``memory`` and ``processes``; at most
        5 % of a core). A driver that is about memory samples it anyway.
    host : {"auto", "kernel", "process", "inline"}
        Where it is measured: ``auto`` is a kernel of its own in a live notebook, else a process of its own.
        ``inline`` (a thread here) is for tests and for drivers defined in the notebook: this process then
        disturbs the stamps.
    kernel : str, optional
        Kernelspec of the measuring kernel.
    detach : float or False
        Deadline in seconds (1 s to 30 days) after which the study ends by itself, whatever became of this
        notebook or script: it survives restart, shutdown and death of this kernel, and
        :func:`agentlab.attach` finds it again. An interrupt then only stops the waiting; Cancel ends the
        study. ``host="auto"`` is then a kernel of its own, also in a script. False: the study ends with this
        process.
    keep : {"numbers", "content"}
        ``content`` also stores prompts and answers (files readable by the owner only).
    quiet : Quiet, "auto" or None
        When the machine counts as quiet and how long to wait for it; ``auto`` is ``Quiet()``, None neither
        waits nor judges.
    progress : {"auto", "widget", "text", "none"}
        ``auto``: a panel with Cancel in a live notebook, else at most one line a run.

    Returns
    -------
    Running
        ``await`` it in a notebook, ``.result()`` it in a script; ``.cancel()`` ends it.

    Raises
    ------
    ConfigError
        A setting is wrong, or the folder holds another study (the message names the first difference);
        nothing was started.
    RecordingError
        The folder cannot be written.
    BudgetExceeded, GatewayError
        From awaiting it: the budget is spent, or a gateway can admit nothing more.

    Examples
    --------
    >>> import agentlab
    >>> scenario = agentlab.Scenario("hello", turns=["Say hello."])
    >>> agentlab.record(scenario, {}, runs=1)
    Traceback (most recent call last):
        ...
    agentlab.errors.ConfigError: record(arms={}): give a driver, or {name: driver}
    """
    from ..host import start
    from .budget import checked_budget
    from .study import Study, default_folder, prepare
    from .waiting import Quiet

    scenario = _checked_scenario(scenario)
    study = Study(
        folder=Path(to) if to is not None else default_folder(scenario),
        scenario=scenario,
        arms=_checked_arms(arms),
        runs=_checked_runs(runs),
        order=_one_of("order", order, "interleaved", "sequential"),
        seed=secrets.randbelow(2**32) if seed is None else _checked_seed(seed),
        keep=_one_of("keep", keep, "numbers", "content"),
        gateway=_checked_gateway(gateway),
        memory=_one_of("memory", memory, True, False),
        quiet=Quiet() if quiet == "auto" else quiet,
    )
    study = dataclasses.replace(study, budget_usd=checked_budget(budget_usd, study))
    _one_of("exists", exists, "resume", "refuse", "replace")
    _one_of("progress", progress, "auto", "widget", "text", "none")
    _one_of("host", host, "auto", "kernel", "process", "inline")
    seconds = None if detach is False else _checked_deadline(detach)
    make_host = start.host_maker(host, kernel, seconds)
    if host != "inline":
        study.to_job()  # what cannot cross to the measuring process is said before anything is touched
    return start.launch(prepare(study, exists), make_host, progress, detached=seconds is not None)


def _checked_scenario(scenario: Any) -> Scenario:  # noqa: ANN401
    if not isinstance(scenario, Scenario):
        raise ConfigError(
            f"record(scenario={scenario!r:.80}): the first argument is the Scenario, the second the arms: "
            'record(Scenario("hello", turns=["Say hello."]), OpenCode("lab/scripted"))'
        )
    return scenario


def _checked_arms(arms: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(arms, (list, tuple, set)):
        raise ConfigError(
            "record(arms=[...]): name each driver: {'plain': OpenCode(...), 'terse': OpenCode(...)}"
        )
    if not isinstance(arms, Mapping):
        name = arms.rpartition(":")[2] if isinstance(arms, str) else type(arms).__name__.lower()
        return {name: arms}
    if not arms:
        raise ConfigError("record(arms={}): give a driver, or {name: driver}")
    if wrong := [name for name in arms if not (isinstance(name, str) and name.strip())]:
        raise ConfigError(f"record(arms=...): an arm has the name {wrong[0]!r}; give each a text as its name")
    return dict(arms)


def _checked_gateway(gateway: Any) -> Any:  # noqa: ANN401
    if gateway is not None and (isinstance(gateway, type) or not hasattr(gateway, "upstream")):
        raise ConfigError(
            f"record(gateway={gateway!r:.80}): give a Gateway, e.g. "
            "Gateway(ScriptedModel.load('cache-probe')) or Gateway('https://.../v1', key_env='NAME')"
        )
    return gateway


def _checked_runs(runs: Any) -> int:  # noqa: ANN401
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= 100_000:
        raise ConfigError(f"record(runs={runs!r}): give a whole number from 1")
    return runs


def _checked_seed(seed: Any) -> int:  # noqa: ANN401
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ConfigError(f"record(seed={seed!r}): give a whole number from 0")
    return seed


def _checked_deadline(detach: Any) -> float:  # noqa: ANN401
    number = isinstance(detach, (int, float)) and not isinstance(detach, bool)
    if not number or not 1 <= detach <= _LONGEST_S:
        raise ConfigError(
            f"record(detach={detach!r}): give the seconds, 1 to {_LONGEST_S:,} (30 days), after which the "
            "study ends by itself, or False"
        )
    return float(detach)


def _one_of(name: str, value: Any, *allowed: str | bool) -> Any:  # noqa: ANN401
    if value not in allowed:
        raise ConfigError(f"record({name}={value!r}): choose one of {', '.join(map(repr, allowed))}")
    return value
