"""30_memory under papermill: the real Codex at one and two sessions, three blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentlab
from agentlab.demo import NOTEBOOKS, measure_memory, memory_text
from agentlab.errors import ConfigError
from agentlab.notebook import run_notebook

pytestmark = pytest.mark.timeout(400)
NOTEBOOK = NOTEBOOKS / "30_memory.ipynb"


@pytest.fixture(scope="module")
def executed(real_agents, tmp_path_factory) -> Path:
    """The folder of the executed notebook, its study, figures and tables."""
    folder = tmp_path_factory.mktemp("memory-notebook")
    parameters = {"tools": ["codex"], "sessions": [1, 2], "runs": 3, "study": "memory", "quiet_wait_s": 0.0}
    run_notebook(NOTEBOOK, folder / "out.ipynb", parameters)
    return folder


@pytest.fixture(scope="module")
def recs(executed):
    return agentlab.load(executed / "memory")


def test_every_run_took_input_and_reached_its_plateau(recs):
    runs, sessions = recs.runs, recs.sessions
    assert runs["n_sessions"].value_counts().to_dict() == {1: 3, 2: 3}
    assert runs["eligible"].sum() >= 5, recs.issues  # one may fall to memory pressure on a small machine
    used = sessions[sessions["eligible"]]
    assert used["first_input_ms"].notna().all() and (used["first_input_ms"] >= used["paint_ms"]).all()
    settled = recs.table("memory").query("eligible and settled")
    assert set(settled["run_id"]) == set(runs.loc[runs["eligible"], "run_id"])


def test_the_fit_tells_what_a_session_adds_from_what_is_shared(recs):
    fit = agentlab.marginal_fit(recs).set_index("part")
    anon, file = fit.loc["anon"], fit.loc["file"]
    assert anon["status"] == "ok" and anon["slope_lower_bytes"] <= anon["slope_bytes"]
    assert 5 * 2**20 < anon["slope_bytes"] < 150 * 2**20
    assert file["intercept_bytes"] > 40 * 2**20
    assert abs(file["slope_bytes"]) < file["intercept_bytes"]


def test_it_shows_three_figures_and_nothing_that_needs_a_kernel(executed):
    cells = json.loads((executed / "out.ipynb").read_text())["cells"]
    outputs = [out for cell in cells for out in cell.get("outputs", ())]
    assert [out for out in outputs if out["output_type"] == "error"] == []
    kinds = [kind for out in outputs for kind in out.get("data", {})]
    assert not [kind for kind in kinds if "widget" in kind or "javascript" in kind]
    assert kinds.count("image/png") == 3


def test_it_leaves_figures_tables_and_the_originals_file(executed, recs):
    assert agentlab.figure_info(executed / "figures" / "memory.png")["arms"] == ["codex"]
    names = {path.name for path in (executed / "tables").iterdir()}
    assert {"memory.parquet", "processes.csv", "sessions.csv"} <= names
    again = agentlab.load(executed / "original" / "memory.json")
    assert [run.eligible for run in again] == [run.eligible for run in recs]


def test_the_page_of_its_study_has_memory(executed):
    text = agentlab.report(executed / "memory", executed / "page.html", pdf=False).read_text()
    assert "Memory and terminals" in text and "each added session" in text
    assert "cannot be made" not in text


def test_the_demo_measures_two_agents_beside_the_cache(tmp_path, real_agents):
    said: list[str] = []
    assert measure_memory(tmp_path, runs=1, say=said.append) == tmp_path / "memory.html"
    recs = agentlab.load(tmp_path / "studies" / "memory")
    assert recs.arms == ("codex", "pi") and sorted(recs.runs["n_sessions"]) == [1, 1, 2, 2]
    assert "memory: run 4 of 4" in said
    assert "settled memory of a run" not in (tmp_path / "memory.html").read_text()  # mixed
    rows = [line.split()[:2] for line in memory_text(tmp_path).splitlines()[2:6]]
    assert rows == [["codex", "1"], ["codex", "2"], ["pi", "1"], ["pi", "2"]]


def test_a_parameter_of_the_wrong_type_stops_it(tmp_path):
    with pytest.raises(ConfigError, match="sessions"):
        run_notebook(NOTEBOOK, tmp_path / "out.ipynb", {"sessions": "1"})
    assert list(tmp_path.iterdir()) == []
