"""Every notebook under papermill, on the real OpenCode, with few runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentlab
from agentlab.demo import NOTEBOOKS, estimates_text, make_report
from agentlab.errors import AgentlabError, ConfigError
from agentlab.notebook import run_notebook, to_html
from agentlab.reporting.pages import find_chromium

pytestmark = [pytest.mark.usefixtures("opencode_executable"), pytest.mark.timeout(400)]


def _outputs(path: Path) -> list[dict]:
    return [out for cell in json.loads(path.read_text())["cells"] for out in cell.get("outputs", ())]


def _check_static(outputs: list[dict]) -> None:
    """What a reader without a kernel sees: nothing that needs one, and no error."""
    assert outputs
    assert [out for out in outputs if out["output_type"] == "error"] == []
    kinds = {kind for out in outputs for kind in out.get("data", {})}
    assert {kind for kind in kinds if "widget" in kind or "javascript" in kind} == set()
    assert {"text/plain", "text/html", "image/png"} <= kinds
    shown = [out for out in outputs if out["output_type"] in ("display_data", "execute_result")]
    assert all("text/plain" in out["data"] for out in shown)


@pytest.fixture(scope="module")
def report(tmp_path_factory, opencode_executable):
    """The demo with few runs: its folder, and what it said."""
    folder, said = tmp_path_factory.mktemp("demo") / "report", []
    assert make_report(folder, runs=2, seed=7, say=said.append) == folder / "report.html"
    return folder, said


def test_cache_shows_static_outputs(report):
    folder, _ = report
    _check_static(_outputs(folder / "10_cache.ipynb"))


def test_cache_records_both_arms(report):
    folder, _ = report
    recs = agentlab.load(folder / "studies" / "cache")
    assert len(recs) == 4
    assert all(run.eligible for run in recs), recs
    assert set(recs.arms) == {"stable", "volatile"}


def test_cached_tokens_follow_from_the_bytes_sent(report):
    folder, _ = report
    requests = agentlab.load(folder / "studies" / "cache").requests
    main = requests[(requests["chain"] == "main") & requests["gateway_request"].notna()]
    follow_up = main[main["turn"] == 2].set_index("arm")
    stable, volatile = follow_up.loc["stable"], follow_up.loc["volatile"]
    assert stable["append_only"].all()
    assert set(volatile["first_changed"]) == {"system"}
    # The rule serves whole steps of 128 tokens of the bytes that both requests begin with, 4 bytes a token.
    for _, row in follow_up.iterrows():
        assert row["cache_read_tokens"] == row["prefix_bytes"] // 4 // 128 * 128
    assert volatile["cache_read_tokens"].max() < stable["cache_read_tokens"].min()


def test_cache_leaves_figures_and_tables(report):
    folder, _ = report
    assert {path.suffix for path in (folder / "figures").iterdir()} == {
        ".pdf",
        ".svg",
        ".png",
        ".csv",
        ".parquet",
    }
    names = {path.stem for path in (folder / "tables").iterdir()}
    assert {"runs", "turns", "requests", "chunks", "tools", "issues", "sessions", "pressure"} <= names
    for name in names:
        assert (folder / "tables" / f"{name}.csv").stat().st_size > 0
        assert (folder / "tables" / f"{name}.parquet").stat().st_size > 0
    assert agentlab.figure_info(folder / "figures" / "cache.png")["arms"]
    assert "volatile − stable" in estimates_text(folder)


def test_cache_keeps_the_values_used(report):
    folder, _ = report
    used = json.loads((folder / "10_cache.parameters.json").read_text())
    assert used == {"runs": 2, "seed": 7, "study": "studies/cache", "out": "."}


def test_demo_writes_the_report_of_its_study(report):
    folder, said = report
    page = (folder / "report.html").read_text()
    assert "4 of 4 runs can be used, in 2 arms: stable, volatile." in page
    assert "cannot be made" not in page
    assert "first change in" in page
    assert [line for line in said if line.startswith("run ")][-1] == "run 4 of 4"
    assert (folder / "report.pdf").is_file() == (find_chromium() is not None)


def test_notebook_as_a_page_needs_no_network(report):
    folder, _ = report
    page = to_html(folder / "10_cache.ipynb", folder / "notebook.html").read_text()
    assert "data:image/png;base64," in page
    for loaded in ('<script src="http', '<link rel="stylesheet" href="http', '<img src="http', "requirejs"):
        assert loaded not in page


def test_second_time_nothing_is_measured_again(report):
    folder, _ = report
    before = sorted(path.name for path in (folder / "studies" / "cache" / "runs").iterdir())
    parameters = {"runs": 2, "seed": 7, "study": "studies/cache", "out": "again"}
    executed = run_notebook(NOTEBOOKS / "10_cache.ipynb", folder / "again.ipynb", parameters)
    assert sorted(path.name for path in (folder / "studies" / "cache" / "runs").iterdir()) == before
    assert executed.seconds < 60
    said = "".join("".join(out.get("text", ())) for out in _outputs(executed.notebook))
    assert "4 of 4 already recorded" in said


def test_misspelt_parameter_stops_before_anything(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'runs'"):
        run_notebook(NOTEBOOKS / "10_cache.ipynb", tmp_path / "x" / "report.ipynb", {"rnus": 5})
    assert list(tmp_path.iterdir()) == []


def test_misspelt_parameter_stops_plain_papermill_too(tmp_path):
    import papermill

    with pytest.raises(papermill.PapermillExecutionError) as caught:
        papermill.execute_notebook(
            str(NOTEBOOKS / "10_cache.ipynb"), str(tmp_path / "out.ipynb"), {"rnus": 5, "study": "study"},
            kernel_name="python3", progress_bar=False, cwd=str(tmp_path),
        )  # fmt: skip
    assert caught.value.ename == "ConfigError"
    assert not (tmp_path / "study").exists()


def test_failing_cell_is_named(tmp_path):
    # A file stands where the study's folder should be made.
    (tmp_path / "study").write_text("in the way")
    parameters = {"runs": 1, "study": "study", "out": "."}
    with pytest.raises(AgentlabError, match=r"10_cache\.ipynb failed in cell \d+: \w+Error"):
        run_notebook(NOTEBOOKS / "10_cache.ipynb", tmp_path / "report.ipynb", parameters)
    assert (tmp_path / "report.ipynb").exists()


def test_quickstart(tmp_path):
    executed = run_notebook(
        NOTEBOOKS / "00_quickstart.ipynb", tmp_path / "out.ipynb", {"runs": 1, "study": "mine"}
    )
    _check_static(_outputs(executed.notebook))
    for cell in json.loads(executed.notebook.read_text())["cells"]:
        if "al.plot_" in "".join(cell["source"]):
            assert ["image/png" in out["data"] for out in cell["outputs"]] == [True], cell["source"]
    recs = agentlab.load(tmp_path / "mine")
    assert [run.status for run in (r.info for r in recs)] == ["complete"] * 2
    assert {"quickstart.pdf", "quickstart.svg", "quickstart.png"} == {
        path.name for path in (tmp_path / "figures").iterdir()
    }
    assert (tmp_path / "tables" / "quickstart" / "turns.csv").is_file()
    page = (tmp_path / "reports" / "quickstart.html").read_text()
    assert "2 of 2 runs can be used, in 2 arms: plain, terse." in page


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_each_step_is_one_screen(path):
    """At most 25 lines a cell, prose included: what a laptop shows at once."""
    for cell in json.loads(path.read_text())["cells"]:
        assert len(cell["source"]) <= 25, cell["source"]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_is_committed_clean(path):
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert sum("parameters" in cell["metadata"].get("tags", ()) for cell in code) == 1
    assert "check_parameters()" in "".join("".join(cell["source"]) for cell in code)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    text = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert "\\n" not in text
