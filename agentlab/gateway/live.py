"""A running gateway, seen from its owner: spawn, orders, and what it has recorded."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError, GatewayError, RecordingError, StartupError
from ..wire.children import Child, Children
from .book import LedgerState, read
from .dialects import DIALECTS
from .files import finished, fresh_file
from .settings import TRUST, Gateway

_START_S = 30.0
_ORDER_S = 10.0
_CLOSE_S = 1.0


async def start(
    gateway: Gateway,
    *,
    folder: str | Path | None = None,
    keep: Literal["numbers", "content"] = "numbers",
    children: Children | None = None,
    account: str = "gateway",
    total_usd: Decimal | None = None,
) -> Live:
    """Start the gateway's process; see :meth:`agentlab.Gateway.start`.

    Parameters
    ----------
    gateway : Gateway
        The settings.
    folder : str or Path, optional
        Where requests outside runs are recorded.
    keep : {"numbers", "content"}
        Whether prompts and answers are recorded.
    children : Children, optional
        What the process is started with; None: its own.
    account : str
        Whose rows it writes in the ledger.
    total_usd : Decimal, optional
        Limit of all accounts of the ledger.

    Returns
    -------
    Live
    """
    if keep not in ("numbers", "content"):
        raise ConfigError(f"keep={keep!r}: write 'numbers' or 'content'")
    key = _key(gateway)
    own = children if children is not None else await Children().__aenter__()
    try:
        private = await own.folder()
        file = fresh_file(private if folder is None else Path(folder).absolute())
        child = await _spawn(own, private / "stderr")
        settings = {
            "gateway": gateway.to_dict(),
            "file": str(file),
            "keep": keep,
            "key": key,
            "ledger": str(file.with_name("ledger.jsonl")),
            "account": account,
            "total_usd": None if total_usd is None else format(total_usd, "f"),
        }
        try:
            ready = await _ready(child, settings, private / "stderr")
        except BaseException:
            await child.terminate()
            raise
    except BaseException:
        if children is None:
            await own.close()
        raise
    return Live(
        child,
        ready,
        file=file,
        stderr=private / "stderr",
        children=own if children is None else None,
        account=account,
        priced=gateway.prices is not None,
        budget_usd=gateway.budget,
    )


class Live:
    """Hold a running gateway; made by :meth:`agentlab.Gateway.start`.

    Parameters
    ----------
    child : Child
        The gateway's process.
    ready : dict
        What it said: url, token, pid.
    file : Path
        Lines of requests outside runs.
    stderr : Path
        Its error output.
    children : Children or None
        Closed with it.
    account : str
        Whose rows of the ledger are its own.
    priced : bool
        Whether requests have a price.
    budget_usd : Decimal or None
        The account's limit.

    Attributes
    ----------
    pid : int
        Of the process.
    refused : dict
        Calls refused with 403 so far, counted by what was wrong: path, method, host, token. Brought up to
        date by each of the methods.
    endings : dict of str to str
        What ended which run, of those that the gateway ended: ``"budget"``, ``"balance"``, ``"limit"``,
        ``"upstream"`` or ``"error"``. Likewise.
    """

    def __init__(
        self,
        child: Child,
        ready: dict[str, Any],
        *,
        file: Path,
        stderr: Path,
        children: Children | None,
        account: str,
        priced: bool,
        budget_usd: Decimal | None,
    ) -> None:
        self.pid = int(ready["pid"])
        self.refused: dict[str, int] = {}
        self.endings: dict[str, str] = {}
        self._child = child
        self._url = str(ready["url"])
        self._token = str(ready["token"])
        self._files = [file]
        self._stderr = stderr
        self._children = children
        self._lock = asyncio.Lock()
        self._closed: list[dict[str, Any]] | None = None
        self._life = str(ready["life"])
        self._account, self._priced, self._budget = account, priced, budget_usd
        self._final: LedgerState | None = None
        self._halted: str | None = None  # of a ledger that cannot be written it is not in the file

    def __repr__(self) -> str:
        return f"<gateway at {self._url}, pid {self.pid}{', closed' if self._closed is not None else ''}>"

    @property
    def token(self) -> str:
        """Bearer token that the gateway accepts; worth nothing elsewhere."""
        return self._token

    def base_url(self, dialect: str = "chat") -> str:
        """Return the base URL that an agent is configured with.

        Parameters
        ----------
        dialect : {"chat", "responses", "messages", "gemini"}
            Wire of the agent.

        Returns
        -------
        str
            ``http://127.0.0.1:PORT/v1``, and without ``/v1`` for messages and gemini, as their clients
            expect it.
        """
        if dialect not in DIALECTS:
            raise ConfigError(f"the gateway does not speak {dialect!r}; it speaks {', '.join(DIALECTS)}")
        return self._url + DIALECTS[dialect].base

    @property
    def ledger(self) -> LedgerState:
        """What is charged, reserved, uncertain and refused, and whether the gateway has halted.

        It is read from ``ledger.jsonl``; amounts are those of all resumptions.
        """
        return self._final if self._final is not None else self._ledger(running=True)

    def _ledger(self, *, running: bool) -> LedgerState:
        state = read(self._files[0].with_name("ledger.jsonl")).state(
            self._account,
            life=self._life,
            running=running,
            priced=self._priced,
            budget=self._budget,
        )
        return dataclasses.replace(state, halted=state.halted or self._halted)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Finished requests: fields of their begin and end lines, ``t_begin, t_first, t_end`` in ns.

        They are read from the files; after ``await live.sync()`` none that an agent saw end is missing.
        """
        return list(self._closed) if self._closed is not None else finished(self._files)

    def of_run(self) -> list[dict[str, Any]]:
        """Return the finished requests of the run that began last, as :attr:`requests` does of all."""
        return finished(self._files[-1:])

    def quiet_s(self) -> float:
        """Return how long ago the last line of that run was written, in seconds.

        Raises
        ------
        GatewayError
            The process is gone: an agent may ask it again for as long as it likes.
        """
        if self._child.returncode is not None:
            raise GatewayError(f"the gateway's process is gone{_tail(self._stderr)}")
        try:
            return time.time() - self._files[-1].stat().st_mtime
        except OSError:
            return float("inf")

    async def begin(self, run_id: str, arm: str, file: str | Path) -> None:
        """Say that a run begins: sessions first seen from now on belong to it, for ever.

        Parameters
        ----------
        run_id, arm : str
            The run.
        file : str or Path
            Its ``gateway.jsonl``; lines are appended.

        Raises
        ------
        GatewayError
            The process is gone.
        RecordingError
            Lines cannot be written.
        """
        path = Path(file).absolute()
        if path not in self._files:
            self._files.append(path)
        await self._order({"op": "run", "run_id": run_id, "arm": arm, "file": str(path)})

    async def idle(self) -> int:
        """Say that no run is under way.

        Returns
        -------
        int
            Requests of the run that are still open; they go on being recorded in it.

        Raises
        ------
        GatewayError
            The process is gone.
        RecordingError
            Lines could not be written.
        """
        return int((await self._order({"op": "run", "run_id": None}))["open"])

    @property
    def tools_url(self) -> str:
        """Where the shared file tools are served; see :meth:`serve_tools`."""
        return self._url + "/v1/tools"

    async def serve_tools(self, root: str | Path | None, *, max_chars: int = 16_000) -> None:
        """Serve the shared file tools (:mod:`agentlab.tools`) in a folder from now on.

        Parameters
        ----------
        root : str or Path or None
            The run's folder, which no call leaves; None: none is served.
        max_chars : int
            Longest observation that is shown whole.

        Raises
        ------
        GatewayError
            The process is gone.
        RecordingError
            Lines cannot be written.
        """
        folder = None if root is None else str(Path(root).absolute())
        await self._order({"op": "tools", "root": folder, "max_chars": max_chars})

    async def sync(self) -> None:
        """Wait until the lines of every request that an agent has seen the end of are written.

        ``begin`` and ``idle`` do the same.
        """
        await self._order({"op": "sync"})

    async def close(self) -> None:
        """End the process; a second call does nothing."""
        if self._closed is not None:
            return
        try:
            with contextlib.suppress(GatewayError, RecordingError, TimeoutError):
                await asyncio.wait_for(self._order({"op": "close"}), _CLOSE_S)
                await asyncio.wait_for(self._child.wait(), _CLOSE_S)
        finally:
            try:
                await self._child.terminate()
                self._final = self._ledger(running=False)
            finally:
                self._closed = finished(self._files)
                if self._children is not None:  # and with it the folder where these files may lie
                    await self._children.close()

    async def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        async with self._lock:
            try:
                answer = await asyncio.wait_for(_ask(self._child, order), _ORDER_S)
            except TimeoutError:
                raise GatewayError(f"the gateway did not answer the order {order['op']!r}") from None
            except GatewayError as error:
                raise GatewayError(f"{error}{_tail(self._stderr)}") from error
        if not answer.get("ok"):
            raise GatewayError(f"the gateway refused an order: {answer.get('error')}")
        self.refused, self.endings, self._halted = answer["refused"], answer["endings"], answer["halted"]
        if answer["failed"]:
            raise RecordingError(
                f"the gateway could not write its lines ({answer['failed']}): look at the disk and the folder"
            )
        return answer


