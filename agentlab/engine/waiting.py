"""When the machine is quiet enough for a run."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from typing import Any

from ..errors import ConfigError
from ..wire.pressure import Pressure, known, read_pressure


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quiet:
    """Say when the machine is quiet enough for a run, and how long to wait for it.

    Parameters
    ----------
    cpu_some_avg10 : float, default 25
        Largest CPU pressure (PSI ``some avg10``), in percent (0..100) of the last 10 s.
    memory_some_avg10 : float, default 1
        Largest memory pressure, likewise in percent.
    wait_s : float, default 20
        Longest wait before a run, in seconds. Then the run goes on and carries the issue ``not_quiet``.
    attempts : int, default 1
        Most runs in place of one whose memory was sampled under memory pressure (before or after it, above
        the limit). Such a run is discarded with ``memory_pressure`` and stays on disk.

    Raises
    ------
    ConfigError
        A limit or wait is no number from 0, or there is no attempt.

    Examples
    --------
    >>> Quiet(wait_s=60).cpu_some_avg10
    25.0
    """

    cpu_some_avg10: float = 25.0
    memory_some_avg10: float = 1.0
    wait_s: float = 20.0
    attempts: int = 1

    def __post_init__(self) -> None:
        for name in ("cpu_some_avg10", "memory_some_avg10", "wait_s"):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ConfigError(f"Quiet({name}={value!r}): give a number from 0")
        if type(self.attempts) is not int or not 1 <= self.attempts <= 100:
            raise ConfigError(f"Quiet(attempts={self.attempts!r}): give a whole number from 1 to 100")

    def memory_pressed(self, before: Pressure, after: Pressure) -> bool | None:
        """Say whether memory was short around a run.

        Parameters
        ----------
        before, after : Pressure
            Samples of the machine.

        Returns
        -------
        bool or None
            None: the kernel does not tell.
        """
        shares = [p.memory_some_avg10 for p in (before, after) if p.memory_some_avg10 is not None]
        if any(share > self.memory_some_avg10 for share in shares):
            return True
        return False if len(shares) == 2 else None


async def wait_quiet(limits: Quiet, tell: Callable[[str], object] = lambda _: None) -> dict[str, Any]:
    """Wait until the machine is quiet, or as long as the limits say.

    Parameters
    ----------
    limits : Quiet
        Limits and longest wait.
    tell : callable, optional
        Called with what is above its limit, each time that it was looked at and the wait goes on.

    Returns
    -------
    dict
        ``waited_s``, ``quiet`` (None: the kernel reports no pressure, so it is unknown) and the last sample.
    """
    started = time.monotonic()
    while True:
        sample = read_pressure()
        quiet = _is_quiet(sample, limits)
        waited = time.monotonic() - started
        if quiet is not False or waited >= limits.wait_s:
            return {"waited_s": round(waited, 3), "quiet": quiet, **known(sample)}
        tell(_above(sample, limits))
        await asyncio.sleep(min(0.5, limits.wait_s - waited))


def _is_quiet(sample: Pressure, limits: Quiet) -> bool | None:
    if sample.cpu_some_avg10 is None or sample.memory_some_avg10 is None:
        return None
    return (
        sample.cpu_some_avg10 <= limits.cpu_some_avg10
        and sample.memory_some_avg10 <= limits.memory_some_avg10
    )


def _above(sample: Pressure, limits: Quiet) -> str:
    pairs = {
        "CPU": (sample.cpu_some_avg10, limits.cpu_some_avg10),
        "memory": (sample.memory_some_avg10, limits.memory_some_avg10),
    }
    return ", ".join(
        f"{name} pressure {share:.3g} %, limit {limit:.3g} %"
        for name, (share, limit) in pairs.items()
        if share is not None and share > limit
    )
