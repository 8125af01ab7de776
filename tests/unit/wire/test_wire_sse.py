"""The event stream grammar, case by case; case numbers are those of public bug reports."""

import pytest

from agentlab.errors import ProtocolError
from agentlab.wire.sse import SSEEvent, SSEParser


def parse(*chunks: bytes) -> tuple[list[SSEEvent], SSEParser]:
    parser = SSEParser()
    events = [event for t, chunk in enumerate(chunks) for event in parser.feed(chunk, t)]
    parser.close()
    return events, parser


def data(*chunks: bytes) -> list[bytes]:
    return [event.data for event in parse(*chunks)[0]]


@pytest.mark.parametrize("lone_lf", [True, False])
def test_cr_and_lf_in_different_reads_are_one_line_end(lone_lf: bool) -> None:
    middle = [b"\n"] if lone_lf else []
    assert data(b"data: A\r\n", b"data: B\r", *middle, b"data: C\r\n", b"\n") == [b"A\nB\nC"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_unicode_separators_stay_inside_a_string(separator: str) -> None:
    body = f'{{"t":"Hello{separator}World"}}'.encode()
    assert data(b"data: " + body + b"\n\n") == [body]
    assert data(b"data: " + body + b"\r\n\r\n") == [body]


def test_a_character_may_be_cut_anywhere() -> None:
    body = '{"x":"\U0001f600"}'.encode()
    stream = b"data:" + body + b"\n\n"
    for cut in range(1, len(stream)):
        assert data(stream[:cut], stream[cut:]) == [body]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_data_lines_are_joined_under_every_line_end(end: bytes) -> None:
    assert data(end.join([b'data: {"a":', b"data: 1}", b"", b""])) == [b'{"a":\n1}']


def test_crlf_frames_are_found() -> None:
    events, parser = parse(b"data: 1\r\n\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n")
    assert [event.data for event in events] == [b"1", b"2", b"3"]
    assert (parser.n_events, parser.n_bytes, parser.n_truncated) == (3, 33, 0)


def test_fields() -> None:
    events, parser = parse(
        b": keepalive\n\n", b"id: 7\nretry: 1500\nevent: x\ndata: 1\n\n", b"id\ndata: 2\n\n", b"data\n\n"
    )
    assert [(e.event, e.data, e.id) for e in events] == [
        ("x", b"1", "7"),
        ("message", b"2", ""),
        ("message", b"", ""),
    ]
    assert (parser.n_comments, parser.retry, parser.n_truncated) == (1, 1500, 0)


def test_an_id_lasts_until_the_next_and_bad_ids_and_retries_are_ignored() -> None:
    events, parser = parse(
        b"id: 7\n\ndata: 1\n\nid: a\0b\nretry: 1e3\nretry: -5\nretry: " + b"9" * 5000 + b"\ndata: 2\n\n"
    )
    assert [(e.data, e.id) for e in events] == [(b"1", "7"), (b"2", "7")]
    assert parser.retry is None


def test_only_one_space_is_taken_and_unknown_fields_are_nothing() -> None:
    assert data(b"data:  two\ndatax: no\nDATA: no\n data: no\n\n") == [b" two"]
    assert data(b"event: lonely\n\ndata: x\n\n") == [b"x"]
    assert parse(b"event: lonely\n\ndata: x\n\n")[0][0].event == "message"


@pytest.mark.parametrize(
    ("tail", "n"),
    [
        (b"data: last", 1),
        (b"data: last\n", 1),
        (b"event: x\n", 1),
        (b": comm", 0),
        (b"\r", 0),
        (b"", 0),
        (b"dat", 1),
    ],
)
def test_an_event_without_its_end_is_dropped_and_counted(tail: bytes, n: int) -> None:
    events, parser = parse(b"data: 1\n\n" + tail)
    assert [event.data for event in events] == [b"1"]
    assert parser.n_truncated == n


def test_a_byte_order_mark_is_taken_once() -> None:
    bom = b"\xef\xbb\xbf"
    for cut in range(4):
        assert data((bom + b"data: 1\n\n")[:cut], (bom + b"data: 1\n\n")[cut:]) == [b"1"]
    assert data(bom + bom + b"data: 1\n\n") == []
    assert data(b"data: 1\n\n" + bom + b"data: 2\n\n") == [b"1"]
    assert parse(bom[:2])[1].n_truncated == 1
    assert data(bom[:2], b"\n\ndata: 1\n\n") == [b"1"]


def test_stamps_are_those_of_the_first_and_the_last_read() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: a\n\ndata: b", 10) == [SSEEvent("message", b"a", "", 10, 10)]
    assert parser.feed(b"bb\n", 20) == []
    assert parser.feed(b"\n: note\nid: 1\n", 30) == [SSEEvent("message", b"bbb", "", 30, 10)]
    assert parser.feed(b"data: c\n\n", 40) == [SSEEvent("message", b"c", "1", 40, 30)]
    assert parser.feed(b": note", 50) == []
    assert parser.feed(b" ends\ndata: d\r", 60) == []
    assert parser.feed(b"\n\r", 70) == [SSEEvent("message", b"d", "1", 70, 60)]
    assert parser.feed(b"\n", 80) == []
    assert parser.feed(b"data: e\n\n", 90) == [SSEEvent("message", b"e", "1", 90, 90)]


def test_a_long_event_in_many_reads_is_linear() -> None:
    piece, parser = b"x" * 65_536, SSEParser()
    parser.feed(b"data: ", 0)
    for t in range(512):
        assert parser.feed(piece, t) == []
    (event,) = parser.feed(b"\n\n", 512)
    assert len(event.data) == 512 * len(piece)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_event_over_the_limit_is_an_error_with_its_offset(size: int) -> None:
    good, bad = b"data: 1\n\n: note\n\n", b"data: " + b"x" * 50 + b"\ndata: " + b"y" * 50 + b"\n\n"
    parser, events = SSEParser(limit_bytes=111), []
    stream = good + bad + good
    with pytest.raises(ProtocolError, match="byte 17 of the stream is longer than 111 bytes") as caught:
        for start in range(0, len(stream), size):
            events += parser.feed(stream[start : start + size], start)
        parser.close()
    assert caught.value.offset == 17
    assert [event.data for event in events] == [b"1"]
    assert len(SSEParser(limit_bytes=112).feed(stream, 0)) == 3


@pytest.mark.parametrize("size", [1, 64, 4096])
def test_a_comment_without_end_is_not_kept_for_ever(size: int) -> None:
    parser, stream = SSEParser(limit_bytes=100), b":" + b"x" * 101
    with pytest.raises(ProtocolError):
        for start in range(0, len(stream), size):
            parser.feed(stream[start : start + size], 0)
    parser = SSEParser(limit_bytes=100)
    for _ in range(100):
        parser.feed(b": keepalive\n", 0)
    assert parser.n_comments == 100
