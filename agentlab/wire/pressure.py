"""How busy the machine is: pressure stall information (PSI), available memory, load."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

#: Where the kernel shows it; tests give a folder of their own.
PROC = Path("/proc")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pressure:
    """One look at the machine. What the kernel does not tell is None, never 0.

    Parameters
    ----------
    cpu_some_avg10, memory_some_avg10, memory_full_avg10, io_some_avg10, io_full_avg10 : float or None
        Share of the last 10 s, in percent (0..100), in which some (or all) tasks waited for the resource;
        as defined in the kernel's ``Documentation/accounting/psi.rst``.
    memory_available_bytes : int or None
        ``MemAvailable``.
    load1 : float or None
        Load average over one minute.
    """

    cpu_some_avg10: float | None = None
    memory_some_avg10: float | None = None
    memory_full_avg10: float | None = None
    io_some_avg10: float | None = None
    io_full_avg10: float | None = None
    memory_available_bytes: int | None = None
    load1: float | None = None

    @property
    def known(self) -> bool:
        """Whether the kernel reports pressure of both CPU and memory, so that "quiet" can be judged."""
        return self.cpu_some_avg10 is not None and self.memory_some_avg10 is not None


def read_pressure(proc: Path = PROC) -> Pressure:
    """Look at the machine once; takes about 0.1 ms and never fails.

    Parameters
    ----------
    proc : Path, default ``/proc``
        Root of the proc file system.

    Returns
    -------
    Pressure
        With None where a file is absent, unreadable, empty or not in the documented form.

    Examples
    --------
    >>> read_pressure(Path("/nowhere")).known
    False
    """
    cpu, memory, io = (_psi(proc / "pressure" / name) for name in ("cpu", "memory", "io"))
    return Pressure(
        cpu_some_avg10=cpu.get("some"),
        memory_some_avg10=memory.get("some"),
        memory_full_avg10=memory.get("full"),
        io_some_avg10=io.get("some"),
        io_full_avg10=io.get("full"),
        memory_available_bytes=meminfo(proc).get("MemAvailable"),
        load1=_load1(proc),
    )


def known(sample: Pressure) -> dict[str, Any]:
    """Return what is known of a sample: an absent key is unknown.

    Parameters
    ----------
    sample : Pressure
        As :func:`read_pressure` returns it.

    Returns
    -------
    dict
        Field to value.

    Examples
    --------
    >>> known(Pressure(load1=0.5))
    {'load1': 0.5}
    """
    return {key: value for key, value in dataclasses.asdict(sample).items() if value is not None}


def meminfo(proc: Path = PROC) -> dict[str, int]:
    """Return ``/proc/meminfo``.

    Parameters
    ----------
    proc : Path, default ``/proc``
        Root of the proc file system.

    Returns
    -------
    dict of str to int
        Bytes by name, without the rows that are no sizes; empty when it cannot be read.

    Examples
    --------
    >>> meminfo(Path("/nowhere"))
    {}
    """
    rows = (line.split() for line in _read(proc / "meminfo").splitlines())
    return {
        row[0].rstrip(":"): int(row[1]) * 1024
        for row in rows
        if len(row) == 3 and row[2] == "kB" and row[1].isdecimal()
    }


def _psi(file: Path) -> dict[str, float]:
    """Return ``{"some": avg10, "full": avg10}`` as far as the file gives them.

    Kernels without PSI have no file, or one whose read fails with EOPNOTSUPP (errno 95), or an empty one.
    """
    values: dict[str, float] = {}
    for line in _read(file).splitlines():
        kind, _, rest = line.partition(" ")
        fields = dict(part.split("=", 1) for part in rest.split() if "=" in part)
        number = _number(fields.get("avg10", ""))
        if number is not None and number <= 100:
            values[kind] = number
    return values


def _load1(proc: Path) -> float | None:
    return _number(_read(proc / "loadavg").partition(" ")[0])


def _number(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else None


def _read(file: Path) -> str:
    try:
        return file.read_text("ascii", "replace")
    except OSError:
        return ""
