"""What a trace tells beside its tasks."""

import json

import pytest

from agentlab.frames.chrometrace import read_trace

CAT = "cc,benchmark,disabled-by-default-devtools.timeline.frame"


@pytest.fixture
def read(tmp_path):
    def reading(*events, **options):
        path = tmp_path / "t.json"
        path.write_text(json.dumps({"traceEvents": events}))
        return read_trace(path, **options)

    return reading


def event(name, ph, ts, args=None, *, pid=1, tid=1, **more):
    return {"name": name, "ph": ph, "ts": ts, "pid": pid, "tid": tid, "args": args or {}, **more}


def local(number):
    return {"id2": {"local": number}}


def test_frames_are_paired_by_process_and_id_whatever_the_order(read):
    reporter = {
        "state": "STATE_DROPPED",
        "scroll_state": "SCROLL_NONE",
        "frame_sequence": 5,
        "frame_source": 2**64 - 1,
    }
    trace = read(
        event("PipelineReporter", "e", 30, **local("0x1")),
        event("PipelineReporter", "b", 10, {"frame_reporter": reporter}, **local("0x1")),
        event(
            "PipelineReporter",
            "b",
            40,
            {"chrome_frame_reporter": {"state": "STATE_PRESENTED_ALL"}},
            **local("0x1"),
        ),
        event("PipelineReporter", "b", 11, {"frame_reporter": reporter}, pid=2, **local("0x1")),
        event("PipelineReporter", "e", 12, pid=2, **local("0x1")),
        event("PipelineReporter", "e", 1, **local("0x7")),
    )
    assert [(f.begin_ns, f.end_ns, f.pid, f.state) for f in trace.frames] == [
        (10_000, 30_000, 1, "DROPPED"),
        (11_000, 12_000, 2, "DROPPED"),
        (40_000, None, 1, "PRESENTED_ALL"),
    ]
    assert (trace.frames[0].scroll_state, trace.frames[0].frame_sequence, trace.frames[0].frame_source) == (
        "NONE",
        5,
        None,
    )


def test_animation_frames_with_their_stages_and_scripts(read):
    info = {"duration_ms": 528, "blocking_duration_ms": 12.5, "num_scripts": 1}
    script = {
        "invoker_type": "USER_CALLBACK",
        "class_like_name": "Window",
        "property_like_name": "TimerHandler:setInterval",
        "source_location_url": "app.js",
        "source_location_function_name": "step",
        "source_location_char_position": 570,
        "style_duration_ms": 1,
        "layout_duration_ms": 2,
        "pause_duration_ms": 0,
    }
    trace = read(
        event("AnimationFrame", "s", 5, id=1),
        event("AnimationFrame", "b", 10, {"animation_frame_timing_info": info, "id": "a"}, **local("0x6")),
        event("AnimationFrame::FirstUIEvent", "n", 11, **local("0x6")),
        event(
            "AnimationFrame::Script::Execute",
            "b",
            12,
            {"animation_frame_script_timing_info": script},
            **local("0x6"),
        ),
        event("AnimationFrame::Script::Execute", "e", 20, **local("0x6")),
        event("AnimationFrame::Render", "b", 21, **local("0x6")),
        event("AnimationFrame::StyleAndLayout", "b", 22, **local("0x6")),
        event("AnimationFrame::StyleAndLayout", "e", 23, **local("0x6")),
        event("AnimationFrame::Render", "e", 24, **local("0x6")),
        event("AnimationFrame", "e", 25, **local("0x6")),
        event("AnimationFrame", "b", 30, {"id": "b"}, **local("0x6")),
        event("AnimationFrame::Presentation", "n", 33, {"id": "a"}, **local("0x6")),
        event("AnimationFrame::Script::Execute", "b", 34, **local("0x9")),
    )
    first, second = trace.animation_frames
    assert (first.begin_ns, first.end_ns, first.duration_ms, first.blocking_ms, first.n_scripts) == (
        10_000,
        25_000,
        528,
        12.5,
        1,
    )
    stages = (first.first_ui_event_ns, first.render_ns, first.style_layout_ns, first.presentation_ns)
    assert stages == (11_000, 21_000, 22_000, 33_000)
    (called,) = first.scripts
    assert called == (
        12_000,
        20_000,
        "USER_CALLBACK",
        "Window",
        "TimerHandler:setInterval",
        "app.js",
        "step",
        570,
        1,
        2,
        0,
    )
    assert (second.end_ns, second.duration_ms, second.n_scripts, second.presentation_ns, second.scripts) == (
        None,
        None,
        None,
        None,
        (),
    )


