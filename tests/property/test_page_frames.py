"""Tables of a page under any evidence: nothing raises, stamps follow the stream, frames fit."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.frames.browser.evidence import PageEvidence
from agentlab.frames.browser.shown import add_shown
from agentlab.frames.build import BUILDERS, TRACED, known
from agentlab.frames.evidence import RunInfo
from agentlab.frames.reading import Reading

RUN = RunInfo(study="s", arm="a", run_id="0", run_index=0)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KINDS = (
    "sample", "gc", "gap", "dom", "text", "frames", "shift", "input", "probe", "app_counters", "liveness",
    "file", "gate", "end",
)  # fmt: skip
FIELDS = (
    "at", "heap_bytes", "nodes", "task_s", "reason", "rows", "n_chars", "interactions", "counters", "sites",
    "entries", "visibility", "name", "passed", "data_loss", "complete",
)  # fmt: skip
STAMP = st.integers(0, 2**40)
EVENT = st.builds(
    lambda t, kind, fields: {"t": t, "kind": f"page.{kind}", **fields},
    STAMP,
    st.sampled_from(KINDS),
    st.dictionaries(
        st.sampled_from(FIELDS), JUNK | STAMP | st.lists(st.lists(STAMP, max_size=5), max_size=4)
    ),
)


#: What the page's rows are, or nearly.
ROWS = st.lists(st.lists(STAMP | JUNK, max_size=5), min_size=1, max_size=4)
TELLING = st.sampled_from(("frames", "shift", "dom", "input", "sample", "gc"))


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENT, max_size=8), TELLING, ROWS)
def test_whatever_a_driver_wrote_gives_frames(events, kind, rows):
    window = {"t": 9, "kind": "page.window", "begin_ns": 2**20, "stream_end_ns": 2**38, "end_ns": 2**39}
    told = {
        "t": 9,
        "kind": f"page.{kind}",
        "rows": rows,
        "interactions": rows,
        "heap_bytes": rows[0],
        "at": "end",
    }
    read = Reading(RUN, [window, told, *events], [])
    for name in (*TRACED, "callsites", "chunks", "runs"):
        frame = known(name).frame(BUILDERS[name](read))
        known(name).check(frame)


def piece(at, n_chars):
    names = ("gateway_ns", "dom_ns", "paint_ns", "ordered", "disorder", "shown", "dom_reason")
    return {
        "kind": "text", "n_chars": n_chars, "source": "agent", "turn": 1, "session_id": "s",
        "emit_ns": None, "arrive_ns": at, **dict.fromkeys(names),
    }  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 50)), min_size=1, max_size=20),
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 500), st.none() | st.integers(0, 3000)), max_size=20
    ),
)
def test_pieces_are_shown_in_the_order_of_the_stream(pieces, grown):
    rows = [piece(at, n) for at, n in sorted(pieces)]
    page = PageEvidence(RUN, [{"t": 0, "kind": "page.dom", "rows": [list(row) for row in grown]}])
    add_shown(rows, page, {"s"})
    shown = [row["dom_ns"] for row in rows]
    most = max((n for _, n, _ in grown), default=0)
    if not most:
        assert all(at is None for at in shown) and {row["dom_reason"] for row in rows} == {"not_seen"}
        return
    assert shown == sorted(shown) and set(shown) <= {at for at, _, _ in grown}
    assert shown[-1] == min(at for at, n, _ in grown if n == most), "all text is there with the last piece"
    for row in rows:
        assert row["ordered"] is (row["disorder"] is None)
