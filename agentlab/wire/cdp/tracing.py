"""A trace that goes from the browser to the disk as a stream, event by event, in flat memory."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import gzip
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from ...errors import DriverError, DriverTimeout, RecordingError
from .page import Page

#: Given one event as a line of JSON, returns what is written of it; None: nothing.
Reduce = Callable[[bytes], bytes | None]

_READ = 1 << 20
_OPENING = b'{"traceEvents":[\n'
_CLOSING = b"\n]}\n"
#: After the last event: the browser's command line and facts of the system follow, which are private.
_METADATA = b'],"metadata":'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TraceEnd:
    """Say what became of a trace.

    Parameters
    ----------
    complete : bool
        All of it is on disk.
    data_loss : bool or None
        The browser's word for a buffer that was too small; None: it was not said.
    n_bytes : int
        Bytes of JSON that came.
    n_events, n_dropped : int
        Events that came, and those of them that were not written.
    seconds : float
        From the end of the recording to the end of the file.
    reason : str or None
        Why it is not complete.
    """

    complete: bool
    data_loss: bool | None
    n_bytes: int
    n_events: int
    n_dropped: int
    seconds: float
    reason: str | None = None


async def start_trace(
    page: Page, categories: Sequence[str], *, buffer_kb: int | None = None, pause_s: float = 0.5
) -> None:
    """Start a trace on a settled page.

    Parameters
    ----------
    page : Page
        Any page: all processes of the browser are traced.
    categories : sequence of str
        Categories; no others are recorded.
    buffer_kb : int, optional
        Size of the browser's buffer; its default is 200 MB.
    pause_s : float
        Wait afterwards, s: a trace into which one runs at once can be empty and still be called complete.

    Raises
    ------
    CommandFailed
        A trace is running already.
    """
    config: dict[str, Any] = {
        "recordMode": "recordUntilFull",
        "includedCategories": list(categories),
        "excludedCategories": ["*"],
    }
    if buffer_kb is not None:
        config["traceBufferSizeInKb"] = buffer_kb
    await page.call("Tracing.start", transferMode="ReturnAsStream", streamFormat="json", traceConfig=config)
    await asyncio.sleep(pause_s)


async def end_trace(
    page: Page, path: Path, *, reduce: Reduce | None = None, timeout_s: float = 120.0
) -> TraceEnd:
    """End a trace and write it, compressed; what came is kept whatever happens.

    Parameters
    ----------
    page : Page
        The page it was started on.
    path : Path
        New file, ``.json.gz``, 0600: an object of ``traceEvents``, one a line, without ``metadata``, that
        DevTools and Perfetto open.
    reduce : callable, optional
        Given each event's line.
    timeout_s : float
        Longest wait for the browser to end the recording, and then for each part of 1 MiB, s.

    Returns
    -------
    TraceEnd

    Raises
    ------
    RecordingError
        The file cannot be written.
    """
    began = time.monotonic()
    ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    stop = page.on("Tracing.tracingComplete", lambda params, _at: ended.done() or ended.set_result(params))
    about: dict[str, Any] = {}
    reason: str | None = None
    try:
        writer = TraceWriter(path, reduce)
        try:
            await page.call("Tracing.end", timeout_s=timeout_s)
            async with asyncio.timeout(timeout_s):
                while not ended.done():
                    if page.connection.gone is not None:
                        raise page.connection.gone
                    await asyncio.wait([ended], timeout=0.1)
            about = ended.result()
            async for part in _parts(page, about["stream"], timeout_s):
                await asyncio.to_thread(writer.feed, part)
        except TimeoutError as error:
            reason = "timeout" if not isinstance(error, DriverTimeout) else str(error)
        except DriverError as error:
            reason = error.code or str(error)
        finally:
            await asyncio.to_thread(writer.close)
    finally:
        stop()
    return TraceEnd(
        complete=reason is None,
        data_loss=about.get("dataLossOccurred"),
        n_bytes=writer.n_bytes,
        n_events=writer.n_events,
        n_dropped=writer.n_dropped,
        seconds=round(time.monotonic() - began, 3),
        reason=reason,
    )


async def _parts(page: Page, handle: str, timeout_s: float) -> AsyncGenerator[bytes]:
    """Read a stream; the next part is on its way while one is written."""

    def ask() -> asyncio.Task[dict[str, Any]]:
        return asyncio.create_task(page.call("IO.read", handle=handle, size=_READ, timeout_s=timeout_s))

    reading = ask()
    try:
        while True:
            answer = await reading
            if not answer["eof"]:
                reading = ask()
            data = answer["data"]
            yield base64.b64decode(data) if answer.get("base64Encoded") else data.encode()
            if answer["eof"]:
                return
    finally:
        reading.cancel()
        with contextlib.suppress(DriverError, asyncio.CancelledError):
            await reading
        with contextlib.suppress(DriverError):
            await page.call("IO.close", handle=handle, timeout_s=5)


class TraceWriter:
    """Write the events of a streamed trace, line by line, on any thread: `close` waits for `feed`.

    Parameters
    ----------
    path : Path
        New file.
    reduce : callable, optional
        Given each event's line; None keeps all.

    Attributes
    ----------
    n_bytes, n_events, n_dropped : int
        As in :class:`TraceEnd`.

    Raises
    ------
    RecordingError
        It cannot be written.
    """

    def __init__(self, path: Path, reduce: Reduce | None = None) -> None:
        self.n_bytes = self.n_events = self.n_dropped = 0
        self._path = path
        self._reduce = reduce
        self._rest = b""
        self._over = False
        self._lock = threading.Lock()  # a feed that was cancelled goes on in its thread
        self._before = _OPENING
        with self._naming():
            self._raw = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
            self._file = _compressed(self._raw)

    def feed(self, data: bytes) -> None:
        """Take the next part of the stream.

        Parameters
        ----------
        data : bytes
            JSON, cut anywhere.
        """
        with self._lock:
            self.n_bytes += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._write([event for line in lines if (event := self._event(line)) is not None])

    def close(self) -> None:
        """Write what is left and end the file: good JSON also when the stream was cut."""
        with self._naming(), self._lock, self._raw, self._file:
            for line in (self._rest, *(self._rest.removesuffix(end) for end in (b"]}", b"]", b","))):
                with contextlib.suppress(msgspec.DecodeError):
                    msgspec.json.decode(line)  # of the last line only
                    self._write([event for event in [self._event(line)] if event is not None])
                    break
            self._file.write(_CLOSING if self._before != _OPENING else _OPENING + _CLOSING)

    def _event(self, line: bytes) -> bytes | None:
        """Return what is written of a line; None when it is no event."""
        if self._over or line == _OPENING.rstrip():
            return None
        self._over = line.endswith(_METADATA) or line.startswith((b"]", b'"metadata"'))
        line = line.removesuffix(_METADATA).rstrip(b",")
        if not line.startswith(b"{"):
            return None
        self.n_events += 1
        if self._reduce is None:
            return line
        kept = self._reduce(line)
        self.n_dropped += kept is None
        return kept

    def _write(self, events: list[bytes]) -> None:
        if not events:
            return
        with self._naming():
            self._file.write(self._before + b",\n".join(events))
        self._before = b",\n"

    @contextlib.contextmanager
    def _naming(self) -> Generator[None]:
        """Name the file in an error of the file system."""
        try:
            yield
        except OSError as error:
            raise RecordingError(f"{self._path} cannot be written: {error.strerror}") from error


def _compressed(raw: IO[bytes]) -> IO[bytes]:
    """Compress what is written, by isal (extra ``fast``) where it is installed; without name and time."""
    try:
        from isal.igzip import IGzipFile  # pyright: ignore
    except ImportError:
        return cast("IO[bytes]", gzip.GzipFile("", "wb", 1, raw, 0))
    return cast("IO[bytes]", IGzipFile("", "wb", 1, raw, 0))
