"""Measure in a dedicated kernel: what "auto" means in a notebook."""

from __future__ import annotations

import ast
import asyncio
import logging
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from .. import __version__
from ..engine.study import Study
from ..errors import AgentlabError, ConfigError, StartupError
from ..wire.held import PREFIX, left_behind, make_held
from .lease import CONNECTION
from .outfit import Lifeline, environment, guard, import_paths, job_line, outcome_of, tail

_START_S = 60.0
_LOOK_S = 0.1
#: A Unix socket's path has at most 107 bytes, and each channel's gets this suffix.
_IPC_PATH, _IPC_SUFFIX = 107, "-ipc-5"
_log = logging.getLogger("agentlab.host")
_log.addHandler(logging.NullHandler())  # jupyter_client's own messages; what matters becomes an error


def kernelspec(name: str | None) -> Any:  # noqa: ANN401
    """Find what starts a measuring kernel.

    Parameters
    ----------
    name : str or None
        A kernelspec's name; None is the interpreter that runs this, whatever "python3" is called here.

    Returns
    -------
    jupyter_client.kernelspec.KernelSpec

    Raises
    ------
    ConfigError
        There is no such kernelspec, or it runs no Python.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

    if name is None:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="agentlab",
            language="python",
            metadata={"supported_encryption": "curve"},
        )
    try:
        spec = KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel:
        known = ", ".join(sorted(KernelSpecManager().find_kernel_specs())) or "none"
        raise ConfigError(f"record(kernel={name!r}): no such kernelspec; there are: {known}") from None
    if spec.language.lower() != "python":
        raise ConfigError(f"record(kernel={name!r}): it runs {spec.language}, and agentlab needs Python")
    return spec


class KernelHost:
    """Carry out a study in a kernel of its own; see :class:`agentlab.host.base.Host`.

    Parameters
    ----------
    study : Study
        A prepared study.
    name : str or None
        Kernelspec; None: this interpreter.
    detach : float, optional
        Go on without this process, for at most so many seconds.

    Raises
    ------
    ConfigError
        No such kernelspec, or something of the study cannot cross to another process.
    """

    def __init__(self, study: Study, name: str | None = None, detach: float | None = None) -> None:
        self.done = threading.Event()
        self.outcome: dict[str, Any] | None = None
        self.failure: str | None = None
        self._spec = kernelspec(name)
        self._called = f"kernelspec {name!r}" if name else "the measuring kernel"
        self._job = job_line(study)
        self._how: dict[str, Any] = {"detach": detach, "kernelspec": name}
        self._asked: str | None = None
        self._killed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: Lifeline | None = None
        # All of jupyter_client lives on this thread's loop: a busy cell of the notebook cannot stop it.
        self._thread = threading.Thread(target=self._run, name="agentlab-kernel", daemon=True)

    def start(self) -> None:
        """Start the thread that starts the kernel."""
        self._thread.start()

    def ask(self, reason: str) -> None:
        """Ask to stop."""
        self._asked = self._asked or reason
        if self._lifeline is not None:
            self._lifeline.send(reason.encode())

    def kill(self) -> None:
        """Send SIGKILL to the kernel."""
        self._killed = True
        if self._process is not None:
            self._process.kill()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except AgentlabError as error:
            self.outcome = {
                "status": "failed",
                "error": {"type": type(error).__name__, "message": str(error)},
            }
        except Exception as error:
            self.failure = f"{self._called} could not be used: {type(error).__name__}: {error}"
        finally:
            self.done.set()

    async def _main(self) -> None:
        folder, log = _runtime_folder()
        try:
            with log:
                await self._use(folder, log)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _use(self, folder: Path, log: IO[bytes]) -> None:
        """Start the kernel, let it do the job, and see it gone."""
        manager = _manager(folder, self._spec)
        try:
            await manager.start_kernel(
                # A folder of its own: neither the user's start-up files nor the history database.
                env={**environment(), "IPYTHONDIR": str(folder / "ipython")},
                independent=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # ipykernel's greeting
                stderr=log,
                # What libraries write there goes to the log, not to a front end that does not exist.
                extra_arguments=["--IPKernelApp.capture_fd_output=False", guard(folder)],
                cwd=str(Path.cwd()),
            )
            self._process = getattr(manager.provisioner, "process", None)
            if self._process is None or self._process.stdin is None:
                raise ConfigError(f"{self._called} is not started on this machine, as measuring needs it")
            lifeline = Lifeline(self._process.stdin.fileno())
            try:
                await self._converse(manager, lifeline, folder, log)
            finally:
                # All is written and closed, and what is not is the watchdogs'; a polite end would take 0.3 s.
                # The folder goes first: should this process end now, a kernel that lives removes it, one
                # that was killed cannot.
                shutil.rmtree(folder, ignore_errors=True)
                self._process.kill()
                await asyncio.to_thread(self._process.wait)
                lifeline.close()
                self._process.stdin.close()
        except OSError as error:
            raise StartupError(f"{self._called} cannot be started: {error}", phase="startup") from error
        finally:
            await manager.cleanup_resources()

    async def _converse(self, manager: Any, lifeline: Lifeline, folder: Path, log: IO[bytes]) -> None:  # noqa: ANN401
        """Ask whether agentlab is there, then have the job done; iopub stays closed: it loses messages."""
        client = manager.client()
        client.start_channels(iopub=False, stdin=False, hb=False, control=False)
        try:
            prologue = f"{import_paths()}; import agentlab; from agentlab.host import worker"
            content = await self._execute(manager, client, prologue, "agentlab.__version__", _START_S)
            if content is None:
                if self._asked is None:
                    raise StartupError(f"{self._called} did not become ready{tail(log)}", phase="startup")
                self.outcome = {"status": self._asked}
                return
            self._check(content)
            lifeline.send(self._job)
            self._lifeline = lifeline
            if self._asked is not None:
                lifeline.send(self._asked.encode())
            code = f"_agentlab = await worker.main({str(folder)!r}, **{self._how!r})"
            content = await self._execute(manager, client, code, "_agentlab", None)
            self.outcome = outcome_of(_value(content)) if content is not None else None
            if self.outcome is None:
                self.failure = f"{self._called} was ended{tail(log)}"
        finally:
            client.stop_channels()

    async def _execute(
        self,
        manager: Any,  # noqa: ANN401
        client: Any,  # noqa: ANN401
        code: str,
        expression: str,
        seconds: float | None,
    ) -> dict[str, Any] | None:
        """Return the reply to one request; None when the kernel ended or was late."""
        request = client.execute(
            code,
            store_history=False,
            allow_stdin=False,
            stop_on_error=False,
            user_expressions={"value": expression},
        )
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                reply = await client.get_shell_msg(timeout=_LOOK_S)
            except queue.Empty:
                starting = end is not None and (self._asked is not None or time.monotonic() > end)
                if starting or self._killed or not await manager.is_alive():
                    return None
                continue
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]

    def _check(self, content: dict[str, Any]) -> None:
        """Refuse a kernel whose agentlab is absent or another."""
        hint = f"install agentlab=={__version__} there, or choose another kernel"
        if content["status"] != "ok":
            raise ConfigError(
                f"{self._called}: agentlab cannot be imported there "
                f"({content.get('ename')}: {content.get('evalue')}); {hint}"
            )
        if (version := _value(content)) != __version__:
            raise ConfigError(f"{self._called} has agentlab {version}, and here is {__version__}; {hint}")


def _runtime_folder() -> tuple[Path, IO[bytes]]:
    """Make this kernel's own folder, with its log; those of owner and kernel killed together go now.

    The log is the kernel's standard error, so the kernel holds the folder also when its owner is gone.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    runtime = Path(jupyter_runtime_dir())
    try:
        runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in left_behind(PREFIX, runtime):
            shutil.rmtree(left, ignore_errors=True)
        return make_held(PREFIX, runtime)
    except OSError as error:
        raise StartupError(
            f"Jupyter's runtime folder {runtime} cannot be used: {error.strerror}; let JUPYTER_RUNTIME_DIR "
            "name one that can be written, or measure without a kernel: host='process'",
            phase="startup",
        ) from error


def _manager(folder: Path, spec: Any) -> Any:  # noqa: ANN401
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class OneSpec(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> Any:  # noqa: ANN401
            return spec

    file = folder / CONNECTION
    fits = len(str(file.with_suffix("")).encode()) + len(_IPC_SUFFIX) <= _IPC_PATH
    options: dict[str, Any] = {"transport": "ipc" if fits else "tcp"}
    if not fits and "transport_encryption" in AsyncKernelManager.class_trait_names():
        options["transport_encryption"] = "auto"  # jupyter_client >= 8.10
    return AsyncKernelManager(connection_file=str(file), kernel_spec_manager=OneSpec(), log=_log, **options)


def _value(content: dict[str, Any]) -> str:
    """Return the text that a user expression evaluated to; empty when it failed."""
    value = content.get("user_expressions", {}).get("value", {})
    if value.get("status") != "ok":
        return ""
    return ast.literal_eval(value["data"]["text/plain"])
