"""Carry out a study: servers of all arms, then run after run, with clean-up whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from ..drivers.base import Driver, Identity, LiveGateway, Opened
from ..errors import AgentExited, AgentlabError, ConfigError, GatewayError, RecordingError, StartupError
from ..redact import Redactor
from ..scenario import Scenario
from ..wire.children import Children
from ..wire.pressure import Pressure, known, read_pressure
from ..wire.procid import Owned
from .budget import ENDINGS, end_study, ending_of
from .doubts import doubts_of, went_around
from .files import WAITING_FILE, lock, write_json
from .memory import sampled
from .observe import Observer
from .runlog import RunLog
from .slots import Slot, has_finished, next_sequence
from .study import Study, check_own, slug
from .waiting import wait_quiet


class Stop:
    """Why a study is to end early; set from outside, read by clean-up.

    Attributes
    ----------
    reason : str or None
        ``"cancelled"``, ``"interrupted"``, ``"owner_lost"`` or ``"deadline"``.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self._task: asyncio.Task[Any] | None = None

    def bind(self, task: asyncio.Task[Any]) -> None:
        """Name the task that is cancelled; one that was asked to stop before is stopped now."""
        self._task = task
        if self.reason is not None:
            task.cancel()

    def ask(self, reason: str) -> None:
        """Ask once, on the loop's thread. A second call changes nothing, so that clean-up is not cut off.

        Parameters
        ----------
        reason : {"cancelled", "interrupted", "owner_lost", "deadline"}
            Becomes the issue code of the run under way.
        """
        if self.reason is None:
            self.reason = reason
            if self._task is not None:
                self._task.cancel()


