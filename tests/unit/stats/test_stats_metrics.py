from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from agentlab import metrics
from agentlab.errors import ConfigError
from agentlab.stats.metrics import CACHE_REPORT, Metric, named, names


def test_named_metrics_are_exported_once_under_their_own_name():
    names = {name for name in metrics.__all__ if name.isupper()} - {"CACHE_REPORT", "PAGE_REPORT"}
    assert {getattr(metrics, name).name for name in names} == names
    assert len(metrics.PAGE_REPORT) == 14
    assert [metric.name for metric in metrics.PAGE_REPORT if metric.better == "higher"] == ["framesPerSecond"]
    assert [metric.name for metric in CACHE_REPORT] == [
        "zeroCacheMissRate",
        "cacheCoverage",
        "promptLoopTtftMsP50",
        "promptLoopLatencyMsP50",
    ]
    assert {metric.quantile_method for metric in CACHE_REPORT[2:]} == {"nearest_rank"}


def test_a_metric_is_found_by_name_and_an_unknown_one_lists_the_others():
    assert named("TTFT") is metrics.TTFT
    assert named("cacheCoverage") is CACHE_REPORT[1]
    with pytest.raises(ConfigError, match=r"no metric 'TFTT'; there are .*TTFT"):
        named("TFTT")
    assert len(names()) == len(set(names()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"aggregate": "average", "column": "x"}, "use one of mean, median"),
        ({"aggregate": "mean"}, "a mean needs column"),
        ({"aggregate": "quantile", "column": "x"}, "a quantile needs p"),
        ({"aggregate": "quantile", "column": "x", "p": 95}, "0 < p < 1"),
        ({"aggregate": "ratio", "column": "x"}, "a ratio needs of"),
        ({"aggregate": "mean", "column": "x", "p": 0.5}, "a mean takes no p"),
        ({"aggregate": "sum", "column": "x", "of": "y"}, "a sum takes no of"),
        ({"aggregate": "share", "column": "x", "of": "y", "equals": 0}, "takes no equals"),
        ({"aggregate": "count", "equals": 1}, "need a column"),
        ({"aggregate": "mean", "column": "x", "better": "smaller"}, "better is 'smaller'"),
        ({"aggregate": "median", "column": "x", "quantile_method": "median"}, "quantile_method is"),
        ({"aggregate": "mean", "column": "x", "table": ""}, "table is empty"),
    ],
)
def test_a_wrong_definition_says_what_is_wrong(fields, message):
    with pytest.raises(ConfigError, match=message) as caught:
        Metric(**{"name": "mine", "table": "turns"} | fields)
    assert "'mine'" in str(caught.value)


def test_a_metric_is_frozen_hashable_and_titles_itself():
    metric = Metric(
        name="second", table="turns", column="latency_ms", aggregate="mean", unit="ms", where={"turn": 2}
    )
    assert hash(metric) == hash(dataclasses.replace(metric))
    assert metric.where == (("turn", 2),)
    assert metric.title == "second (ms)"
    assert metrics.ZERO_CACHE_RATE.title == "share of requests without cached tokens"
    with pytest.raises(dataclasses.FrozenInstanceError):
        metric.name = "other"  # type: ignore[misc]


def test_reaching_compare_and_the_metrics_loads_no_numpy():
    code = (
        "import sys, agentlab; agentlab.compare; agentlab.Metric; agentlab.metrics.TTFT; "
        "print(sorted({'numpy', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
