import pandas as pd
import pytest

from agentlab.errors import SchemaError
from agentlab.frames.build import BUILDERS
from agentlab.frames.schema import Column, Table
from agentlab.frames.tables import TABLES

TABLE = Table(
    name="t",
    grain="thing",
    key=("n",),
    columns=(
        Column("study", "string", "Study."),
        Column("run_id", "string", "Run."),
        Column("n", "Int64", "Number."),
        Column("wait_ms", "Float64", "Wait."),
        Column("good", "boolean", "Good."),
    ),
)
ROW = {"study": "s", "run_id": "r", "n": 1, "wait_ms": 2.5, "good": True}


def test_frame_has_the_dtypes_and_order_of_the_table():
    frame = TABLE.frame([{"good": True, "n": 1, "study": "s", "run_id": "r"}])
    assert list(frame.columns) == list(TABLE.names)
    assert [str(d) for d in frame.dtypes] == ["string", "string", "Int64", "Float64", "boolean"]
    assert frame["wait_ms"].isna().all()


def test_zero_rows_give_the_same_dtypes():
    assert list(TABLE.frame([]).dtypes) == list(TABLE.frame([ROW]).dtypes)
    TABLE.check(TABLE.frame([]))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_builds_and_checks_an_empty_frame(name):
    table = TABLES[name]
    assert list(table.names[:6]) == ["study", "arm", "run_id", "run_index", "block", "eligible"]
    assert not any(str(dtype) == "object" for dtype in table.check(table.frame([])).dtypes)
    assert name in BUILDERS


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"n": 1.5}, "'n' (Int64) holds float"),
        ({"n": True}, "'n' (Int64) holds bool"),
        ({"n": 2**63}, "outside 64 bits"),
        ({"wait_ms": float("nan")}, "NaN or infinity"),
        ({"wait_ms": float("-inf")}, "NaN or infinity"),
        ({"study": 402}, "'study' (string) holds int"),
        ({"good": "yes"}, "'good' (boolean) holds str"),
        ({"other": 1}, "'other' is no column"),
    ],
)
def test_a_value_that_does_not_fit_is_named(value, says):
    with pytest.raises(SchemaError, match="table t: ") as caught:
        TABLE.frame([ROW, ROW | value])
    assert says in str(caught.value)


def test_all_violations_are_listed_at_once():
    frame = TABLE.frame([ROW, ROW])[["run_id", "n", "wait_ms", "good"]].assign(extra=1, wait_ms=["a", "b"])
    with pytest.raises(SchemaError) as caught:
        TABLE.check(frame)
    for part in ("'study' is missing", "'extra' is not part", "'wait_ms' is"):
        assert part in str(caught.value)


def test_repeated_and_unnamed_rows_are_violations():
    with pytest.raises(SchemaError, match="1 rows repeat the key"):
        TABLE.check(TABLE.frame([ROW, ROW]))
    with pytest.raises(SchemaError, match="key column 'n' has 1 NA"):
        TABLE.check(TABLE.frame([ROW | {"n": None}]))
    with pytest.raises(SchemaError, match="another order"):
        TABLE.check(TABLE.frame([ROW])[list(reversed(TABLE.names))])


def test_labels_hold_the_unit():
    assert TABLES["turns"].label("ttft_ms") == "TTFT (ms)"
    assert TABLES["requests"].label("cache_read_tokens") == "Cache read (tokens)"
    assert TABLES["requests"].label("cost_usd") == "Cost (USD)"
    assert TABLES["pressure"].label("cpu_some_pct") == "Cpu some (%)"
    assert TABLES["requests"].label("cache_hit_rate") == "Cache hit rate"
    with pytest.raises(SchemaError, match="has no column 'nope'"):
        TABLES["turns"].label("nope")


def test_definitions_check_themselves():
    with pytest.raises(SchemaError, match="ambiguous"):
        Column("input_tokens", "Int64", "Which?")
    with pytest.raises(SchemaError, match="ends in _ms"):
        Column("wait_ms", "Float64", "Wait.", unit="s")
    with pytest.raises(SchemaError, match="dtype 'object'"):
        Column("x", "object", "X.")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"given twice.*'z' is no column"):
        Table(name="t", grain="x", key=("z",), columns=(*TABLE.columns, TABLE.columns[0]))


def test_digest_changes_with_the_definition():
    other = Table(name="t", grain="thing", key=("n",), columns=(*TABLE.columns, Column("x", "string", "X.")))
    assert other.digest != TABLE.digest
    assert TABLE.digest == Table(name="t", grain="thing", key=("n",), columns=TABLE.columns).digest


def test_a_frame_survives_parquet(tmp_path):
    frame = TABLE.frame([ROW, {"study": "s", "run_id": "r", "n": 2}])
    frame.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(TABLE.cast(pd.read_parquet(tmp_path / "t.parquet")), frame)
