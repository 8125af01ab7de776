"""Measure in a plain subprocess: scripts, the command line, papermill."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from typing import Any

from ..engine.study import Study
from .outfit import Lifeline, environment, import_paths, job_line, outcome_of, tail


class ProcessHost:
    """Carry out a study in a Python process of its own; see :class:`agentlab.host.base.Host`.

    Parameters
    ----------
    study : Study
        A prepared study.
    detach : float, optional
        Go on without this process, for at most so many seconds.

    Raises
    ------
    ConfigError
        Something of the study cannot cross to another process.
    """

    def __init__(self, study: Study, detach: float | None = None) -> None:
        self.done = threading.Event()
        self.outcome: dict[str, Any] | None = None
        self.failure: str | None = None
        self._detach = detach
        self._job = job_line(study)  # encoded here: what cannot cross is a ConfigError of the caller
        self._thread = threading.Thread(target=self._run, name="agentlab-process", daemon=True)

    def start(self) -> None:
        """Start the process."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by the thread)
        # -P and our own import paths: what imports here imports there, and nothing else.
        code = f"{import_paths()}; from agentlab.host import worker; worker.run({self._detach!r})"
        # A session of its own: the terminal's ^C reaches the owner, which asks once and waits.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment(),
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None
        self._lifeline = Lifeline(self._process.stdin.fileno())
        self._lifeline.send(self._job)
        self._thread.start()

    def ask(self, reason: str) -> None:
        """Ask to stop."""
        self._lifeline.send(reason.encode())

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        self._process.kill()

    def _run(self) -> None:
        with self._process as process, self._log:
            assert process.stdout is not None
            reply = process.stdout.read()  # to its end; what is printed goes to the log
            code = process.wait()
            self._lifeline.close()
            self.outcome = outcome_of(reply)
            if self.outcome is None:
                ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                self.failure = f"the measuring process {ended}{tail(self._log)}"
        self.done.set()
