"""Which build of an agent it is: its entry, its code and its runtime."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

from ..errors import ConfigError
from .cache import cache_home
from .runtime import search_path

#: What counts as code of a bundle. (The original's set, and Python.)
_SUFFIXES = (".js", ".cjs", ".mjs", ".json", ".wasm", ".node", ".py")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


class Built(Protocol):
    """What is asked of an agent whose build is told: one of the command line, or of the terminal."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def title(self) -> str:
        """For people."""
        ...

    @property
    def runtime(self) -> str | None:
        """What runs it."""
        ...

    @property
    def bundle(self) -> Callable[[Path], Path]:
        """Folder of its code, of an executable."""
        ...


def identity(agent: Built, executable: Path) -> dict[str, Any]:
    """Say which build of an agent is installed.

    Parameters
    ----------
    agent : Built
        Of a catalogue.
    executable : pathlib.Path
        As its ``locate`` returns it.

    Returns
    -------
    dict
        ``entry`` (its real path, the cache as ``<cache>``), ``entry_sha256``, ``bundle_sha256`` (over the
        sorted script, JSON, WebAssembly and native-module files of its bundle: path, NUL, content; None when
        it has none), ``bundle_files``, ``packages_sha256`` (over names and exact versions of all packages
        that were installed with it, which are resolved anew by each installation; None when not known),
        ``runtime`` and ``runtime_version``. Digests of code are kept in the cache until a file's size or time
        of change differs.

    Raises
    ------
    ConfigError
        A file cannot be read.
    """
    entry = executable.resolve()
    try:
        folder = agent.bundle(executable).resolve()
        files = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
        code = _digests(agent, entry, folder, files)
    except OSError as error:
        raise ConfigError(f"{agent.title} cannot be read: {error.strerror}") from error
    home = str(cache_home().resolve())
    return {
        "entry": str(entry).replace(home, "<cache>", 1),
        **code,
        "packages_sha256": _packages(executable),
        "runtime": agent.runtime,
        "runtime_version": _runtime_version(agent, executable),
    }


def _digests(agent: Built, entry: Path, folder: Path, files: list[Path]) -> dict[str, Any]:
    marks = [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in (entry, *files)]
    state = hashlib.sha256(json.dumps(marks).encode()).hexdigest()
    kept = cache_home() / "identities" / f"{agent.name}-{state[:16]}.json"
    with contextlib.suppress(OSError, ValueError):
        return cast("dict[str, Any]", json.loads(kept.read_text()))
    code = hashlib.sha256()
    for path in files:
        code.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    with entry.open("rb") as file:
        found = {
            "entry_sha256": hashlib.file_digest(file, "sha256").hexdigest(),
            "bundle_sha256": code.hexdigest() if files else None,
            "bundle_files": len(files),
        }
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(found))
        new.replace(kept)
    return found


def _packages(executable: Path) -> str | None:
    for folder in executable.parents:
        lock, libraries = folder / "node_modules" / ".package-lock.json", folder / "venv" / "lib"
        found: list[str] = []
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
            locked = json.loads(lock.read_text()).get("packages", {})
            found = [f"{name} {package['version']}" for name, package in locked.items()]
        found = found or [path.name for path in libraries.glob("python*/site-packages/*.dist-info")]
        if found:
            return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()
        if (folder / "agent.json").exists():  # the installation's own folder
            break
    return None


def _runtime_version(agent: Built, executable: Path) -> str | None:
    if agent.runtime is None:
        return None
    own = executable.parent / "venv" / "bin" / "python"
    path = search_path(executable)
    program = str(own) if agent.runtime == "python" else shutil.which(agent.runtime, path=path)
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return found[0] if found else None
