"""Any cutting of the same bytes gives the same events, and they are those of the written grammar."""

import itertools
import re

from hypothesis import example, given
from hypothesis import strategies as st

from agentlab.errors import ProtocolError
from agentlab.wire.sse import SSEParser

_WORDS = [
    b"data",
    b"data:",
    b"data: ",
    b"event: x",
    b"id: 1",
    b"id",
    b":",
    b": c",
    b"retry: 5",
    b"\0",
    b"{}",
    b" ",
]
_ENDS = [b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"\n\ndata: "]
_PIECES = st.one_of(
    st.sampled_from(_WORDS + _ENDS), st.binary(max_size=4), st.text(max_size=3).map(lambda s: s.encode())
)
_STREAMS = st.builds(
    lambda bom, pieces: bom + b"".join(pieces), st.sampled_from([b"", b"\xef\xbb\xbf"]), st.lists(_PIECES)
)


def standard(stream: bytes) -> tuple[list[tuple[str, bytes, str]], str]:
    """Return events and last id by the text of the standard, with all bytes at hand."""
    lines = re.split(rb"\r\n|\n|\r", stream.removeprefix(b"\xef\xbb\xbf"))[:-1]
    events, data, kind, last_id = [], b"", "", ""
    for line in lines:
        if not line:
            if data:
                events.append((kind or "message", data[:-1], last_id))
            data, kind = b"", ""
            continue
        name, colon, value = line.partition(b":")
        value = value.removeprefix(b" ") if colon else b""
        if name == b"data":
            data += value + b"\n"
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            last_id = value.decode("utf-8", "replace")
    return events, last_id


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(c % (len(stream) + 1) for c in cuts), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(places)]


@given(_STREAMS, st.lists(st.integers(0, 10_000), max_size=12))
@example(b"data: 1\n\ndata: 2\n\n\n\ndata: 3\n\n", [])
@example(b"data: 1\n\ndata: \n\ndata: 3\n\n", [])
@example(b"data: 1\r\n\r\ndata: 2\n\n", [9])
@example(b"data: 1\r\ndata: 2\n\n", [8, 8])
def test_any_cut_gives_the_events_of_the_standard(stream: bytes, cuts: list[int]) -> None:
    parser = SSEParser()
    events = [event for t, chunk in enumerate(cut(stream, cuts)) for event in parser.feed(chunk, t)]
    parser.close()
    assert ([(e.event, e.data, e.id) for e in events], parser.last_id) == standard(stream)
    assert parser.n_events == len(events)
    assert parser.n_bytes == len(stream)
    assert all(e.t_first <= e.t for e in events)
    whole = SSEParser()
    whole.feed(stream, 0)
    whole.close()
    counts = (whole.n_events, whole.n_comments, whole.retry, whole.n_truncated)
    assert counts == (parser.n_events, parser.n_comments, parser.retry, parser.n_truncated)


def read_limited(chunks: list[bytes]) -> tuple[list[tuple[str, bytes]], int | None]:
    parser, events = SSEParser(limit_bytes=12), []
    try:
        for chunk in chunks:
            events += parser.feed(chunk, 0)
        parser.close()
    except ProtocolError as error:
        return [(e.event, e.data) for e in events], error.offset
    return [(e.event, e.data) for e in events], None


@given(_STREAMS, st.lists(st.integers(0, 10_000), max_size=12))
@example(b"data: 1\n\ndata: 12345678\n\n", [3, 20])
def test_the_limit_does_not_depend_on_the_cut(stream: bytes, cuts: list[int]) -> None:
    assert read_limited(cut(stream, cuts)) == read_limited([stream])
