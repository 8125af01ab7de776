"""Where characters stand after what programs send, each worked out by hand."""

import pytest

from agentlab.wire.emulator import Emulator
from agentlab.wire.grid import width
from agentlab.wire.screen import Screen


def shown(data: str | bytes, *, cols: int = 10, rows: int = 4) -> Screen:
    terminal = Emulator(cols=cols, rows=rows)
    terminal.feed(data.encode() if isinstance(data, str) else data)
    return terminal.screen


def test_text_wraps_only_when_more_comes() -> None:
    screen = shown("0123456789")
    assert (screen.lines(), screen.cursor) == (["0123456789", "", "", ""], (1, 10))
    screen = shown("0123456789ab")
    assert (screen.lines()[:2], screen.cursor) == (["0123456789", "ab"], (2, 3))
    assert shown("0123456789\r\nab").lines()[:2] == ["0123456789", "ab"]
    assert shown("\x1b[?7l0123456789abc").lines()[:2] == ["012345678c", ""]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ("ab\x1b[2;3Hc", ["ab", "  c"]),
        ("ab\x1b[Hc", ["cb"]),
        ("abc\x1b[2Dx", ["axc"]),
        ("a\x1b[3Cb\x1b[2Gc", ["ac  b"]),
        ("a\x1b[Bb\x1b[Ac", ["a c", " b"]),
        ("a\x1b[2Eb\x1b[Fc", ["a", "c", "b"]),
        ("a\x1b[3db", ["a", "", " b"]),
        ("a\tb", ["a       b"]),
        ("a\x1b[2Ib\x1b[Zc", ["a       cb"]),
        ("ab\bc", ["ac"]),
        ("abcdef\x1b[3D\x1b[K", ["abc"]),
        ("abcdef\x1b[3D\x1b[1K", ["    ef"]),
        ("abcdef\x1b[2K", [""]),
        ("abcdef\x1b[4D\x1b[2X", ["ab  ef"]),
        ("abcdef\x1b[4D\x1b[2P", ["abef"]),
        ("abcdef\x1b[4D\x1b[2@", ["ab  cdef"]),
        ("abcdef\x1b[4D\x1b[4hxy\x1b[4l", ["abxycdef"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[J", ["a"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[1J", ["", "", "c"]),
        ("a\r\nb\x1b[2Jc", ["", " c"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[L", ["a", "", "b", "c"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[M", ["a", "c"]),
        ("a\r\nb\r\nc\r\nd\r\ne", ["b", "c", "d", "e"]),
        ("a\r\nb\x1b[H\x1bMc", ["c", "a", "b"]),
        ("a\r\nb\x1b[S", ["b"]),
        ("a\r\nb\x1b[T", ["", "a", "b"]),
        ("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nx", ["a", "c", "x", "d"]),
        ("ab\x1b[3b", ["abbbb"]),
        ("ab\x1b7\x1b[3;3Hc\x1b8d", ["abd", "", "  c"]),
        ("ab\x1b[s\x1b[3;3Hc\x1b[ud", ["abd", "", "  c"]),
        ("\x1b(0lqk\x1b(Blqk", ["┌─┐lqk"]),
        ("\x1b)0a\x0eq\x0fq", ["a─q"]),
        ("a\x1b#8", ["E" * 10] * 4),
        ("ab\x1bcd", ["d"]),
        ("\x1b[38:2::1:2:3ma\x1b[4:3mb", ["ab"]),
        ("\x1b[>4;2m\x1b[?996n\x1b[<ua", ["a"]),
        ("\x1b]0;title\x07\x1b_Gi=1;AAAA\x1b\\\x1bP+q4d73\x1b\\a", ["a"]),
        ("\x1b[20ha\nb", ["a", "b"]),
        ("a\x1bEb\x1bDc", ["a", "b", " c"]),
    ],
)
def test_what_moves_and_erases(data: str, lines: list[str]) -> None:
    assert shown(data).lines() == lines + [""] * (4 - len(lines))


def test_the_alternate_screen_comes_and_goes() -> None:
    screen = shown("main\x1b[?1049h\x1b[2;2Halt")
    assert screen.lines()[1] == " alt" and not screen.shows("main")
    assert screen.modes["?1049"]
    screen = shown("main\x1b[?1049halt\x1b[?1049lx")
    assert screen.lines()[0] == "mainx" and not screen.shows("alt")
    assert shown("main\x1b[?1049halt\x1b[?1049l\x1b[?1049h").blank()
    assert shown("main\x1b[?1049halt\x1bc").blank()
    # Either screen has a saved cursor of its own.
    assert shown("main\x1b[?1049h\x1b[3;3H\x1b7\x1b[?1049lx").lines()[0] == "mainx"


def test_origin_mode_counts_from_the_margin() -> None:
    screen = shown("\x1b[2;3r\x1b[?6h\x1b[Ha\x1b[9;1Hb")
    assert screen.lines()[1:3] == ["a", "b"]
    assert screen.cursor == (2, 2) and screen.margins == (2, 3)


@pytest.mark.parametrize(
    ("data", "lines", "column"),
    [
        ("\u0483", [""], 1),  # a combining mark with nothing before it
        ("\r\n\u0483", ["", ""], 1),
        ("e\u0301x", ["e\u0301x"], 3),
        ("漢字x", ["漢字x"], 6),
        ("👩\u200d👩\u200d👧x", ["👩\u200d👩\u200d👧x"], 8),  # without grapheme mode each takes its columns
        ("\u2764\ufe0fx", ["\u2764\ufe0fx"], 3),
        ("漢\x1b[2Gx", [" x"], 3),  # half of a wide character that is written over goes
        ("漢\x1b[1Gx", ["x"], 2),
        ("漢x\x1b[H\x1b[P", [" x"], 1),
        ("123456789漢", ["123456789", "漢"], 3),
        ("12345678漢\x1b[H\x1b[@", [" 12345678"], 1),
        ("漢字\x1b[2G\x1b[@", ["   字"], 2),
    ],
)
def test_marks_wide_and_joined_characters(data: str, lines: list[str], column: int) -> None:
    screen = shown(data)
    assert screen.lines()[: len(lines)] == lines
    assert screen.cursor[1] == column


def test_a_mark_does_not_swallow_what_follows() -> None:
    assert shown("\u2764\ufe0f ready \u200d> zx91q", cols=40).shows("zx91q")


def test_marks_are_bounded() -> None:
    assert len(shown("e" + "\u0301" * 10_000).lines()[0]) < 20


@pytest.mark.parametrize(
    ("cols", "rows", "lines"),
    [
        (10, 6, ["a", "b", "c", "", "", ""]),
        (10, 2, ["b", "c"]),
        (1, 3, ["a", "b", "c"]),
        (20, 3, ["a", "b", "c"]),
    ],
)
def test_a_new_size_keeps_the_row_of_the_cursor(cols: int, rows: int, lines: list[str]) -> None:
    screen = shown("a\r\nb\r\nc")
    screen.resize(cols, rows)
    assert screen.lines() == lines
    screen.text("x" * 25)
    assert all(len(line) <= cols for line in screen.lines())


def test_inked_says_what_was_drawn_and_blank_what_is_left() -> None:
    screen = shown("  \r\n\x1b]0;title\x07\x1b[2;2H")
    assert not screen.inked and screen.blank() and screen.title == "title"
    screen = shown("x\x1b[2J")
    assert screen.inked and screen.blank()
    screen = shown("  x")
    assert screen.inked and not screen.blank()


def test_counts_stand_in_rows() -> None:
    screen = shown("ab ab\r\nab")
    assert (screen.count("ab"), screen.shows("b a"), screen.shows("bb")) == (3, True, False)


def test_size_and_width() -> None:
    with pytest.raises(ValueError, match="0 x 4"):
        Screen(cols=0, rows=4)
    assert [width(char) for char in ("", "a", "漢", "\u0301", "\x01")] == [0, 1, 2, 0, 0]
