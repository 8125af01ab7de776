"""The memory of a run's processes, sampled beside it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from ..wire.procid import Owned
from .files import LineWriter
from .runlog import RunLog


@contextlib.asynccontextmanager
async def sampled(log: RunLog, owned: Owned, *, wanted: bool) -> AsyncGenerator[None]:
    """Sample a run while this context is entered.

    Parameters
    ----------
    log : RunLog
        The run.
    owned : Owned
        What its arm owns.
    wanted : bool
        False: nothing is sampled.

    Raises
    ------
    RecordingError
        The samples cannot be written.
    """
    if not wanted:
        yield
        return
    from ..instruments.memory import MemorySampler

    writer = LineWriter(log.folder / "memory.jsonl")
    try:
        sampler = MemorySampler(writer.write, lambda: [*owned.alive(), *log.owned.alive()])
        log.memory = sampler
        sampler.start()
        try:
            yield
        finally:
            log.memory = None
            if not (log.owned.ever or owned.ever):
                log.issue("memory_unknown")
            cost: dict[str, Any] = await sampler.stop()
            log.state["memory"] = cost
    finally:
        writer.close()
