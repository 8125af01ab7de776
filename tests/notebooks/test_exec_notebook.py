"""50_exec under papermill: every scenario by both rules, one run each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentlab
from agentlab.demo import NOTEBOOKS
from agentlab.errors import AgentlabError
from agentlab.notebook import run_notebook

NOTEBOOK = NOTEBOOKS / "50_exec.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the executed notebook, its study, figures and tables."""
    folder = tmp_path_factory.mktemp("exec-notebook")
    parameters = {"runs": 1, "together": 6, "quiet_wait_s": 0.0}
    run_notebook(NOTEBOOK, folder / "out.ipynb", parameters)
    return folder


def _outputs(folder: Path) -> list[dict]:
    cells = json.loads((folder / "out.ipynb").read_text())["cells"]
    return [out for cell in cells for out in cell.get("outputs", ())]


def test_every_scenario_is_played_by_both_rules(executed):
    recs = agentlab.load(executed / "studies" / "exec")
    assert recs.runs["eligible"].tolist() == [True, True], recs.issues
    closed = recs.exec.query("op == 'close'")
    for _, rows in closed.groupby("arm"):
        assert sorted(rows["scenario"]) == sorted(agentlab.Exec().scenarios())
    lost = closed.groupby("arm")[["lost_bytes", "survivors"]].sum()
    assert lost.loc["ours"].tolist() == [0, 0]
    assert (lost.loc["original"] > 0).all()


def test_it_shows_tables_and_two_figures_and_nothing_that_needs_a_kernel(executed):
    outputs = _outputs(executed)
    assert [out for out in outputs if out["output_type"] == "error"] == []
    kinds = [kind for out in outputs for kind in out.get("data", {})]
    assert not [kind for kind in kinds if "widget" in kind or "javascript" in kind]
    assert kinds.count("image/png") == 2
    shown = "".join("".join(out["data"].get("text/plain", "")) for out in outputs if "data" in out)
    assert " object at 0x" not in shown
    for scenario in agentlab.Exec().scenarios():
        assert scenario in shown


def test_the_verdicts_name_what_the_original_rules_get_wrong(executed):
    cells = json.loads((executed / "out.ipynb").read_text())["cells"]
    (verdicts,) = [cell for cell in cells if "all_wrong).loc" in "".join(cell["source"])]
    text = "".join(verdicts["outputs"][-1]["data"]["text/plain"])
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()}
    assert lines["long-line"].endswith("input unread")
    assert lines["background-never-quiet"].endswith("bytes lost")
    assert lines["background-server"].endswith("survivors")
    assert lines["bursts"].split() == ["bursts"]


def test_it_leaves_figures_and_tables(executed):
    names = {path.name for path in (executed / "figures").iterdir()}
    assert {"exec.pdf", "exec.svg", "exec.png", "exec-reports.png"} <= names
    assert set(agentlab.figure_info(executed / "figures" / "exec.png")["arms"]) == {"ours", "original"}
    assert {"runs.csv", "issues.csv", "exec.parquet"} <= {
        path.name for path in (executed / "tables").iterdir()
    }


def test_a_scenario_that_there_is_not_stops_it(tmp_path):
    with pytest.raises(AgentlabError, match=r"there is no scenario 'interupt'"):
        run_notebook(NOTEBOOK, tmp_path / "out.ipynb", {"runs": 1, "scenarios": ["interupt"]})
    assert not (tmp_path / "studies").exists()
