"""``host.json``: who measures a detached study, until when, and how it ended.

Written by the measuring process while it holds the study's lock, read by :func:`agentlab.attach` from any
process. It holds no key: the connection file, which does, stays in Jupyter's runtime folder and goes with the
measuring process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from .. import __version__
from ..engine.files import HOST_FILE, write_json
from ..errors import RecordingError
from ..jsonfile import read_json
from ..wire.held import PREFIX
from ..wire.procid import ProcessId

#: What a measuring kernel's connection file is called, in its own folder below Jupyter's runtime folder.
CONNECTION = "kernel.json"
_NAME = re.compile(rf"{PREFIX}\w+/{re.escape(CONNECTION)}", re.ASCII)
#: Goes on while the machine sleeps: a deadline is a deadline.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lease:
    """Say who measures a detached study and until when.

    Parameters
    ----------
    process : ProcessId
        The measuring process.
    kernelspec : str or None
        Its name; None: the interpreter that recorded, or no kernel.
    connection : str or None
        Name of the kernel's connection file below Jupyter's runtime folder; None: it is no kernel.
    began_unix_ns, until_unix_ns : int
        Begin and deadline by the wall clock, for people.
    until_boottime_ns : int
        The deadline by the clock that counts: it cannot be set, and goes on while the machine sleeps.
    agentlab : str
        Version.
    outcome : dict or None
        How the study ended (see :func:`agentlab.host.worker.carry_out`); None while it is recorded, and for
        good when the measuring process was killed.
    ended_unix_ns : int or None
        When, by the wall clock; None as for ``outcome``.
    """

    process: ProcessId
    kernelspec: str | None
    connection: str | None
    began_unix_ns: int
    until_unix_ns: int
    until_boottime_ns: int
    agentlab: str = __version__
    outcome: dict[str, Any] | None = None
    ended_unix_ns: int | None = None

    @classmethod
    def begin(cls, seconds: float, kernelspec: str | None, folder: str | None) -> Lease:
        """Make the lease of this process, from now on.

        Parameters
        ----------
        seconds : float
            From now to the deadline.
        kernelspec : str or None
            Its name.
        folder : str or None
            This kernel's runtime folder; None: it is no kernel.

        Returns
        -------
        Lease
        """
        now, length = time.time_ns(), round(seconds * 1e9)
        return cls(
            process=ProcessId.of(os.getpid()),
            kernelspec=kernelspec,
            connection=None if folder is None else f"{Path(folder).name}/{CONNECTION}",
            began_unix_ns=now,
            until_unix_ns=now + length,
            until_boottime_ns=time.clock_gettime_ns(_CLOCK) + length,
        )

    @classmethod
    def read(cls, study: Path) -> Lease | None:
        """Read a study's lease.

        Parameters
        ----------
        study : Path
            Study folder.

        Returns
        -------
        Lease or None
            None: it has none that can be read.
        """
        import msgspec

        try:
            return msgspec.convert(read_json(study / HOST_FILE), cls)
        except (RecordingError, msgspec.ValidationError):
            return None

    @contextlib.contextmanager
    def held(self, study: Path, told: Callable[[BaseException | None], dict[str, Any]]) -> Generator[None]:
        """Keep the lease in a study that is being recorded, and at the end its outcome.

        Parameters
        ----------
        study : Path
            Study folder; the caller holds its lock.
        told : callable
            Gives the outcome for the error that ended the recording, or None.

        Raises
        ------
        RecordingError
            The folder cannot be written.
        """
        self._write(study)
        error: BaseException | None = None
        try:
            yield
        except BaseException as caught:
            error = caught
            raise
        finally:
            over = dataclasses.replace(self, outcome=told(error), ended_unix_ns=time.time_ns())
            with contextlib.suppress(OSError):  # the folder is gone: then it counts as lost
                over._write_last(study)

    def left_s(self) -> float:
        """Return the seconds to the deadline; only in the boot in which it was given."""
        return (self.until_boottime_ns - time.clock_gettime_ns(_CLOCK)) / 1e9

    def connection_file(self) -> Path | None:
        """Return where the kernel's connection file is, or would be, for this user.

        Returns
        -------
        Path or None
            None: it is no kernel, or the name is none of ours.
        """
        if self.connection is None or not _NAME.fullmatch(self.connection):
            return None
        from jupyter_core.paths import jupyter_runtime_dir

        return Path(jupyter_runtime_dir()) / self.connection

    def clear(self) -> None:
        """Remove what a kernel that was killed left behind, its connection file with the key."""
        if (file := self.connection_file()) is not None and not self.process.alive():
            shutil.rmtree(file.parent, ignore_errors=True)

    def _write(self, study: Path) -> None:
        write_json(study / HOST_FILE, dataclasses.asdict(self))

    def _write_last(self, study: Path) -> None:
        try:
            self._write(study)
        except RecordingError:  # a full disk: in the room that the file has, and nobody reads it yet
            with (study / HOST_FILE).open("r+") as file:
                file.write(json.dumps(dataclasses.asdict(self)))
                file.truncate()


def forget(study: Path) -> None:
    """Remove the lease of an earlier recording from a study that is now recorded without one.

    Parameters
    ----------
    study : Path
        Study folder; the caller holds its lock.
    """
    (study / HOST_FILE).unlink(missing_ok=True)
