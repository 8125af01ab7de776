"""A Chromium of one's own: found, started with a private profile, and gone with its owner."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from ...errors import BrowserGone, ConfigError, DriverError, StartupError
from ..children import Child, Children
from ..marked import marked
from ..watchdog import descendants
from .connection import CALL_S, Connection, Params
from .page import Page

#: Looked up in this order when none is named.
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
#: What a headed browser needs of the environment; nothing else of it is passed on.
_DISPLAY = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
#: A Unix socket's path has at most 107 bytes, and the browser adds its own part to the folder's.
_LONGEST = 107 - len("/org.chromium.Chromium.XXXXXX/SingletonSocket")
_LOOPBACK_ONLY = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1 , EXCLUDE [::1]"
)
_FLAGS = (
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    # a page that is not in front is measured like one that is
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-features=CalculateNativeWinOcclusion,IntensiveWakeUpThrottling,Translate,OptimizationHints",
)


class Browser:
    """Hold a running browser; made by :func:`launch`.

    Attributes
    ----------
    version : str
        E.g. ``"Chrome/156.0.8078.108"``.
    pid : int
        Its process.
    """

    def __init__(self, child: Child, connection: Connection, address: str, version: str) -> None:
        self.version = version
        self.pid = child.pid
        self._child = child
        self._connection = connection
        self._address = address
        self._pages: list[Page] = []

    async def call(self, method: str, *, timeout_s: float = CALL_S, **params: object) -> Params:
        """Send a command to the browser itself; see :meth:`Connection.call`."""
        return await self._connection.call(method, params, timeout_s=timeout_s)

    async def page(self) -> Page:
        """Open a blank page; enter it, and it is closed at the end.

        Returns
        -------
        Page

        Raises
        ------
        BrowserGone
            The browser has ended.
        """
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        page = Page(
            await Connection.open(f"{self._address}/devtools/page/{target}"), target, self._close_target
        )
        self._pages.append(page)
        return page

    async def _close_target(self, target: str) -> None:
        await self.call("Target.closeTarget", targetId=target, timeout_s=5)

    async def watch(self) -> None:
        """Wait for the end of the process and let everybody who waits for an answer know."""
        code = await self._child.wait()
        gone = BrowserGone(f"the browser has ended (exit code {code})", driver="webchat", code="browser_gone")
        for connection in (self._connection, *(page.connection for page in self._pages)):
            connection.fail(gone)

    async def close(self) -> None:
        """Ask the browser to end, then end the connections."""
        with contextlib.suppress(DriverError):
            await self.call("Browser.close", timeout_s=2)
        for connection in (*(page.connection for page in self._pages), self._connection):
            await connection.close()


@contextlib.asynccontextmanager
async def launch(
    children: Children,
    *,
    executable: str | Path | None = None,
    headless: bool = True,
    viewport: tuple[int, int] = (1600, 1000),
    profile: Path | None = None,
    loopback_only: bool = True,
    flags: Sequence[str] = (),
    start_s: float = 30.0,
) -> AsyncGenerator[Browser]:
    """Start a browser, with a fresh profile if none is given.

    Parameters
    ----------
    children : Children
        Starts it, and ends it whatever happens; its profile goes with them.
    executable : path or str, optional
        Chromium or Chrome; looked up in the PATH when absent.
    headless : bool
        Without a window. With one it needs a display.
    viewport : tuple of int
        Width and height of the window, px.
    profile : Path, optional
        Folder of a profile; it stays. None: a new one, which goes with the browser.
    loopback_only : bool
        Resolve no name but localhost, so that nothing leaves this machine.
    flags : sequence of str
        Further arguments.
    start_s : float
        Longest start, s.

    Yields
    ------
    Browser

    Raises
    ------
    ConfigError
        No browser is found, a window is asked for where there is no display, or the profile is in use.
    StartupError
        It does not become ready; the message holds the end of its log.
    """
    program = find(executable)
    if not headless and not any(os.environ.get(name) for name in _DISPLAY[:2]):
        raise ConfigError(
            "a browser with a window needs a display (DISPLAY or WAYLAND_DISPLAY); use headless"
        )
    folder = await children.folder()
    if len(str(folder)) > _LONGEST:
        raise ConfigError(
            f"the folder for temporary files has too long a path for a browser's socket ({len(str(folder))} "
            f"characters, at most {_LONGEST}); set TMPDIR to a shorter one"
        )
    log = folder / "log"
    profile = _profile(profile, folder)
    shown = () if headless else _DISPLAY
    child = await children.spawn(
        [
            program,
            f"--user-data-dir={profile}",
            "--remote-debugging-port=0",
            f"--window-size={viewport[0]},{viewport[1]}",
            *(("--headless=new",) if headless else ()),
            # Chromium refuses to run its sandbox as root.
            *(("--no-sandbox",) if os.geteuid() == 0 else ()),
            *((_LOOPBACK_ONLY,) if loopback_only else ()),
            *_FLAGS,
            *flags,
            "about:blank",
        ],
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            **{name: os.environ[name] for name in shown if name in os.environ},
        },
        cwd=folder,
        stdout=log,
        stderr=log,
    )
    address, path = await _ready(child, profile, log, start_s)
    connection = await Connection.open(f"{address}{path}")
    version = (await connection.call("Browser.getVersion"))["product"]
    browser = Browser(child, connection, address, version)
    watching = asyncio.create_task(browser.watch())
    try:
        yield browser
    finally:
        await browser.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(watching), 3)
        watching.cancel()
        if await child.terminate() is None:
            _kill(child.pid, children.marker)
        await _remove(folder)


def find(executable: str | Path | None = None) -> str:
    """Find the browser.

    Parameters
    ----------
    executable : path or str, optional
        A file, or a name in the PATH.

    Returns
    -------
    str
        Its path.

    Raises
    ------
    ConfigError
        There is none.
    """
    names = NAMES if executable is None else (str(executable),)
    for name in names:
        if (found := shutil.which(name)) is not None:
            return found
    looked = ", ".join(names)
    raise ConfigError(
        f"no Chromium or Chrome is found (looked for {looked}). Install one, e.g. apt-get install chromium, "
        "or name its executable"
    )


def _profile(wanted: Path | None, folder: Path) -> Path:
    """Make the folder of a profile, or check that no browser uses the one that is wanted."""
    profile = folder / "profile" if wanted is None else wanted.expanduser().absolute()
    if (owner := _owner(profile)) is not None:
        raise ConfigError(
            f"the browser profile {profile} is in use by process {owner}; close that browser, or use another"
        )
    profile.mkdir(mode=0o700, parents=True, exist_ok=True)
    (profile / "DevToolsActivePort").unlink(missing_ok=True)  # of a browser before
    return profile


def _owner(profile: Path) -> int | None:
    """Return the process that holds a profile; a killed browser leaves its lock, a link to "host-pid"."""
    try:
        host, _, pid = (profile / "SingletonLock").readlink().name.rpartition("-")
        runs = host == socket.gethostname() and Path("/proc", str(int(pid))).exists()
    except (OSError, ValueError):
        return None
    return int(pid) if runs else None


async def _ready(child: Child, profile: Path, log: Path, start_s: float) -> tuple[str, str]:
    """Wait for the file in which the browser says its port: a port that is free now may not be later."""
    file = profile / "DevToolsActivePort"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(start_s):
            while child.returncode is None:
                if file.exists() and len(words := file.read_text().split()) == 2:
                    return f"ws://127.0.0.1:{words[0]}", words[1]
                await asyncio.sleep(0.02)
    tail = log.read_text("utf-8", "replace")[-1000:].strip() if log.exists() else ""
    ended = f"ended with exit code {child.returncode}" if child.returncode is not None else "is not ready"
    raise StartupError(
        f"the browser {ended} after at most {start_s:g} s; its log ends: {tail}",
        driver="webchat",
        phase="startup",
    )


def _kill(pid: int, marker: str) -> None:
    """End a browser whose watchdog was killed: its helpers have no marker, and write to the profile."""
    if marked(pid, marker):
        for one in (pid, *descendants(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)


async def _remove(folder: Path) -> None:
    """Remove profile and log; helpers of the browser still write for a moment."""
    for _ in range(50):
        await asyncio.to_thread(shutil.rmtree, folder, True)
        if not folder.exists():
            return
        await asyncio.sleep(0.05)
