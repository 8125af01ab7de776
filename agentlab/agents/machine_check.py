"""The doctor: what this machine can measure, which columns stay empty and why, and what mends it."""

from __future__ import annotations

import dataclasses
import html
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ..errors import StartupError
from . import opencode
from .cache import cache_home

State = Literal["ok", "limited", "missing"]
_GIB = 2**30
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """Say one thing about the machine.

    Parameters
    ----------
    name : str
        What was looked at.
    state : {"ok", "limited", "missing"}
        ``limited``: agentlab works and marks what suffers; ``missing``: something cannot be done at all.
    found : str
        What is there; without paths of this user.
    effect : str
        What is empty, marked or impossible because of it; empty when ok.
    fix : str
        Command or advice that mends it; empty when ok.
    """

    name: str
    state: State
    found: str
    effect: str = ""
    fix: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """Hold all checks; shows itself as a table.

    Parameters
    ----------
    checks : tuple of Check
        In order of need.
    """

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return all(check.state != "missing" for check in self.checks)

    def __repr__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        lines: list[str] = []
        for check in self.checks:
            lines.append(f"{check.name:<{width}}  {check.state:<7}  {check.found}")
            indent = " " * (width + 11)
            if check.effect:
                lines.append(f"{indent}{check.effect}")
            if check.fix:
                lines.append(f"{indent}-> {check.fix}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # Inline styles only: an untrusted notebook drops everything else.
        colour = {"ok": "#2e7d32", "limited": "#b26a00", "missing": "#b00020"}
        rows: list[str] = []
        for check in self.checks:
            note = html.escape(check.effect)
            if check.fix:
                note += f"<br><code>{html.escape(check.fix)}</code>"
            rows.append(
                f'<tr><td style="text-align:left">{html.escape(check.name)}</td>'
                f'<td style="text-align:left;color:{colour[check.state]}">{check.state}</td>'
                f'<td style="text-align:left">{html.escape(check.found)}</td>'
                f'<td style="text-align:left">{note}</td></tr>'
            )
        heads = ("", "state", "found", "what follows")
        head = "".join(f'<th style="text-align:left">{name}</th>' for name in heads)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def check_machine() -> Report:
    """Run all checks; takes a fraction of a second and starts nothing.

    Returns
    -------
    Report
    """
    checks: tuple[Callable[[], Check], ...] = (
        _python,
        _ipykernel,
        _kernelspec,
        _npm,
        _opencode,
        _browser,
        _pressure,
        _cores,
        _memory,
        _disk,
    )
    return Report(checks=tuple(check() for check in checks))


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
    return Check(name="python", state="ok", found=found)


def _ipykernel() -> Check:
    from importlib.metadata import version

    found = version("ipykernel")
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    if numbers < (7, 4):
        return Check(
            name="ipykernel",
            state="limited",
            found=found,
            effect="the Cancel button acts only after the cell, or in another thread",
            fix="pip install 'ipykernel>=7.4', then restart the kernel",
        )
    return Check(name="ipykernel", state="ok", found=found)


def _kernelspec() -> Check:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        spec = None
    program = spec.argv[0] if spec is not None and spec.argv else ""
    # jupyter_client replaces a bare "python" by the running interpreter.
    if program in ("python", "python3") or (program and Path(program) == Path(sys.executable)):
        return Check(name="kernelspec", state="ok", found="python3 starts this Python")
    if program:
        found, fix = (
            "python3 starts another Python",
            "jupyter kernelspec list   (unset JUPYTER_PATH or remove it)",
        )
    else:
        found, fix = "no kernelspec python3", "python -m ipykernel install --sys-prefix --name python3"
    return Check(
        name="kernelspec",
        state="limited",
        found=found,
        effect='notebooks in JupyterLab and host="kernel" may not find agentlab',
        fix=fix,
    )


def _npm() -> Check:
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        return Check(
            name="node, npm",
            state="limited",
            found=f"{' and '.join(missing)} not on the PATH",
            effect="agents cannot be installed; those that are installed run",
            fix="apt-get install nodejs npm   (or another source of Node.js >= 20)",
        )
    return Check(name="node, npm", state="ok", found="on the PATH")


def _opencode() -> Check:
    try:
        opencode.locate()
    except StartupError:
        return Check(
            name="opencode",
            state="missing",
            found=f"OpenCode {opencode.VERSION} is not installed",
            effect="agentlab.OpenCode cannot run; load(...) and compare(...) work",
            fix="agentlab install opencode",
        )
    return Check(name="opencode", state="ok", found=f"OpenCode {opencode.VERSION}")


def _browser() -> Check:
    name = next((name for name in _BROWSERS if shutil.which(name)), None)
    if name is None:
        return Check(
            name="browser",
            state="limited",
            found="no Chromium on the PATH",
            effect="the browser tests of this repository cannot run; no table needs it",
            fix="apt-get install chromium",
        )
    return Check(name="browser", state="ok", found=name)


def _pressure() -> Check:
    unreadable: list[str] = []
    for resource in ("cpu", "memory", "io"):
        try:
            Path("/proc/pressure", resource).read_bytes()
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
        lines = Path("/proc/meminfo").read_text().splitlines()
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
