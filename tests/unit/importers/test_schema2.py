import copy
import json
from pathlib import Path

import pytest

import agentlab as al
from agentlab.errors import ConfigError, ImportFormatError
from agentlab.frames.tables import TABLES
from agentlab.importers.discard_texts import error_code, in_order, to_issue, to_text
from agentlab.issues import CODES

DATA = Path(__file__).resolve().parents[3] / "data" / "schema2"

TEXTS = {
    "missing completed Read tool": "missing_tool",
    "missing completed harmless TodoWrite tool": "missing_tool",
    "missing assistant final response": "missing_text",
    "missing second user follow-up": "missing_turn",
    "observed session/assistant routing does not match orchestrator/provider/model": "routing_mismatch",
    "provider_error:APIError": "turn_error",
    "provider_error:ProviderAuthError": "turn_error",
    "assistant_error:MessageAbortedError": "turn_error",
    "assistant_error:unknown": "turn_error",
    "SSE subscription readiness timed out": "stream_not_ready",
    "SSE delivered a malformed frame": "stream_malformed",
    "SSE stream closed before collection completed": "stream_closed",
    "SSE stream connection failed": "stream_failed",
    "session entered retry state": "retry",
    "session compaction observed": "compaction",
    "POST /session returned no session id": "http_error",
    "GET /session/ses_1/message returned HTTP 503": "http_error",
    "The operation was aborted.": "driver_error",
}


@pytest.fixture
def report():
    return json.loads((DATA / "typical.json").read_text())


def load(tmp_path, data):
    (tmp_path / "r.json").write_text(json.dumps(data))
    return al.load(tmp_path / "r.json")


@pytest.mark.parametrize(("text", "code"), TEXTS.items())
def test_every_reason_maps_to_a_code_and_back(text, code):
    assert code in CODES
    assert to_issue(text)[0] == code
    assert to_text(*to_issue(text)) == text


def test_details_of_newer_issues_still_find_the_original_text():
    assert to_text("retry", "attempt 2") == "session entered retry state"
    assert to_text("missing_tool", "bash") == "missing_tool: bash"
    assert to_text("not_quiet", None) == "not_quiet"
    assert to_text("turn_error", "APIError 400") == "provider_error:APIError"
    assert to_text("turn_error", "ContextOverflowError") == "assistant_error:ContextOverflowError"
    assert to_text("turn_error", "UnknownError") == "assistant_error:unknown"
    assert to_text("turn_aborted", "MessageAbortedError") == "assistant_error:MessageAbortedError"
    assert to_text("http_error", "POST /session/x/message returned HTTP 500 (UnknownError)") == (
        "POST /session/x/message returned HTTP 500"
    )
    assert to_text("http_error", "GET /session returned HTTP 401: it wants other credentials; set ...") == (
        "GET /session returned HTTP 401"
    )
    assert to_text("turn_error", None) == "turn_error"


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_of_ours_comes_back(code):
    for detail in (None, "what happened: HTTP 5 (x)"):
        again, _ = to_issue(to_text(code, detail))
        exact = {"driver_error", "turn_aborted"}  # a text of its own, or the original's for every error
        assert again == code or code in exact, (code, detail)


def test_reasons_stand_in_the_order_of_the_original():
    texts = list(TEXTS)
    shuffled = [*reversed(texts), "not_quiet", texts[0]]
    found = in_order(shuffled)
    assert sorted(found) == sorted({*texts, "not_quiet"})
    fixed = [text for text in texts if "_error:" not in text and "HTTP" not in text]
    assert [text for text in found if text in fixed[:11]] == fixed[:11]
    routing = found.index("observed session/assistant routing does not match orchestrator/provider/model")
    assert (
        routing < found.index("provider_error:APIError") < found.index("SSE subscription readiness timed out")
    )


def test_error_codes_are_reduced():
    assert [error_code(name) for name in ("APIError", "UnknownError", None)] == [
        "APIError",
        "unknown",
        "unknown",
    ]


