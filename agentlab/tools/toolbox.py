"""The seven tools, carried out here and now."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .observation import Observation, ToolFailure
from .specs import TOOLS
from .workspace import Workspace, decoded

_SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["parameters"] for tool in TOOLS}
_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


class Toolbox:
    """Carry out tool calls in one folder.

    The same calls on the same files give the same text: no times, no absolute paths, everything sorted.

    Parameters
    ----------
    root : str or Path
        The folder.
    archive : str or Path
        Private folder for whole observations, which ``query`` reads; made when absent (0700, files 0600).
    max_chars : int
        Longest observation that is shown whole.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     box = Toolbox(folder, archive=folder + "/.archive")
    ...     box.call("write", {"path": "a.txt", "content": "hello"}).content
    'wrote 5 bytes to a.txt'
    """

    def __init__(self, root: str | Path, *, archive: str | Path, max_chars: int = 16_000) -> None:
        self._files = Workspace(root)
        self._archive = Path(archive)
        self._archive.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._n = len(list(self._archive.iterdir()))
        self._max_chars = max_chars
        self._tools: dict[str, Callable[..., str]] = {
            "edit": self._edit,
            "find": self._find,
            "grep": self._grep,
            "ls": self._ls,
            "query": self._query,
            "read": self._read,
            "write": self._write,
        }

    def call(self, name: str, arguments: object) -> Observation:
        """Carry out one call; whatever goes wrong is a failed observation.

        Parameters
        ----------
        name : str
            Of the tool.
        arguments : mapping
            By the tool's schema; what a model gives may be anything.

        Returns
        -------
        Observation
        """
        try:
            given = _checked(name, arguments)
            text = _clean(self._tools[name](**given))
            return Observation.whole(text, name=self._keep(text), max_chars=self._max_chars)
        except ToolFailure as error:
            return Observation.failure(_clean(str(error)))
        except OSError as error:
            return Observation.failure(f"{name}: {error.strerror or type(error).__name__}")
        except UnicodeError:
            return Observation.failure(f"{name}: an argument holds characters that cannot be written")

    def _keep(self, text: str) -> str:
        self._n += 1
        name = f"o{self._n}"
        descriptor = os.open(self._archive / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
        return name

    def _read(self, path: str, offset: int = 1, limit: int | None = None) -> str:
        text = self._files.text(path)
        if offset == 1 and limit is None:
            return text
        lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # str.splitlines knows too many line ends
        if offset > max(1, len(lines)):
            raise ToolFailure(f"{path}: has {len(lines)} lines only")
        return "".join(lines[offset - 1 : None if limit is None else offset - 1 + limit])

    def _write(self, path: str, content: str) -> str:
        return f"wrote {self._files.write(path, content)} bytes to {path}"

    def _edit(self, path: str, old: str, new: str) -> str:
        if not old:
            raise ToolFailure("edit: the old text is empty; write makes a whole file")
        text = self._files.text(path)
        n = text.count(old)
        if n != 1:
            raise ToolFailure(
                f"{path}: the old text does not occur"
                if n == 0
                else f"{path}: the old text occurs {n} times; give more of what stands around it"
            )
        self._files.write(path, text.replace(old, new))
        return f"edited {path}"

    def _ls(self, path: str = ".") -> str:
        folder = self._files.path(path)
        if not folder.is_dir():
            raise ToolFailure(f"{path}: no such folder")
        names = [
            entry.name + ("/" if entry.is_dir() and not entry.is_symlink() else "")
            for entry in folder.iterdir()
        ]
        return "\n".join(sorted(names)) or "(empty)"

    def _find(self, pattern: str, path: str = ".") -> str:
        files = self._files.files(path)
        names = [self._files.name(file) if "/" in pattern else file.name for file in files]
        matches = [
            self._files.name(file)
            for file, name in zip(files, names, strict=True)
            if fnmatch.fnmatchcase(name, pattern)
        ]
        return "\n".join(matches) or "(no file)"

    def _grep(self, pattern: str, path: str = ".", glob: str = "*", ignore_case: bool = False) -> str:
        search = _compiled(pattern, re.IGNORECASE if ignore_case else re.NOFLAG)
        lines: list[str] = []
        n_skipped = 0
        for file in self._files.files(path):
            if not fnmatch.fnmatchcase(file.name, glob):
                continue
            name = self._files.name(file)
            try:
                text = decoded(self._files.data(file, name), name)
            except ToolFailure:
                n_skipped += 1
                continue
            lines += [f"{name}:{number}: {line}" for number, line in _matching(search, text)]
        if n_skipped:
            lines.append(f"[{n_skipped} files are no UTF-8 text or too large, and were not searched]")
        return "\n".join(lines) or "(no match)"

    def _query(self, observation: str, pattern: str | None = None, start: int = 1) -> str:
        if not re.fullmatch(r"o[1-9][0-9]{0,8}", observation) or int(observation[1:]) > self._n:
            raise ToolFailure(f"query: there is no observation {observation!r}")
        text = (self._archive / observation).read_bytes().decode()
        if start > max(1, len(text)):
            raise ToolFailure(f"query: {observation} has {len(text)} characters only")
        if pattern is None:
            return text[start - 1 :]
        found = _matching(_compiled(pattern, re.NOFLAG), text[start - 1 :])
        return "\n".join(f"{number}: {line}" for number, line in found) or "(no match)"


def _clean(text: str) -> str:
    """Replace what is no character: names of files can be any bytes."""
    return text.encode("utf-8", "replace").decode()


def _checked(name: str, arguments: object) -> dict[str, Any]:
    """Check a call by its schema."""
    schema = _SCHEMAS.get(name)
    if schema is None:
        raise ToolFailure(f"there is no tool {name!r}; there are {', '.join(_SCHEMAS)}")
    if not isinstance(arguments, Mapping):
        raise ToolFailure(f"{name}: the arguments are no JSON object")
    given: dict[str, Any] = {str(key): value for key, value in arguments.items() if value is not None}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    known: dict[str, Any] = schema["properties"]
    if unknown := sorted(set(given) - set(known)):
        raise ToolFailure(f"{name}: there is no argument {unknown[0]!r}; there are {', '.join(known)}")
    if missing := [key for key in schema["required"] if key not in given]:
        raise ToolFailure(f"{name}: the argument {missing[0]!r} is missing")
    for key, value in given.items():
        kind = known[key]["type"]
        if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
            raise ToolFailure(f"{name}: {key!r} is no {kind}")
        if kind == "integer" and value < 1:
            raise ToolFailure(f"{name}: {key!r} counts from 1")
    return given


def _compiled(pattern: str, flags: re.RegexFlag) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolFailure(f"the regular expression is wrong: {error}") from None


def _matching(search: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if search.search(line):
            yield number, line
