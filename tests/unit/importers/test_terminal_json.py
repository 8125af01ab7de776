"""The original terminal script's JSON: read by its own definitions, written with them, and back."""

import copy
import json

import pytest

import agentlab as al
from agentlab.errors import ConfigError, ImportFormatError
from agentlab.frames.tables import TABLES
from agentlab.importers.terminal_json_writer import check_target, report, write
from agentlab.testing.memory import SyntheticTool, write_memory_study

MIB = 1 << 20


def sizes(mem, anon, file):
    return {"mem_mb": mem, "pss_mb": mem, "swap_pss_mb": 0.0, "pss_anon_mb": anon, "pss_file_mb": file}


def one(tool, sessions, rep, mem, **fields):
    pressure = {"psi_some_avg10": 0.0, "psi_full_avg10": 0.0, "mem_available_gb": 12.5}
    return {
        "tool": tool, "sessions": sessions, "rep": rep, "attempt": 1, "quiet": True, "ready": sessions,
        "excerpt": "Ask anything", "hold_s": 0, **sizes(mem, mem - 40.0, 40.0), "process_count": 2 * sessions,
        "outside_tree_mem_mb": 0.0, "launch": {**sizes(mem, mem - 40.0, 40.0), "process_count": 2 * sessions},
        "pressure_before": pressure, "pressure_after": pressure,
        "processes": [
            {"pid": 10, **sizes(mem - 30.0, mem - 60.0, 30.0), "in_tree": True,
             "cmd": "/opt/bin/codex --secret sk-123"},
            {"pid": 11, **sizes(30.0, 20.0, 10.0), "in_tree": False, "cmd": "codex app-server"},
        ],
        **fields,
    }  # fmt: skip


@pytest.fixture
def data():
    """Two repetitions of two tools, tool by tool, as the original made them."""
    return {
        "date_utc": "2026-05-01T10:00:00+00:00",
        "machine": {
            "cpu": "a", "cores": 2, "mem_gb": 23.5, "os": "Linux", "kernel": "6.18", "arch": "x86_64",
        },
        "args": {"reps": 2, "sessions": [1, 4]},
        "versions": {"codex": "0.171.0", "pi": None},
        "live_daemons_before": [],
        "live_daemons_after": [],
        "summary": [],
        "runs": [
            one("codex", 1, 1, 102.4),
            one("codex", 1, 2, 139.0),
            one("codex", 4, 1, 212.6, quiet=False, attempt=3),
            one("codex", 4, 2, 380.9),
            one("pi", 1, 1, 113.0, ready=0),
            one("pi", 1, 2, 112.0, hold_s=60.0, launch={**sizes(108.0, 68.0, 40.0), "process_count": 1}),
        ],
    }  # fmt: skip


def load(tmp_path, data):
    (tmp_path / "bench.json").write_text(json.dumps(data))
    return al.load(tmp_path / "bench.json")


def test_runs_are_found_with_their_sessions_and_versions(tmp_path, data):
    recs = load(tmp_path, data)
    assert recs.arms == ("codex", "pi")
    runs = recs.runs
    assert runs["n_sessions"].tolist() == [1, 1, 4, 4, 1, 1]
    assert runs["run_index"].tolist() == [0, 1, 2, 3, 0, 1]
    assert runs["version"].tolist()[:4] == ["0.171.0"] * 4 and runs["version"].isna().sum() == 2
    assert runs["memory_available_min_bytes"].iloc[0] == 12.5 * 1024 * MIB


def test_pressure_and_sessions_that_were_never_ready_discard(tmp_path, data):
    recs = load(tmp_path, data)
    assert [run.info.discard_codes for run in recs] == [
        (), (), ("memory_pressure",), (), ("never_ready",), (),
    ]  # fmt: skip
    assert recs.runs["quiet"].tolist() == [True, True, False, True, True, True]


@pytest.mark.parametrize(
    ("ready", "eligible"),
    [(True, True), (False, False), (4, True), (3, False), ([True] * 4, True), ([True, False], False)],
)
def test_ready_is_read_however_it_is_said(tmp_path, data, ready, eligible):
    data["runs"] = [one("codex", 4, 1, 212.6, ready=ready)]
    assert load(tmp_path, data)[0].eligible is eligible


def test_a_machine_without_pressure_counts_as_unknown_and_not_as_quiet(tmp_path, data):
    data["runs"] = [one("pi", 1, 1, 100.0, pressure_before=None, pressure_after={"psi_some_avg10": None})]
    assert load(tmp_path, data).runs["quiet"].isna().all()


def test_the_sample_after_the_hold_counts_and_the_one_at_launch_is_kept(tmp_path, data):
    memory = load(tmp_path, data).table("memory")
    held = memory[memory["run_id"] == "0005-pi"]
    assert held["phase"].tolist() == ["settle", "hold"] and held["settled"].tolist() == [False, True]
    assert held["total_bytes"].tolist() == [108 * MIB, 112 * MIB]
    assert memory["total_bytes"].iloc[0] == round(102.4 * MIB)
    assert memory[memory["run_id"] == "0000-codex"]["settled"].tolist() == [True]
    assert memory["t_ms"].isna().all()  # the file knows no times, and nothing is made up


