"""In CI a skip is a failure; everywhere it is counted; cheap folders run first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_CONFTEST = Path(__file__).parents[1] / "conftest.py"


def _pytest(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    tests = folder / "tests"
    for kind, body in (("browser", "def test_last(): pass"), ("unit", "def test_first(): pass")):
        (tests / kind).mkdir(parents=True)
        (tests / kind / f"test_{kind}.py").write_text(body + "\n")
    shutil.copy(_CONFTEST, tests)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-ra", "-p", "no:cacheprovider", "tests"], cwd=folder,
        env=os.environ | environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("ci, code", [("true", 1), ("", 0)])
def test_skip(tmp_path, ci, code):
    (tmp_path / "tests" / "live").mkdir(parents=True)
    (tmp_path / "tests" / "live" / "test_live.py").write_text(
        "import pytest\ndef test_x(): pytest.skip('none')\n"
    )
    done = _pytest(tmp_path, CI=ci)
    assert done.returncode == code, done.stdout
    assert "\nskips: 1" in done.stdout
    assert "2 passed, 1 skipped" in done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("ci, code", [("true", 1), ("", 0)])
def test_missing_browser(tmp_path, ci, code):
    (tmp_path / "tests" / "integration").mkdir(parents=True)
    test = tmp_path / "tests" / "integration" / "test_page.py"
    test.write_text("def test_page(chromium_executable): pass\n")
    done = _pytest(tmp_path, CI=ci, PATH="/nowhere")
    assert done.returncode == code, done.stdout
    assert "apt-get install chromium" in done.stdout
    assert ("1 error" if ci else "1 skipped") in done.stdout


def test_order_and_empty_home(tmp_path):
    (tmp_path / "tests" / "architecture").mkdir(parents=True)
    (tmp_path / "tests" / "architecture" / "test_home.py").write_text(
        "import os\n"
        "def test_home():\n"
        "    assert os.listdir(os.environ['HOME']) == []\n"
        "    assert 'OPENAI_API_KEY' not in os.environ and 'JUPYTER_PATH' not in os.environ\n"
        "    assert os.environ['AGENTLAB_CACHE']\n"
    )
    done = _pytest(tmp_path, CI="true", OPENAI_API_KEY="secret", JUPYTER_PATH="/x")
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert [line.split("/")[1] for line in lines] == ["architecture", "unit", "browser"]
    assert "skips: 0" in done.stdout
