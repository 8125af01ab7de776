"""``/v1/tools``: the shared file tools for agents that can be given tools, in the folder of the run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import Any, cast

from ..errors import StartupError
from ..tools import SYSTEM, TOOLS, Observation, Workbench
from ..wire.children import Children
from .attribution import Owner
from .journal import Journal

PATH = "/v1/tools"


class ToolServer:
    """Serve the shared tools.

    ``GET`` says which there are, and the system text that goes with them. ``POST`` carries out one call,
    ``{"name": ..., "arguments": {...}}``, and answers ``{"ok": ..., "content": ...}``; a call that fails is
    no HTTP error, so that no agent repeats it.

    Parameters
    ----------
    journal : Journal
        Where calls are recorded.
    keep_content : bool
        Whether arguments and whole observations are recorded too.
    """

    def __init__(self, journal: Journal, *, keep_content: bool) -> None:
        self._journal = journal
        self._keep = keep_content
        self._children: Children | None = None
        self._root: str | None = None
        self._max_chars = 0
        self._bench: asyncio.Task[Workbench] | None = None
        self._closing: asyncio.Task[None] | None = None

    def serve(self, root: str | None, *, max_chars: int) -> None:
        """Bind the tools to a folder from now on; their process starts when they are first asked for.

        Parameters
        ----------
        root : str or None
            The folder; None: none is served.
        max_chars : int
            Longest observation that is shown whole.
        """
        self._root, self._max_chars = root, max_chars
        if self._bench is not None:
            self._closing = asyncio.ensure_future(_close(self._bench))
            self._bench = None

    async def answer(self, method: str, body: bytes, owner: Owner) -> tuple[int, dict[str, Any]]:
        """Answer one call.

        Parameters
        ----------
        method : str
            Of HTTP.
        body : bytes
            Of the call.
        owner : Owner
            Its run.

        Returns
        -------
        tuple of (int, dict)
            HTTP status and JSON data.
        """
        t = time.monotonic_ns()
        bench = await self._ready()
        if method == "GET":  # an agent that starts: its first call finds the process ready
            return 200, {"tools": list(TOOLS), "system": SYSTEM}
        name, arguments = _read(body)
        if name is None:
            seen = Observation.failure("the call is no JSON object with name and arguments")
        elif bench is None:
            seen = Observation.failure("no folder is served, or the tools cannot be started")
        else:
            seen = await bench.call(name, arguments)
        known = name if any(tool["name"] == name for tool in TOOLS) else None
        fields: dict[str, Any] = {
            "tool": known,
            **seen.fields(),
            "duration_ns": time.monotonic_ns() - t,
        }
        if self._keep:
            whole = seen.content if bench is None else bench.whole(seen)
            fields["content"] = {"name": name, "arguments": arguments, "output": whole}
        self._journal.write(owner.file, t, "tool.call", fields)
        return 200, {"ok": seen.ok, "content": seen.content}

    async def _ready(self) -> Workbench | None:
        if self._root is None:
            return None
        if self._bench is None:
            self._bench = asyncio.ensure_future(self._opened(Path(self._root)))
        try:
            return await asyncio.shield(self._bench)
        except StartupError:
            self._bench = None
            return None

    async def _opened(self, root: Path) -> Workbench:
        if self._children is None:  # they end with the gateway's own process
            self._children = await Children().__aenter__()
        archive = await self._children.folder()
        bench = Workbench(self._children, root, archive=archive, max_chars=self._max_chars)
        await bench.start()
        return bench


async def _close(opening: asyncio.Task[Workbench]) -> None:
    with contextlib.suppress(StartupError):
        await (await opening).close()


def _read(body: bytes) -> tuple[str | None, object]:
    """Return a call's name and arguments; no name: it is none."""
    try:
        call: object = json.loads(body)
    except (ValueError, RecursionError):
        return None, None
    given = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
    name = given.get("name")
    return (name if isinstance(name, str) else None), given.get("arguments")
