"""Reports of the original cache script: their four intervals come out again, digit for digit."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.importers.schema2 import ABOUT, RUN
from agentlab.importers.schema2_writer import report, write
from agentlab.importers.script_json import dumps
from agentlab.metrics import CACHE_REPORT

DATA = Path(__file__).resolve().parents[2] / "data"
REPORTS = sorted((DATA / "schema2").glob("*.json"))


@pytest.mark.filterwarnings("ignore::agentlab.errors.UnstableWarning")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_four_intervals_come_out_again(path):
    metrics = json.loads(path.read_text())["metrics"]
    recs = al.load(path)
    assert len(recs) == metrics["sessionsRequested"]
    assert int(recs.runs["eligible"].sum()) == metrics["sessionsEligible"]
    if not len(recs):
        return
    frame = al.compare(recs, *CACHE_REPORT, interval="original").query("kind == 'level'").set_index("metric")
    for name, stated in metrics["primaryMetricsSessionBootstrap95CI"].items():
        row = frame.loc[name]
        for column in ("estimate", "lower", "upper"):
            got = None if row.isna()[column] else row[column]
            assert got == stated[column], (name, column)


def test_fixtures_are_what_their_script_makes(tmp_path):
    script = tmp_path / "make_schema2.py"
    script.write_text((DATA / "make_schema2.py").read_text())
    subprocess.run([sys.executable, script], check=True, timeout=60)
    for path in (DATA / "schema2").iterdir():
        assert (tmp_path / "schema2" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_written_again_it_is_the_same_file(path, tmp_path):
    recs = al.load(path)
    if not len(recs):
        with pytest.raises(ConfigError, match="there is no run"):
            write(recs, tmp_path / "again.json")
        return
    assert write(recs, tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_part_of_a_report_is_counted_and_estimated_anew(tmp_path):
    whole = al.load(DATA / "schema2" / "typical.json")
    part = write(whole.where(run_index=[0, 1, 3]), tmp_path / "part.json")
    metrics = json.loads(part.read_text())["metrics"]
    assert (metrics["sessionsRequested"], metrics["sessionsEligible"]) == (3, 3)
    test_the_four_intervals_come_out_again(part)


@pytest.fixture(scope="module")
def stable():
    return al.load(al.example("cache")).where(arm="stable")


def test_every_key_of_the_original_in_its_order(stable):
    """The keys are those of the fixtures, which the original's own rules made."""
    made = report(stable)
    model = json.loads((DATA / "schema2" / "typical.json").read_text())

    def keys(data):
        return {name: keys(value) for name, value in data.items()} if isinstance(data, dict) else None

    for name in ("comparison", "controls", "metrics"):
        assert dumps(keys(made[name])) == dumps(keys(model[name])), name
    assert list(made) == list(model)
    ours, theirs = made["runs"][0], model["runs"][0]
    assert list(ours) == list(theirs)
    assert list(ours["observation"]) == list(theirs["observation"])
    for name in ("tools", "requests", "promptLoops"):
        assert list(ours["observation"][name][0]) == list(theirs["observation"][name][0]), name
    known = ("at", "type", "sessionID", "messageID", "partID", "field", "partType", "status", "retryAttempt")
    for event in ours["observation"]["events"]:
        assert list(event) == [key for key in known if key in event]


def test_what_a_study_says_comes_back_from_its_report(stable, tmp_path):
    again = al.load(write(stable, tmp_path / "stable.json"))
    for table, columns in {
        "runs": [
            "arm",
            "run_index",
            "eligible",
            "status",
            "reason",
            "version",
            "model",
            "n_turns",
            "n_tools",
        ],
        "sessions": ["session_id", "agent", "provider", "model", "n_messages"],
        "turns": ["run_index", "session_id", "turn", "ttft_ms", "latency_ms"],
        "tools": ["run_index", "session_id", "name", "status", "failed"],
    }.items():
        assert stable.table(table)[columns].equals(again.table(table)[columns]), table
    rows, tokens = stable.requests, [
        "position", "input_uncached_tokens", "cache_read_tokens", "cache_write_tokens", "input_total_tokens",
    ]  # fmt: skip
    rows = rows[rows["chain"] == "main"].reset_index(drop=True)
    assert rows[tokens].equals(again.requests[tokens])
    spoken = rows["output_tokens"] - rows["reasoning_tokens"].fillna(0)
    assert list(spoken) == list(again.requests["output_tokens"])
    assert set(again.requests.loc[again.requests["warmup"], "position"]) == {1}
    assert write(again, tmp_path / "twice.json").read_bytes() == (tmp_path / "stable.json").read_bytes()


