"""Where a measurement was made: machine, kernel, versions; never a host name, a user or a home folder."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from . import __version__
from .redact import redact_data
from .wire.pressure import meminfo, read_pressure

#: Packages whose version can change a number or a figure.
PACKAGES = (
    "aiohttp",
    "httptools",
    "httpx",
    "ipykernel",
    "ipywidgets",
    "jupyter_client",
    "matplotlib",
    "msgspec",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
)


def provenance(root: Path = Path("/")) -> dict[str, Any]:
    """Describe this machine and the software on it, as plain JSON data; takes 30 to 100 ms.

    Parameters
    ----------
    root : Path, default ``/``
        Where ``proc``, ``sys`` and the marks of containers are looked for.

    Returns
    -------
    dict
        ``agentlab`` (version), ``commit`` and ``modified`` (of the checkout it runs from), ``python``,
        ``system``, ``kernel``, ``architecture``, ``container``, ``cpu_model``, ``cpus`` (of the machine),
        ``cpus_usable`` (by this process), ``cpu_limit`` (CPUs granted by its control group),
        ``memory_bytes``, ``memory_limit_bytes``, ``clock_source``, ``transparent_hugepages``,
        ``swap_bytes``, ``same_page_merging`` (KSM runs), ``damon`` (actions of running schemes; ``pageout``
        takes idle pages of files away, so that PSS falls with time),
        ``pressure_known`` (the kernel reports PSI), ``pressure`` (percent, bytes and load, now) and
        ``packages`` (name: version, installed ones only). What is unknown is None.

    Examples
    --------
    >>> provenance()["system"] != ""
    True
    """
    pressure = read_pressure(root / "proc")
    cpu_limit, memory_limit = _limits(root / "sys/fs/cgroup")
    facts = {
        "agentlab": __version__,
        **_checkout(Path(__file__).resolve().parent.parent),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "container": _container(root),
        "cpu_model": _cpu_model(root / "proc/cpuinfo"),
        "cpus": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu_limit": cpu_limit,
        "memory_bytes": meminfo(root / "proc").get("MemTotal"),
        "memory_limit_bytes": memory_limit,
        "clock_source": _line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "transparent_hugepages": _chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        "swap_bytes": meminfo(root / "proc").get("SwapTotal"),
        "same_page_merging": {"0": False, "1": True}.get(_line(root / "sys/kernel/mm/ksm/run") or ""),
        "damon": _damon(root / "sys/kernel/mm/damon/admin/kdamonds"),
        "pressure_known": pressure.known,
        "pressure": {name: getattr(pressure, name) for name in pressure.__dataclass_fields__},
        "packages": _versions(),
    }
    return redact_data(facts)


def _checkout(folder: Path) -> dict[str, Any]:
    """Return the commit of the checkout that `folder` is, if it is one."""
    unknown = {"commit": None, "modified": None}
    if not (folder / ".git").exists():
        return unknown
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit or None, "modified": None if changes is None else bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
            | {"GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _container(root: Path) -> str | None:
    """Return the kind of container this is; None where nothing says that it is one."""
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    cgroup = _text(root / "proc/1/cgroup")
    return next((kind for kind in ("kubepods", "docker", "lxc", "libpod") if kind in cgroup), None)


def _cpu_model(cpuinfo: Path) -> str | None:
    rows = (line.partition(":") for line in _text(cpuinfo).splitlines())
    names = {"model name", "Model", "Hardware", "cpu model"}
    found = next((value.strip() for name, _, value in rows if name.strip() in names), "")
    return found or platform.processor() or None


def _limits(cgroup: Path) -> tuple[float | None, int | None]:
    """Return what the control group grants: CPUs and bytes; None where it sets no limit (or is version 1)."""
    quota = (_line(cgroup / "cpu.max") or "").split()
    cpus = int(quota[0]) / int(quota[1]) if len(quota) == 2 and all(map(str.isdecimal, quota)) else None
    memory = _line(cgroup / "memory.max") or ""
    return cpus, int(memory) if memory.isdecimal() else None


def _damon(kdamonds: Path) -> list[str] | None:
    """Return the actions of running schemes; None where the kernel tells nothing of DAMON."""
    if not kdamonds.is_dir():
        return None
    running = (one for one in sorted(kdamonds.glob("[0-9]*")) if _line(one / "state") == "on")
    actions = (_line(file) for one in running for file in one.glob("contexts/*/schemes/*/action"))
    return sorted({action for action in actions if action})


def _chosen(file: Path) -> str | None:
    """Return the word in brackets of a kernel setting such as ``always [madvise] never``."""
    return _text(file).partition("[")[2].partition("]")[0] or None


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _line(file: Path) -> str | None:
    return _text(file).strip() or None


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""
