"""What holds for every test: an empty home, no key, cheap folders first, and no skip in CI."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

# Before anything of agentlab, Jupyter or Matplotlib looks at them. The agents' cache stays the real one.
_CACHE_BASE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
os.environ.setdefault("AGENTLAB_CACHE", str(_CACHE_BASE / "agentlab"))
_HOME = tempfile.mkdtemp(prefix="agentlab-tests-home-")
for _name in list(os.environ):
    if _name.startswith(("JUPYTER", "JPY_", "IPYTHON", "OPENCODE", "XDG_")) or _name.endswith("_API_KEY"):
        del os.environ[_name]
os.environ.update(HOME=_HOME, MPLCONFIGDIR=f"{_HOME}/matplotlib")
os.environ.pop("MPLBACKEND", None)  # notebooks inherit it; without a display Matplotlib takes Agg by itself

#: Cheap and sharp first: a wrong import order shows before a browser is started.
_ORDER = (
    "architecture",
    "unit",
    "property",
    "golden",
    "statistical",
    "integration",
    "notebooks",
    "live",
    "browser",
)
_HERE = Path(__file__).parent


def in_ci() -> bool:
    """Whether a missing agent, browser or kernel is a failure."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _missing(what: str) -> NoReturn:
    if in_ci():
        pytest.fail(f"{what} (in CI this is a failure)")
    pytest.skip(what)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        folder = item.path.relative_to(_HERE).parts[0]
        return _ORDER.index(folder) if folder in _ORDER else len(_ORDER)

    items.sort(key=rank)  # stable: the order inside a folder stays


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skips = len(terminalreporter.stats.get("skipped", []))
    terminalreporter.write_line(
        f"skips: {skips}" + (" (a skip is a failure in CI)" if skips and in_ci() else "")
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = bool(reporter and reporter.stats.get("skipped"))
    if skipped and in_ci() and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def opencode_executable() -> Path:
    """The real OpenCode at its pinned version."""
    from agentlab.agents import opencode
    from agentlab.errors import StartupError

    try:
        return opencode.locate()
    except StartupError as error:
        _missing(str(error))


@pytest.fixture(scope="session")
def real_agents() -> None:
    """All command-line agents of the catalogue at their pinned versions."""
    from agentlab.agents.catalogue import AGENTS
    from agentlab.errors import StartupError

    for agent in AGENTS.values():
        try:
            agent.locate()
        except StartupError as error:
            _missing(str(error))


@pytest.fixture(scope="session")
def chromium_executable() -> str:
    """A real Chromium."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        _missing("no Chromium on the PATH; apt-get install chromium")
    return found
