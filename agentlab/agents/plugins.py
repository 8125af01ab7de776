"""Plugins of OpenCode: found by name in the cache or by path, told apart by all that is in them.

OpenCode is given ``file://`` URLs only: a plugin that it would have to fetch from npm while it starts has no
known content and needs the network.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from ..errors import ConfigError, StartupError
from . import slim
from .cache import agent_folder, installed_executable

#: Plugins that :func:`agentlab.install` knows, each with its own settings.
KNOWN = {slim.NAME: slim}
#: ``"name"``, ``"name@version"``, a path or ``file://`` URL, or one of these with settings.
Given = str | Path | Sequence[Any]

_SKIPPED = ("node_modules", ".git")
_NEIGHBOUR = re.compile(r"""(?:from|import|require)\s*\(?\s*["'](\.{1,2}/[^"'\n]+)["']""")
_SUFFIXES = ("", ".js", ".ts", ".mjs", ".json", "/index.js", "/index.ts")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin as it stands on disk.

    Parameters
    ----------
    name : str
        Of its package, else of its file.
    path : pathlib.Path
        What OpenCode loads: the package's folder or a file.
    package : pathlib.Path or None
        Folder of the package that the plugin is; None for a file of its own.
    version : str or None
        Of its package.
    settings : mapping or None
        Given by the user.
    """

    name: str
    path: Path
    package: Path | None
    version: str | None
    settings: Mapping[str, Any] | None

    def identity(self) -> dict[str, Any]:
        """Say which build it is.

        Returns
        -------
        dict
            ``name, version, digest`` (of all its files), ``dependencies`` (digest of the names, versions and
            checksums that npm installed; None when unknown) and ``settings`` (a digest, or None).

        Raises
        ------
        ConfigError
            A file cannot be read.
        """
        root = self.package or self.path.parent
        files = _package_files(root) if self.package else _own_files(self.path)
        digest = hashlib.sha256()
        try:
            for file in sorted(files, key=str):
                name = str(file.relative_to(root)) if file.is_relative_to(root) else file.name
                digest.update(f"{name}\0".encode() + file.read_bytes())
        except OSError as error:
            raise ConfigError(
                f"OpenCode(plugins=...): {self.name} cannot be read: {error.strerror}"
            ) from error
        return {
            "name": self.name,
            "version": self.version,
            "digest": digest.hexdigest()[:16],
            "dependencies": _dependencies(self.package),
            "settings": None if self.settings is None else _short(self.settings),
        }

    def entry(self) -> Any:  # noqa: ANN401
        """Return its entry in OpenCode's ``plugin`` list."""
        url = self.path.as_uri()
        # A known plugin reads settings from a file of its own.
        return url if self.settings is None or self.name in KNOWN else [url, dict(self.settings)]

    def files(self, model: str) -> dict[str, dict[str, Any]]:
        """Return what it must find in OpenCode's configuration folder.

        Parameters
        ----------
        model : str
            ``"provider/model"`` that its agents are to ask.

        Returns
        -------
        dict
            File name -> JSON data.
        """
        known = KNOWN.get(self.name)
        if known is None:
            return {}
        return {known.FILE: {**known.settings(model), **(self.settings or {})}}


def find_plugin(given: Given) -> Plugin:
    """Find a plugin.

    Parameters
    ----------
    given : str, path, or (str or path, settings)
        ``"oh-my-opencode-slim"`` (or ``"...@2.2.24"``) is looked for in the cache; anything with a slash and
        every ``file://`` URL is a file or the folder of a package. Settings go to the plugin: its options in
        OpenCode's configuration, or, for a known one, the keys of its own settings file.

    Returns
    -------
    Plugin

    Raises
    ------
    ConfigError
        It is neither, or does not exist.
    StartupError
        It is known but not installed; the message holds the command that installs it.

    Examples
    --------
    >>> find_plugin("no-such-plugin")
    Traceback (most recent call last):
        ...
    agentlab.errors.ConfigError: OpenCode(plugins=...): 'no-such-plugin' is not known by name; known are \
oh-my-opencode-slim. Give others by the path of their file or package folder
    """
    where, settings = _parted(given)
    if isinstance(where, str) and where.startswith("file://"):
        path = Path(unquote(urlsplit(where).path))
    elif isinstance(where, Path) or "/" in where[1:] or where.startswith(("/", ".", "~")):
        path = Path(where).expanduser().absolute()
    else:
        path = _installed(where)
    if not path.exists():
        raise ConfigError(f"OpenCode(plugins=...): {path.name} does not exist at the given path")
    package = path if path.is_dir() else _package_of(path)
    facts = _facts(package) if package else {}
    if path.is_dir() and not facts:
        raise ConfigError(
            f"OpenCode(plugins=...): the folder {path.name} holds no package.json; "
            "give the plugin's package folder or its file"
        )
    name, version = facts.get("name"), facts.get("version")
    return Plugin(
        name=name if isinstance(name, str) else path.name,
        path=path,
        package=package,
        version=version if isinstance(version, str) else None,
        settings=settings,
    )


def brought_by(agent: str) -> str | None:
    """Return the known plugin that brings an agent, or None.

    Examples
    --------
    >>> brought_by("orchestrator")
    'oh-my-opencode-slim'
    """
    return next((name for name, plugin in KNOWN.items() if agent in plugin.AGENTS), None)


def find_package(name: str, version: str, folder: Path) -> Path:
    """Find a plugin's package in a fresh installation.

    Parameters
    ----------
    name, version : str
        What was asked for.
    folder : pathlib.Path
        Of the npm installation.

    Returns
    -------
    pathlib.Path
        The package's folder.

    Raises
    ------
    StartupError
        npm installed something else.
    """
    package = folder / "node_modules" / name
    found = _facts(package).get("version")
    if found != version:
        raise StartupError(
            f"npm installed {name} {found or 'without a package.json'} in place of {version}",
            driver="opencode",
            phase="install",
        )
    return package


def _parted(given: Given) -> tuple[str | Path, Mapping[str, Any] | None]:
    if isinstance(given, str | Path):
        return given, None
    pair: list[Any] = list(given) if isinstance(given, list | tuple) else []
    if len(pair) != 2 or not isinstance(pair[0], str | Path) or not isinstance(pair[1], Mapping):
        # Not shown: a plugin's settings may hold a key.
        raise ConfigError("OpenCode(plugins=...): one is no name or path, and no (name, settings)")
    return pair[0], cast("Mapping[str, Any]", pair[1])


def _installed(name: str) -> Path:
    name, _, version = name.partition("@")
    known = KNOWN.get(name)
    if known is None:
        raise ConfigError(
            f"OpenCode(plugins=...): {name!r} is not known by name; known are {', '.join(KNOWN)}. "
            "Give others by the path of their file or package folder"
        )
    package = installed_executable(agent_folder(name, version or known.VERSION))
    if package is None:
        command = f"agentlab install {name}" + (f" --version {version}" if version else "")
        raise StartupError(
            f"the plugin {name} {version or known.VERSION} is not installed. Run: {command}",
            driver="opencode",
            phase="install",
        )
    return package


def _facts(package: Path) -> dict[str, Any]:
    try:
        facts = json.loads((package / "package.json").read_text())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", facts) if isinstance(facts, dict) else {}


def _package_of(file: Path) -> Path | None:
    """Return the package whose entry a file is; a file that merely lies inside a project is no package."""
    for folder in list(file.parents)[:4]:
        if (folder / "package.json").is_file():
            facts = _facts(folder)
            named = {
                str(Path(text)) for key in ("main", "module", "exports") for text in _texts(facts.get(key))
            }
            return folder if str(file.relative_to(folder)) in named else None
    return None


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        parts = cast("Mapping[str, Any] | list[Any]", value)
        for part in parts.values() if isinstance(parts, Mapping) else parts:
            yield from _texts(part)


def _package_files(package: Path) -> list[Path]:
    inside = (p for p in package.rglob("*") if not set(p.relative_to(package).parts) & set(_SKIPPED))
    return [p for p in inside if p.is_file()]


def _own_files(file: Path) -> set[Path]:
    """Return a file and all that it imports by a relative path."""
    found: set[Path] = set()
    left = [file]
    while left:
        one = left.pop()
        if one in found:
            continue
        found.add(one)
        text = one.read_text(errors="replace") if one.suffix != ".json" else ""
        for name in _NEIGHBOUR.findall(text):
            paths = (Path(f"{(one.parent / name).resolve()}{suffix}") for suffix in _SUFFIXES)
            left += [path for path in paths if path.is_file()][:1]
    return found


def _dependencies(package: Path | None) -> str | None:
    if package is None:
        return None
    inside = package.parent if package.parent.name == "node_modules" else package / "node_modules"
    try:
        packages = json.loads((inside / ".package-lock.json").read_text())["packages"]
        # Without the addresses: the same packages from a mirror are the same.
        held = {name: [about.get("version"), about.get("integrity")] for name, about in packages.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return _short(held)


def _short(data: Any) -> str:  # noqa: ANN401
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
