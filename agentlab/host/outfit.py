"""What a measuring process is given, however it is started: environment, import paths, job and lifeline."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import IO, Any

from ..engine.study import Study
from ..redact import redact_data

#: What a measuring process inherits; provider keys are no part of it.
_INHERITED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "LD_LIBRARY_PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "PYTHONHOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
)


def environment() -> dict[str, str]:
    """Return the environment of a measuring process, built from nothing.

    Returns
    -------
    dict
        Named variables, and all that begin with ``AGENTLAB_`` or ``OPENBLAS_``. A kernel's ``JPY_PARENT_PID``
        is not among them: it would make ipykernel end the process without clean-up.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(("AGENTLAB_", "OPENBLAS_"))
    }


def import_paths() -> str:
    """Return code of one line that gives a fresh interpreter this one's import paths.

    Returns
    -------
    str
        Another Python or environment keeps its own paths and gets, at their end, only what does not belong to
        this installation, such as the notebook's folder.
    """
    paths = [str(Path(path or ".").resolve()) for path in sys.path]
    installed = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix})
    own = [path for path in paths if not path.startswith(installed)]
    here = (sys.prefix, tuple(sys.version_info[:2]))
    return (
        f"import sys; sys.path[:] = {paths!r} if (sys.prefix, sys.version_info[:2]) == {here!r} "
        f"else [*sys.path, *{own!r}]"
    )


#: The first cell of a measuring kernel: until the worker takes over standard input, its end ends the kernel.
_GUARD = """
def _guard(folder):
    import os, select, shutil, stat
    end = select.poll()
    end.register(0, 0)  # nothing but the end of the pipe
    waiting = lambda: stat.S_ISFIFO(os.fstat(0).st_mode)
    while waiting():
        if end.poll(500) and waiting():
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(1)
import threading
threading.Thread(target=_guard, args=({folder!r},), daemon=True).start()
"""


def guard(folder: Path) -> str:
    """Return an argument for a kernel that must not stay when its owner ends while it starts.

    Nothing of agentlab is needed for it: whether it is there is found out later.

    Parameters
    ----------
    folder : Path
        The kernel's private folder, which goes with it.

    Returns
    -------
    str
    """
    return f"--IPKernelApp.exec_lines={[_GUARD.format(folder=str(folder))]!r}"


def job_line(study: Study) -> bytes:
    """Return what a measuring process is told: the study, and the environment variables that it names.

    Gateways and drivers name them in ``env_names``; a key reaches nobody else.

    Parameters
    ----------
    study : Study
        A prepared study.

    Returns
    -------
    bytes
        One JSON line.

    Raises
    ------
    ConfigError
        Something of it cannot cross to another process.
    """
    named = {
        name
        for part in (
            study.gateway,
            *study.arms.values(),
            *(getattr(a, "gateway", None) for a in study.arms.values()),
        )
        for name in getattr(part, "env_names", ())
    }
    job = {
        "env": {name: os.environ[name] for name in sorted(named) if name in os.environ},
        "study": {**study.to_job(), "folder": {"$path": str(study.folder.resolve())}},
    }
    return json.dumps(job, allow_nan=False).encode()


def tail(log: IO[bytes]) -> str:
    """Return the redacted end of a measuring process's output, for messages.

    Parameters
    ----------
    log : file
        Its output.

    Returns
    -------
    str
        ``": "`` and the last 2,000 characters; empty when there was no output.
    """
    log.seek(0)
    text = redact_data(log.read().decode(errors="replace").strip()[-2000:])
    return f": {text}" if text else ""


class Lifeline:
    """The owner's end of a measuring process's standard input; its closing tells that the owner is gone.

    Lines are written by a thread: a full pipe never blocks who asks.

    Parameters
    ----------
    fd : int
        Write end of the pipe; closed by whoever opened it, after :meth:`close`.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="agentlab-lifeline", daemon=True)
        self._thread.start()

    def send(self, line: bytes) -> None:
        """Send one line; returns at once, and is harmless when nobody reads."""
        self._lines.put(line + b"\n")

    def close(self) -> None:
        """Stop writing, once the reader is gone."""
        self._lines.put(None)
        self._thread.join()

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (line := self._lines.get()) is not None:
                while line:
                    line = line[os.write(self._fd, line) :]


def outcome_of(text: str | bytes) -> dict[str, Any] | None:
    """Read the outcome that a measuring process reports; None when it came to none.

    Parameters
    ----------
    text : str or bytes
        A JSON object, or what is left of one.

    Returns
    -------
    dict or None
    """
    try:
        outcome = json.loads(text)
    except ValueError:
        return None
    return outcome if isinstance(outcome, dict) else None