@dataclasses.dataclass(eq=False)
class _Arm:
    """One arm while a study is carried out: what a driver's ``open`` sees, and what it gave."""

    name: str
    scenario: Scenario
    driver: Driver
    identity: Identity
    scratch: Path
    gateway: LiveGateway | None
    stop: Stop
    owned: Owned = dataclasses.field(default_factory=Owned)
    opened: Opened | None = None
    _leave: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    @property
    def hurry(self) -> bool:
        return self.stop.reason is not None

    def own(self, pid: int) -> None:
        self.owned.add(pid)

    async def open(self) -> Opened:
        """Open it, unless it is open, in a task of its own: what a driver enters there it leaves there."""
        if self.opened is None:
            ready: asyncio.Future[Opened] = asyncio.get_running_loop().create_future()
            self._leave.clear()
            self._task = task = asyncio.create_task(self._stay_open(ready))
            try:
                await asyncio.wait([ready, task], return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                task.cancel()  # its end is awaited when all are closed
                raise
            if not ready.done():
                self._task = None
                await task  # raises why
            self.opened = ready.result()
        return self.opened

    async def _stay_open(self, ready: asyncio.Future[Opened]) -> None:
        async with self.driver.open(self) as opened:
            ready.set_result(opened)
            await self._leave.wait()

    async def close(self) -> None:
        task, self._task, self.opened = self._task, None, None
        if task is not None:
            self._leave.set()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()


async def _close(arms: Mapping[str, _Arm]) -> None:
    """Close all arms at once: it takes as long as the slowest, however many there are."""
    ends = await asyncio.gather(*(arm.close() for arm in arms.values()), return_exceptions=True)
    for error in ends:
        if error is not None:
            raise error


Hold = Callable[[Path], contextlib.AbstractContextManager[object]]


async def conduct(study: Study, stop: Stop, hold: Hold = contextlib.nullcontext) -> None:
    """Make all missing runs of a prepared study.

    Parameters
    ----------
    study : Study
        A prepared study; its folder exists.
    stop : Stop
        Bound to the task that runs this.
    hold : callable, optional
        Given the study's folder, returns a context that is entered once the study is locked, and left, with
        the error if any, once nothing of it runs any more.

    Raises
    ------
    StudyBusy
        The study is being recorded by another process, or its folder was given to another study.
    StartupError
        An arm could not be opened before the first run, or did not start in its own first run.
    RecordingError
        The disk is full or the folder is gone.
    GatewayError
        The gateway is gone, or admits nothing more (``BudgetExceeded``: a spent budget); the run under way is
        marked and made again on resume.
    asyncio.CancelledError
        It was asked to stop; the run under way is marked.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(lock(study.folder))
        check_own(study)
        stack.enter_context(hold(study.folder))
        children = await stack.enter_async_context(Children())
        scratch = await children.folder()
        observer = await stack.enter_async_context(Observer())
        gateways = await _start_gateways(study, stack, children)
        arms: dict[str, _Arm] = {}
        stack.push_async_callback(_close, arms)
        for number, (name, driver) in enumerate(study.drivers.items()):
            # Its path stands in the agent's prompt: equally long for every arm, or the arms' tokens differ.
            folder = scratch / f"arm-{number:02d}"
            folder.mkdir(mode=0o700)
            arms[name] = _Arm(name, study.scenario, driver, driver.identify(), folder, gateways[name], stop)
        await _record_runs(study, arms, observer)


async def _record_runs(study: Study, arms: dict[str, _Arm], observer: Observer) -> None:
    """Open all arms before the first run: one that cannot start ends the study before it costs anything."""
    slots = study.missing()
    for arm in arms.values():
        if any(slot.arm == arm.name for slot in slots):
            await arm.open()
    for slot in slots:
        for _ in range(1 if study.quiet is None else study.quiet.attempts):
            if not await _record_run(study, slot, arms[slot.arm], observer):
                break


async def _record_run(study: Study, slot: Slot, arm: _Arm, observer: Observer) -> bool:
    """Make one run and close its recording; say whether memory was too short to believe what was sampled."""
    quiet = await _wait_quiet(study, slot)
    log = _new_log(study, slot, arm)
    if quiet is not None and quiet["quiet"] is not True:
        log.issue("pressure_unknown" if quiet["quiet"] is None else "not_quiet")
    observer.begin(log)
    before = read_pressure()
    try:
        status = await _make_run(study, arm, log)
        pressed = _judge_memory(study, log, before) if samples_memory(study, arm.driver) else False
    except BaseException as error:
        # What ends the study is told, not what follows from it.
        with contextlib.suppress(RecordingError):
            _mark(log, arm.stop, arm.gateway, error)
        with contextlib.suppress(RecordingError):
            log.finish("cancelled", observer=observer.end(), quiet=quiet)
        raise
    log.finish(status, observer=observer.end(), quiet=quiet)
    return pressed


async def _wait_quiet(study: Study, slot: Slot) -> dict[str, Any] | None:
    """Wait for a quiet machine where that is wanted, and say so in the study as long as it lasts."""
    note, since = study.folder / WAITING_FILE, time.time_ns()

    def tell(why: str) -> None:
        longest_s = study.quiet.wait_s if study.quiet else 0.0
        about = {"arm": slot.arm, "run_index": slot.index, "why": why}
        with contextlib.suppress(RecordingError):  # only for people
            write_json(note, {**about, "since_unix_ns": since, "longest_s": longest_s}, durable=False)

    try:
        return None if study.quiet is None else await wait_quiet(study.quiet, tell)
    finally:
        with contextlib.suppress(OSError):
            note.unlink(missing_ok=True)


def _judge_memory(study: Study, log: RunLog, before: Pressure) -> bool:
    """Look at the machine after a run whose memory was sampled."""
    after = read_pressure()
    log.state["pressure"] = {"before": known(before), "after": known(after)}
    pressed = None if study.quiet is None else study.quiet.memory_pressed(before, after)
    if pressed:
        shares = [p.memory_some_avg10 for p in (before, after)]
        log.issue("memory_pressure", f"before {shares[0]} %, after {shares[1]} %", discard=True)
    return pressed is True


def _mark(log: RunLog, stop: Stop, gateway: LiveGateway | None, error: BaseException) -> None:
    """Say in a run why it ends with its study; none of it is the agent's failure, so it is made again."""
    ending = ending_of(gateway, log.run_id)
    if isinstance(error, asyncio.CancelledError):
        log.issue(stop.reason or "cancelled", discard=True)
    elif isinstance(error, GatewayError) and ending is not None:
        log.issue(ENDINGS[ending], str(error), discard=True)
    elif isinstance(error, StartupError):
        log.issue("startup_failed", str(error), discard=True)
    else:
        code = "gateway_gone" if isinstance(error, GatewayError) else "unfinished"
        log.issue(code, str(error), discard=True)


def samples_memory(study: Study, driver: Driver) -> bool:
    """Say whether the memory of a driver's processes is sampled in a study."""
    return study.memory or getattr(driver, "measures_memory", False) is True


async def _make_run(study: Study, arm: _Arm, log: RunLog) -> str:
    """Make one run; its failure becomes an issue and the study goes on."""
    status = "complete"
    try:
        opened = await arm.open()
        log.on_begin = functools.partial(_point_gateway, arm, log)
        wanted = samples_memory(study, arm.driver)
        async with sampled(log, arm.owned, wanted=wanted), opened.session(log) as session:
            await log.begin()  # a server of this run alone was warmed up until here
            await asyncio.sleep(study.scenario.settle_s)
            log.phase = "turn"
            nonce = secrets.token_hex(8)  # fresh for each run and never stored
            for prompt in study.scenario.turns:
                await session.prompt(prompt.replace("{nonce}", nonce))
            await asyncio.sleep(study.scenario.tail_s)
            log.phase = "cleanup"
            if log.memory is not None:
                log.memory.mark("end")
        _check_requirements(study.scenario, log)
    except (RecordingError, ConfigError, GatewayError):
        raise
    except Exception as error:
        if isinstance(error, StartupError) and not has_finished(study.folder, arm.name):
            raise  # it never started: all its runs would fail
        text = str(error) if isinstance(error, AgentlabError) else f"{type(error).__name__}: {error}"
        fallback = "startup_failed" if isinstance(error, StartupError) else "driver_error"
        log.issue(getattr(error, "code", None) or fallback, text, discard=True)
        if isinstance(error, (AgentExited, StartupError)):
            await _reopen_later(arm, log)
        status = "failed"
    finally:
        await _point_gateway(arm, None)
    for code, detail in doubts_of(arm.gateway):
        log.issue(code, detail)
    if log.final_text_chars and went_around(arm.gateway):
        log.issue("gateway_bypassed", discard=True)
    ending = ending_of(arm.gateway, log.run_id)
    if ending == "limit":  # the run's own cap; what the agent made of it is its result
        log.issue(ENDINGS[ending], discard=True)
    elif ending is not None:
        raise end_study(ending, arm.gateway)
    return status


async def _reopen_later(arm: _Arm, log: RunLog) -> None:
    """Close an arm whose server is gone; its next run opens it afresh."""
    try:
        await arm.close()
    except Exception as error:
        log.issue("cleanup_error", f"{type(error).__name__}: {error}")


def _check_requirements(scenario: Scenario, log: RunLog) -> None:
    for need in scenario.require:
        if need == "text" and not log.final_text_chars:
            log.issue("missing_text", discard=True)
        elif need.startswith("tool:") and need[5:] not in log.tools_completed:
            log.issue("missing_tool", need[5:], discard=True)


def _new_log(study: Study, slot: Slot, arm: _Arm) -> RunLog:
    sequence = next_sequence(study.folder)
    return RunLog(
        study.folder / "runs" / f"{sequence:04d}-{slug(slot.arm)}",
        slot,
        sequence=sequence,
        scenario=study.scenario,
        identity=arm.identity,
        keep=study.keep,
        redactor=Redactor(
            secrets=[arm.gateway.token] if arm.gateway else [], paths={str(arm.scratch): "<scratch>"}
        ),
    )


async def _start_gateways(study: Study, stack: AsyncExitStack, children: Children) -> dict[str, Any]:
    """Start the study's gateway, and one for each arm that has its own, which goes before the study's."""
    shared: Any = None
    live: dict[str, Any] = {}
    for name, driver in study.drivers.items():
        own = getattr(driver, "gateway", None)
        wanted = own if own is not None else study.gateway
        if own is None and shared is not None:
            live[name] = shared
        elif wanted is None:
            live[name] = None
        else:
            live[name] = await wanted.start(
                folder=study.folder,
                keep=study.keep,
                children=children,
                account="study" if own is None else f"arm {name}",
                total_usd=study.budget_usd,
            )
            stack.push_async_callback(live[name].close)
            await live[name].idle()  # what comes before the first run is warm-up
            shared = live[name] if own is None else shared
    return live


async def _point_gateway(arm: _Arm, log: RunLog | None) -> None:
    """Tell the arm's gateway which run new sessions belong to from now on."""
    gateway: Any = arm.gateway
    if gateway is None:
        return
    if log is None:
        await gateway.idle()
    else:
        await gateway.begin(log.run_id, arm.name, log.folder / "gateway.jsonl")
