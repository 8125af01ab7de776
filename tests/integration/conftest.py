"""A real notebook's kernel, without a front end: started, spoken to and ended as Jupyter does it."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_client.manager import KernelManager


class Notebook:
    """A notebook's kernel in a folder, with runtime and temporary folders of its own below it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime, self.temporary = folder / "run", folder / "tmp"
        self.runtime.mkdir()
        self.temporary.mkdir()
        environment = {
            **os.environ,
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "TMPDIR": str(self.temporary),
            "PYTHONWARNINGS": "error::ResourceWarning",
            "SOME_API_KEY": "sk-must-not-cross-0123456789",
        }
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(folder), env=environment, independent=True)
        self.process = psutil.Process(self.manager.provisioner.pid)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.messages: list[dict[str, Any]] = []

    def start(self, code: str, *, live: bool = False) -> str:
        """Begin a cell; ``live``: as a front end that can answer input() does."""
        return self.client.execute(code, allow_stdin=live, stop_on_error=True)

    def reply(self, request: str, seconds: float = 30) -> dict[str, Any]:
        """Wait for the end of a cell."""
        end = time.monotonic() + seconds
        while True:
            message = self.client.get_shell_msg(timeout=max(0.01, end - time.monotonic()))
            if message["parent_header"].get("msg_id") == request:
                return message["content"]

    def run(self, code: str, *, live: bool = False) -> dict[str, Any]:
        """Run a cell and return its reply; an error fails the test."""
        content = self._unless_aborted(lambda: self.start(code, live=live))
        assert content["status"] == "ok", "\n".join(content.get("traceback", [str(content)]))
        return content

    def value(self, expression: str) -> str:
        """Evaluate an expression and return its repr."""
        wanted = {"v": expression}
        content = self._unless_aborted(lambda: self.client.execute("", silent=True, user_expressions=wanted))
        value = content["user_expressions"]["v"]
        assert value["status"] == "ok", value
        return value["data"]["text/plain"]

    def _unless_aborted(self, send: Callable[[], str]) -> dict[str, Any]:
        """Send again what fell into the moment after an error, in which a kernel aborts what is queued."""
        for _ in range(20):
            content = self.reply(send())
            if content["status"] != "aborted":
                break
            time.sleep(0.1)
        return content

    def outputs(self, until: Callable[[dict[str, Any]], bool], seconds: float = 20) -> dict[str, Any]:
        """Read what the kernel publishes until a message fits; all are kept in ``messages``."""
        end = time.monotonic() + seconds
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.01, end - time.monotonic()))
            self.messages.append(message)
            if until(message):
                return message

    def drain(self) -> list[dict[str, Any]]:
        """Read what has been published; return all messages so far."""
        while True:
            try:
                self.messages.append(self.client.get_iopub_msg(timeout=0.3))
            except queue.Empty:
                return self.messages

    def interrupt(self) -> None:
        """Press the interrupt button."""
        self.manager.interrupt_kernel()

    def end(self, how: str) -> None:
        """End the kernel: ``restart``, ``restart now``, ``shutdown`` or ``kill``."""
        if how == "kill":
            os.kill(self.process.pid, signal.SIGKILL)
        elif how == "shutdown":
            self.manager.shutdown_kernel()
        else:
            self.manager.restart_kernel(now=how == "restart now")

    def descendants(self) -> list[psutil.Process]:
        """List all processes that the kernel started, also indirectly."""
        return self.process.children(recursive=True)

    def close(self) -> None:
        """End the kernel, whatever its state."""
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.context.term()


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Notebook]:
    made = Notebook(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-made authority, and a certificate of it for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    for name, more in {
        "ca": ["-subj", "/CN=own authority"],
        "server": ["-subj", "/CN=provider", *names],
    }.items():
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key"] if name == "server" else []
        argv = [*made, "-keyout", f"{name}.key", "-out", f"{name}.pem", *more, *signed]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    return folder