def test_processes_have_their_program_and_never_their_arguments(tmp_path, data):
    recs = load(tmp_path, data)
    processes = recs.table("processes")
    assert processes["name"].tolist()[:2] == ["codex", "codex"]
    assert processes["in_tree"].tolist()[:2] == [True, False]
    assert "sk-123" not in "".join(recs.table(name).to_csv() for name in TABLES)


def test_what_passes_through_does_not_change(tmp_path, data):
    recs = load(tmp_path, data)
    again = report(recs)
    assert again["runs"] == data["runs"]
    assert {key: again[key] for key in data if key != "summary"} == {
        key: value for key, value in data.items() if key != "summary"
    }


def test_medians_are_over_all_repetitions_and_over_those_that_count(tmp_path, data):
    summary = report(load(tmp_path, data))["summary"]
    assert summary == [
        {"tool": "codex", "sessions": 1, "median_mem_mb": 120.7, "raw_mem_mb": [102.4, 139.0],
         "median_quiet_mem_mb": 120.7},
        {"tool": "codex", "sessions": 4, "median_mem_mb": 296.8, "raw_mem_mb": [212.6, 380.9],
         "median_quiet_mem_mb": 380.9},
        {"tool": "pi", "sessions": 1, "median_mem_mb": 112.5, "raw_mem_mb": [113.0, 112.0],
         "median_quiet_mem_mb": 112.0},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("runs", 0, "sessions"), "one", r"runs\[0\].sessions"),
        (("runs", 0, "tool"), None, "tool"),
        (("runs", 1, "rep"), 1, "repeats a tool, sessions and rep"),
        (("runs",), {}, "runs"),
    ],
)
def test_a_field_that_does_not_fit_is_named(tmp_path, data, path, value, said):
    broken = copy.deepcopy(data)
    at = broken
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(ImportFormatError, match=said):
        load(tmp_path, broken)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    arms = {
        "codex": SyntheticTool(anon_mib=26, file_mib=85, launcher_mib=14, daemon_mib=90, pressed_rate=0.4),
        "pi": SyntheticTool(anon_mib=68, file_mib=48, unreadable_rate=0.3),
    }
    return al.load(write_memory_study(tmp_path_factory.mktemp("t") / "s", arms=arms, runs=3, sessions=(1, 3)))


def test_a_study_is_written_by_the_originals_definitions(study):
    whole = report(study)
    assert len(whole["runs"]) == len(study)
    for run in whole["runs"]:
        parts = [process["mem_mb"] for process in run["processes"]]
        if not parts:  # none of them could be read
            assert run["mem_mb"] is None and run["outside_tree_mem_mb"] is None
            continue
        assert run["mem_mb"] == round(sum(parts), 1)  # rounded before it is summed
        assert run["process_count"] == len(parts)
        outside = [process["mem_mb"] for process in run["processes"] if process["in_tree"] is False]
        assert run["outside_tree_mem_mb"] == round(sum(outside), 1)
    assert any(run["outside_tree_mem_mb"] for run in whole["runs"])  # the daemon
    assert {run["quiet"] for run in whole["runs"]} == {False, None}  # no pressure is told of the others
    memory = study.table("memory")
    last = memory[memory["settled"] & (memory["lane"] == "slow")].groupby("run_id").tail(1)
    first = study[0].run_id
    exact = last.loc[last["run_id"] == first, "total_bytes"]
    written = whole["runs"][0]
    assert written["mem_mb"] == pytest.approx(float(exact.iloc[0]) / MIB, abs=0.05 * written["process_count"])


def test_a_study_comes_back(study, tmp_path):
    again = al.load(write(study, tmp_path / "bench.json"))
    assert [run.eligible for run in again] == [run.eligible for run in study]
    assert again.runs["n_sessions"].tolist() == study.runs["n_sessions"].tolist()
    assert report(again)["runs"] == report(study)["runs"]


def test_of_several_attempts_the_last_is_written(tmp_path):
    from agentlab.testing.recordings import SyntheticStudy

    made = SyntheticStudy(tmp_path / "s", arms=("pi",))
    pressed = {"code": "memory_pressure", "discard": True}
    for issues in ([pressed], []):
        with made.run("pi", run_index=0, issues=issues):
            pass
    (run,) = report(al.load(made.path))["runs"]
    assert (run["rep"], run["attempt"], run["mem_mb"], run["process_count"]) == (1, 2, None, 0)


def test_export_writes_one_file_a_study(study, tmp_path):
    (file,) = al.export(study, tmp_path / "out", format="terminal_json")
    assert file.name == "s.json" and len(al.load(file)) == len(study)


def test_only_a_file_of_this_format_is_written_over(study, tmp_path, data):
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(ConfigError, match="no file of this format"):
        write(study, tmp_path / "notes.json")
    (tmp_path / "bench.json").write_text(json.dumps(data))
    check_target(tmp_path / "bench.json")
    check_target(tmp_path / "new.json")
    write(study, tmp_path / "bench.json")
    assert len(al.load(tmp_path / "bench.json")) == len(study)
