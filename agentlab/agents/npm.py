"""Install a package from npm at one version: completely or not at all, once."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

from ..errors import StartupError
from .cache import agent_folder, installed_executable


def install_package(
    name: str,
    package: str,
    version: str,
    find: Callable[[Path], Path],
    *,
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
    folder = agent_folder(name, version)
    with _locked(folder):
        known = installed_executable(folder)
        if known is not None:
            return known
        npm = shutil.which("npm")
        if npm is None:
            raise StartupError(
                f"npm is not on the PATH, and {name} is installed from npm. Install Node.js >= 20 with npm "
                "(Debian: apt-get install nodejs npm).",
                driver=name,
                phase="install",
            )
        _clear_leftovers(folder)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            say(f"installing {package} {version} from npm ...")
            _npm_install(npm, work, package, version, name)
            found = find(work)
            _write(work, found, name, version)
            work.chmod(0o755)
            if folder.exists():  # an installation that is damaged
                shutil.rmtree(folder)
            work.rename(folder)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    return folder / found.relative_to(work)


def reported_version(executable: Path, *, timeout: float = 60) -> str:
    """Run ``executable --version`` in an empty home.

    Parameters
    ----------
    executable : pathlib.Path
        What to run.
    timeout : float, unit s
        Longest wait.

    Returns
    -------
    str
        Its first line of output, stripped; empty when it does not run.
    """
    with tempfile.TemporaryDirectory(prefix="agentlab-version-") as home:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "TMPDIR": home}
        try:
            done = subprocess.run(
                [executable, "--version"],
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
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def _npm_install(npm: str, work: Path, package: str, version: str, name: str) -> None:
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
        [*command, f"{package}@{version}"],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = " ".join((done.stderr or done.stdout).split())[-400:]
        raise StartupError(
            f"npm could not install {package}@{version} (exit {done.returncode}): {tail}",
            driver=name,
            phase="install",
        )


def first_that_runs(executables: list[Path], name: str, version: str) -> Path:
    """Choose the executable that runs on this machine.

    Parameters
    ----------
    executables : list of pathlib.Path
        Best first.
    name, version : str
        Of the agent.

    Returns
    -------
    pathlib.Path
        It has answered ``--version`` with ``version``.

    Raises
    ------
    StartupError
        None has.
    """
    seen: list[str] = []
    for executable in executables:
        answer = reported_version(executable)
        if answer == version:
            return executable
        seen.append(f"{executable.parent.parent.name} answered {answer!r}")
    reason = "; ".join(seen) or "the package holds no binary for this system"
    raise StartupError(
        f"{name} {version} was installed but does not run here: {reason}", driver=name, phase="install"
    )


def _write(folder: Path, executable: Path, name: str, version: str) -> None:
    facts = {"name": name, "version": version, "executable": str(executable.relative_to(folder))}
    (folder / "agent.json").write_text(json.dumps(facts, indent=2) + "\n")


@contextlib.contextmanager
def _locked(folder: Path) -> Generator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        handle = (folder.parent / f".{folder.name}.lock").open("w")
    except OSError as error:
        raise StartupError(
            f"the cache folder for agents cannot be written ({error.strerror}). "
            "Set AGENTLAB_CACHE to a folder of yours.",
            phase="install",
        ) from None
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # the kernel releases it when the holder ends in any way
        yield


def _clear_leftovers(folder: Path) -> None:
    # Only under the lock: a temporary folder seen here belongs to an installation that was killed.
    for old in folder.parent.glob(f".{folder.name}.*"):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
