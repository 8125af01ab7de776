"""Notice plugins that do not load: OpenCode goes on without them and says so only in passing.

One whose file cannot be imported is told in an event without a session; one that fails in its own code, in
the server's log. Both while the first call boots the workspace.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...agents.plugins import Plugin
from ...errors import StartupError
from ...redact import Redactor
from ...wire.eventsource import EventSource
from .api import Api, decode

_LOGGED = re.compile(r'message="failed to load plugin" path=(\S+) error=(.*)')
_BOOTED = "message=init"
_PROOF_S = 5.0


async def boot(api: Api, home: Path, plugins: Sequence[Plugin], timeout_s: float) -> bool:
    """Boot the workspace of a fresh server and see all plugins loaded.

    Parameters
    ----------
    api : Api
        The server, to which nothing was sent yet.
    home : Path
        Its home; holds its log.
    plugins : sequence of Plugin
        What was configured.
    timeout_s : float
        For the boot, seconds.

    Returns
    -------
    bool
        Whether both places could be read to the end of the boot; else a plugin may be missing unseen.

    Raises
    ------
    StartupError
        A plugin did not load (code ``plugin_failed``).
    AgentlabError
        The server does not answer.
    """
    told: list[str] = []
    source = EventSource(api.url + "/global/event", auth=api.auth, open_timeout_s=timeout_s)
    async with source:
        await api.call("GET", "/agent", timeout_s=timeout_s)
        # What the boot told comes before this session's event, which thus proves that all was seen.
        session, _ = await api.call("POST", "/session", {"title": secrets.token_hex(4)}, timeout_s=timeout_s)
        seen = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PROOF_S):
                seen = await _read_until(source, str(session["id"]), told)
        await api.call("DELETE", f"/session/{quote(session['id'], safe='')}")
    log = await _log(home)
    told += [f"{path}: {error}" for path, error in _LOGGED.findall(log)]
    if told:
        hide = Redactor(paths={str(p.package or p.path): p.name for p in plugins} | {str(home): "<home>"})
        raise StartupError(
            f"OpenCode did not load a plugin: {hide.redact('; '.join(told))}",
            driver="opencode",
            phase="startup",
            code="plugin_failed",
        )
    return seen and _BOOTED in log


async def _read_until(source: EventSource, session: str, told: list[str]) -> bool:
    async for events in source:
        for event in events:
            data: Any = decode(event.data)
            payload = data.get("payload", data)
            properties = payload.get("properties") or {}
            if payload.get("type") == "session.error" and not properties.get("sessionID"):
                error: Any = properties.get("error") or {}
                reason = (error.get("data") or {}).get("message") or error.get("name")
                told.append(str(reason or "no reason given"))
            elif payload.get("type") == "session.created" and session in str(payload):
                return True
    return False


async def _log(home: Path) -> str:
    """Return the server's log once it holds the end of the boot, or as it is after a while."""
    folder, text = home / ".local" / "share" / "opencode" / "log", ""
    end = time.monotonic() + _PROOF_S
    while _BOOTED not in text and time.monotonic() < end:
        text = "\n".join(file.read_text(errors="replace") for file in sorted(folder.glob("opencode*.log")))
        await asyncio.sleep(0.05)
    return text
