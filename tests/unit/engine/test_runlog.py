"""The recording of one run while it is made."""

import agentlab as al
from agentlab.drivers.base import Identity
from agentlab.engine import files
from agentlab.engine.runlog import RunLog
from agentlab.engine.slots import Slot
from agentlab.jsonfile import read_json
from agentlab.redact import Redactor


def test_an_issue_in_mid_turn_is_on_file_at_once_and_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files.os, "fsync", synced.append)
    log = RunLog(
        tmp_path / "0000-a",
        Slot("a", 0, 0),
        sequence=0,
        scenario=al.Scenario("s", turns=["hi"]),
        identity=Identity(driver="toy", version="1", settings={}),
        keep="numbers",
        redactor=Redactor(),
    )
    begun = len(synced)
    log.issue("retry", "again")
    assert len(synced) == begun
    assert [issue["code"] for issue in read_json(log.folder / "run.json")["issues"]] == ["retry"]
    log.finish("complete")
    assert len(synced) == begun + 1
