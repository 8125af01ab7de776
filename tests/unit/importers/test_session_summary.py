"""The original web-chat script's session-summary.json: read by its own definitions, written, and back."""

import copy
import gzip
import json

import pytest

import agentlab as al
from agentlab.errors import ConfigError, ImportFormatError
from agentlab.frames.tables import TABLES
from agentlab.importers.session_summary_writer import summary, write
from agentlab.testing.recordings import write_study
from agentlab.testing.webchat import SyntheticPage, write_webchat_study

MIB = 1 << 20

#: As the original wrote it; the numbers are those of facts measured on OpenCode's page.
DATA = {
    "recordedAt": "2026-05-01T10:00:00.123Z",
    "label": "before the fix",
    "url": "http://localhost:3000",
    "sessionId": "ses_secret",
    "directory": "/home/somebody/secret",
    "prompt": "Explain a secret.",
    "model": "lab/scripted",
    "agent": "build",
    "reachedIdle": True,
    "renderedStream": True,
    "renderedMessagesBefore": 0,
    "renderedMessagesAfter": 2,
    "renderedCharacterGrowth": 6020,
    "traceComplete": True,
    "disposableSession": True,
    "metrics": {
        "taskCount": 19292, "longTaskCount": 8, "longTaskTotalMs": 686.8, "longestTaskMs": 120.0,
        "taskP95Ms": 3.41, "taskP99Ms": 7.89, "blockedPercent": 4.61, "mainThreadBusyPercent": 36.1,
        "recalcStylePerSecond": 66.2, "layoutsPerSecond": 29, "framesPerSecond": 38.6, "streamSeconds": 9.1,
        "recordedSeconds": 15.1,
        "nodeStart": 885, "nodeEnd": 16387, "nodeGrowth": 15502, "listenerStart": 170, "listenerEnd": 226,
        "listenerGrowth": 56, "heapStartMb": 40.1, "heapEndMb": 60.0, "heapMaxMb": 61.9,
        "heapGrowthMbPerSecond": 2.37,
    },
    "frameLiveness": {"framesPerSecond": 60, "visibilityState": "visible"},
    "cpuProfile": {
        "topSelfTime": [
            {"function": "(program)", "selfMs": 5282.0, "percentOfBusy": 74.9},
            {"function": "flush @ /app.js:40", "selfMs": 400.5, "percentOfBusy": 5.7},
        ]
    },
    "streamPerformance": {
        "entries": [{"metric": "ui.message_list.render", "total": 41.5, "count": 117, "max": 3.5}]
    },
    "syncCounters": {"batches": 3},
    "scheduledWork": {
        "counters": {"rafScheduled": 211},
        "sites": [{"site": "flush app.js:40", "calls": 90, "totalMs": 33.1}],
    },
    "samples": [
        {"elapsedSeconds": 1.02, "jsHeapUsedMb": 40.1, "jsEventListeners": 180, "nodes": 1000,
         "taskDuration": 5.5},
        {"elapsedSeconds": 9.5, "jsHeapUsedMb": 61.9, "jsEventListeners": 226, "nodes": 16387,
         "taskDuration": 9.0},
    ],
}  # fmt: skip


@pytest.fixture
def data():
    return copy.deepcopy(DATA)


def stored(folder, data):
    folder.mkdir(exist_ok=True)
    path = folder / "session-summary.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_its_numbers_are_those_of_the_original_and_the_page_s_own_are_unknown(tmp_path, data) -> None:
    recs = al.load(stored(tmp_path / "session-profile-1", data))
    assert recs.arms == ("before the fix",) and recs.studies[0]["name"] == "session-profile-1"
    page = recs.table("page").iloc[0]
    assert (page["original_tasks"], page["original_long_tasks"], page["original_blocked_pct"]) == (
        19292,
        8,
        4.61,
    )
    assert page["original_heap_max_bytes"] == round(61.9 * MIB)
    assert page["original_heap_bytes_per_second"] == pytest.approx(2.37 * MIB)
    assert (page["node_growth"], page["original_raf_per_second"]) == (15502, 38.6)
    for name in ("n_tasks", "n_long_tasks", "tbt_ms", "n_frames", "dropped_share", "inp_ms"):
        assert page.isna()[name], name
    assert recs.runs["started_unix_ms"].iloc[0] == 1777629600123
    assert recs.runs["model"].iloc[0] == "lab/scripted"
    counters = recs.table("counters")
    assert list(counters["phase"]) == ["stream", "tail"] and list(counters["task_ms"]) == [5500.0, 9000.0]


def test_functions_are_those_that_it_lists_and_said_to_be_booked_as_it_did(tmp_path, data) -> None:
    recs = al.load(stored(tmp_path / "a", data))
    cpu = recs.table("cpu")
    assert list(cpu["profile"].unique()) == ["original"] and list(cpu["kind"]) == ["program", "js"]
    assert list(cpu["share"]) == pytest.approx([0.749, 0.057])
    sites = recs.table("callsites").set_index("kind")
    assert sites.loc["app", "name"] == "ui.message_list.render" and sites.loc["app", "calls"] == 117
    assert sites.loc["counter", "calls"] == 211 and sites.loc["site", "total_ms"] == 33.1


