import pytest

from agentlab.wire.jsonl import JSONLines


def read(*parts: bytes, **options: int) -> tuple[JSONLines, list[dict]]:
    lines = JSONLines(**options)
    records = [record for t, part in enumerate(parts) for record in lines.feed(part, t=t)]
    return lines, [record.data for record in [*records, *lines.close()]]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_a_unicode_separator_is_text(separator: str) -> None:
    line = f'{{"type":"message_end","t":"a{separator}b"}}\n'.encode()
    if separator < " ":  # control characters below U+0020 must be escaped in JSON
        line = line.replace(separator.encode(), f"\\u{ord(separator):04x}".encode())
    for cut in range(len(line) + 1):
        lines, records = read(line[:cut], line[cut:])
        assert records == [{"type": "message_end", "t": f"a{separator}b"}]
        assert lines.n_foreign == 0


def test_the_last_line_needs_no_newline() -> None:
    lines, records = read(b'{"a":1}\n{"a":2}')
    assert records == [{"a": 1}, {"a": 2}]
    assert lines.unterminated


def test_a_line_longer_than_64_kib_is_one_record() -> None:
    text = "x" * 3_000_000
    lines, records = read(*(part.encode() for part in ('{"t":"', text, '"}\r\n')))
    assert records == [{"t": text}]
    assert not lines.unterminated


def test_what_is_no_object_is_counted_and_passed_over() -> None:
    lines, records = read(b'Welcome\n[1]\n\n   \n{"a":1}\n{"cut')
    assert records == [{"a": 1}]
    assert lines.n_foreign == 3
    assert lines.n_records == 1


def test_a_line_beyond_the_limit_is_dropped_and_the_next_is_read() -> None:
    lines, records = read(b'{"a":"', b"y" * 100, b'"}\n{"b":1}\n', limit_bytes=50)
    assert records == [{"b": 1}]
    assert (lines.n_dropped, lines.n_foreign) == (1, 0)


def test_the_stamp_is_that_of_the_read_that_completed_the_line() -> None:
    lines = JSONLines()
    assert lines.feed(b'{"a":', t=5) == []
    (record,) = lines.feed(b"1}\n{", t=9)
    assert (record.t, record.n_bytes) == (9, 7)
