"""The folder an agent works in: made afresh for each run, so that no run sees another's changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..scenario import digest

#: What the agent finds when no workspace is given.
_GENERATED = {
    "package.json": '{\n  "name": "probe",\n  "version": "1.0.0",\n  "private": true\n}\n',
    "README.md": "# probe\n\nA small project for measurements.\n",
}
_GIT_S = 120.0
_SPELLING = "write a folder, or git+/path/to/repository@COMMIT"


def checked(workspace: str | Path) -> str | Path:
    """Check a workspace, and fix a branch or tag to the commit that it is now.

    Parameters
    ----------
    workspace : str or Path
        A folder, or ``git+PATH@REF`` (``git+file:///...`` too) of a local repository.

    Returns
    -------
    str or Path
        The folder as given; a commit as ``git+PATH@`` and 40 hexadecimal digits.

    Raises
    ------
    ConfigError
        There is no such folder, repository or commit.
    """
    if isinstance(workspace, str) and workspace.startswith("git+"):
        repository, reference = _parted(workspace)
        if shutil.which("git") is None:
            raise ConfigError("workspace='git+...': git is not on the PATH; install it")
        if _git(repository, "rev-parse", "--show-prefix"):
            raise ConfigError(
                f"workspace=...: {repository.name} is a folder inside a repository; name the repository"
            )
        wanted = ("--end-of-options", f"{reference}^{{commit}}")
        commit = _git(repository, "rev-parse", "--verify", "--quiet", *wanted)
        if commit is None:
            raise ConfigError(f"workspace=...: the repository {repository.name} has no commit {reference!r}")
        return f"git+{repository}@{commit}"
    if workspace == "" or "://" in str(workspace):  # not shown: an address may hold a password
        raise ConfigError(f"workspace=...: {_SPELLING}. Clone a remote repository first")
    folder = Path(workspace)
    if not folder.is_dir():
        raise ConfigError(f"workspace={str(workspace)!r}: there is no such folder; {_SPELLING}")
    if (folder / ".git").is_file():
        raise ConfigError(
            f"workspace=...: {folder.name} is a linked work tree or a submodule; git in a copy "
            "would change its repository. Use git+PATH@COMMIT"
        )
    return workspace


def identity(workspace: str | Path | None) -> dict[str, Any] | None:
    """Return what tells one workspace from another.

    Parameters
    ----------
    workspace : str, Path or None
        As :func:`checked` returns it.

    Returns
    -------
    dict or None
        ``name``; ``commit`` when it is known; and of a folder ``digest`` of all its files but ``.git``, and
        ``dirty``: whether it differs from its commit (None outside of git).
    """
    if workspace is None:
        return None
    if isinstance(workspace, str) and workspace.startswith("git+"):
        repository, commit = _parted(workspace)
        return {"name": repository.name, "commit": commit}
    folder = Path(workspace).absolute()
    tracked = (folder / ".git").is_dir()
    changes = _git(folder, "status", "--porcelain") if tracked else None
    return {
        "name": folder.name,
        "commit": _git(folder, "rev-parse", "--verify", "--quiet", "HEAD") if tracked else None,
        "dirty": None if changes is None else changes != "",
        "digest": _digest(folder),
    }


def template(workspace: str | Path | None, scratch: Path) -> Path | None:
    """Return the folder that is copied for each run: a copy, or a checkout, that is made once.

    Parameters
    ----------
    workspace : str, Path or None
        As :func:`checked` returns it.
    scratch : Path
        Private folder of the arm.

    Returns
    -------
    Path or None
        What happens to the given folder while a study runs changes none of its runs. A checkout has the
        history up to its commit, and no remote: nothing later can be seen or reached.

    Raises
    ------
    ConfigError
        git failed.
    """
    if workspace is None:
        return None
    folder, new = scratch / "template", scratch / "template.new"
    if folder.exists():
        return folder
    shutil.rmtree(new, ignore_errors=True)
    if isinstance(workspace, str) and workspace.startswith("git+"):
        _check_out(*_parted(workspace), new)
    else:
        _copy(Path(workspace), new)
    new.rename(folder)
    return folder


def renew(workspace: Path, source: Path | None) -> None:
    """Empty a workspace and fill it from its template.

    Parameters
    ----------
    workspace : Path
        The agent's folder; made when absent. The folder itself stays, a server may run in it.
    source : Path or None
        Copied, symbolic links as links; None: a small generated project.
    """
    workspace.mkdir(exist_ok=True)
    for entry in workspace.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if source is not None:
        _copy(source, workspace)
        return
    for name, text in _GENERATED.items():
        (workspace / name).write_text(text)


def _copy(source: Path, to: Path) -> None:
    try:
        shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:
        raise ConfigError(
            f"workspace=...: {len(error.args[0])} entries of the folder cannot be copied"
        ) from error


def _check_out(repository: Path, commit: str, to: Path) -> None:
    to.mkdir()
    steps = (
        ("init", "--quiet", "--template="),
        ("fetch", "--quiet", "--no-tags", str(repository), commit),
        ("checkout", "--quiet", "--detach", commit),
    )
    for step in steps:
        if _git(to, *step) is None:
            raise ConfigError(
                f"workspace=...: git {step[0]} of commit {commit[:12]} of {repository.name} failed"
            )
    (to / ".git" / "FETCH_HEAD").unlink(missing_ok=True)  # names the repository's folder


def _parted(workspace: str) -> tuple[Path, str]:
    text = workspace.removeprefix("git+").removeprefix("file://")
    splits = [(text[:at], text[at + 1 :]) for at in range(len(text) - 1, 0, -1) if text[at] == "@"]
    if not splits or not splits[0][1]:
        raise ConfigError(f"workspace='git+...': which commit? {_SPELLING}")
    for path, reference in splits:  # both may hold an @: home/me@work, HEAD@{1}
        if "://" not in path and Path(path).expanduser().is_dir():
            return Path(path).expanduser().absolute(), reference
    raise ConfigError(
        f"workspace='git+...': there is no such local repository; {_SPELLING}. Clone a remote one first"
    )


def _digest(folder: Path) -> str:
    held: list[tuple[str, str, bool]] = []
    try:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if name.parts[0] == ".git":
                continue
            if path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                held.append((_text(name), content, os.access(path, os.X_OK)))
            elif path.is_symlink():  # to a folder, or to nothing: it is copied as it is
                held.append((_text(name), f"link {_text(path.readlink())}", False))
    except OSError as error:
        raise ConfigError(
            f"workspace=...: a file of {folder.name} cannot be read: {error.strerror}"
        ) from error
    return digest(held)


def _text(path: Path) -> str:
    """Return a path as text that can be stored, also when its bytes are no UTF-8."""
    return str(path).encode(errors="backslashreplace").decode()


def _git(folder: Path, *arguments: str) -> str | None:
    """Run git without the user's configuration, hooks and filters; None when it fails."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    try:
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
