"""A notebook under papermill itself: its parameters are checked, and progress stays short."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest
from nbformat import v4

from agentlab.errors import AgentlabError, ConfigError
from agentlab.notebook import run_notebook

_CHECK = """\
import pathlib
from agentlab.notebook import check_parameters
used = check_parameters()
pathlib.Path("spent").touch()
print(runs, used)
"""


def write(path: Path, *sources: str, tag: bool = True) -> Path:
    cells = [v4.new_code_cell(source) for source in sources]
    if tag:
        cells[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


def outputs(path: Path) -> list[dict]:
    return [out for cell in json.loads(path.read_text())["cells"] for out in cell.get("outputs", ())]


def plain_papermill(notebook: Path, parameters: dict, **options) -> Path:
    target = notebook.with_name("out.ipynb")
    folder = str(notebook.parent)
    papermill.execute_notebook(
        str(notebook),
        str(target),
        parameters,
        cwd=folder,
        progress_bar=False,
        kernel_name="python3",
        **options,
    )
    return target


# -- nteract/papermill#245, #701: no tagged cell; an annotated parameter it cannot read; a misspelt name

WRONG = [
    ("runs = 2", False, {"runs": 5}, "no cell tagged 'parameters'"),
    ("runs: int = 2", True, {"rnus": 5}, "unknown parameter 'rnus', did you mean 'runs'"),
    ("runs: int | None = None", True, {"rnus": 5}, "unknown parameter 'rnus', did you mean 'runs'"),
    ("runs: int | None = None", True, {"runs": "5"}, "parameter 'runs' is '5', not int | None"),
]


@pytest.mark.parametrize(
    ("declared", "tag", "given", "said"), WRONG, ids=["no tag", "name", "optional", "type"]
)
def test_a_wrong_parameter_stops_before_anything_is_spent(tmp_path, declared, tag, given, said):
    notebook = write(tmp_path / "in.ipynb", declared, _CHECK, tag=tag)
    with pytest.raises(ConfigError, match=said):
        run_notebook(notebook, tmp_path / "new" / "out.ipynb", given)
    assert [path.name for path in tmp_path.iterdir()] == ["in.ipynb"]


@pytest.mark.parametrize(("declared", "tag", "given", "said"), WRONG[:2], ids=["no tag", "name"])
def test_and_under_plain_papermill_in_the_first_cell(tmp_path, declared, tag, given, said):
    notebook = write(tmp_path / "in.ipynb", declared, _CHECK, tag=tag)
    with pytest.raises(papermill.PapermillExecutionError, match=said) as caught:
        plain_papermill(notebook, given)
    assert caught.value.ename == "ConfigError"
    assert not (tmp_path / "spent").exists()


def test_the_command_of_papermill_fails_too(tmp_path):
    notebook = write(tmp_path / "in.ipynb", "runs: int = 2", _CHECK)
    command = [sys.executable, "-m", "papermill", notebook, tmp_path / "out.ipynb", "-p", "rnus", "5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert (
        "ConfigError: this notebook: unknown parameter 'rnus', did you mean 'runs'. Nothing was run."
        in done.stderr
    )
    assert not (tmp_path / "spent").exists()


def test_an_optional_parameter_is_used_recorded_and_not_called_unknown(tmp_path, caplog):
    notebook = write(tmp_path / "in.ipynb", "runs: int | None = None\narm: str = 'a'", _CHECK)
    with caplog.at_level(logging.INFO, logger="papermill"):
        executed = run_notebook(notebook, tmp_path / "out.ipynb", {"runs": 5})
    assert "unknown" not in caplog.text
    used = {"runs": 5, "arm": "a"}
    assert executed.parameters == json.loads((tmp_path / "out.parameters.json").read_text()) == used
    assert outputs(executed.notebook)[-1]["text"] == [f"5 {used}\n"]


def test_a_failing_notebook_is_named_with_its_cell(tmp_path):
    notebook = write(tmp_path / "in.ipynb", "runs: int = 2", "1 / 0")
    with pytest.raises(AgentlabError, match=r"in\.ipynb failed in cell 2: ZeroDivisionError"):
        run_notebook(notebook, tmp_path / "out.ipynb")


# -- nteract/papermill#617, #765, tqdm#1082: bar stuck, a line for each tick, no ipywidgets

_STUDY = """\
import agentlab as al
from agentlab.testing.drivers import Toy
hello = al.Scenario("hello", turns=["Say hello."])
options = dict(runs=3, to="study", host="process", quiet=None, progress={progress!r})
recs = await al.record(hello, Toy(words=4, every_s=0.3), **options)
"""


@pytest.mark.parametrize(("widgets", "progress"), [("with", "widget"), ("without", "auto")])
def test_progress_of_three_runs_is_at_most_four_lines(tmp_path, caplog, widgets, progress):
    first = "import sys; sys.modules['ipywidgets'] = None" if widgets == "without" else "pass"
    notebook = write(tmp_path / "in.ipynb", first, _STUDY.format(progress=progress), tag=False)
    with caplog.at_level(logging.INFO, logger="papermill"):
        executed = plain_papermill(notebook, {}, log_output=True)
    own = ("Executing", "Ending", "Input Notebook", "Output Notebook")
    logged = [line for record in caplog.records for line in record.getMessage().splitlines()]
    said = [line for line in logged if line.strip() and not line.startswith(own)]
    assert 1 <= len(said) <= 4, said
    shown = outputs(executed)
    assert len(shown) == 1
    assert set(shown[0]["data"]) == {"text/plain", "text/html"}
    assert "".join(shown[0]["data"]["text/plain"]).startswith("done: 3 of 3 runs")  # not stuck at 0
    assert "widgets" not in json.loads(executed.read_text())["metadata"]
