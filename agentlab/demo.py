"""The demo: the notebook 10_cache on the real OpenCode, and the memory of two agents on terminals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from .errors import ConfigError, InterruptedByUser

#: The notebooks stand in the repository, beside the package.
NOTEBOOKS = Path(__file__).parent.parent / "notebooks"

_METRICS = ("CACHE_HIT_RATE", "TTFT", "TURN_LATENCY")  # those of the notebook, and in its order
_MEMORY_METRICS = ("MEM_SLOPE", "MEM_INTERCEPT")  # what all numbers of sessions give together
#: What is measured on terminals: small agents that settle soon. The notebook 30_memory does it at leisure.
_TOOLS, _SESSIONS, _BLOCKS, _WINDOW_S = ("codex", "pi"), (1, 2), 3, 1.5

Say = Callable[[str], None]


def default_folder() -> Path:
    """Return ``reports/demo-<UTC>`` in the current folder.

    Returns
    -------
    pathlib.Path
    """
    return Path("reports") / time.strftime("demo-%Y%m%dT%H%M%SZ", time.gmtime())


def make_report(folder: Path, *, runs: int = 6, seed: int = 7, say: Say) -> Path:
    """Record the demo's study and write its report.

    Parameters
    ----------
    folder : pathlib.Path
        Must not exist. Gets ``report.html`` (one file, no network; also ``report.pdf`` where a Chromium is
        found), the executed notebook, the study ``studies/cache/``, ``figures/`` (PDF, SVG, PNG) and
        ``tables/`` (Parquet, CSV).
    runs : int, default 6
        Runs of each of the two arms.
    seed : int, default 7
        Of the order of the runs.
    say : callable
        Receives progress, one line at a time.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    ConfigError
        The folder exists, `runs` is below 1, or agentlab is not used from its repository.
    """
    notebook = NOTEBOOKS / "10_cache.ipynb"
    if not notebook.is_file():
        raise ConfigError(
            "the demo runs a notebook of agentlab's repository, which is not here. Clone it and run make demo"
        )
    if runs < 1:
        raise ConfigError(f"demo: --runs {runs}: give a whole number from 1")
    if folder.exists():
        raise ConfigError(f"{folder} exists; give --to a new folder")
    from .agents import install
    from .notebook import run_notebook
    from .reporting import report

    folder = folder.absolute()  # papermill works in another folder while it runs

    with _stage("agent", say):
        agent = install("opencode", say=say)
        say(f"OpenCode {agent.version}, isolated, with a scripted model on this machine: no key, no network")
    study = folder / "studies" / "cache"
    with _stage("measuring", say), _progress(study, 2 * runs, say, "run"):
        parameters = {"runs": runs, "seed": seed, "study": "studies/cache", "out": "."}
        try:
            run_notebook(notebook, folder / notebook.name, parameters)
        except InterruptedByUser:
            # The notebook's own message names the study as seen from the report's folder.
            kept = f"What was measured is kept: agentlab.load({str(study)!r})"
            raise InterruptedByUser(f"interrupted. {kept}") from None
    with _stage("report", say):
        return report(study, folder / "report.html", metrics=_METRICS, reference="stable")


def measure_memory(folder: Path, *, runs: int = _BLOCKS, seed: int = 7, say: Say) -> Path:
    """Measure the memory of two agents on terminals beside the demo's first study, and write its page.

    Parameters
    ----------
    folder : pathlib.Path
        As given to :func:`make_report`. Gets ``memory.html`` and the study ``studies/memory/``.
    runs : int, default 3
        Runs of each agent at one session, and at two.
    seed : int, default 7
        Of the order of the runs.
    say : callable
        Receives progress, one line at a time.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    StartupError
        An agent is not installed.
    """
    from .agents import install
    from .drivers.terminal import Terminal
    from .engine import record
    from .engine.waiting import Quiet
    from .reporting import report
    from .scenario import Scenario, Timeouts

    for name in _TOOLS:
        install(name, say=say)
    folder = folder.absolute()
    study = folder / "studies" / "memory"
    arms = {name: Terminal(name, sessions=_SESSIONS, window_s=_WINDOW_S) for name in _TOOLS}
    waiting = Scenario("terminal", timeouts=Timeouts(start=60))
    n_runs = runs * len(_TOOLS) * len(_SESSIONS)
    with _stage("memory", say), _progress(study, n_runs, say, "memory: run"):
        quiet = Quiet(wait_s=2, attempts=3)
        record(waiting, arms, runs=runs, seed=seed, to=study, quiet=quiet, progress="none").result()
    with _stage("report", say):
        return report(study, folder / "memory.html", metrics=_MEMORY_METRICS, reference=_TOOLS[0])


def memory_text(folder: Path) -> str:
    """Return what :func:`measure_memory` found, as text.

    Parameters
    ----------
    folder : pathlib.Path
        As given to it.

    Returns
    -------
    str
    """
    from .recording import load
    from .reporting.terminals import memory

    return f"Memory on terminals\n{memory(load(folder / 'studies' / 'memory'))!r}"


def estimates_text(folder: Path) -> str:
    """Return the estimates of a report as text, read from the data of its figure.

    Parameters
    ----------
    folder : pathlib.Path
        As given to :func:`make_report`.

    Returns
    -------
    str
    """
    import pandas as pd

    from .widgets.cards import estimates_card

    return estimates_card(pd.read_parquet(folder / "figures" / "cache.parquet"))["text/plain"]


@contextmanager
def _stage(name: str, say: Say) -> Generator[None]:
    started = time.monotonic()
    yield
    say(f"{name}: {time.monotonic() - started:.1f} s")


@contextmanager
def _progress(study: Path, planned: int, say: Say, what: str) -> Generator[None]:
    """Say how many runs are done, read from the study's files as any other reader would."""
    from .engine.slots import FINISHED, recorded

    end = threading.Event()

    def watch() -> None:
        done, last = 0, False
        while not last:
            last = end.wait(0.5)  # and once more after the end
            now = sum(run["status"] in FINISHED for run in recorded(study))
            if now > done:
                done = now
                say(f"{what} {done} of {planned}")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
