"""What the doctor looks at in software: packages, Node.js, agents, a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..errors import StartupError
from . import opencode
from .catalogue import AGENTS
from .checkup import Check
from .tui.catalogue import TERMINALS

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: What the agents of the catalogue ask for, and what comes with it.
_NODE, _NPM = 20, 9
_WIDGETS = Path("share/jupyter/labextensions/@jupyter-widgets/jupyterlab-manager/package.json")


def package_command(*packages: str) -> str:
    """Return the command that installs packages of the system, as this user can run it here.

    Parameters
    ----------
    *packages : str
        Their names on Debian.

    Returns
    -------
    str
    """
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        return f"install {names} with the package manager of this system"
    root = not hasattr(os, "geteuid") or os.geteuid() == 0
    return f"{'' if root else 'sudo '}apt-get install {names}"


def check_ipykernel() -> Check:
    """Ask whether a click can arrive while a cell runs."""
    found = _version("ipykernel")
    if found is not None and _numbers(found) >= (7, 4):
        return Check(name="ipykernel", state="ok", found=found)
    return Check(
        name="ipykernel",
        state="limited",
        found=found or "not installed",
        effect="the Cancel button acts only after the cell, or in another thread",
        fix="pip install 'ipykernel>=7.4'   (then restart the kernel)",
    )


def check_kernelspec() -> Check:
    """Ask whether the kernel that notebooks start is this Python."""
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
        found = "python3 starts another Python"
        fix = "jupyter kernelspec list   (unset JUPYTER_PATH or remove it)"
    else:
        found, fix = "no kernelspec python3", "python -m ipykernel install --sys-prefix --name python3"
    return Check(
        name="kernelspec",
        state="limited",
        found=found,
        effect='notebooks in JupyterLab and host="kernel" may not find agentlab (No module named agentlab)',
        fix=fix,
    )


def check_jupyterlab() -> Check:
    """Ask whether notebooks can be opened, and whether widgets live in them."""
    lab, widgets, manager = _version("jupyterlab"), _version("ipywidgets"), _manager()
    if lab is None:
        return Check(
            name="jupyterlab",
            state="limited",
            found="not installed beside this Python",
            effect="notebooks open in another Jupyter only, and whether widgets live there is unknown",
            fix="pip install 'jupyterlab>=4.4'",
        )
    if widgets is None or manager is None or _numbers(widgets)[:1] < (8,) or manager < (5,):
        return Check(
            name="jupyterlab",
            state="limited",
            found=f"{lab}, without a widget manager that fits ipywidgets {widgets or '(not installed)'}",
            effect="panels and explore(...) are shown as text: no Cancel button, no clicks",
            fix="pip install 'ipywidgets>=8.1' 'jupyterlab_widgets>=3'   (then reload the page)",
        )
    return Check(name="jupyterlab", state="ok", found=f"{lab}, widgets {widgets}")


def check_batch() -> Check:
    """Ask whether notebooks run headless and reports can be made."""
    found = {name: _version(name) for name in ("papermill", "nbconvert")}
    missing = [name for name, number in found.items() if number is None]
    if missing:
        return Check(
            name="papermill",
            state="limited",
            found=f"{' and '.join(missing)} not installed",
            effect="report(...), agentlab demo and agentlab.notebook.run_notebook cannot run",
            fix="pip install 'papermill>=2.6' 'nbconvert>=7.16'",
        )
    numbers = ", ".join(f"{name} {number}" for name, number in found.items() if name != "papermill")
    return Check(name="papermill", state="ok", found=f"{found['papermill']}, {numbers}")


def check_prices() -> Check:
    """Ask whether published prices can be looked up."""
    found = _version("genai-prices")
    if found is None:
        return Check(
            name="genai-prices",
            state="limited",
            found="not installed",
            effect="Price.of(...) cannot look prices up; Price(input=..., output=...) works",
            fix="pip install genai-prices",
        )
    return Check(name="genai-prices", state="ok", found=found)


def check_git() -> Check:
    """Ask for git."""
    if shutil.which("git") is None:
        return Check(
            name="git",
            state="limited",
            found="not on the PATH",
            effect='workspace="git+PATH@COMMIT" cannot be used, and studies do not tell agentlab\'s commit',
            fix=package_command("git"),
        )
    return Check(name="git", state="ok", found="on the PATH")


def check_node() -> Check:
    """Ask for Node.js and npm, and whether they are new enough."""
    node, npm = _node_version(), _npm_version()
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    fix = f"{package_command('nodejs', 'npm')}   (or another source of Node.js >= {_NODE})"
    if missing:
        return Check(
            name="node, npm",
            state="limited",
            found=f"{' and '.join(missing)} not on the PATH",
            effect="agents cannot be installed; those that are installed run, unless Node.js runs them",
            fix=fix,
        )
    found = f"{node or 'unknown'}, npm {npm or 'unknown'}"
    old = [
        name
        for name, number, least in (("node", node, _NODE), ("npm", npm, _NPM))
        if number is None or _numbers(number)[:1] < (least,)
    ]
    if old:
        return Check(
            name="node, npm",
            state="limited",
            found=found,
            effect=f"{' and '.join(old)} too old or unknown (tested: Node.js >= {_NODE}, npm >= {_NPM}): "
            "agents may fail to install, or start and end at once",
            fix=fix,
        )
    return Check(name="node, npm", state="ok", found=found)


def check_opencode() -> Check:
    """Ask for the agent of the quick start."""
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


def check_agents() -> Check:
    """Ask which other agents of the catalogue are installed."""
    here: list[str] = []
    absent: list[str] = []
    for name, agent in AGENTS.items():
        if name == "opencode":
            continue
        try:
            agent.locate()
        except StartupError:
            absent.append(name)
        else:
            here.append(f"{name} {agent.version}")
    found = ", ".join(here) or f"none of {len(absent)} installed"
    if absent:
        return Check(
            name="other agents",
            state="limited",
            found=found,
            effect=f"not installed, and not to be measured before: {', '.join(absent)}",
            fix=f"agentlab install {absent[0]}" + ("   (each by its name)" if len(absent) > 1 else ""),
        )
    return Check(name="other agents", state="ok", found=found)


def check_terminals() -> Check:
    """Ask which agents that are only used on a terminal are there; none is needed for anything else."""
    here: list[str] = []
    absent: list[str] = []
    for name, terminal in TERMINALS.items():
        if name in AGENTS:
            continue
        try:
            terminal.locate()
        except StartupError:
            absent.append(name)
        else:
            here.append(f"{name} {terminal.version}".strip())
    found = ", ".join(here) or "none installed"
    optional = f"; optional: {', '.join(absent)}" if absent else ""
    return Check(name="terminal agents", state="ok", found=found + optional)


def check_browser() -> Check:
    """Ask for a browser."""
    name = next((name for name in _BROWSERS if shutil.which(name)), None)
    if name is None:
        return Check(
            name="browser",
            state="limited",
            found="no Chromium on the PATH",
            effect="report(...) writes no PDF beside its page, and the browser tests of this repository "
            "cannot run; no table needs it",
            fix=package_command("chromium"),
        )
    return Check(name="browser", state="ok", found=name)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def _manager() -> tuple[int, ...] | None:
    """Return the version of JupyterLab's widget manager: 5 goes with ipywidgets 8."""
    try:
        return _numbers(json.loads((Path(sys.prefix) / _WIDGETS).read_text())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _node_version() -> str | None:
    try:
        done = subprocess.run(
            ["node", "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _npm_version() -> str | None:
    """Return npm's version from its package; `npm --version` would take up to a second."""
    program = shutil.which("npm")
    if program is None:
        return None
    for folder in Path(program).resolve().parents[:3]:
        try:
            about = json.loads((folder / "package.json").read_text())
        except (OSError, ValueError):
            continue
        if about.get("name") == "npm":
            return str(about.get("version"))
    return None