def test_tables_hold_the_report(report):
    recs = al.load(DATA / "typical.json")
    for name, table in TABLES.items():
        table.check(recs.table(name))
    assert recs.arms == ("plugin-on",)
    assert list(recs.runs["run_index"]) == list(range(8))
    assert set(recs.runs["version"]) == {"1.18.33"}
    assert set(recs.runs["model"]) == {"lab/scripted"}
    stated = [row for run in report["runs"] for row in run["observation"].get("requests", [])]
    frame = recs.requests
    for ours, theirs in {
        "position": "position",
        "warmup": "warmup",
        "input_uncached_tokens": "input",
        "cache_read_tokens": "cacheRead",
        "cache_write_tokens": "cacheWrite",
        "input_total_tokens": "totalInput",
        "output_tokens": "output",
    }.items():
        got = frame[ours].astype(object)
        assert list(got.where(got.notna(), None)) == [row[theirs] for row in stated]
    assert list(recs.tools["name"].unique()) == ["read", "todowrite"]
    assert list(recs.events["source"].unique()) == ["report"]
    assert recs.events["t_ns"].isna().all()
    assert len(recs.chunks) == len(recs.pressure) == 0


def test_discarded_sessions_keep_their_reasons():
    recs = al.load(DATA / "typical.json")
    reasons = recs.runs.set_index("run_index")["reason"].dropna().to_dict()
    assert reasons == {2: "missing_tool,retry", 4: "http_error"}
    assert recs.runs.set_index("run_index").loc[4, "status"] == "failed"
    assert recs.runs.isna().loc[4, "n_turns"], "an exception leaves the turns unknown"
    issue = recs.issues.set_index("code").loc["session_not_deleted"]
    assert not issue["discard"]


def test_null_is_unknown_with_a_reason():
    recs = al.load(DATA / "nulls.json")
    assert recs.requests[["input_total_tokens", "cache_read_tokens", "cache_hit_rate"]].isna().all(axis=None)
    assert set(recs.requests["reason"]) == {"null_in_report"}
    assert set(recs.turns["reason"]) == {"null_in_report"}
    assert recs.turns["latency_ms"].notna().all()


def test_empty_sessions_stay_among_the_runs():
    recs = al.load(DATA / "warmup_only.json")
    assert int(recs.runs["eligible"].sum()) == 6
    left = recs.requests[~recs.requests["warmup"]]["run_id"].nunique()
    assert left == 4


def test_a_discarded_session_without_reason_is_still_discarded(tmp_path, report):
    report["runs"][0] |= {"discarded": True}
    recs = load(tmp_path, report)
    assert recs.runs.loc[0, "reason"] == "import_note"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("schemaVersion",), 3, "schemaVersion is 3; only 2 is known"),
        (("schemaVersion",), None, "schemaVersion is None"),
        (("comparison", "arm"), 5, r"comparison\.arm"),
        (("runs",), {}, r"\$\.runs"),
        (("runs", 0, "runIndex"), "0", r"runIndex"),
        (("runs", 0, "discarded"), "no", r"discarded"),
        (("runs", 0, "observation", "requests", 1, "cacheRead"), 1.5, r"cacheRead"),
        (("runs", 0, "observation", "requests", 1, "warmup"), None, r"warmup"),
        (("runs", 0, "observation", "promptLoops", 0, "promptLoopTtftMs"), "12", r"promptLoopTtftMs"),
        (("runs", 1, "runIndex"), 0, r"runIndex repeats"),
    ],
)
def test_a_broken_field_is_named(tmp_path, report, path, value, says):
    place = report
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ImportFormatError, match=says):
        load(tmp_path, report)


def test_a_missing_field_is_named(tmp_path, report):
    del report["runs"][3]["observation"]["requests"][0]["totalInput"]
    with pytest.raises(ImportFormatError, match="missing required field `totalInput`"):
        load(tmp_path, report)


def test_unknown_fields_are_left_alone(tmp_path, report):
    report["later"] = {"x": 1}
    report["runs"][0]["observation"]["events"][0]["new"] = True
    assert len(load(tmp_path, report)) == 8


def test_two_reports_join_and_one_does_not_count_twice(tmp_path, report):
    other = copy.deepcopy(report)
    other["comparison"]["arm"] = "plugin-off"
    (tmp_path / "off.json").write_text(json.dumps(other))
    both = al.load([DATA / "typical.json", tmp_path / "off.json"])
    assert both.arms == ("plugin-on", "plugin-off")
    assert set(both.runs["study"]) == {"typical", "off"}
    (tmp_path / "copy.json").write_text(json.dumps(report, indent=4))
    with pytest.raises(ConfigError, match="same study"):
        al.load([DATA / "typical.json", tmp_path / "copy.json"])