def test_every_table_has_its_columns(tmp_path, data) -> None:
    recs = al.load(stored(tmp_path / "a", data))
    for name, table in TABLES.items():
        table.check(recs.table(name))


def test_the_folder_is_enough_and_nothing_private_is_kept(tmp_path, data) -> None:
    path = stored(tmp_path / "a", data)
    run = al.load(path.parent)[0]
    said = json.dumps(dict(run.info.raw))
    assert "secret" not in said and "somebody" not in said
    assert summary(run) == {**DATA, "url": None, "sessionId": None, "directory": None, "prompt": None}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"reachedIdle": False}, "page_not_idle"),
        ({"renderedStream": False}, "page_text_not_growing"),
        ({"traceComplete": False}, "trace_incomplete"),
        ({"frameLiveness": {"framesPerSecond": 0, "visibilityState": "hidden"}}, "page_hidden"),
    ],
)
def test_what_the_original_only_warned_of_discards_the_run(tmp_path, data, change, code) -> None:
    recs = al.load(stored(tmp_path / "a", {**data, **change}))
    assert not recs[0].eligible and list(recs.issues["code"]) == [code]


def test_no_tasks_are_no_measurement_of_none(tmp_path, data) -> None:
    data["metrics"] |= {"taskCount": 0, "longTaskCount": 0, "longestTaskMs": 0, "blockedPercent": 0}
    recs = al.load(stored(tmp_path / "a", data))
    assert list(recs.issues["code"]) == ["page_no_tasks"]
    page = recs.table("page").iloc[0]
    assert page.isna()["original_long_tasks"] and page.isna()["original_blocked_pct"]
    assert page["original_busy_pct"] == 36.1


def test_a_field_of_the_wrong_type_is_named(tmp_path, data) -> None:
    data["metrics"]["taskCount"] = "many"
    with pytest.raises(ImportFormatError, match="taskCount"):
        al.load(stored(tmp_path / "a", data))
    del data["metrics"]
    with pytest.raises(ImportFormatError, match="session-summary"):
        al.load(stored(tmp_path / "a", data))


def test_two_old_files_are_compared_without_a_verdict_and_marked_as_the_original_did(tmp_path, data) -> None:
    before = al.load(stored(tmp_path / "a", data))
    data["metrics"]["longTaskCount"] = 9
    now = al.load(stored(tmp_path / "b", data))
    row = al.verdicts(al.compare(now, "longTaskCount", baseline=before)).iloc[0]
    assert (row["before"], row["now"], row["original_change"], row["original_mark"]) == (8, 9, 1.0, "WORSE")
    assert row["verdict"] == "unknown"


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    arms = {"page": SyntheticPage(long_rate=0.1)}
    return al.load(write_webchat_study(tmp_path_factory.mktemp("w") / "s", arms=arms, runs=2))


def test_a_run_of_ours_is_written_and_read_back_with_the_same_readings(ours, tmp_path) -> None:
    files = al.export(ours, tmp_path / "out", format="session_summary")
    assert [str(file.relative_to(tmp_path / "out")) for file in files] == [
        f"{run}-page/{name}"
        for run in ("0000", "0001")
        for name in ("session-summary.json", "cpu-profile.cpuprofile")
    ]
    again = al.load(files[0])
    one, two = ours.table("page").iloc[0], again.table("page").iloc[0]
    for name in (n for n in ours.table("page") if n.startswith("original_") or n.startswith("sampled_")):
        assert two[name] == pytest.approx(one[name], rel=0.01, abs=0.006), name
    pd_cpu = ours.table("cpu").query("run_id == '0000-page'")
    assert list(again.table("cpu")["self_ms"]) == list(pd_cpu["self_ms"])
    assert list(again.table("cpu")["profile"].unique()) == ["page"]
    written = json.loads(files[0].read_text())
    assert list(written) == list(DATA)
    assert set(written["metrics"]) == set(DATA["metrics"]) and written["metrics"]["heapStartMb"] > 30
    assert written["prompt"] is None and written["frameLiveness"] == {
        "framesPerSecond": 60.0,
        "visibilityState": "visible",
    }
    assert written["cpuProfile"]["topSelfTime"][0]["function"] == "(program)"
    assert again[0].eligible


def test_it_is_not_written_over_a_file_nor_without_a_page(ours, tmp_path) -> None:
    folder = tmp_path / "out"
    written = write(ours[0], folder)
    assert json.loads(written[1].read_bytes()) == json.loads(
        gzip.decompress((ours[0].info.path / "cpu.cpuprofile.gz").read_bytes())
    )
    with pytest.raises(ConfigError, match="exists; choose another"):
        write(ours[0], folder)
    with pytest.raises(ConfigError, match="has no page in a browser"):
        al.export(al.load(write_study(tmp_path / "s", runs=1)), tmp_path / "no", format="session_summary")
    assert not (tmp_path / "no").exists()
    with pytest.raises(ConfigError, match="no run to export"):
        al.export(ours[:0], tmp_path / "no", format="session_summary")
