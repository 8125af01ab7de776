import json

import pytest

from agentlab.wire.traceline import MARK, reduce_event_line, reduce_profile

SECRET = "Quarterly figures of ACME"
URL = "http://127.0.0.1:4196/server/aHR0/session/ses_dd8669d08ffe?text=Quarterly"


def reduced(**event):
    line = reduce_event_line(
        json.dumps({"name": "Layout", "ph": "X", **event}, separators=(",", ":")).encode()
    )
    assert line is not None
    assert b"\n" not in line
    return json.loads(line)


def test_numbers_ids_and_names_of_code_stay():
    args = {
        "data": {
            "frame": "7C5E9DD7849E905497D7AA3CBBA49DE5",
            "functionName": "render[0]",
            "url": "http://127.0.0.1:1/assets/index-jmcw.js?v=1#x",
            "columnNumber": 84,
            "delay": 18446744073709541696,
            "score": 5.4755859375e-07,
            "flag": True,
            "none": None,
            "clip": [0, 1.5, -3],
        }
    }
    event = {
        "cat": "devtools.timeline",
        "pid": 3,
        "tid": 4,
        "ts": 10,
        "dur": 2,
        "tdur": 1,
        "id2": {"local": "0x1"},
    }
    assert reduced(args=args, **event) == {
        "name": "Layout",
        "ph": "X",
        "args": {"data": {**args["data"], "url": "index-jmcw.js"}},
        **event,
    }


@pytest.mark.parametrize(
    "args",
    [
        {"data": {"url": URL}},
        {"data": {"url": f"data:text/javascript,{SECRET}"}},
        {"data": {"url": f"http://x/{SECRET}.js"}},
        {"data": {"nodeName": f"DIV class='{SECRET}'"}},
        {"data": {"message": SECRET}},
        {"data": {"type": SECRET}},
        {"data": {"id": SECRET}},
        {"data": {"stackTrace": [{"url": URL, "functionName": "f"}, SECRET]}},
        {"class_like_name": f"IMG[src={URL}]"},
        {"mark_name": SECRET},
        {"snapshot": "Quarterly/9j/4AAQSkZJRgABAQ"},
        [SECRET, [SECRET]],
        SECRET,
    ],
)
def test_texts_addresses_and_pictures_go(args):
    text = json.dumps(reduced(args=args))
    assert "Quarterly" not in text and "ses_" not in text and "ACME" not in text


def test_lists_stay_parallel():
    args = {"data": {"lines": [1, 2], "names": ["a", "b"], "nested": [[SECRET, 1], [2, 3]]}}
    assert reduced(args=args)["args"]["data"] == {
        "lines": [1, 2],
        "names": ["", ""],
        "nested": [["", 1], [2, 3]],
    }


def test_the_page_names_its_marks_and_logs():
    for category in ("blink.user_timing", "devtools.timeline,blink.console"):
        for args in ({}, {"data": {"startTime": 3.5, "detail": SECRET}}):
            got = reduced(name=SECRET, cat=category, args=args)
            again = reduced(name=SECRET, cat=category, args=args)
            assert got["name"] == again["name"] and got["name"].startswith("mark-")
            assert "ACME" not in json.dumps(got)
    ours = reduced(name=f"{MARK}begin", cat="blink.user_timing", args={"data": {"startTime": 3.5}})
    assert ours["name"] == "agentlab:begin" and ours["args"]["data"]["startTime"] == 3.5


def test_threads_keep_their_names_and_processes_lose_the_title():
    assert (
        reduced(ph="M", name="thread_name", args={"name": "CrRendererMain"})["args"]["name"]
        == "CrRendererMain"
    )
    assert reduced(ph="M", name="process_labels", args={"labels": f"{SECRET} & more"})["args"]["labels"] == ""
    assert reduced(ph="M", name="process_sort_index", args={"sort_index": -5})["args"]["sort_index"] == -5


def test_unknown_keys_of_the_event_go_and_what_is_no_event_is_dropped():
    assert reduced(metadata={"command_line": "--user-data-dir=/home/me"}) == {"name": "Layout", "ph": "X"}
    for line in (b"", b"[]", b"{}", b'{"name":"a"', b'{"name":3}', b'"x"', b"\xff"):
        assert reduce_event_line(line) is None


def test_an_event_without_arguments_is_passed_on_as_it_is():
    line = (
        b'{"args":{},"cat":"disabled-by-default-devtools.timeline","dur":8,"name":"RunTask","ph":"X","ts":1}'
    )
    assert reduce_event_line(line) is line


def test_a_profile_keeps_numbers_and_functions():
    frame = {"functionName": "f", "scriptId": "3", "url": URL, "lineNumber": 4, "columnNumber": 50}
    profile = {
        "nodes": [
            {
                "id": 1,
                "callFrame": frame,
                "hitCount": 2,
                "children": [2],
                "positionTicks": [{"line": 1, "ticks": 2}],
            }
        ],
        "startTime": 1,
        "endTime": 9,
        "samples": [1, 1],
        "timeDeltas": [3, -2],
    }
    assert reduce_profile(profile) == {
        **profile,
        "nodes": [{**profile["nodes"][0], "callFrame": {**frame, "url": ""}}],
    }
