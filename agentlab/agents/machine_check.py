"""The doctor: what this machine can measure, which columns stay empty and why, and what mends it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from . import software_check as software
from .cache import cache_home
from .checkup import Check, Report

__all__ = ["Check", "Report", "check_machine"]

_GIB = 2**30
_NEWEST = (3, 13)
_SYS_ADMIN = 21  # bit of CAP_SYS_ADMIN
_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")


def check_machine() -> Report:
    """Run all checks; takes a fraction of a second, starts nothing of an agent and never raises.

    Returns
    -------
    Report
    """
    checks: tuple[tuple[str, Callable[[], Check]], ...] = (
        ("python", _python),
        ("ipykernel", software.check_ipykernel),
        ("kernelspec", software.check_kernelspec),
        ("jupyterlab", software.check_jupyterlab),
        ("papermill", software.check_batch),
        ("opencode", software.check_opencode),
        ("other agents", software.check_agents),
        ("terminal agents", software.check_terminals),
        ("node, npm", software.check_node),
        ("git", software.check_git),
        ("browser", software.check_browser),
        ("genai-prices", software.check_prices),
        ("processes (/proc)", _processes),
        ("pressure (PSI)", _pressure),
        ("control group", _control_group),
        ("own network", _network),
        ("cores", _cores),
        ("memory", _memory),
        ("disk", _disk),
    )
    return Report(checks=tuple(_asked(name, check) for name, check in checks))


def _asked(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # the doctor is called when something is odd, so it lives with anything
        return Check(
            name=name,
            state="limited",
            found=f"could not be looked at ({type(error).__name__})",
            effect="whether it is there is unknown",
            fix="look at it by hand; record(...) says what it cannot do",
        )


def _python() -> Check:
    found = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform != "linux":
        return Check(
            name="python",
            state="limited",
            found=found,
            effect="pressure is unknown (NA) and clean-up of detached processes is not guaranteed: "
            "both need Linux",
            fix="use Linux for results you publish",
        )
    if sys.version_info[:2] > _NEWEST:
        return Check(
            name="python",
            state="limited",
            found=found,
            effect="agentlab is not tested with it",
            fix=f"use Python 3.11 to {_NEWEST[0]}.{_NEWEST[1]}",
        )
    return Check(name="python", state="ok", found=found)


def _processes() -> Check:
    wanted = (_PROC / "self/stat", _PROC / "sys/kernel/random/boot_id")
    unreadable = [path for path in wanted if not os.access(path, os.R_OK)]
    if unreadable:
        return Check(
            name="processes (/proc)",
            state="limited",
            found="/proc does not tell when a process started",
            effect="record(detach=...) is refused, and processes that detach themselves may survive",
            fix="mount /proc: mount -t proc proc /proc   (as root)",
        )
    return Check(name="processes (/proc)", state="ok", found="readable")


def _pressure() -> Check:
    unreadable: list[str] = []
    for resource in ("cpu", "memory", "io"):
        try:
            (_PROC / "pressure" / resource).read_bytes()
        except OSError:
            unreadable.append(resource)
    if unreadable:
        return Check(
            name="pressure (PSI)",
            state="limited",
            found=f"not reported for {', '.join(unreadable)}",
            effect="these columns of the table pressure are NA (reason pressure_unknown), and whether the "
            "machine was quiet is unknown",
            fix="boot with the kernel parameter psi=1",
        )
    return Check(name="pressure (PSI)", state="ok", found="cpu, memory, io")


def _control_group() -> Check:
    if (_CGROUP / "cgroup.controllers").exists():
        return Check(name="control group", state="ok", found="version 2")
    return Check(
        name="control group",
        state="limited",
        found="version 1" if _CGROUP.is_dir() else "not visible",
        effect="what a container grants (cpu_limit, memory_limit_bytes of study.json) is unknown",
        fix="boot with systemd.unified_cgroup_hierarchy=1; without a container nothing is lost",
    )


def _network() -> Check:
    lacking = [] if shutil.which("nsenter") else ["nsenter"]
    if not _may_unshare():
        lacking.append("the right to make one (root, CAP_SYS_ADMIN)")
    if lacking:
        by_package = lacking == ["nsenter"]
        return Check(
            name="own network",
            state="limited",
            found=f"lacks {' and '.join(lacking)}",
            effect="command-line agents cannot be shut off from the network, and what they look up there is "
            "not seen",
            fix=software.package_command("util-linux") if by_package else "run as root",
        )
    return Check(name="own network", state="ok", found="can be made")


def _may_unshare() -> bool:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    try:
        lines = (_PROC / "self/status").read_text().splitlines()
        held = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    except (OSError, StopIteration, ValueError):
        return False
    return bool(held >> _SYS_ADMIN & 1)


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2:
        return Check(
            name="cores",
            state="limited",
            found="1",
            effect="agent, model and capture share a core: stamps are late (issue capture_lag)",
            fix="use a machine with 2 or more cores",
        )
    return Check(name="cores", state="ok", found=str(cores))


def _memory() -> Check:
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return Check(
            name="memory",
            state="limited",
            found="unknown",
            effect="memory_available_bytes of the table pressure is NA",
            fix="it is read from /proc/meminfo",
        )
    found = f"{available / _GIB:.1f} GiB available"
    if available < 2 * _GIB:
        return Check(
            name="memory",
            state="limited",
            found=found,
            effect="a server of OpenCode takes up to 1 GiB; under memory pressure latencies grow (not_quiet)",
            fix="close other programs",
        )
    return Check(name="memory", state="ok", found=found)


def _disk() -> Check:
    places = {"here": Path.cwd(), "agents' cache": _existing(cache_home())}
    free = {name: shutil.disk_usage(path).free for name, path in places.items()}
    found = ", ".join(f"{size / _GIB:.1f} GiB free ({name})" for name, size in free.items())
    sealed = [name for name, path in places.items() if not os.access(path, os.W_OK)]
    if sealed:
        return Check(
            name="disk",
            state="limited",
            found=f"not writable: {' and '.join(sealed)}",
            effect="a study cannot be written here, or an agent not be installed",
            fix="change to a folder of yours, or give record(..., to=); set AGENTLAB_CACHE for agents",
        )
    if min(free.values()) < _GIB:
        return Check(
            name="disk",
            state="limited",
            found=found,
            effect="an agent takes up to 0.4 GiB; a full disk ends a study (what was written stays loadable)",
            fix="free some space, or set AGENTLAB_CACHE to another disk",
        )
    return Check(name="disk", state="ok", found=found)


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
