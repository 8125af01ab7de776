"""Server-sent events: an incremental parser on bytes.

The grammar is that of the WHATWG HTML standard, section "Server-sent events" (lines end in LF, CR or CRLF;
one leading byte order mark; comments; fields ``data``, ``event``, ``id``, ``retry``). It works on bytes: no
Unicode line separator can split a string, and no character is harmed by a cut between two reads. Any cutting
of the same bytes gives the same events.
"""

from __future__ import annotations

import msgspec

from ..errors import ProtocolError

_BOM = b"\xef\xbb\xbf"


# A Struct, not a dataclass: one is made for every event. gc=False: it holds no cycle.
class SSEEvent(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event.

    Parameters
    ----------
    event : str
        Its type; ``"message"`` when the stream names none.
    data : bytes
        Its data lines, joined by LF; may be empty.
    id : str
        The last event id of the stream so far; empty when there was none.
    t : int
        Stamp in ns of the read that completed it.
    t_first : int
        Stamp in ns of the read in which the first byte of its first line (comments aside) came.
    """

    event: str
    data: bytes
    id: str
    t: int
    t_first: int


class SSEParser:
    r"""Turn the bytes of an event stream into events.

    Parameters
    ----------
    limit_bytes : int, default 64 MiB
        Longest event (sum of its lines) that is kept in memory.

    Attributes
    ----------
    n_events, n_bytes, n_comments : int
        Dispatched events, bytes fed, comment lines.
    n_truncated : int
        1 after :meth:`close` when the stream ended inside an event, else 0.
    retry : int or None
        Reconnection time in ms that the stream asked for.
    last_id : str
        Last event id.
    error : ProtocolError or None
        Set once an event is longer than the limit; nothing can be read after it.

    Examples
    --------
    >>> parser = SSEParser()
    >>> parser.feed(b'data: {"a":', t=1), parser.feed(b"1}\n\n", t=2)
    ([], [SSEEvent(event='message', data=b'{"a":1}', id='', t=2, t_first=1)])
    """

    def __init__(self, *, limit_bytes: int = 64 * 2**20) -> None:
        self.n_events = self.n_bytes = self.n_comments = self.n_truncated = 0
        self.retry: int | None = None
        self.last_id = ""
        self._limit = limit_bytes
        self.error: ProtocolError | None = None
        self._bom: bytes | None = b""  # what came of a possible mark; None once that is settled
        self._offset = 0  # of the first byte that is not in a complete line
        self._skip_lf = False  # the last read ended in CR: an LF at once is its second half
        self._partial: list[bytes] = []  # the unfinished line, in pieces so that long lines stay linear
        self._partial_bytes = 0
        self._clear()

    def _clear(self) -> None:
        self._data: list[bytes] = []
        self._event = ""
        self._held = 0  # bytes of its complete lines
        self._begun: int | None = None  # stamp of its first byte
        self._begun_offset = 0

    def feed(self, chunk: bytes, t: int) -> list[SSEEvent]:
        """Take one read and return the events that it completes.

        Parameters
        ----------
        chunk : bytes
            The bytes of the read; any cut is fine.
        t : int
            Stamp of the read, ns.

        Returns
        -------
        list of SSEEvent

        Raises
        ------
        ProtocolError
            An event is longer than the limit. Events before it are returned first, the error comes with the
            next call.
        """
        if self.error is not None:
            raise self.error
        self.n_bytes += len(chunk)
        if self._bom is not None:
            chunk = self._after_bom(chunk)
        events: list[SSEEvent] = []
        if chunk and (self._begun is not None or self._partial or self._skip_lf):
            cut = chunk.find(b"\n\n") + 2  # 1 when the event does not end here, and then:
            self._lines(chunk if cut == 1 else chunk[:cut], t, events)
            chunk = b"" if cut == 1 else chunk[cut:]
        if chunk and self.error is None:
            self._blocks(chunk, t, events)
        self.n_events += len(events)
        if self.error is not None and not events:
            raise self.error
        return events

    def close(self) -> int:
        """Declare the end of the stream.

        Returns
        -------
        int
            1 when it ended inside an event, which is dropped as the standard asks; else 0.

        Raises
        ------
        ProtocolError
            An event was longer than the limit.
        """
        if self.error is not None:
            raise self.error
        self.n_truncated = int(bool(self._begun is not None or self._bom))
        self._partial.clear()
        self._clear()
        return self.n_truncated

    def _after_bom(self, chunk: bytes) -> bytes:
        head = (self._bom or b"") + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._bom = head
            return b""
        self._bom = None
        if not head.startswith(_BOM):
            return head
        self._offset = len(_BOM)
        return head[len(_BOM) :]

    def _blocks(self, chunk: bytes, t: int, events: list[SSEEvent]) -> None:
        """Take a chunk that begins between two events; the usual frames cost a split and no look at lines."""
        end = chunk.rfind(b"\n\n") + 2
        if end > 1 and end <= self._limit and chunk.startswith(b"data: ") and b"\r" not in chunk:
            frames = chunk[6 : end - 2].split(b"\n\ndata: ")
            if chunk.count(b"\n", 0, end) == 2 * len(frames):  # so no frame holds a second line
                last_id = self.last_id
                events += [SSEEvent("message", frame, last_id, t, t) for frame in frames]
                self._offset += end
                chunk = chunk[end:]
                if not chunk:
                    return
        self._lines(chunk, t, events)

    def _lines(self, chunk: bytes, t: int, events: list[SSEEvent]) -> None:
        """Take any chunk, line by line."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            if chunk[0] == 10:
                chunk = chunk[1:]
                self._offset += 1
        lines = chunk.splitlines(keepends=True)  # of bytes: at LF, CR and CRLF only
        rest = lines.pop() if lines and chunk[-1] not in b"\r\n" else b""
        for line in lines:
            if self._partial:
                line = b"".join([*self._partial, line])
                self._partial.clear()
                self._partial_bytes = 0
            self._line(line.rstrip(b"\r\n"), t, events)
            if self.error is not None:
                return
            self._offset += len(line)
        self._skip_lf = chunk.endswith(b"\r")
        if rest:
            self._partial.append(rest)
            self._partial_bytes += len(rest)
            self._check(self._partial[0], self._partial_bytes, t)

    def _line(self, line: bytes, t: int, events: list[SSEEvent]) -> None:
        if not line:
            self._dispatch(t, events)
        elif self._check(line, len(line), t):
            if line[0] == 58:
                self.n_comments += 1
            else:
                self._held += len(line)
                self._field(line)

    def _check(self, line: bytes, size: int, t: int) -> bool:
        """Mark where an event begins; refuse one that is too long. Comments are read but never held."""
        if line[0] != 58 and self._begun is None:
            self._begun, self._begun_offset = t, self._offset
        if self._held + size <= self._limit:
            return True
        offset = self._offset if self._begun is None else self._begun_offset
        what = f"the event that begins at byte {offset} of the stream is longer than {self._limit} bytes"
        self.error = ProtocolError(what, offset=offset)
        self._partial.clear()
        self._clear()
        return False

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 16:
            self.retry = int(value)

    def _dispatch(self, t: int, events: list[SSEEvent]) -> None:
        if self._begun is None:
            return
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(SSEEvent(self._event or "message", data, self.last_id, t, self._begun))
        self._clear()
