"""The bytes of a trace or profile, plain or compressed: told apart by what the file begins with."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ...errors import ImportFormatError, RecordingError

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
#: Text that is inflated at once.
_PIECE = 1 << 16
_BOM = b"\xef\xbb\xbf"


class Source:
    """Read text of a file piece by piece.

    Attributes
    ----------
    compressed : bool
        It is gzip.
    damaged : str or None
        Why the compressed stream ended early; what came before is read.
    """

    def __init__(self, file: IO[bytes], *, compressed: bool) -> None:
        self.compressed = compressed
        self.damaged: str | None = None
        self._file = file

    def readinto(self, target: memoryview) -> int:
        """Fill a buffer as far as the text reaches; 0 at the end.

        Parameters
        ----------
        target : memoryview
            Is written to.

        Returns
        -------
        int
            Bytes written.
        """
        if not self.compressed:
            return self._file.readinto(target)  # pyright: ignore[reportAttributeAccessIssue]
        have = 0  # little by little: where the stream is damaged, what a read has inflated until then is lost
        while have < len(target) and (n := self._inflate(target[have : have + _PIECE])):
            have += n
        return have

    def _inflate(self, target: memoryview) -> int:
        if self.damaged is not None:
            return 0
        try:
            return self._file.readinto1(target)  # pyright: ignore[reportAttributeAccessIssue]
        except EOFError:
            self.damaged = "the compressed stream is cut"
        except (OSError, zlib.error) as error:
            self.damaged = f"the compressed stream is damaged ({error})"
        except Exception as error:  # isal has an error class of its own
            if type(error).__module__.partition(".")[0] != "isal":
                raise
            self.damaged = f"the compressed stream is damaged ({error})"
        return 0

    def read(self) -> bytes:
        """Return all that is left.

        Returns
        -------
        bytes
        """
        parts: list[bytes] = []
        piece = bytearray(1 << 20)
        while n := self.readinto(memoryview(piece)):
            parts.append(bytes(piece[:n]))
        return b"".join(parts)


@contextmanager
def opened(path: Path) -> Generator[Source]:
    """Open a file; gzip is read by isal (extra ``fast``) where it is installed.

    Parameters
    ----------
    path : Path
        File.

    Yields
    ------
    Source

    Raises
    ------
    RecordingError
        It cannot be read.
    ImportFormatError
        It is a zip archive.
    """
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(4)
            file.seek(3 if head.startswith(_BOM) else 0)
            if head.startswith(_ZIP):
                raise ImportFormatError(_archive(path))
            compressed = head.startswith(_GZIP)
            with _inflated(file) if compressed else file as text:
                yield Source(text, compressed=compressed)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from None


def _inflated(file: IO[bytes]) -> IO[bytes]:
    try:
        from isal.igzip import IGzipFile  # pyright: ignore
    except ImportError:
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    return cast("IO[bytes]", IGzipFile(fileobj=file, mode="rb"))


def _archive(path: Path) -> str:
    """Say what kind of archive it is, and how to get a trace of Chrome instead."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        names = []
    if any(name.endswith((".trace", ".network")) for name in names):
        return (
            f"{path} is a trace of Playwright (context.tracing: a zip of actions, snapshots and network), "
            "not one of Chrome. For that, call browser.start_tracing(page, path='trace.json') before and "
            "browser.stop_tracing() after what is measured"
        )
    inside = ", ".join(sorted(names)[:5])
    return f"{path} is a zip archive ({inside or 'damaged'}), not a trace of Chrome; unpack it first"
