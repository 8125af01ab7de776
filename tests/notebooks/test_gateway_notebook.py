"""40_gateway under papermill: the seven real agents and both reference arms, one run each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentlab
from agentlab.agents.catalogue import AGENTS
from agentlab.demo import NOTEBOOKS
from agentlab.errors import AgentlabError, ConfigError
from agentlab.notebook import run_notebook

pytestmark = pytest.mark.timeout(400)
ARMS = [*AGENTS, "reference", "windowed"]


@pytest.fixture(scope="module")
def executed(real_agents, tmp_path_factory) -> Path:
    """The folder of the executed notebook, its study, figures and tables."""
    folder = tmp_path_factory.mktemp("gateway-notebook")
    parameters = {"runs": 1, "study": "agents", "quiet_wait_s": 0.0}
    run_notebook(NOTEBOOKS / "40_gateway.ipynb", folder / "out.ipynb", parameters)
    return folder


def _outputs(folder: Path) -> list[dict]:
    cells = json.loads((folder / "out.ipynb").read_text())["cells"]
    return [out for cell in cells for out in cell.get("outputs", ())]


def test_every_agent_does_the_task(executed):
    recs = agentlab.load(executed / "agents")
    assert sorted(recs.arms) == sorted(ARMS)
    runs = recs.runs.set_index("arm")
    assert set(runs["result"]) == {"answered"}, recs.issues
    assert runs["eligible"].all()
    assert (runs["n_tools"] >= 3).all()
    assert (runs["n_tool_failures"] == 0).all()


def test_cost_and_prefix_are_known_for_each(executed):
    recs = agentlab.load(executed / "agents")
    runs = recs.runs.set_index("arm")
    assert (runs["cost_usd"] > 0).all()
    assert (runs["n_uncertain"] == 0).all()
    assert runs["start_cpu_s"].drop(["reference", "windowed"]).gt(0).all()
    assert runs.loc[["reference", "windowed"], "start_cpu_s"].isna().all()
    assert runs["n_context_cuts"].to_dict() == {arm: int(arm == "windowed") for arm in ARMS}
    main = recs.requests.query("chain == 'main' and not chain_start")
    assert main.groupby("arm")["append_only"].all().to_dict() == {arm: arm != "windowed" for arm in ARMS}


def test_it_shows_tables_and_two_figures_and_nothing_that_needs_a_kernel(executed):
    outputs = _outputs(executed)
    assert [out for out in outputs if out["output_type"] == "error"] == []
    kinds = [kind for out in outputs for kind in out.get("data", {})]
    assert not [kind for kind in kinds if "widget" in kind or "javascript" in kind]
    assert kinds.count("image/png") == 2
    shown = "".join(
        "".join(out["data"]["text/html"]) for out in outputs if "text/html" in out.get("data", {})
    )
    for arm in ARMS:
        assert f"<td>{arm}</td>" in shown or f"<th>{arm}</th>" in shown


def test_it_leaves_figures_and_tables(executed):
    names = {path.name for path in (executed / "figures").iterdir()}
    assert {"agents.pdf", "agents.svg", "agents.png", "agents-prefix.pdf", "agents-prefix.png"} <= names
    assert set(agentlab.figure_info(executed / "figures" / "agents.png")["arms"]) == set(ARMS)
    tables = {path.name for path in (executed / "tables").iterdir()}
    assert {"runs.csv", "requests.parquet", "tools.csv", "audit.parquet"} <= tables


def test_a_missing_agent_stops_it_and_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "empty"))
    with pytest.raises(
        AgentlabError, match=r"40_gateway\.ipynb failed in cell \d+: StartupError.*install codex"
    ):
        run_notebook(NOTEBOOKS / "40_gateway.ipynb", tmp_path / "out.ipynb", {"runs": 1, "agents": ["codex"]})
    assert not list(tmp_path.glob("studies/agents/runs/*"))


def test_a_parameter_of_the_wrong_type_stops_it(tmp_path):
    with pytest.raises(ConfigError, match="price"):
        run_notebook(NOTEBOOKS / "40_gateway.ipynb", tmp_path / "out.ipynb", {"price": "3"})
    assert list(tmp_path.iterdir()) == []