def _key(gateway: Gateway) -> str | None:
    if gateway.key_env is None:
        return None
    key = os.environ.get(gateway.key_env)
    if not key:
        raise ConfigError(f"Gateway(key_env={gateway.key_env!r}): this environment variable is not set")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"Gateway(key_env={gateway.key_env!r}): this environment variable holds a line break or another "
            "character that no key has"
        )
    return key


async def _spawn(children: Children, stderr: Path) -> Child:
    """Start the process with an environment built from nothing; the key travels over stdin only."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        # A cache rule may be a module of the user's: it is found as it is here.
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "LC_ALL": "C.UTF-8",
        **{name: os.environ[name] for name in TRUST if name in os.environ},
    }
    argv = [sys.executable, "-P", "-m", "agentlab.gateway.server"]
    return await children.spawn(argv, env=env, stdin="pipe", stdout="pipe", stderr=stderr)


async def _ready(child: Child, settings: dict[str, Any], stderr: Path) -> dict[str, Any]:
    """Hand over the settings and wait until the process listens."""
    try:
        ready = await asyncio.wait_for(_ask(child, settings), _START_S)
    except (GatewayError, TimeoutError) as error:
        reason = str(error) or f"nothing heard in {_START_S:g} s"
        raise StartupError(f"the gateway did not start: {reason}{_tail(stderr)}", phase="startup") from error
    told = {"ConfigError": ConfigError, "RecordingError": RecordingError}.get(str(ready.get("type")))
    if told is not None:
        raise told(ready["error"])
    if "url" not in ready:
        raise StartupError(f"the gateway did not start: {ready.get('error')}", phase="startup")
    return ready


async def _ask(child: Child, message: dict[str, Any]) -> dict[str, Any]:
    """Write one line and read one."""
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(json.dumps(message).encode() + b"\n")
        await child.stdin.drain()
        line = await child.stdout.readline()
    except ConnectionError:
        line = b""
    if not line:
        raise GatewayError("the gateway's process is gone")
    return json.loads(line)


def _tail(stderr: Path) -> str:
    """Return the end of the process's error output for a message."""
    with contextlib.suppress(OSError):
        text = stderr.read_text("utf-8", "replace").strip()
        return f"\n{text[-800:]}" if text else ""
    return ""
