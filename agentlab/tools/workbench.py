"""The tools in a process of their own: a long search must not delay a stamp of whoever measures."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ..errors import StartupError
from ..wire.children import Child, Children
from .observation import Observation

#: Between the end of a process's output and that of the process.
_GRACE_S = 0.5


class Workbench:
    """Carry out tool calls in another process, which is started at once and again after a time-out.

    Parameters
    ----------
    children : Children
        What the process is started with and ends with.
    root : Path
        Folder that the tools are bound to.
    archive : Path
        Private folder for whole observations.
    max_chars : int
        Longest observation that is shown whole.
    max_seconds : float
        Of one call.
    """

    def __init__(
        self,
        children: Children,
        root: Path,
        *,
        archive: Path,
        max_chars: int = 16_000,
        max_seconds: float = 5.0,
    ) -> None:
        self._children = children
        self._archive = archive
        self._max_seconds = max_seconds
        self._settings = {
            "root": str(root.absolute()),  # the process stands elsewhere
            "archive": str(archive.absolute()),
            "max_chars": max_chars,
            "max_seconds": max_seconds,
        }
        self._child: Child | None = None
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Start the process, if it does not run.

        Raises
        ------
        StartupError
            It cannot be started.
        """
        async with self._lock:  # not within a call: the first one would be slower
            await self._running()

    async def call(self, name: str, arguments: object) -> Observation:
        """Carry out one call; calls take turns.

        Parameters
        ----------
        name : str
            Of the tool.
        arguments : JSON data
            By the tool's schema.

        Returns
        -------
        Observation
            Failed when it took too long.

        Raises
        ------
        StartupError
            The process cannot be started.
        """
        async with self._lock:
            child = await self._running()
            try:
                answer = await _ask(child, {"name": name, "arguments": arguments})
            except BaseException:
                await self._end()  # half an answer may be under way
                raise
            if answer is None:
                late = await self._end() == -signal.SIGALRM
                why = f"not done within {self._max_seconds:g} s" if late else "the tools' process ended"
                return Observation.failure(f"{name}: {why}")
            return Observation(**answer)

    def whole(self, observation: Observation) -> str:
        """Return all of an observation.

        Parameters
        ----------
        observation : Observation
            From :meth:`call`.

        Returns
        -------
        str
        """
        if observation.name is None:
            return observation.content
        return (self._archive / observation.name).read_bytes().decode()

    async def close(self) -> None:
        """End the process."""
        async with self._lock:
            await self._end()

    async def _running(self) -> Child:
        if self._child is None:
            env = {
                "PATH": os.environ.get("PATH", os.defpath),
                "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
                "LC_ALL": "C.UTF-8",
            }
            argv = [sys.executable, "-P", "-m", "agentlab.tools.worker"]
            self._child = await self._children.spawn(argv, env=env, stdin="pipe", stdout="pipe")
            if await _ask(self._child, self._settings) is None:
                await self._end()
                raise StartupError("the process of the shared tools did not start", phase="startup")
        return self._child

    async def _end(self) -> int | None:
        child, self._child = self._child, None
        return None if child is None else await child.terminate(_GRACE_S)


async def _ask(child: Child, message: dict[str, Any]) -> dict[str, Any] | None:
    """Write one line and read one; None: the process is gone."""
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(json.dumps(message).encode() + b"\n")
        await child.stdin.drain()
        line = await _line(child.stdout)
    except (ConnectionError, asyncio.IncompleteReadError):
        return None
    return json.loads(line)


async def _line(stdout: asyncio.StreamReader) -> bytes:
    """Read a line of any length: the reader's own limit is below what an observation may be."""
    parts: list[bytes] = []
    while True:
        try:
            return b"".join([*parts, await stdout.readuntil(b"\n")])
        except asyncio.LimitOverrunError as error:
            parts.append(await stdout.readexactly(error.consumed))
