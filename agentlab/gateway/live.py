"""A running gateway, seen from its owner: spawn, orders, and what it has recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Literal

from ..errors import GatewayError, RecordingError, StartupError
from .settings import Gateway

_START_S = 30.0
_ORDER_S = 10.0
_CLOSE_S = 2.0
#: Base path of each dialect, below the gateway's root: what an agent is configured with.
_BASES = {"chat": "/v1"}


async def start(
    gateway: Gateway, *, folder: str | Path | None = None, keep: Literal["numbers", "content"] = "numbers"
) -> Live:
    """Start the gateway's process.

    Parameters
    ----------
    gateway : Gateway
        The settings.
    folder : str or Path, optional
        Where requests outside runs are recorded; None: a private folder, removed at the end.
    keep : {"numbers", "content"}
        Whether prompts and answers are recorded.

    Returns
    -------
    Live

    Raises
    ------
    StartupError
        The process did not become ready.
    """
    private = None if folder is not None else Path(tempfile.mkdtemp(prefix="agentlab-gateway-"))
    file = (Path(folder) if folder is not None else Path(str(private))).absolute() / "gateway.jsonl"
    stderr = tempfile.TemporaryFile()
    settings = {"gateway": gateway.to_dict(), "file": str(file), "keep": keep}
    try:
        process = await _spawn(stderr)
        try:
            async with asyncio.timeout(_START_S):
                ready = await _ask(process, settings)
        except BaseException:
            await _end(process)
            raise
        if "url" not in ready:
            await _end(process)
            raise StartupError(f"the gateway did not start: {ready.get('error', ready)}", phase="startup")
    except (GatewayError, OSError, TimeoutError) as error:
        raise StartupError(
            f"the gateway's process did not become ready: {error}{_tail(stderr)}", phase="startup"
        ) from error
    except BaseException:
        if private is not None:
            shutil.rmtree(private, ignore_errors=True)
        stderr.close()
        raise
    return Live(process, ready, file=file, private=private, stderr=stderr)


class Live:
    """Hold a running gateway; made by :meth:`agentlab.Gateway.start`.

    Parameters
    ----------
    process : asyncio.subprocess.Process
        The gateway's.
    ready : dict
        What it said: url, token, pid.
    file : Path
        Lines of requests outside runs.
    private : Path or None
        Folder to be removed at the end.
    stderr : binary file
        Its error output.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        ready: dict[str, Any],
        *,
        file: Path,
        private: Path | None,
        stderr: IO[bytes],
    ) -> None:
        self._process = process
        self._url = str(ready["url"])
        self._token = str(ready["token"])
        self._files: list[Path] = [file]
        self._private = private
        self._stderr = stderr
        self._lock = asyncio.Lock()
        self._closed: list[dict[str, Any]] | None = None
        self.pid = int(ready["pid"])
        #: Requests refused with 403, by what was wrong: path, method, host, token.
        self.refused: dict[str, int] = {}

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
        dialect : {"chat"}
            Wire of the agent.

        Returns
        -------
        str
            E.g. ``http://127.0.0.1:PORT/v1``.
        """
        if dialect not in _BASES:
            raise GatewayError(f"the gateway does not speak {dialect!r} yet; it speaks {', '.join(_BASES)}")
        return self._url + _BASES[dialect]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Finished requests, each with the fields of its begin and end lines and its stamps in ns."""
        return list(self._closed) if self._closed is not None else _finished(self._files)

    async def begin(self, run_id: str, arm: str, file: str | Path) -> None:
        """Say that a run begins: sessions first seen from now on belong to it.

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
            Lines could not be written.
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
        """
        return int((await self._order({"op": "run", "run_id": None}))["open"])

    async def close(self) -> None:
        """End the process; a second call does nothing."""
        if self._closed is not None:
            return
        try:
            with contextlib.suppress(GatewayError, RecordingError, OSError):
                await asyncio.shield(asyncio.wait_for(self._order({"op": "close"}), _CLOSE_S))
        finally:
            self._closed = _finished(self._files)
            if self._private is not None:
                shutil.rmtree(self._private, ignore_errors=True)
            await _end(self._process)
            self._stderr.close()

    async def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        async with self._lock:
            try:
                async with asyncio.timeout(_ORDER_S):
                    answer = await _ask(self._process, order)
            except TimeoutError:
                raise GatewayError(f"the gateway did not answer the order {order['op']!r}") from None
            except GatewayError as error:
                raise GatewayError(f"{error}{_tail(self._stderr)}") from error
        if not answer.get("ok"):
            raise GatewayError(f"the gateway refused an order: {answer.get('error')}")
        self.refused = answer.get("refused", {})
        if answer.get("failed"):
            raise RecordingError(
                f"the gateway could not write its lines: {answer['failed']}; free the disk and go on"
            )
        return answer


async def _spawn(stderr: IO[bytes]) -> asyncio.subprocess.Process:
    """Start the process with an environment built from nothing."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        # A cache rule may be the user's own module: it is found as it is here.
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "LC_ALL": "C.UTF-8",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "agentlab.gateway.server",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env=env,
        start_new_session=True,
    )


async def _ask(process: asyncio.subprocess.Process, message: dict[str, Any]) -> dict[str, Any]:
    """Write one line and read one."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
    except ConnectionError as error:
        raise GatewayError("the gateway's process is gone") from error
    if not line:
        raise GatewayError("the gateway's process is gone")
    return json.loads(line)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the lifeline, and kill what does not end by it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_CLOSE_S):
            await process.wait()
    except (TimeoutError, asyncio.CancelledError):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise


def _tail(stderr: IO[bytes]) -> str:
    """Return the end of the process's error output for a message."""
    with contextlib.suppress(OSError, ValueError):
        stderr.seek(0)
        text = stderr.read().decode("utf-8", "replace").strip()
        return f"\n{text[-800:]}" if text else ""
    return ""


def _finished(files: list[Path]) -> list[dict[str, Any]]:
    """Join the begin and end lines of each request."""
    rows: dict[int, dict[str, Any]] = {}
    for file in files:
        if not file.is_file():
            continue
        for line in file.read_bytes().split(b"\n"):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            kind, t = event.pop("kind"), event.pop("t")
            row = rows.setdefault(event["request"], {"n_chunks": 0})
            if kind == "request.chunk":
                row["n_chunks"] += 1
                row.setdefault("t_first", t)
            else:
                row.update(event)
                row["t_begin" if kind == "request.begin" else "t_end"] = t
    return [rows[number] for number in sorted(rows) if "t_end" in rows[number]]