def test_input_shifts_counters_marks_pictures(read):
    timing = {
        "type": "keydown",
        "interactionId": 2972,
        "duration": 67.94,
        "timeStamp": 13.5,
        "processingStart": 14.25,
        "processingEnd": 15,
        "commitFinishTime": 16,
    }
    shift = {
        "score": 0.25,
        "weighted_score_delta": 0.125,
        "cumulative_score": 0.5,
        "had_recent_input": False,
        "is_main_frame": True,
    }
    counts = {"jsHeapSizeUsed": 36219752, "nodes": 910, "documents": 2, "jsEventListeners": 172}
    trace = read(
        event("EventTiming", "b", 10, {"data": timing}, id="0x52"),
        event("EventTiming", "e", 78, id="0x52"),
        event("EventTiming", "b", 90, {"data": {"type": "pointermove", "interactionId": 0}}, id="0x53"),
        event("LayoutShift", "I", 20, {"data": shift, "frame": "F"}),
        event("UpdateCounters", "I", 22, {"data": counts}),
        event("UpdateCounters", "I", 21, {"data": {}}),
        event("hello", "I", 5, {"data": {"startTime": 3.5}}, cat="blink.user_timing"),
        event("hello", "R", 4, cat="blink.user_timing"),
        event("Screenshot", "I", 6, {"snapshot": "x"}),
    )
    assert trace.event_timings[0][:2] == (10_000, 78_000)
    assert trace.event_timings[0][3:] == ("keydown", 2972, 67.94, 13.5, 14.25, 15, 16)
    assert trace.event_timings[1].interaction_id is None and trace.event_timings[1].end_ns is None
    assert trace.layout_shifts[0][2:] == (0.25, 0.125, 0.5, False, True)
    assert [c[2:] for c in trace.counters] == [(None,) * 4, (36219752, 910, 2, 172)]
    assert [(m.name, m.t_ns, m.page_ms) for m in trace.marks] == [("hello", 4000, None), ("hello", 5000, 3.5)]
    assert trace.n_screenshots == 1


def test_profiles_inside_a_trace_are_put_together_by_process_and_id(read):
    def chunk(ts, data, **more):
        return event("ProfileChunk", "P", ts, {"data": data}, tid=77, **more)

    root = {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0}}
    leaf = {
        "id": 2,
        "parent": 1,
        "callFrame": {"functionName": "f", "url": "a.js", "lineNumber": 2, "columnNumber": 4},
    }
    trace = read(
        chunk(30, {"cpuProfile": {"samples": [2, 2]}, "timeDeltas": [500, -200]}, id="0x1"),
        event("Profile", "P", 10, {"data": {"startTime": 10}}, id="0x1"),
        chunk(20, {"cpuProfile": {"nodes": [root, leaf], "samples": [1]}, "timeDeltas": [100]}, id="0x9"),
        event("Profile", "P", 10, {"data": {"startTime": 10}}, id="0x1", pid=2, tid=9),
        chunk(
            40,
            {"cpuProfile": {"nodes": [root, leaf], "endTime": 2000, "samples": [2]}, "timeDeltas": [7]},
            id="0x1",
            pid=2,
        ),
        chunk(41, {"cpuProfile": {"nodes": 3}}, id="0x1", pid=2),
    )
    assert trace.report.n_unparsable == 1
    first, second = trace.profiles
    assert (first.pid, first.tid, first.n_negative_deltas, first.n_unknown) == (1, 1, 1, 2)
    assert (second.pid, second.tid, second.end_ns) == (2, 9, 2_000_000)
    assert [f.label for f in second.functions()] == ["f @ a.js:3:5"]


def test_arguments_of_another_form_cost_their_event_only(read):
    trace = read(
        event("LayoutShift", "I", 20, {"data": {"score": "much"}}),
        event("LayoutShift", "I", 21, {"data": {"score": 1}}),
        event("UpdateCounters", "I", 20, {"data": [1]}),
        {"name": "UpdateCounters", "ph": "I", "args": {}},
    )
    assert trace.report.n_unparsable == 3
    assert [s.score for s in trace.layout_shifts] == [1]
