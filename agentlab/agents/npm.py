"""Install a package from npm at one version: completely or not at all, once."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import StartupError
from .installing import install_once
from .runtime import search_path


def install_package(
    name: str,
    package: str,
    version: str,
    find: Callable[[Path], Path],
    *,
    beside: tuple[str, ...] = (),
    say: Callable[[str], None],
) -> Path:
    """Install one agent or plugin into the cache unless it is there.

    Parameters
    ----------
    name : str
        Name of the agent.
    package : str
        Name of its npm package.
    version : str
        Exact version. (An install without one picks an older release on an old Node.)
    find : callable
        Gives the executable, or a plugin's package, of an installation folder; raises StartupError when it is
        not what was asked for.
    beside : tuple of str
        Further packages, each with its version.
    say : callable
        Receives progress, one line at a time.

    Returns
    -------
    pathlib.Path
        What ``find`` found.

    Raises
    ------
    StartupError
        npm is missing or failed, or what was installed is not right; nothing is left in the cache.
    """

    def fetch(work: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise StartupError(
                f"npm is not on the PATH, and {name} is installed from npm. Install Node.js >= 20 with npm "
                "(Debian: apt-get install nodejs npm).",
                driver=name,
                phase="install",
            )
        say(f"installing {package} {version} from npm ...")
        _npm_install(npm, work, [f"{package}@{version}", *beside], name)

    return install_once(name, version, fetch, find)


def reported_version(
    executable: Path, *, arguments: tuple[str, ...] = ("--version",), timeout: float = 60
) -> str:
    """Run ``executable --version`` in an empty home.

    Parameters
    ----------
    executable : pathlib.Path
        What to run.
    arguments : tuple of str
        With what.
    timeout : float, unit s
        Longest wait.

    Returns
    -------
    str
        Its first line of output, stripped; empty when it does not run.
    """
    with tempfile.TemporaryDirectory(prefix="agentlab-version-") as home:
        environment = {"PATH": search_path(executable), "HOME": home, "TMPDIR": home}
        try:
            done = subprocess.run(
                [executable, *arguments],
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()  # Pi says it on stderr
    return lines[0].strip() if done.returncode == 0 and lines else ""


def _npm_install(npm: str, work: Path, packages: list[str], name: str) -> None:
    # The user's own npm configuration (registry, proxy, certificates) holds; no install script is run.
    (work / "package.json").write_text('{"private": true}\n')
    command = [
        npm,
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--save-exact",
        "--loglevel=error",
    ]
    done = subprocess.run(
        [*command, *packages],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = " ".join((done.stderr or done.stdout).split())[-400:]
        raise StartupError(
            f"npm could not install {packages[0]} (exit {done.returncode}): {tail}",
            driver=name,
            phase="install",
        )


def first_that_runs(executables: list[Path], name: str, version: str, *, says: str = "") -> Path:
    """Choose the executable that runs on this machine.

    Parameters
    ----------
    executables : list of pathlib.Path
        Best first.
    name, version : str
        Of the agent.
    says : str
        What it gives for its version, where that is another.

    Returns
    -------
    pathlib.Path
        It has answered ``--version`` with ``version``.

    Raises
    ------
    StartupError
        None has.
    """
    # "codex-cli 0.171.0", "2.1.197 (Claude Code)", "omp/18.1.21", "GitHub Copilot CLI 1.0.102."
    wanted = re.compile(rf"(?<![\w.-])v?{re.escape(says or version)}(?![\w-]|\.\w)")
    seen: list[str] = []
    for executable in executables:
        answer = reported_version(executable)
        if wanted.search(answer):
            return executable
        seen.append(f"{executable.parent.parent.name} answered {answer!r}")
    reason = "; ".join(seen) or "the package holds no binary for this system"
    raise StartupError(
        f"{name} {version} was installed but does not run here: {reason}", driver=name, phase="install"
    )
