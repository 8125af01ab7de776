"""What is typed and what is read stays whole, however it is cut."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from agentlab.drivers.exec.spool import Spool, Stamps
from agentlab.drivers.exec.typist import Lines

LIMIT = 40

pieces = st.lists(st.text(alphabet="ab\n\ré", max_size=90).map(str.encode), max_size=8)


@given(pieces)
def test_a_cut_line_holds_the_same_bytes_and_fits(typed: list[bytes]):
    lines = Lines(flush_bytes=LIMIT)
    sent = b"".join(lines.cut(piece, b"\x04") for piece in typed)
    assert sent.replace(b"\x04", b"") == b"".join(typed)
    parts = sent.replace(b"\r", b"\n").replace(b"\x04", b"\n").split(b"\n")
    assert max(map(len, parts)) <= LIMIT
    # Alone it would end the input: it always follows something of its line.
    assert b"\n\x04" not in sent.replace(b"\r", b"\n") and not sent.startswith(b"\x04")
    assert b"\x04\x04" not in sent


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), max_size=200), st.integers(2, 20))
def test_a_thinned_stamp_is_never_too_early(reads: list[tuple[int, int]], limit: int):
    stamps = Stamps(limit)
    ends = list(itertools.accumulate(n for n, _ in reads))
    times = list(itertools.accumulate(t for _, t in reads))
    for end, t in zip(ends, times, strict=True):
        stamps.add(end, t)
    kept = stamps.take(0)
    assert len(kept) <= limit
    for end, t in zip(ends, times, strict=True):
        assert next(found for at, found in kept if at >= end) >= t


@given(st.lists(st.one_of(st.binary(max_size=30), st.none()), max_size=30), st.none() | st.integers(0, 200))
def test_what_is_taken_is_what_was_read(steps: list[bytes | None], most: int | None):
    """None: a call takes what is there."""
    spool = Spool(None, max_bytes=most)
    taken, lost = b"", 0
    for step in [*steps, None]:
        if step is None:
            piece = spool.take()
            assert piece.offset == len(taken)
            taken += spool.read(piece.offset, piece.n_bytes)
            lost += piece.lost_bytes
        else:
            spool.append(step, ((len(step), 1),))
    whole = b"".join(step for step in steps if step)
    assert taken == (whole if most is None else whole[:most])
    assert lost == len(whole) - len(taken)
