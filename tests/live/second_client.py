"""A second client beside the driver's, to do to its browser what a test needs."""

import asyncio
import contextlib
from pathlib import Path

import psutil

from agentlab.wire.cdp.connection import Connection


def browser_processes() -> list[psutil.Process]:
    found = psutil.Process().children(recursive=True)
    return [p for p in found if any(word.startswith("--user-data-dir=") for word in p.cmdline())]


async def devtools() -> str:
    """The address of the browser that is recorded now, for a second client beside the driver's."""
    async with asyncio.timeout(60):
        while True:
            for process in browser_processes():
                with contextlib.suppress(psutil.Error, OSError, IndexError):
                    words = [w for w in process.cmdline() if w.startswith("--user-data-dir=")]
                    file = Path(words[0].partition("=")[2]) / "DevToolsActivePort"
                    port, path = file.read_text().split()
                    return f"ws://127.0.0.1:{port}{path}"
            await asyncio.sleep(0.05)


async def targets(browser: Connection) -> list[str]:
    found = (await browser.call("Target.getTargets"))["targetInfos"]
    return [t["targetId"] for t in found if t["type"] == "page" and t["url"].startswith("http")]


async def page_of(target: str) -> Connection:
    """Open a second connection to a page."""
    return await Connection.open(f"{(await devtools()).partition('/devtools')[0]}/devtools/page/{target}")
