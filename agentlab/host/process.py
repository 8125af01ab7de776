"""Measure in a plain subprocess: scripts, the command line, papermill."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from ..engine.study import Study
from ..redact import redact

#: What the measuring process inherits; provider keys are no part of it.
_INHERITED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
)


def environment() -> dict[str, str]:
    """Return the environment of a measuring process, built from nothing.

    Returns
    -------
    dict
        Named variables, and all that begin with ``AGENTLAB_`` or ``OPENBLAS_``.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(("AGENTLAB_", "OPENBLAS_"))
    }


def job_line(study: Study) -> bytes:
    """Return what a measuring process is told: the study, secrets included, and where to import from."""
    job: dict[str, Any] = {
        "study": {**study.to_job(), "folder": {"$path": str(study.folder.resolve())}},
        "sys_path": [str(Path(path or ".").resolve()) for path in sys.path],
    }
    return json.dumps(job, allow_nan=False).encode() + b"\n"


class ProcessHost:
    """Carry out a study in ``python -m agentlab.host.worker``; see :class:`agentlab.host.base.Host`.

    Parameters
    ----------
    study : Study
        A prepared study.
    """

    def __init__(self, study: Study) -> None:
        self.done = threading.Event()
        self.failure: str | None = None
        self._job = job_line(study)  # encoded here: what cannot cross is a ConfigError of the caller
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="agentlab-process", daemon=True)

    def start(self) -> None:
        """Start the process."""
        self._log = tempfile.TemporaryFile()
        # A session of its own: the terminal's ^C reaches the owner, which asks once and waits.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agentlab.host.worker"],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env=environment(),
            start_new_session=True,
        )
        self._thread.start()

    def ask(self, reason: str) -> None:
        """Ask to stop."""
        self._write(reason.encode() + b"\n")

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _run(self) -> None:
        self._write(self._job)
        code = self._process.wait()
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.close()
        if code != 0:
            self._log.seek(0)
            tail = redact(self._log.read().decode(errors="replace").strip()[-2000:])
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self.failure = f"the measuring process {ended}" + (f": {tail}" if tail else "")
        self._log.close()
        self.done.set()
