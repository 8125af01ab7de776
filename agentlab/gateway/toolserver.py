"""``/v1/tools``: the shared file tools for agents that can be given tools, in the folder of the run."""

from __future__ import annotations

import asyncio
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
        self._bench: asyncio.Task[Workbench] | None = None

    def serve(self, root: str | None, *, max_chars: int) -> None:
        """Bind the tools to a folder from now on.

        Parameters
        ----------
        root : str or None
            The folder; None: none is served.
        max_chars : int
            Longest observation that is shown whole.
        """
        before, self._bench = self._bench, None
        if root is not None or before is not None:
            self._bench = asyncio.ensure_future(self._opened(before, root, max_chars))

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
        if method == "GET":
            return 200, {"tools": list(TOOLS), "system": SYSTEM}
        t = time.monotonic_ns()
        name, arguments = _read(body)
        bench = None if self._bench is None else await self._ready(self._bench)
        if name is None:
            seen = Observation.failure("the call is no JSON object with name and arguments")
        elif bench is None:
            seen = Observation.failure("no folder is served")
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

    async def _ready(self, opening: asyncio.Task[Workbench]) -> Workbench | None:
        try:
            return await asyncio.shield(opening)
        except StartupError:
            return None

    async def _opened(
        self, before: asyncio.Task[Workbench] | None, root: str | None, max_chars: int
    ) -> Workbench:
        if before is not None:
            bench = await self._ready(before)
            if bench is not None:
                await bench.close()
        if root is None:
            raise StartupError("no folder is served")
        if self._children is None:  # they end with the gateway's own process
            self._children = await Children().__aenter__()
        archive = await self._children.folder()
        bench = Workbench(self._children, Path(root), archive=archive, max_chars=max_chars)
        await bench.start()
        return bench


def _read(body: bytes) -> tuple[str | None, object]:
    """Return a call's name and arguments; no name: it is none."""
    try:
        call: object = json.loads(body)
    except (ValueError, RecursionError):
        return None, None
    given = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
    name = given.get("name")
    return (name if isinstance(name, str) else None), given.get("arguments")
