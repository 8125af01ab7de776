"""What ``agentlab record webchat`` says and writes when its study is recorded."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .budgets import against, budget_table, verdict_table
from .outcome import say
from .text_table import text_table

if TYPE_CHECKING:
    import pandas as pd

    from ..recording import Recordings
    from ..stats.metrics import Metric

_FILES = ("session-summary.json", "cpu-profile.cpuprofile")


def check_output(folder: Path | None) -> None:
    """Refuse a folder that holds such files already, before anything is measured.

    Parameters
    ----------
    folder : Path or None
        ``--output``.

    Raises
    ------
    ConfigError
        It does, or is a file.
    """
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--output {folder} is a file; give a folder")
    for name in _FILES:
        if (folder / name).exists():
            raise ConfigError(f"--output {folder}: {name} is there already; choose another folder")


def told(
    recordings: Recordings,
    baseline: Recordings | None,
    options: argparse.Namespace,
    budgets: Mapping[str, float],
) -> bool:
    """Print the numbers, and write the original's files.

    Parameters
    ----------
    recordings : Recordings
        What was recorded.
    baseline : Recordings or None
        What it is held against.
    options : argparse.Namespace
        Parsed options.
    budgets : mapping of str to float
        What may not be exceeded.

    Returns
    -------
    bool
        Whether all budgets hold.
    """
    from ..reporting.webpages import page_readings
    from ..stats.budget import check
    from ..stats.metrics import PAGE_REPORT

    checked = check(recordings, dict(budgets)) if budgets else None
    chosen = [*_named(budgets), *PAGE_REPORT]
    found = None if baseline is None else against(recordings, baseline, chosen)
    if options.json:
        print(json.dumps(_as_json(recordings, checked, found), indent=2, allow_nan=False))
    else:
        print(recordings)
        print(text_table(page_readings(recordings)))
        if found is not None:
            print(f"\n{verdict_table(found)}")
        if checked is not None:
            print(f"\n{budget_table(checked)}")
    if options.output is not None:
        _write(recordings, options.output)
    return checked is None or bool((checked["status"] == "pass").all())


def _named(budgets: Mapping[str, float]) -> list[Metric]:
    from ..stats import metrics

    first = ("LONG_TASKS", "LONGEST_TASK", "TBT", "DROPPED_FRAMES", "INP", "HEAP_GROWTH")
    return [metrics.named(name) for name in dict.fromkeys((*first, *budgets))]


def _as_json(
    recordings: Recordings,
    checked: pd.DataFrame | None,
    found: pd.DataFrame | None,
) -> dict[str, Any]:
    from ..importers.session_summary_writer import summary

    shown = [run for run in recordings if len(run.table("page"))]
    return {
        "coverage": recordings.coverage(),
        "summaries": [summary(run) for run in shown],
        "budgets": [] if checked is None else _rows(checked),
        "verdicts": [] if found is None else _rows(found),
    }


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return json.loads(frame.to_json(orient="records"))


def _write(recordings: Recordings, folder: Path) -> None:
    from ..importers.session_summary_writer import write

    shown = [run for run in recordings if len(run.table("page"))]
    for run in shown:
        for path in write(run, folder if len(shown) == 1 else folder / run.run_id):
            print(path, file=sys.stderr)
    if not shown:
        say(f"--output {folder}: no run has a page, so that nothing is written")
