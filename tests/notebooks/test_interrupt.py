"""^C on a headless notebook: its kernel gets it first, a study under way is kept, and nothing lives on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentlab
from agentlab.notebook import run_notebook

_RUN = """\
import sys
from agentlab.notebook import run_notebook
run_notebook(sys.argv[1], sys.argv[2])
"""


def _notebook(path: Path, *sources: str) -> Path:
    cells = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for i, source in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    path.write_text(json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
    return path


def _wait(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def _descendants(root: int) -> set[int]:
    """All processes below one. (Those that a supervisor adopts stay below it.)"""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found: set[int] = set()
    while more := {pid for pid, parent in parents.items() if parent in found | {root}} - found:
        found |= more
    return found


def _alive(pids: set[int]) -> list[str]:
    left = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:100]
        except OSError:
            continue
        if state != "Z":
            left.append(f"{pid} {command}")
    return left


def test_first_interrupt_reaches_the_cell(tmp_path):
    notebook = _notebook(
        tmp_path / "in.ipynb",
        "import pathlib, time; pathlib.Path('started').touch()\n"
        "try:\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    raise KeyboardInterrupt('kept in order') from None",
        "pathlib.Path('next').touch()",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, notebook, tmp_path / "out.ipynb"], stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert _wait((tmp_path / "started").exists, 60)
    below = _descendants(process.pid)
    assert below
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=30)[1]
    assert "InterruptedByUser: kept in order" in error
    assert not (tmp_path / "next").exists()
    assert (tmp_path / "out.ipynb").exists()
    assert _wait(lambda: not _alive(below), 5), _alive(below)


def test_figures_survive_a_chosen_backend(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "pdf")
    notebook = _notebook(tmp_path / "in.ipynb", "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    executed = run_notebook(notebook, tmp_path / "out.ipynb")
    outputs = json.loads(executed.notebook.read_text())["cells"][0]["outputs"]
    assert "image/png" in outputs[-1]["data"]


def test_kernelspec_of_another_python_is_not_taken(tmp_path, monkeypatch):
    spec = tmp_path / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        json.dumps({"argv": ["/no/such/python"], "display_name": "x", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    notebook = _notebook(tmp_path / "in.ipynb", "import sys; print(sys.executable)")
    executed = run_notebook(notebook, tmp_path / "out.ipynb")
    assert sys.executable in executed.notebook.read_text()


@pytest.mark.timeout(400)
def test_interrupted_demo_keeps_its_study_and_leaves_nothing(tmp_path, opencode_executable):
    folder = tmp_path / "report"
    process = subprocess.Popen(
        [sys.executable, "-m", "agentlab", "demo", "--runs", "3", "--to", folder],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    runs = folder / "studies" / "cache" / "runs"
    try:
        assert _wait(lambda: len(list(runs.glob("*/run.json"))) >= 2, 240), process.poll()
        below = _descendants(process.pid)
        assert any("opencode" in command for command in _alive(below))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, err
    assert out == ""
    assert "agentlab compare " in err
    assert "Traceback" not in err
    assert _wait(lambda: not _alive(below), 5), _alive(below)
    recs = agentlab.load(folder / "studies" / "cache")
    assert [run.info.status for run in recs] == ["complete", "cancelled"]


def test_a_notebook_that_ends_is_not_interrupted(tmp_path):
    """The kernel would report an error where its last cell's clean-up is still under way."""
    note = (
        "import pathlib\nget_ipython().kernel.saved_sigint_handler = lambda *_: pathlib.Path('came').touch()"
    )
    run_notebook(_notebook(tmp_path / "short.ipynb", note), tmp_path / "out" / "o.ipynb")
    assert not (tmp_path / "out" / "came").exists()
