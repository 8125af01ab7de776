"""What an agent reaches besides its model: nothing but the gateway, with its look-ups told; or sampled."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...errors import StartupError
from ...wire import netns
from ...wire.children import Child, Children

_START_S = 10.0


class Loopback:
    """A network from which only the gateway can be reached; made by :func:`loopback`."""

    def __init__(self, child: Child, path: str, program: str) -> None:
        self._child = child
        self._prefix = (program, f"--net={path}", "--")
        #: Told of each look-up: name, kind of record, stamp.
        self.on_lookup: Callable[[str, str, int], None] | None = None

    def inside(self, argv: Sequence[str]) -> list[str]:
        """Return a command that runs in this network, under the same process id.

        Parameters
        ----------
        argv : sequence of str
            Absolute command.

        Returns
        -------
        list of str
        """
        return [*self._prefix, *argv]

    async def listen(self) -> None:
        """Pass look-ups on until the network is gone."""
        assert self._child.stdout is not None
        while line := await self._child.stdout.readline():
            told = json.loads(line)
            if self.on_lookup is not None and "lookup" in told:
                self.on_lookup(told["lookup"], told["type"], told["t"])


@contextlib.asynccontextmanager
async def loopback(url: str) -> AsyncGenerator[Loopback]:
    """Make a network that leads to a local port only.

    Parameters
    ----------
    url : str
        Of the gateway, on loopback.

    Yields
    ------
    Loopback

    Raises
    ------
    StartupError
        This user or this machine cannot make one.
    """
    program = shutil.which("nsenter")
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or program is None:
        raise _refused("nsenter (util-linux) is missing" if program is None else "it needs root on Linux")
    async with Children() as children:
        child = await children.spawn(
            [sys.executable, "-I", "-S", netns.__file__, str(urlsplit(url).port)],
            env={},
            stdin="pipe",
            stdout="pipe",
        )
        told = await _ready(child)
        if "ready" not in told:
            raise _refused(str(told.get("error", "its process ended")))
        network = Loopback(child, told["ready"], program)
        listening = asyncio.create_task(network.listen())
        try:
            yield network
        finally:
            listening.cancel()


async def _ready(child: Child) -> dict[str, Any]:
    assert child.stdout is not None
    try:
        line = await asyncio.wait_for(child.stdout.readline(), _START_S)
    except TimeoutError:
        return {}
    return json.loads(line) if line else {}


def _refused(why: str) -> StartupError:
    return StartupError(
        f"AgentCLI(network='loopback'): no network of its own can be made ({why}). Use network='open'",
        driver="agentcli",
        phase="startup",
    )
