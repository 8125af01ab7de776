"""The reference agent's arm: what its runs share, and the clean-up of each."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents.base import split_model
from ...gateway.dialects import DIALECTS
from ...tools import Workbench
from ...wire.children import Children
from ..base import Arm, LiveGateway, Run
from ..workspace import renew, template
from .model import Model
from .session import ReferenceSession
from .wires import Wire

if TYPE_CHECKING:
    from . import Reference


@contextlib.asynccontextmanager
async def open_arm(driver: Reference, arm: Arm, gateway: LiveGateway) -> AsyncGenerator[_Opened]:
    """Open an arm.

    Parameters
    ----------
    driver : Reference
        Settings.
    arm : Arm
        From the engine.
    gateway : LiveGateway
        In front of the model.

    Yields
    ------
    object
        What opens sessions.
    """
    source = await asyncio.to_thread(template, driver.workspace, arm.scratch)
    async with Children() as children:
        yield _Opened(driver, arm.scratch, gateway, children, source)


@dataclasses.dataclass(frozen=True)
class _Opened:
    driver: Reference
    scratch: Path
    gateway: LiveGateway
    children: Children
    source: Path | None

    @contextlib.asynccontextmanager
    async def session(self, run: Run) -> AsyncGenerator[ReferenceSession]:
        """Open a run's session in a folder of its own."""
        driver, gateway = self.driver, self.gateway
        folder, archive = self.scratch / "work", self.scratch / "archive"
        await asyncio.to_thread(renew, folder, self.source)
        _, name = split_model("Reference", driver.model)
        wire = Wire(
            dialect=driver.dialect,
            model=name,
            system=driver.system,
            max_output_tokens=driver.max_output_tokens,
        )
        model = Model(
            gateway.base_url(driver.dialect) + wire.path,
            dialect=driver.dialect,
            headers={**DIALECTS[driver.dialect].login(gateway.token), "x-session-id": run.run_id},
            stall_s=run.scenario.timeouts.stall,
        )
        bench = Workbench(self.children, folder, archive=archive, max_chars=driver.max_observation_chars)
        session = ReferenceSession(
            run,
            wire=wire,
            model=model,
            bench=bench,
            window_tokens=driver.window_tokens,
            max_steps=driver.max_steps,
        )
        try:
            await bench.start()
            run.emit("session.open", session=session.id, role="main")
            try:
                yield session
            finally:
                session.end()
                run.emit("session.close", session=session.id, deleted=True)
        finally:
            await bench.close()
            await model.close()
            shutil.rmtree(archive, ignore_errors=True)
