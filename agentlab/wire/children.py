"""Processes that cannot outlive their owner.

:class:`Children` starts a small watchdog process (:mod:`agentlab.wire.watchdog`) that starts everything else:
the fork is cheap however large this process is, and all descendants end with it, also after SIGKILL.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from ..errors import StartupError
from . import watchdog
from .held import PREFIX, make_held
from .marked import MARKER, kill_marked

Stdio = Literal["null", "pipe"] | Path


class Child:
    """One process started by :class:`Children`.

    Attributes
    ----------
    pid : int
        Process id; also its session and process group.
    stdin : asyncio.StreamWriter or None
        With ``stdin="pipe"``.
    stdout, pipe : asyncio.StreamReader and its asyncio.ReadTransport, or None
        With ``stdout="pipe"``; who stops reading before the end closes the pipe.
    returncode : int or None
        Exit code once it has ended; negative: the signal.
    cost : dict
        Once it has ended: ``t`` (ns, CLOCK_MONOTONIC, when it was reaped), ``cpu_s`` (user and system seconds
        of it and of the children that it waited for) and ``max_rss_bytes`` (of the largest of them). Empty
        when the watchdog was lost.
    """

    def __init__(self, owner: Children, pid: int) -> None:
        self._owner = owner
        self.pid = pid
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.pipe: asyncio.ReadTransport | None = None
        self.returncode: int | None = None
        self.cost: dict[str, Any] = {}
        self._ended = asyncio.Event()

    async def wait(self) -> int | None:
        """Wait for its end.

        Returns
        -------
        int or None
            Exit code; None when the watchdog was lost and the code is unknown.
        """
        await self._ended.wait()
        return self.returncode

    async def terminate(self, grace_s: float = 0.2) -> int | None:
        """Send SIGTERM, then SIGKILL after the grace.

        Parameters
        ----------
        grace_s : float
            Seconds between the two.

        Returns
        -------
        int or None
            As :meth:`wait`. Its descendants end with :meth:`Children.close`.
        """
        for sig in (signal.SIGTERM, signal.SIGKILL):
            if self._ended.is_set():
                break
            await self.signal(sig)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), grace_s if sig == signal.SIGTERM else 2.0)
        return self.returncode

    async def signal(self, sig: int) -> None:
        """Send one signal, if it still runs.

        Parameters
        ----------
        sig : int
            Signal number.
        """
        if not self._ended.is_set():
            await self._owner.ask({"op": "signal", "pid": self.pid, "signal": int(sig)})

    def _end(self, returncode: int | None, cost: dict[str, Any] | None = None) -> None:
        self.returncode = returncode
        self.cost = cost or {}
        self._ended.set()


class Children:
    """Start processes that end with this context, or with this process, whatever happens.

    Raises
    ------
    StartupError
        The watchdog or a command cannot be started.

    Examples
    --------
    >>> async def hello():
    ...     async with Children() as children:
    ...         child = await children.spawn(["/bin/echo", "hello"], env={}, stdout="pipe")
    ...         return await child.stdout.read()
    >>> asyncio.run(hello()).strip()
    b'hello'
    """

    def __init__(self) -> None:
        self.marker = secrets.token_hex(8)
        self.survivors: tuple[str, ...] = ()
        self._children: dict[int, Child] = {}
        self._folders: dict[Path, IO[bytes]] = {}
        # An exit may be told before the spawn's answer was handled.
        self._exits: dict[int, dict[str, Any]] = {}
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._buffer = b""
        self._lost = False

    async def __aenter__(self) -> Children:
        self._sock, theirs = socket.socketpair()
        try:
            # -I -S: neither the user's site nor the environment reaches it; no preexec_fn, so no slow fork.
            self._process = subprocess.Popen(  # noqa: ASYNC220
                [sys.executable, "-I", "-S", watchdog.__file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={MARKER: self.marker},
                cwd="/",
            )
        except OSError as error:
            self._sock.close()
            raise StartupError(f"the watchdog process cannot be started: {error}", phase="startup") from error
        finally:
            theirs.close()
        self._sock.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._sock, self._read)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pid(self) -> int:
        """Process id of the watchdog: all that is started here, and what that starts, descends from it."""
        return self._process.pid

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | str = "/",
        stdin: Stdio = "null",
        stdout: Stdio = "null",
        stderr: Stdio | Literal["stdout"] = "null",
        tty: str | None = None,
    ) -> Child:
        """Start one process in a session of its own.

        Parameters
        ----------
        argv : sequence of str
            Command; the first is looked up in the PATH of ``env``.
        env : mapping
            The whole environment; nothing is inherited.
        cwd : path
            Its folder.
        stdin, stdout : {"null", "pipe"} or path
            A path is opened for appending, 0600.
        stderr : {"null", "stdout"} or path
            Where errors go.
        tty : str, optional
            Path of a pseudo-terminal's slave: the controlling terminal, in place of the three above.

        Returns
        -------
        Child

        Raises
        ------
        StartupError
            Command or folder not found, or not executable.
        """
        program = shutil.which(argv[0], path=env.get("PATH", os.defpath))
        if program is None:
            raise StartupError(f"{argv[0]}: command not found", phase="startup")
        message = {
            "op": "spawn",
            "argv": [program, *argv[1:]],
            "env": {**env, MARKER: self.marker},
            "cwd": str(cwd),
            "tty": tty,
        }
        if tty is not None:
            return self._adopt((await self.ask(message))["pid"])
        opened: list[int] = []
        reader = writer = None
        try:
            child_in, writer = self._open_in(stdin, opened)
            child_out, reader = self._open_out(stdout, opened)
            child_err = child_out if stderr == "stdout" else self._open_out(stderr, opened)[0]
            answer = await self.ask(message, (child_in, child_out, child_err))
        except BaseException:
            opened += [fd for fd in (reader, writer) if fd is not None]
            raise
        finally:
            for fd in opened:
                os.close(fd)
        child = self._adopt(answer["pid"])
        await self._connect(child, reader, writer)
        return child

    def _adopt(self, pid: int) -> Child:
        child = self._children[pid] = Child(self, pid)
        if pid in self._exits:
            _settle(self._children.pop(pid), self._exits.pop(pid))
        return child

    async def folder(self, parent: Path | None = None) -> Path:
        """Make a private folder (0700) that is removed with the processes, whatever happens.

        Parameters
        ----------
        parent : Path, optional
            Where; absent: the temporary folder.

        Returns
        -------
        Path
            With a short path, so that sockets fit into it; see :mod:`agentlab.wire.left`.
        """
        path, self._folders[path] = make_held(PREFIX, parent)
        await self.ask({"op": "own", "path": str(path)}, [self._folders[path].fileno()])
        return path

    async def close(self, *, term_s: float = 0.2) -> tuple[str, ...]:
        """End everything that was started, then the watchdog.

        Parameters
        ----------
        term_s : float
            Seconds between SIGTERM and SIGKILL.

        Returns
        -------
        tuple of str
            What is still alive, as ``"pid name"``; also kept in ``.survivors``.
        """
        if self._sock.fileno() == -1:
            return self.survivors
        if not self._lost:
            with contextlib.suppress(StartupError, TimeoutError):
                answer = await asyncio.wait_for(self.ask({"op": "sweep", "term_s": term_s}), term_s + 5)
                self.survivors = tuple(answer["survivors"])
        if self._lost:
            self.survivors = await kill_marked(self.marker)
        for folder, held in self._folders.items():
            if self._lost:
                shutil.rmtree(folder, ignore_errors=True)
            held.close()
        self._loop.remove_reader(self._sock)
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # also for copies of this process, which hold it open
        self._sock.close()
        while self._process.poll() is None:  # noqa: ASYNC110 (an interpreter that ends has no new threads)
            await asyncio.sleep(0.002)
        self._lose()
        return self.survivors

    async def ask(self, message: dict[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        """Send one message to the watchdog and wait for its answer.

        Parameters
        ----------
        message : dict
            ``op`` and its fields.
        fds : sequence of int
            Descriptors that travel with it.

        Returns
        -------
        dict
            The answer.

        Raises
        ------
        StartupError
            The watchdog is gone, or says no.
        """
        if self._lost:
            raise StartupError("the watchdog process is gone", phase="startup")
        self._count += 1
        data = json.dumps({**message, "id": self._count}).encode() + b"\n"
        future = self._waiting[self._count] = self._loop.create_future()
        try:
            sent = socket.send_fds(self._sock, [data], list(fds)) if fds else 0
            await self._loop.sock_sendall(self._sock, data[sent:])
        except OSError as error:
            self._lose()
            raise StartupError(f"the watchdog process is gone: {error}", phase="startup") from error
        answer = await future
        if "error" in answer:
            raise StartupError(f"{message['argv'][0]}: {answer['error']}", phase="startup")
        return answer

    @staticmethod
    def _open_in(kind: Stdio, opened: list[int]) -> tuple[int, int | None]:
        if kind == "pipe":
            theirs, ours = os.pipe()
            opened.append(theirs)
            return theirs, ours
        opened.append(os.open(os.devnull if kind == "null" else kind, os.O_RDONLY))
        return opened[-1], None

    @staticmethod
    def _open_out(kind: Stdio, opened: list[int]) -> tuple[int, int | None]:
        if kind == "pipe":
            ours, theirs = os.pipe()
            opened.append(theirs)
            return theirs, ours
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened.append(os.open(os.devnull if kind == "null" else kind, flags, 0o600))
        return opened[-1], None

    async def _connect(self, child: Child, reader: int | None, writer: int | None) -> None:
        if reader is not None:
            child.stdout = asyncio.StreamReader(limit=1 << 22)
            protocol = asyncio.StreamReaderProtocol(child.stdout)
            child.pipe, _ = await self._loop.connect_read_pipe(lambda: protocol, os.fdopen(reader, "rb", 0))
        if writer is not None:
            transport, flow = await self._loop.connect_write_pipe(
                asyncio.streams.FlowControlMixin, os.fdopen(writer, "wb", 0)
            )
            child.stdin = asyncio.StreamWriter(transport, flow, None, self._loop)

    def _read(self) -> None:
        try:
            data = self._sock.recv(1 << 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._sock)
            self._lose()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "exited" in message:
                child = self._children.pop(message["exited"], None)
                if child is None:
                    self._exits[message["exited"]] = message
                else:
                    _settle(child, message)
            elif (future := self._waiting.pop(message["id"], None)) is not None and not future.done():
                future.set_result(message)

    def _lose(self) -> None:
        """Settle all waiters: no more is heard of the watchdog."""
        self._lost = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(StartupError("the watchdog process ended", phase="startup"))
        self._waiting.clear()
        for child in self._children.values():
            child._end(None)  # pyright: ignore[reportPrivateUsage]
        self._children.clear()


def _settle(child: Child, message: dict[str, Any]) -> None:
    cost = {key: message[key] for key in ("t", "cpu_s", "max_rss_bytes")}
    child._end(message["returncode"], cost)  # pyright: ignore[reportPrivateUsage]