def test_our_rows_give_our_aggregates(stable):
    """The generator's own rules, applied to what was written."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_schema2", DATA / "make_schema2.py")
    rule = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rule)
    made = report(stable)
    used = [run["observation"] for run in made["runs"]]
    expected = {name: rule.bootstrap(used, statistic) for name, statistic in rule.STATISTICS.items()}
    assert expected == made["metrics"]["primaryMetricsSessionBootstrap95CI"]


def test_a_study_of_faults_keeps_its_reasons(tmp_path):
    """The recorded failures of the real OpenCode: every run is in the report, discarded for a reason."""
    shutil.copytree(DATA / "opencode-faults", tmp_path / "faults")  # a study keeps its tables beside it
    recs = al.load(tmp_path / "faults")
    for arm in recs.arms:
        own = recs.where(arm=arm)
        path = write(own, tmp_path / f"{recs.arms.index(arm)}.json")
        again = al.load(path)
        assert list(again.runs["eligible"]) == list(own.runs["eligible"])
        theirs = json.loads(path.read_text())["runs"]
        for run, info in zip(theirs, [one.info for one in own], strict=True):
            assert run["discarded"] == (not info.eligible)
            assert ("discardReasons" in run) == run["discarded"] and run.get("discardReasons") != []
        there = {(row.run_index, row.code) for row in own.issues.itertuples() if row.discard}
        for row in again.issues.itertuples():
            known = (row.run_index, row.code) in there or row.code in ("driver_error", "turn_error")
            assert known or not row.discard, (arm, row.run_index, row.code)


def test_other_arms_between_are_said(stable, tmp_path):
    assert report(stable)["comparison"]["runOrder"].startswith("independent sessions, interleaved")
    shutil.copytree(al.example("cache"), tmp_path / "alone")
    study = json.loads((tmp_path / "alone" / "study.json").read_text())
    del study["arms"]["volatile"]
    (tmp_path / "alone" / "study.json").write_text(json.dumps(study))
    alone = al.load(tmp_path / "alone").where(arm="stable")
    assert report(alone)["comparison"]["runOrder"] == "sequential independent sessions"


def test_what_schema_2_cannot_hold_is_refused(tmp_path):
    both = al.load(al.example("cache"))
    with pytest.raises(ConfigError, match="holds one arm, and there are volatile, stable; choose one"):
        write(both, tmp_path / "r.json")
    (tmp_path / "r.json").write_text("mine")
    with pytest.raises(ConfigError, match="exists"):
        write(both.where(arm="stable"), tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text() == "mine"
    write(both.where(arm="stable"), tmp_path / "r.json", overwrite=True)
    other = json.loads((tmp_path / "r.json").read_text())
    other["comparison"]["arm"] = "stable"
    for run in other["runs"]:
        run["requestedRouting"]["modelID"] = "another"
    (tmp_path / "other.json").write_text(json.dumps(other))
    mixed = both.where(arm="stable") + al.load(tmp_path / "other.json")
    with pytest.raises(ConfigError, match="holds one agent and model, and there are"):
        write(mixed, tmp_path / "mixed.json")
    assert not (tmp_path / "mixed.json").exists()


def test_what_was_stated_is_written(stable, tmp_path):
    path = write(stable, tmp_path / "r.json", plugin_build="2.2.24", retries=2, retry_delay_s=0.5)
    stated = json.loads(path.read_text())
    assert stated["comparison"]["pluginBuild"] == "2.2.24"
    assert (stated["controls"]["retries"], stated["controls"]["retryDelayMs"]) == (2, 500)
    assert al.load(path)[0].info.raw[ABOUT]["comparison"]["pluginBuild"] == "2.2.24"
    assert RUN in al.load(path)[0].info.raw
