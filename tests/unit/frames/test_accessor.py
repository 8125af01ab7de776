from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

import agentlab as al
from agentlab.errors import SchemaError
from agentlab.frames.accessor import register
from agentlab.frames.estimates import ESTIMATES
from agentlab.frames.tables import TABLES


@pytest.fixture(scope="module")
def recs():
    return al.load(al.example("cache"))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_knows_itself_and_fits(recs, name):
    frame = recs.table(name)
    assert frame.agentlab.table == name
    assert frame.agentlab.validate() is frame
    assert list(frame.agentlab.describe().index) == list(TABLES[name].names)
    assert frame.agentlab.describe()["meaning"].notna().all()


@pytest.mark.parametrize("name", TABLES)
def test_without_rows_too(name):
    register()
    assert TABLES[name].frame([]).agentlab.validate().empty


def test_estimates_know_themselves(recs):
    frame = al.compare(recs, "TTFT", "CACHE_HIT_RATE")
    assert frame.agentlab.table == "estimates"
    assert frame.agentlab.validate() is frame
    assert [(column.name, column.dtype) for column in ESTIMATES] == [
        (name, str(dtype)) for name, dtype in frame.dtypes.items()
    ]
    with pytest.raises(
        SchemaError, match=r"^estimates: column 'lower' is missing; column 'n_runs' is float64"
    ):
        frame.drop(columns="lower").astype({"n_runs": float}).agentlab.validate()


def test_a_part_of_a_table_is_recognised(recs):
    part = recs.requests.query("chain == 'main'")[["study", "run_id", "request", "input_total_tokens"]]
    assert part.agentlab.table == "requests"
    assert part.agentlab.units == {"input_total_tokens": "tokens"}
    assert part.agentlab.label("ttft_ms").endswith("(ms)")
    assert repr(part.agentlab).startswith("<agentlab table requests: ")


def test_a_table_whose_key_is_gone_is_still_that_table(recs):
    with pytest.raises(SchemaError, match="table turns: column 'turn' is missing"):
        recs.turns.set_index("turn").agentlab.validate()


def test_all_violations_are_told_at_once(recs):
    bad = recs.turns.drop(columns="ttft_ms").assign(mine=1).astype({"turn": "Float64"})
    bad = pd.concat([bad, bad.head(1)])
    with pytest.raises(SchemaError) as caught:
        bad.agentlab.validate()
    for said in (
        "'ttft_ms' is missing",
        "'mine' is not part of it",
        "'turn' is Float64, not Int64",
        "1 rows repeat",
    ):
        assert said in str(caught.value)


def test_unknown_values_are_counted_and_added_columns_are_kept_apart(recs):
    told = recs.turns.assign(mine=1).agentlab.describe()
    assert told.loc["first_paint_ms", "n_unknown"] == 60
    assert told.loc["ttft_ms", "unit"] == "ms"
    assert pd.isna(told.loc["mine", "meaning"])


def test_a_column_that_is_not_there(recs):
    with pytest.raises(SchemaError, match="table turns has no column 'ttft'"):
        recs.turns.agentlab.label("ttft")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame({"a": [1]}),
        pd.DataFrame({"study": ["s"]}),
        pd.DataFrame({1: [2], None: [3]}),
    ],
    ids=["empty", "other", "half a key", "names that are no text"],
)
def test_another_frame_has_no_such_attribute(frame):
    register()
    with pytest.raises(AttributeError, match="no table of agentlab"):
        _ = frame.agentlab
    assert not hasattr(frame, "agentlab")


def test_registering_twice_says_nothing():
    register()
    before = pd.DataFrame.agentlab
    register()
    assert pd.DataFrame.agentlab is before


@pytest.mark.parametrize(
    "made", ["al.load(al.example('cache')).turns", "al.compare(al.load(al.example('cache')), 'TTFT')"]
)
def test_it_is_there_as_soon_as_a_frame_is(made):
    code = f"import sys, agentlab as al\nassert 'pandas' not in sys.modules\nprint({made}.agentlab)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("<agentlab table ")
