"""Frames of exec sessions: however the output is cut, the same ones are found, stamped by their last read."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from agentlab.drivers.exec import printer
from agentlab.drivers.exec.account import Frames, Print

#: Between frames: nothing, ends of lines, and what looks like the begin of a frame.
_BETWEEN = st.sampled_from([b"", b"\n", b"\r\n", b"#", b"#a 1", b"#a 1 2 3", b"\x1b[0m", b"###\r\n"])


@st.composite
def _outputs(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, int, int]]]:
    """An output, and of each frame its end, stamp and size."""
    data, frames = b"", []
    for seq, (n, between) in enumerate(draw(st.lists(st.tuples(st.integers(0, 90), _BETWEEN), max_size=8))):
        data += between + f"#a {seq} {1000 + seq} {n}:".encode() + printer.body(seq, n)
        frames.append((len(data), 1000 + seq, n))
    return data + draw(_BETWEEN), frames


@given(_outputs(), st.data())
def test_any_cutting_finds_the_same_frames(
    output: tuple[bytes, list[tuple[int, int, int]]], data: st.DataObject
):
    text, expected = output
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    pieces = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
    ends = list(accumulate(map(len, pieces)))
    frames, found = Frames(), []
    for number, piece in enumerate(pieces):
        found += frames.feed(piece, [(len(piece), number)])
    assert found == [
        Print(stamp, next(i for i, read in enumerate(ends) if read >= end), n) for end, stamp, n in expected
    ]
    assert frames.seen == {("a", i) for i in range(len(expected))}
