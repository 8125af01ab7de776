"""A trace reads the same however it is written, read and cut."""

import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.frames.chrometrace import read_trace
from agentlab.frames.chrometrace.events import UNKNOWN
from agentlab.frames.chrometrace.reader import read_task_slices
from agentlab.frames.chrometrace.slices import TASK

text = st.text(st.sampled_from('ab{}[]"\\,:\n\u2028é '), max_size=12)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 2**64 - 1), st.floats(-1e9, 1e9), text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
    max_leaves=6,
)
names = st.one_of(
    st.sampled_from([TASK, TASK, TASK, "ThreadControllerImpl::RunTask", "Layout", "RunTask2"]), text
)


@st.composite
def events(draw):
    event = {
        "args": draw(st.one_of(st.just({}), st.dictionaries(text, values, max_size=2))),
        "cat": draw(st.sampled_from(["disabled-by-default-devtools.timeline", "toplevel", 'a"b'])),
        "dur": draw(st.one_of(st.integers(-5, 10**9), st.floats(0, 1e6, allow_nan=False))),
        "name": draw(names),
        "ph": draw(st.sampled_from("XXXXIM")),
        "pid": draw(st.integers(1, 3)),
        "tdur": draw(st.one_of(st.none(), st.integers(0, 10**8))),
        "tid": draw(st.one_of(st.integers(1, 3), st.just(12345678), st.just(7**19))),
        "ts": draw(st.one_of(st.integers(0, 10**15), st.integers(0, 99), st.just(10**17))),
        "tts": draw(st.integers(0, 1000)),
    }
    if draw(st.booleans()):
        event["args"]["name"] = draw(names)
    for key in ("tdur", "dur", "cat"):
        if event[key] is None or draw(st.integers(0, 9)) == 0:
            del event[key]
    return event


COMPACT = (",", ":")


def write(found, layout, form):
    """Return text, and where each event ends in it."""
    if layout == "pretty":
        parts = [json.dumps(event, indent=2) for event in found]
        between = ",\n  "
    elif layout == "spaced":
        parts = [json.dumps(event) for event in found]
        between = ",\n"
    else:
        parts = [json.dumps(event, separators=COMPACT, ensure_ascii=False) for event in found]
        between = ",\n" if layout == "lines" else ","
    head, tail = {
        "object": ('{"traceEvents":[\n', "\n]}\n"),
        "described": (
            '{"metadata": {"a": [{"name":"RunTask"}], "b": "]}"},\n"traceEvents": [\n',
            '\n],"x":[{}]}',
        ),
        "followed": ('{"traceEvents":[', '],"metadata":{"traceEvents":[{"ph":"X"}]}}'),
        "array": ("[", "]"),
    }[form]
    text = (head + between.join(parts) + tail).encode()
    at = len(head.encode())
    ends = []
    for part in parts:
        at += len(part.encode())
        ends.append(at)
        at += len(between)
    return text, ends


def expected(found):
    rows = []
    for event in found:
        if event["ph"] == "X":
            duration, cpu = event.get("dur"), event.get("tdur")
            rows.append(
                (
                    event["ts"] * 1000 if event["ts"] < 2**63 // 1000 else None,
                    UNKNOWN if duration is None else round(duration * 1000),
                    UNKNOWN if cpu is None else cpu * 1000,
                    (event["pid"], event["tid"]),
                    event["name"],
                )
            )
    return sorted((row for row in rows if row[0] is not None), key=repr)


def rows_of(trace):
    slices = trace.slices
    threads = [(t.pid, t.tid) for t in trace.threads]
    columns = (slices.start_ns, slices.duration_ns, slices.cpu_ns, slices.thread, slices.name)
    each = zip(*(column.tolist() for column in columns), strict=True)
    return sorted(((s, d, c, threads[t], slices.names[n]) for s, d, c, t, n in each), key=repr)


def read(reader, text, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_bytes(text)
        return reader(path, **options)


layouts = st.sampled_from(["lines", "lines", "one line", "spaced", "pretty"])
forms = st.sampled_from(["object", "described", "followed", "array"])
blocks = st.integers(16, 600)


@settings(max_examples=60, deadline=None)
@given(
    found=st.lists(events(), min_size=1, max_size=12),
    layout=layouts,
    form=forms,
    block=blocks,
    packed=st.booleans(),
)
def test_every_way_of_writing_gives_the_same_slices(found, layout, form, block, packed):
    text, _ = write(found, layout, form)
    text = gzip.compress(text) if packed else text
    trace = read(read_trace, text, block=block)
    assert rows_of(trace) == expected(found)
    report = trace.report
    assert (report.n_events, report.truncated, report.compressed) == (len(found), False, packed)
    assert report.n_unparsable == report.n_empty == 0
    tasks = read(read_task_slices, text, block=block)
    assert rows_of(tasks) == [row for row in expected(found) if row[4] == TASK]
    assert tasks.report.n_events == len(found)


@settings(max_examples=60, deadline=None)
@given(found=st.lists(events(), min_size=1, max_size=8), layout=layouts, block=blocks, data=st.data())
def test_a_cut_leaves_what_stands_before_it(found, layout, block, data):
    text, ends = write(found, layout, "object")
    cut = data.draw(st.integers(ends[0], len(text) - 4))
    whole = [event for event, end in zip(found, ends, strict=True) if end <= cut]
    for reader in (read_trace, read_task_slices):
        trace = read(reader, text[:cut], block=block)
        kept = expected(whole)
        assert rows_of(trace) == [row for row in kept if reader is read_trace or row[4] == TASK]
        report = trace.report
        assert (report.n_events, report.truncated, report.truncated_at) == (
            len(whole),
            True,
            ends[len(whole) - 1],
        )


@settings(max_examples=15, deadline=None)
@given(data=st.data(), block=st.integers(1 << 12, 1 << 16))
def test_a_cut_gzip_leaves_what_stands_before_it(data, block):
    n = 1500
    found = [
        {"name": TASK, "ph": "X", "ts": i, "dur": i * 7919 % 10007, "pid": 1, "tid": 1} for i in range(n)
    ]
    text, ends = write(found, "lines", "object")
    packed = gzip.compress(text, 1)
    cut = data.draw(st.integers(len(packed) * 3 // 4, len(packed) - 1))
    trace = read(read_task_slices, packed[:cut], block=block)
    report = trace.report
    starts = np.sort(trace.slices.start_ns) // 1000
    assert starts.tolist() == list(range(len(starts)))
    assert 0 < len(starts) <= n
    if report.truncated:
        assert report.truncated_at == ends[len(starts) - 1]
        assert report.damaged == "the compressed stream is cut"
