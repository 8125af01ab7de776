"""Traces from public bug reports, and what a person may hand us instead of a trace."""

import gzip
import json
import random
import zipfile

import pandas as pd
import pytest

from agentlab.errors import ImportFormatError, RecordingError
from agentlab.frames.chrometrace import TASK_COLUMNS, UNKNOWN, read_tasks, read_trace, self_time

LINE = '{"args":{},"cat":"c","dur":%d,"name":"RunTask","ph":"X","pid":%d,"tid":%d,"ts":%d,"tts":5}'


def task(ts, dur=None, *, pid=1, tid=1, name="RunTask", ph="X", **more):
    event = {"name": name, "ph": ph, "ts": ts, "pid": pid, "tid": tid, "args": {}, **more}
    return event if dur is None else event | {"dur": dur}


def thread(pid, tid, name="CrRendererMain", kind="thread_name"):
    return {"name": kind, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": {"name": name}}


def started(*pids, **about):
    frames = [{"frame": "F", "processId": pid, "url": "http://x/", **about} for pid in pids]
    return {
        "name": "TracingStartedInBrowser",
        "ph": "I",
        "ts": 1,
        "pid": 9,
        "tid": 9,
        "args": {"data": {"frames": frames}},
    }


@pytest.fixture
def write(tmp_path):
    def written(data, name="trace.json"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return path

    return written


def lines(events):
    return "[\n" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "\n]\n"


def values(frame, *names):
    return [list(row) for row in frame[list(names)].itertuples(index=False)]


CUT_ARRAY = b'[\n{"name":"t","ph":"X","ts":4619295550.0,"dur":8000.0,"pid":1,"tid":3},\n'


@pytest.mark.parametrize("closed", [False, True])
def test_an_array_without_its_end_and_a_comma_too_many(write, closed):
    trace = read_trace(write(CUT_ARRAY + b"]" * closed))
    assert trace.slices.duration_ns.tolist() == [8_000_000]
    assert trace.slices.start_ns.tolist() == [4_619_295_550_000]
    assert (trace.report.form, trace.report.truncated) == ("array", not closed)
    assert trace.report.truncated_at == (None if closed else len(CUT_ARRAY) - 2)
    assert any("is cut behind byte" in note for note in trace.report.notes()) is not closed


def test_gzip_is_known_by_its_content_and_an_empty_event_is_counted(write):
    data = json.dumps({"traceEvents": [task(1, 2), {}], "displayTimeUnit": "ns"}).encode()
    for content, name, packed in (
        (gzip.compress(data), "t.json.gz", True),
        (data, "t.json.gz", False),
        (gzip.compress(data), "t.json", True),
        (gzip.compress(data[:9]) + gzip.compress(data[9:]), "two.gz", True),
        (b"\xef\xbb\xbf" + data, "bom.json", False),
    ):
        report = read_trace(write(content, name)).report
        assert (report.n_events, report.n_empty, report.compressed) == (2, 1, packed), name
        assert report.truncated is False
        assert read_tasks(write(content, name))["duration_ms"].tolist() == [0.002]


def test_a_negative_duration_is_flagged_and_in_no_sum(write):
    bad = task(1690794009197000, -1690794002733406.8)
    for events in ([task(10, 60000), bad], [bad, task(10, 60000)]):
        path = write({"traceEvents": events})
        frame = read_tasks(path)
        assert frame["duration_ms"].sum() == 60.0
        assert values(frame, "reason", "is_long", "open") == [
            [pd.NA, True, False],
            ["negative_duration", pd.NA, False],
        ]
        report = read_trace(path).report
        assert (report.n_negative, report.n_other_clock) == (1, 1)
        assert any("negative" in note for note in report.notes())


def test_without_markers_the_main_thread_is_found_by_its_name_else_asked_for(write):
    click = [task(5, 70000), {"name": "EventDispatch", "ph": "X", "ts": 6, "dur": 100, "pid": 1, "tid": 1}]
    named = write(
        {"traceEvents": [*click, task(5, 1, tid=2), thread(1, 1), thread(1, 2, "Compositor")]}, "named"
    )
    assert values(read_tasks(named), "tid", "thread", "is_page_main") == [[1, "CrRendererMain", True]]
    assert read_trace(named).page_from == "thread_name"
    bare = write({"traceEvents": [*click, task(5, 1, tid=2)]}, "bare")
    with pytest.raises(
        ImportFormatError, match=r"page=\(pid, tid\).*all_threads=True.*\(1, 1\) without a name, \(1, 2\)"
    ):
        read_tasks(bare)
    everything = read_tasks(bare, all_threads=True)
    assert len(everything) == 2 and everything["is_page_main"].isna().all()
    assert values(read_tasks(bare, page=(1, 2)), "tid", "is_page_main") == [[2, True]]
    with pytest.raises(ImportFormatError, match="no thread 7 in a process 1"):
        read_tasks(bare, page=(1, 7))


def test_two_pages_with_the_same_thread_id(write):
    events = [task(1, 60000, pid=1, tid=7), task(2, 3, pid=2, tid=7), thread(1, 7), thread(2, 7)]
    marked = {"name": "agentlab:begin", "cat": "blink.user_timing", "ph": "I", "ts": 3, "pid": 2, "tid": 7}
    for more, known in (([started(2)], "browser"), ([marked], "mark")):
        path = write({"traceEvents": [*events, *more]}, known)
        assert values(read_tasks(path), "pid", "tid", "duration_ms") == [[2, 7, 0.003]]
        assert read_trace(path).page_from == known
        assert read_tasks(path, all_threads=True)["is_page_main"].tolist() == [False, True]
    with pytest.raises(ImportFormatError, match="which thread is the page's main thread is not told"):
        read_tasks(write({"traceEvents": events}))
    own = write({"traceEvents": [*events, marked | {"name": "mine"}]})
    assert read_tasks(own, page="mine")["pid"].tolist() == [2]
    with pytest.raises(ImportFormatError, match=r"no mark 'other'.*it has mine"):
        read_tasks(own, page="other")


def test_frames_inside_the_page_and_of_other_targets_are_not_the_page(write):
    about = {"isOutermostMainFrame": True, "isInPrimaryMainFrame": False}
    first = started(1)["args"]["data"]["frames"][0]
    mixed = started(2, **about)
    mixed["args"]["data"]["frames"] += [first, first | {"processId": 3, "parent": "F"}]
    events = [mixed] + [e for pid in (1, 2, 3) for e in (task(pid, 10, pid=pid), thread(pid, 1))]
    assert read_tasks(write({"traceEvents": events}))["pid"].tolist() == [1]


def test_begins_are_matched_with_their_ends(write):
    events = [
        task(10, ph="B", tts=4),
        task(12, ph="B", name="Layout"),
        task(15, ph="E", name="Layout"),
        task(20, ph="E", tts=9),
        task(30, ph="B"),
        task(3, ph="E"),
        task(50, ph="X", tid="7", pid="1"),
    ]
    path = write({"traceEvents": events})
    frame = read_tasks(path, all_threads=True)
    assert values(frame, "start_ns", "tid", "open", "reason") == [
        [10_000, 1, False, pd.NA],
        [30_000, 1, True, "task_open"],
        [50_000, 7, True, "task_open"],
    ]
    assert values(frame.head(1), "duration_ms", "cpu_ms") == [[0.01, 0.005]]
    assert frame["duration_ms"].isna().tolist() == [False, True, True]
    assert read_trace(path).report.n_open == 2
    nameless = [event | ({"name": ""} if event["ph"] == "E" else {}) for event in events[:5]]
    assert read_tasks(write({"traceEvents": nameless}), all_threads=True)["duration_ms"].tolist() == [
        0.01,
        pd.NA,
    ]


def test_ids_that_are_words(write):
    events = [task(1, 60000, pid="Renderer", tid="Main"), task(2, 1, pid="Renderer", tid="Other")]
    frame = read_tasks(write({"traceEvents": events}), all_threads=True)
    assert values(frame, "thread", "duration_ms") == [["Main", 60.0], ["Other", 0.001]]
    assert frame["pid"].isna().all() and frame["tid"].isna().all()


def test_numbers_beyond_64_bits_in_arguments_and_times(write):
    events = [
        task(1, 2, args={"task_delay_us": 18446744073709541696, "big": 10**30}),
        task(18446744073709541696, 2),
        task(3, 18446744073709541696),
    ]
    for content in (json.dumps({"traceEvents": events}), lines(events)):
        frame = read_tasks(write(content.encode()))
        assert values(frame, "start_ns", "reason") == [[1000, pd.NA], [3000, "task_open"]]


def test_a_damaged_event_costs_itself_only(write):
    good = [LINE % (60000 + i, 1, 1, i) for i in range(30)]
    for bad in (
        LINE.replace('"ph"', "ph") % (1, 1, 1, 1),
        '{"name":"RunTask","ph":"X","ts":"x"}',
        '{"name":"RunTask","ph":"X",',
    ):
        lines = [*good[:20], bad, *good[20:]]
        text = ("[\n" + ",\n".join(lines) + "\n]\n").encode()
        for block in (200, 1 << 21):
            trace = read_trace(write(text), block=block)
            tasks = read_tasks(write(text))
            if bad.endswith("}"):
                assert trace.report.n_unparsable == 1
                assert len(trace.tasks) == len(tasks) == 30
            else:
                assert len(trace.tasks) >= 20


def test_only_exact_names_are_tasks(write):
    events = [
        task(1, 60000),
        task(1, 60000, name="ThreadControllerImpl::RunTask"),
        task(1, 60000, name="RunTask2"),
    ]
    nested = task(
        1,
        5,
        name="Layout",
        args={"name": "RunTask", "a": {"name": "RunTask", "ph": "X", "pid": 1, "tid": 1, "ts": 1}},
    )
    assert len(read_tasks(write(lines([*events, nested]).encode()))) == 1


def test_the_frame_has_its_columns_from_zero_rows_on(write):
    for events in ([], [task(1, 2, name="Layout")]):
        frame = read_tasks(write({"traceEvents": events}), all_threads=True)
        assert [(c.name, c.dtype) for c in TASK_COLUMNS] == [(n, str(t)) for n, t in frame.dtypes.items()]
        assert len(frame) == 0
    with pytest.raises(ImportFormatError, match=r"no RunTask.*disabled-by-default-devtools.timeline"):
        read_tasks(write({"traceEvents": [task(1, 2, name="Layout")]}))


def test_self_time_by_nesting(write):
    events = [
        task(0, 100),
        task(0, 60, name="Function"),
        task(10, 20, name="Layout"),
        task(70, 10, name="Layout"),
        task(200, ph="B"),
        task(90, -5, name="Broken"),
    ]
    slices = read_trace(write({"traceEvents": events})).slices
    own, depth = self_time(slices)
    found = {
        (slices.names[n], s): (o, d)
        for n, s, o, d in zip(slices.name, slices.start_ns // 1000, own, depth, strict=True)
    }
    assert found == {
        ("RunTask", 0): (30_000, 0),
        ("Function", 0): (40_000, 1),
        ("Layout", 10): (20_000, 2),
        ("Layout", 70): (10_000, 1),
        ("RunTask", 200): (UNKNOWN, 0),
        ("Broken", 90): (UNKNOWN, 0),
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"hello", "no JSON object or array"),
        (b'{"nodes": [], "samples": []}', "no list traceEvents"),
        (b'[{"a": 1}]', "no events"),
        (b"[1, 2]", "no events"),
        (gzip.compress(b'{"traceEvents":[' + b" " * 1000)[:15], "compressed stream is cut"),
    ],
)
def test_what_is_no_trace_is_named(write, content, said):
    for reader in (read_trace, read_tasks):
        with pytest.raises(ImportFormatError, match=f"trace.json is no trace of Chrome: .*{said}"):
            reader(write(content))


def test_archives_are_told_apart(write, tmp_path):
    for names, said in (
        (("trace.trace", "trace.network"), "trace of Playwright.*start_tracing"),
        (("a.json",), r"zip archive \(a.json\)"),
    ):
        with zipfile.ZipFile(tmp_path / "trace.zip", "w") as archive:
            for name in names:
                archive.writestr(name, "{}")
        with pytest.raises(ImportFormatError, match=said):
            read_tasks(tmp_path / "trace.zip")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(RecordingError, match=r"nothing\.json cannot be read: No such file"):
        read_tasks(tmp_path / "nothing.json")


@pytest.mark.parametrize("name", ["\u00fcber", 'q"x', "a\\b", "a<b", "\u65e5"])
def test_a_mark_is_found_however_its_name_is_escaped(write, name):
    task = {"name": "RunTask", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}
    mark = {"cat": "blink.user_timing", "name": name, "ph": "R", "ts": 1, "pid": 1, "tid": 1}
    text = lines([task] * 2000 + [mark, task | {"tid": 2}, task])  # what stands first is decoded anyway
    for written in (text, text.replace("<", "\\u003C")):
        assert len(read_tasks(write(written.encode()), page=name)) == 2001


def test_ids_beyond_64_bits_and_ids_that_are_nearly_numbers(write):
    task = {"name": "RunTask", "ph": "X", "ts": 1, "dur": 2}
    found = read_tasks(
        write([task | {"pid": 2**64 - 1, "tid": "--5"}, task | {"pid": "7", "tid": "\u00b2"}]),
        all_threads=True,
    )
    found = found.sort_values("thread")
    assert found["pid"].isna().tolist() == [True, False]
    assert found["thread"].tolist() == ["--5", "\u00b2"]


@pytest.mark.parametrize("end", [b"behind the stream", b"\x1f\x8bno"])
def test_what_follows_a_whole_gzip_stream_costs_nothing_of_it(write, end):
    events = [{"name": "RunTask", "ph": "X", "ts": i, "dur": 2, "pid": 1, "tid": 1} for i in range(5000)]
    path = write(gzip.compress(json.dumps(events).encode()) + end)
    trace = read_trace(path)
    assert len(trace.tasks) == len(read_tasks(path)) == 5000 and not trace.report.truncated


def test_a_damaged_stream_is_read_up_to_the_damage(write):
    rng = random.Random(1)
    events = [
        {"name": "RunTask", "ph": "X", "ts": rng.getrandbits(40), "dur": 2, "pid": 1, "tid": 1}
        for _ in range(20_000)
    ]
    packed = gzip.compress(json.dumps(events).encode())
    trace = read_trace(write(packed[: len(packed) // 2]))
    assert len(trace.tasks) > 8500 and trace.report.damaged == "the compressed stream is cut"
