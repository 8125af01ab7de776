"""CPU time by function over the runs of each arm."""

import pandas as pd

from agentlab.stats.functions import COLUMNS, top_functions


def cpu(*rows) -> pd.DataFrame:
    names = ("arm", "run_id", "label", "kind", "self_ms")
    return pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows], columns=list(names)).assign(
        profile="page"
    )


def test_a_run_in_which_a_function_was_never_seen_counts_as_zero_of_it() -> None:
    found = top_functions(
        cpu(
            ("a", "1", "f", "js", 30.0),
            ("a", "1", "(idle)", "idle", 500.0),
            ("a", "2", "(idle)", "idle", 500.0),
            ("b", "3", "f", "js", 10.0),
            ("b", "3", "g", "js", 30.0),
        )
    )
    rows = found.set_index(["arm", "label"])
    assert rows.loc[("a", "f"), ["self_ms", "least_ms", "most_ms", "n_runs", "n_seen"]].tolist() == [
        15,
        0,
        30,
        2,
        1,
    ]
    assert rows.loc[("a", "f"), "share"] == 1.0 and rows.loc[("b", "g"), "share"] == 0.75
    assert list(found["label"]) == ["g", "f", "f"]  # by the most that an arm has
    assert {name: str(dtype) for name, dtype in found.dtypes.items()} == COLUMNS


def test_one_name_at_two_places_of_a_run_is_summed_and_nothing_is_nothing() -> None:
    found = top_functions(cpu(("a", "1", "f", "js", 3.0), ("a", "1", "f", "js", 4.0)))
    assert found["self_ms"].tolist() == [7.0]
    assert len(top_functions(cpu())) == 0
    assert len(top_functions(cpu(("a", "1", "f", "js", 3.0)), profile="worker 1")) == 0
