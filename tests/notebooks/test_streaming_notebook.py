"""20_streaming under papermill: OpenCode's real page in a real Chromium, one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentlab
from agentlab.demo import NOTEBOOKS
from agentlab.errors import ConfigError
from agentlab.notebook import run_notebook

pytestmark = pytest.mark.timeout(400)
NOTEBOOK = NOTEBOOKS / "20_streaming.ipynb"


@pytest.fixture(scope="module")
def executed(opencode_executable, chromium_executable, tmp_path_factory) -> Path:
    """The folder of the executed notebook, its study, figures and tables."""
    folder = tmp_path_factory.mktemp("streaming-notebook")
    parameters = {"paces": [600], "runs": 1, "tail_s": 1.0, "quiet_wait_s": 0.0, "study": "page"}
    run_notebook(NOTEBOOK, folder / "out.ipynb", parameters)
    return folder


@pytest.fixture(scope="module")
def run(executed):
    return agentlab.load(executed / "page")[0]


def test_one_run_fills_requests_chunks_tasks_frames_and_memory(run):
    assert run.eligible, run.info.issues
    sizes = {name: len(run.table(name)) for name in ("requests", "chunks", "tasks", "frames", "memory")}
    assert sizes["requests"] == 1 and all(sizes.values()), sizes
    page = run.table("page").iloc[0]
    assert page["n_tasks"] > 100 and page["n_frames"] > 20 and page["shown_ratio"] > 0.95
    assert page["n_interactions"] > 0 and page["inp_ms"] > 0


def test_a_piece_goes_from_the_model_to_the_screen_on_one_clock(run):
    chunks = run.table("chunks").query("kind == 'text'")
    known = chunks.dropna(subset=["gateway_ns", "arrive_ns", "dom_ns", "paint_ns"])
    assert len(known) > 0.9 * len(chunks)
    ordered = (known["gateway_ns"] <= known["arrive_ns"]) & (known["dom_ns"] <= known["paint_ns"])
    assert ordered.mean() >= 0.95
    page, memory = run.table("page").iloc[0], run.table("memory")
    inside = memory["t_ns"].between(page["begin_ns"], page["end_ns"])
    assert inside.any()  # sampled while the page streamed, on the same clock


def _outputs(folder: Path) -> list[dict]:
    cells = json.loads((folder / "out.ipynb").read_text())["cells"]
    return [out for cell in cells for out in cell.get("outputs", ())]


def test_it_shows_four_figures_and_nothing_that_needs_a_kernel(executed):
    outputs = _outputs(executed)
    assert [out for out in outputs if out["output_type"] == "error"] == []
    kinds = [kind for out in outputs for kind in out.get("data", {})]
    assert not [kind for kind in kinds if "widget" in kind or "javascript" in kind]
    assert kinds.count("image/png") == 4


def test_one_table_joins_them_by_time(executed):
    cells = json.loads((executed / "out.ipynb").read_text())["cells"]
    (joined,) = [cell for cell in cells if cell["source"] and cell["source"][-1] == "joined"]
    text = "".join(joined["outputs"][-1]["data"]["text/plain"])
    for column in ("chunks sent", "arrived", "ms in tasks", "frames shown", "PSS, MiB"):
        assert column in text


def test_it_leaves_figures_tables_and_the_originals_file(executed, run):
    assert agentlab.figure_info(executed / "figures" / "streaming.png")["arms"] == [run.arm]
    names = {path.name for path in (executed / "tables").iterdir()}
    assert {"page.parquet", "tasks.parquet", "chunks.parquet", "memory.parquet"} <= names
    again = agentlab.load(executed / "original" / run.run_id)
    assert again.table("page")["original_tasks"][0] == run.table("page")["original_tasks"][0]


def test_a_parameter_of_the_wrong_type_stops_it(tmp_path):
    with pytest.raises(ConfigError, match="paces"):
        run_notebook(NOTEBOOK, tmp_path / "out.ipynb", {"paces": "fast"})
    assert list(tmp_path.iterdir()) == []
