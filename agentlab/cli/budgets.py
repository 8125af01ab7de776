"""Budgets and baselines of a command: what may not be exceeded, and what a study is held against."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .completing import REPORTS, baseline_arms, completes, metrics, studies
from .study import Group
from .text_table import text_table

if TYPE_CHECKING:
    import pandas as pd

    from ..recording import Recordings
    from ..stats.metrics import Metric

_UNKNOWN = "-"


def add_budgets(group: Group) -> None:
    """Add what a study is held against.

    Parameters
    ----------
    group : group
        Where the options go.
    """
    budget = group.add_argument(
        "--budget",
        type=_budget,
        action="append",
        metavar="METRIC=NUMBER",
        help="the most that a metric may be (the least where higher is better), e.g. TBT=200; repeatable; "
        "one that fails, or has no number, is exit code 1",
    )
    completes(budget, metrics)
    baseline = group.add_argument(
        "--baseline",
        type=Path,
        metavar="STUDY",
        help="an earlier study of one arm, or an old script's folder or file: what became better or worse",
    )
    completes(baseline, studies)
    arm = group.add_argument(
        "--baseline-arm", metavar="ARM", help="of a --baseline with several arms, the one to compare with"
    )
    completes(arm, baseline_arms)


def baseline_of(options: argparse.Namespace) -> Recordings | None:
    """Load what a study is held against.

    Parameters
    ----------
    options : argparse.Namespace
        Parsed options of :func:`add_budgets`.

    Returns
    -------
    Recordings or None
        None: no baseline was named.

    Raises
    ------
    ConfigError
        An arm of nothing, or of that name there is none.
    AgentlabError
        It cannot be loaded.
    """
    from ..recording import load

    path, arm = options.baseline, options.baseline_arm
    if path is None:
        if arm is not None:
            raise ConfigError("--baseline-arm goes with --baseline STUDY")
        return None
    baseline = load(path)
    if arm is None:
        return baseline
    if arm not in baseline.arms:
        raise ConfigError(f"--baseline-arm {arm!r}: {path} has {', '.join(baseline.arms) or 'none'}")
    return baseline.where(arm=arm)


def _budget(text: str) -> tuple[str, float]:
    name, equals, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not equals or not abs(value) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: write METRIC=NUMBER, e.g. TBT=200")
    try:
        return metric_named(name).name, value
    except ConfigError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def metric_named(name: str) -> Metric:
    """Find a metric, also one that is written in small letters.

    Parameters
    ----------
    name : str
        E.g. ``tbt`` or ``TBT``.

    Returns
    -------
    Metric

    Raises
    ------
    ConfigError
        There is none.
    """
    from ..stats.metrics import named, names

    capitals = name.upper().replace("-", "_")
    return named(capitals if capitals in names() else name)


def metrics_named(names: Iterable[str]) -> list[Metric]:
    """Find metrics, also those that go by one name together.

    Parameters
    ----------
    names : iterable of str
        E.g. ``ttft`` or ``CACHE_REPORT``.

    Returns
    -------
    list of Metric

    Raises
    ------
    ConfigError
        There is none of a name.
    """
    from .. import metrics

    chosen: list[Metric] = []
    for name in names:
        report = name.upper().replace("-", "_")
        chosen.extend(getattr(metrics, report) if report in REPORTS else [metric_named(name)])
    return chosen


def budget_table(found: pd.DataFrame) -> str:
    """Write what :func:`agentlab.check` found as a table.

    Parameters
    ----------
    found : pandas.DataFrame
        As it returns it.

    Returns
    -------
    str
    """
    from ..plots import words

    rows = [
        [
            row["metric"],
            _text(row["arm"]),
            row["bound"],
            f"{words.value(row['budget'])} {_text(row['unit'])}".rstrip(),
            _value(row["estimate"]),
            _interval(row),
            _text(row["n_runs"]),
            _said(row),
        ]
        for row in found.to_dict("records")
    ]
    return text_table([["budget", "arm", "", "limit", "measured", "95 % interval", "runs", ""], *rows])


def _said(row: dict[Any, Any]) -> str:
    import pandas as pd

    status = {"pass": "pass", "fail": "FAIL", "unknown": f"unknown: {_text(row['reason'])}"}[row["status"]]
    return f"{status}, within the noise" if not pd.isna(row["sure"]) and not row["sure"] else status


def verdict_table(found: pd.DataFrame) -> str:
    """Write what :func:`agentlab.verdicts` found as a table.

    Parameters
    ----------
    found : pandas.DataFrame
        As it returns it.

    Returns
    -------
    str
    """
    rows = [["metric", "arm", "before", "now", "change", "95 % interval", "", "original's reading"]]
    notes: dict[str, int] = {}
    for row in found.to_dict("records"):
        unit, verdict = _text(row["unit"]), row["verdict"]
        if isinstance(reason := row["reason"], str) and reason:
            verdict += f" ({notes.setdefault(reason, len(notes) + 1)})"
        rows.append(
            [
                f"{row['metric']} ({unit})" if unit not in ("", _UNKNOWN) else row["metric"],
                _text(row["arm"]),
                _value(row["before"]),
                _value(row["now"]),
                _value(row["change"]),
                _interval(row),
                verdict,
                _original(row),
            ]
        )
    return "\n".join([text_table(rows), *(f"({number}) {reason}" for reason, number in notes.items())])


def _original(row: dict[Any, Any]) -> str:
    """Say a change as the original did: in 2 digits, and a mark for any change at all."""
    mark = row["original_mark"]
    return f"{_text(row['original_change'])} {mark if isinstance(mark, str) else ''}".rstrip()


def against(recordings: Recordings, baseline: Recordings, chosen: Sequence[Metric]) -> pd.DataFrame:
    """Compare with a baseline in those metrics that both were measured in.

    Parameters
    ----------
    recordings, baseline : Recordings
        What was measured, and before.
    chosen : sequence of Metric
        Metrics to look at.

    Returns
    -------
    pandas.DataFrame
        As of :func:`agentlab.verdicts`.

    Raises
    ------
    ConfigError
        They have no metric in common, or the baseline is of several arms.
    """
    import warnings

    from ..errors import UnstableWarning
    from ..stats.compare import compare
    from ..stats.first import has_data
    from ..stats.runs import Runs
    from ..stats.verdicts import verdicts

    now, before = Runs(recordings), Runs(baseline)
    common = [metric for metric in chosen if has_data(now, metric) and has_data(before, metric)]
    if not common:
        raise ConfigError("--baseline: no metric was measured both then and now")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableWarning)  # the table says which have no interval
        return verdicts(compare(recordings, *common, baseline=baseline))


def _value(value: Any) -> str:  # noqa: ANN401
    import pandas as pd

    from ..plots import words

    return _UNKNOWN if pd.isna(value) else words.value(float(value))


def _interval(row: dict[Any, Any]) -> str:
    import pandas as pd

    if pd.isna(row["lower"]) or pd.isna(row["upper"]):
        return _UNKNOWN
    return f"[{_value(row['lower'])}, {_value(row['upper'])}]"


def _text(value: Any) -> str:  # noqa: ANN401
    import pandas as pd

    return _UNKNOWN if pd.isna(value) else str(value)
