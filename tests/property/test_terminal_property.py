"""Any cutting of a terminal's bytes shows the same; nothing that a program prints breaks the screen."""

import itertools
import json

import pyte
from hypothesis import example, given
from hypothesis import strategies as st

from agentlab.wire.emulator import Emulator
from agentlab.wire.grid import width

_NUMBERS = st.lists(st.integers(0, 12), max_size=3).map(lambda n: ";".join(map(str, n)))
_SEQUENCES = st.builds(
    lambda private, numbers, between, final: f"\x1b[{private}{numbers}{between}{final}".encode(),
    st.sampled_from(["", "", "", "?", ">", "=", "<"]),
    st.one_of(
        _NUMBERS, st.sampled_from(["25", "1049", "1047", "7", "6", "2026", "4:3", "38:2::1:2:3", "9" * 12])
    ),
    st.sampled_from(["", "", "", "$", " ", "!"]),
    st.sampled_from("@ABCDEFGHIJKLMPSTXZ`abcdefghlmnpqrstux"),
)
_STRINGS = st.builds(
    lambda begin, payload, end: b"\x1b" + begin + payload + end,
    st.sampled_from([b"]", b"P", b"_", b"^", b"X"]),
    st.sampled_from(
        [b"11;?", b"4;1;?;2;?", b"0;title", b"+q4d73;544e", b"$qr", b"Ga=q;AAAA", b"8;;http://x", b""]
    ),
    st.sampled_from([b"\x07", b"\x1b\\", b"", b"\x18"]),
)
_TEXT = st.one_of(
    st.lists(st.integers(0x20, 0x1FFFF), max_size=6).map(lambda codes: "".join(map(chr, codes))),
    st.sampled_from(["漢字", "e\u0301", "\u0483", "👩\u200d👧", "\u2764\ufe0f", "─│┌", "x" * 30]),
).map(lambda text: text.encode(errors="replace"))
_CONTROLS = st.sampled_from(["\r\n", "\n", "\r", "\x08", "\t", "\x0e", "\x0f", "\x05", "\x1b"]).map(
    str.encode
)
_ESCAPES = st.sampled_from([*"78DEHMZc[>]", "(0", "(B", "#8"]).map(lambda what: f"\x1b{what}".encode())
_STREAMS = st.lists(st.one_of(_SEQUENCES, _STRINGS, _TEXT, _CONTROLS, _ESCAPES, st.binary(max_size=4))).map(
    b"".join
)


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(c % (len(stream) + 1) for c in cuts), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def seen(reads: list[bytes]) -> tuple[object, ...]:
    terminal = Emulator(cols=12, rows=5)
    answers = b"".join(terminal.feed(data) for data in reads)
    screen, asked = terminal.screen, terminal.queries
    return (
        *(screen.lines(), screen.cursor, screen.modes, screen.margins, screen.title, screen.inked),
        *(answers, asked.seen, asked.unanswered, terminal.parser.n_broken, terminal.parser.n_cut),
    )


@given(_STREAMS, st.lists(st.integers(0, 10_000), max_size=12))
@example("漢\u0301e\u0301\u0301".encode(), list(range(20)))
@example(b"\x1b[?" + b"1;" * 300 + b"hx", [100, 400])
@example(b"\x1b]0;a\x1b\x1b]11;?\x1b\\", list(range(20)))
def test_any_cut_shows_asks_and_answers_the_same(stream: bytes, cuts: list[int]) -> None:
    assert seen(cut(stream, cuts)) == seen([stream])


@given(_STREAMS, st.tuples(st.integers(2, 20), st.integers(1, 8)), _STREAMS)
def test_the_screen_stays_whole(stream: bytes, size: tuple[int, int], more: bytes) -> None:
    """The cursor is on it, rows have their width, no half of a wide character stands alone."""
    terminal = Emulator(cols=12, rows=5)
    terminal.feed(stream)
    terminal.screen.resize(*size)
    terminal.feed(more)
    screen = terminal.screen
    assert 0 <= screen.at.x < size[0] and 0 <= screen.at.y < size[1]
    for line in screen._grid.rows:
        assert len(line) == size[0]
        for x, cell in enumerate(line):
            half = x > 0 and width(line[x - 1][:1]) == 2
            assert (cell == "") == half
        assert width(line[-1][:1]) < 2
    assert len(screen._grid.rows) == size[1]


# pyte (0.8) is the independent reading of the same standards; what it gets wrong is left out (margins, DL).
_PLAIN = st.one_of(
    st.text(st.sampled_from("abc XYZ─│"), min_size=1, max_size=15).map(lambda text: ("text", text)),
    st.tuples(st.sampled_from("@ABCDEFGHJKLPXdaef"), st.lists(st.integers(1, 9), min_size=1, max_size=2)).map(
        lambda made: ("csi", made)
    ),
    st.sampled_from(["\r\n", "\n", "\r", "\b", "\t", "\x1bM", "\x1bD"]).map(lambda text: ("control", text)),
)


def spelled(steps: list[tuple[str, object]]) -> str:
    """Write the steps out; each sequence and control is led by one that ends a pending wrap."""
    parts: list[str] = []
    for kind, what in steps:
        if kind == "text":
            parts.append(str(what))
            continue
        parts.append("\x1b[2C\x1b[2D")
        if kind == "csi":
            final, numbers = what  # type: ignore[misc]
            most = {"H": 2, "f": 2}.get(final, 1)
            numbers = [min(n, 2) for n in numbers[:1]] if final in "JK" else numbers[:most]
            parts.append(f"\x1b[{';'.join(map(str, numbers))}{final}")
        else:
            parts.append(str(what))
    return "".join(parts)


@given(st.lists(_PLAIN, max_size=25).map(spelled))
def test_it_shows_what_pyte_shows(text: str) -> None:
    theirs = pyte.Screen(12, 5)
    pyte.Stream(theirs).feed(text)
    ours = Emulator(cols=12, rows=5)
    ours.feed(text.encode())
    assert ours.screen.lines() == [line.rstrip() for line in theirs.display], json.dumps(text)
    assert ours.screen.at.y == theirs.cursor.y
    assert ours.screen.at.x == min(theirs.cursor.x, 11)
