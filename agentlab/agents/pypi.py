"""Install a package from PyPI at one version into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import StartupError
from .installing import install_once

#: Scripts of a virtual environment hold its path, and an installation is renamed into place: so it starts
#: itself by where it stands.
_LAUNCHER = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
if [ "$1" = --version ]; then
  exec "$here/venv/bin/python" -I -c 'from importlib.metadata import version as v; print(v("{package}"))'
fi
exec "$here/venv/bin/python" -I -m {module} "$@"
"""


def install_package(
    name: str,
    package: str,
    version: str,
    module: str,
    launcher: str,
    find: Callable[[Path], Path],
    *,
    say: Callable[[str], None],
) -> Path:
    """Install one agent into the cache unless it is there.

    Parameters
    ----------
    name : str
        Name of the agent.
    package, version : str
        PyPI package and its exact version.
    module : str
        What is run, as ``python -m`` names it.
    launcher : str
        Name of the file that runs it, in the installation.
    find : callable
        Gives the executable of an installation folder; raises StartupError when it is not right.
    say : callable
        Receives progress, one line at a time.

    Returns
    -------
    pathlib.Path
        What ``find`` found.

    Raises
    ------
    StartupError
        The environment cannot be made or pip failed; nothing is left in the cache.
    """

    def fetch(work: Path) -> None:
        say(f"installing {package} {version} from PyPI ...")
        python = work / "venv" / "bin" / "python"
        _run(name, [sys.executable, "-m", "venv", str(work / "venv")], "the virtual environment")
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _run(name, [*pip, f"{package}=={version}"], f"{package}=={version}")
        file = work / launcher
        file.write_text(_LAUNCHER.format(package=package, module=module))
        file.chmod(0o755)

    return install_once(name, version, fetch, find)


def _run(name: str, command: list[str], what: str) -> None:
    dropped = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    environment = {key: value for key, value in os.environ.items() if key not in dropped}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        tail = " ".join((done.stderr or done.stdout).split())[-400:]
        raise StartupError(
            f"{what} could not be installed (exit {done.returncode}): {tail}", driver=name, phase="install"
        )
