"""Reports of the original cache script: their four intervals come out again, digit for digit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import agentlab as al
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
