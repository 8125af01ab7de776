"""What the probe and the app itself have counted, taken over once the window has ended."""

from __future__ import annotations

import re
from typing import Any, cast

from ...errors import DriverError
from ...wire.cdp import Page, ScriptFailed
from ..base import Run
from .gates import Gates
from .page import AppCounters

_NAME = re.compile(r"[\w.:/#*+ -]{1,120}")
_MOST = 1000


async def tell_probe(page: Page, run: Run, *, timeout_s: float) -> None:
    """Take over what the probe has counted.

    Parameters
    ----------
    page : Page
        With the probe in it.
    run : Run
        Where it is told.
    timeout_s : float
        Longest wait, s.
    """
    told = await page.evaluate("__agentlabProbe.told()", timeout_s=timeout_s)
    sites = [[site, n, round(total, 3), round(most, 3)] for site, n, total, most in told["sites"]]
    run.emit("page.probe", **told | {"sites": sites, "own_ms": round(told["own_ms"], 3)})


async def tell_app(page: Page, counters: AppCounters, run: Run, gates: Gates, *, timeout_s: float) -> None:
    """Take over what the app has counted; a reading that fails is an issue, and costs nothing else.

    Parameters
    ----------
    page : Page
        The page.
    counters : AppCounters
        How they are read.
    run : Run
        Where they are told.
    gates : Gates
        Told whether the list of messages was rendered, where the app counts that.
    timeout_s : float
        Longest wait, s.
    """
    try:
        entries = tidy(await page.evaluate(counters.read, timeout_s=timeout_s))
    except ScriptFailed as error:
        run.issue("app_counters_failed", str(error))
        return
    run.emit("page.app_counters", entries=entries)
    if counters.lists:
        drawn = any(e["metric"].startswith(counters.lists) and e.get("count", 0) > 0 for e in entries)
        gates.check("page_text_not_growing", drawn, None if drawn else "the list was not rendered")


async def begin(page: Page, counters: AppCounters) -> None:
    """Switch the app's counters on and clear them.

    Parameters
    ----------
    page : Page
        The page.
    counters : AppCounters
        How.

    Raises
    ------
    DriverError
        The script throws, or the page does not answer.
    """
    try:
        await page.evaluate(f"({counters.begin}), 0")
    except ScriptFailed as error:
        raise DriverError(
            f"AppCounters(begin=...): {error}", driver="webchat", code="app_counters_failed"
        ) from error


def tidy(entries: object) -> list[dict[str, Any]]:
    """Keep what has the form of counters: names that are no texts, and numbers.

    Parameters
    ----------
    entries : object
        What a script returned.

    Returns
    -------
    list of dict
        ``metric``, and of ``total``, ``count`` and ``max`` what is a number; 1,000 at most.

    Examples
    --------
    >>> tidy([{"metric": "ui.list", "count": 2, "total": "x"}, {"metric": 3}, None])
    [{'metric': 'ui.list', 'count': 2}]
    """
    found: list[dict[str, Any]] = []
    for entry in cast("list[Any]", entries)[:_MOST] if isinstance(entries, list) else ():
        row = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        name = row.get("metric")
        if isinstance(name, str) and _NAME.fullmatch(name):
            numbers = {key: row[key] for key in ("total", "count", "max") if _is_number(row.get(key))}
            found.append({"metric": name, **numbers})
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
