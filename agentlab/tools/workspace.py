"""One folder that tools cannot leave: not by ``..``, not by an absolute path, not by a symbolic link."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .observation import ToolFailure

#: A larger file is neither read nor searched.
MAX_FILE_BYTES = 32 * 2**20
_SKIPPED = (".git",)


class Workspace:
    """Reach files of one folder.

    It guards against what a model asks for. Against a hostile process that changes links at the same time it
    does not; no tool can make a link.

    Parameters
    ----------
    root : str or Path
        The folder.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()

    def path(self, given: str) -> Path:
        """Return the real path of what an agent names.

        Parameters
        ----------
        given : str
            Relative to the folder, or absolute and inside.

        Returns
        -------
        Path
            Free of links; it need not exist.

        Raises
        ------
        ToolFailure
            It is outside of the folder.
        """
        if "\0" in given:
            raise ToolFailure("a path cannot hold a null character")
        try:
            path = (self.root / given).resolve()
        except RuntimeError:  # links that lead to each other
            raise ToolFailure(f"{given}: too many symbolic links") from None
        if not path.is_relative_to(self.root):
            raise ToolFailure(f"{given}: outside of the folder")
        return path

    def name(self, path: Path) -> str:
        """Return a path as agents see it.

        Parameters
        ----------
        path : Path
            A real path.

        Returns
        -------
        str
            Relative to the folder.
        """
        return str(path.relative_to(self.root))

    def text(self, given: str) -> str:
        """Read a text file.

        Parameters
        ----------
        given : str
            As an agent names it.

        Returns
        -------
        str
            With its line ends as they are.

        Raises
        ------
        ToolFailure
            It is no regular file of UTF-8 text, or too large.
        """
        return decoded(self.data(self.path(given), given), given)

    def data(self, path: Path, given: str) -> bytes:
        """Read a regular file.

        Parameters
        ----------
        path : Path
            Real path.
        given : str
            Its name, for messages.

        Returns
        -------
        bytes

        Raises
        ------
        ToolFailure
            It is none, or too large.
        """
        try:
            # Not blocking: a pipe would be waited for before it is seen to be one.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError as error:
            raise ToolFailure(f"{given}: {error.strerror}") from error
        try:
            about = os.fstat(descriptor)
            if stat.S_ISDIR(about.st_mode):
                raise ToolFailure(f"{given}: a folder; list it with ls")
            if not stat.S_ISREG(about.st_mode):
                raise ToolFailure(f"{given}: no regular file")
            if about.st_size > MAX_FILE_BYTES:
                raise ToolFailure(f"{given}: too large ({about.st_size} bytes); nothing above 32 MiB is read")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def write(self, given: str, text: str) -> int:
        """Write a whole text file.

        Parameters
        ----------
        given : str
            As an agent names it.
        text : str
            Its content.

        Returns
        -------
        int
            Bytes written.

        Raises
        ------
        ToolFailure
            It is outside, or is no regular file.
        """
        path = self.path(given)
        if path == self.root or (path.exists() and not path.is_file()):
            raise ToolFailure(f"{given}: no regular file")
        data = text.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
            file.write(data)
        return len(data)

    def files(self, given: str) -> list[Path]:
        """List regular files, sorted by path; links and ``.git`` are left out.

        Parameters
        ----------
        given : str
            File or folder, as an agent names it.

        Returns
        -------
        list of Path
            Real paths.

        Raises
        ------
        ToolFailure
            There is nothing of that name.
        """
        top = self.path(given)
        if top.is_file():
            return [top]
        if not top.is_dir():
            raise ToolFailure(f"{given}: no such file or folder")
        found: list[Path] = []
        for folder, folders, names in os.walk(top, followlinks=False):
            folders[:] = [name for name in folders if name not in _SKIPPED]
            paths = (Path(folder, name) for name in names)
            found += [path for path in paths if stat.S_ISREG(path.lstat().st_mode)]
        return sorted(found)


def decoded(data: bytes, given: str) -> str:
    """Decode text.

    Parameters
    ----------
    data : bytes
        Of a file.
    given : str
        Its name, for messages.

    Returns
    -------
    str

    Raises
    ------
    ToolFailure
        It is not UTF-8, or holds null characters.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ToolFailure(f"{given}: no UTF-8 text") from None
    if "\0" in text:
        raise ToolFailure(f"{given}: no text")
    return text
