"""Any rows: a frame that fits, or one error that names what does not."""

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.errors import SchemaError
from agentlab.frames.schema import Column, Table

TABLE = Table(
    name="t",
    grain="thing",
    key=(),
    columns=(
        Column("study", "string", "Study."),
        Column("run_id", "string", "Run."),
        Column("n", "Int64", "Number."),
        Column("wait_ms", "Float64", "Wait."),
        Column("good", "boolean", "Good."),
    ),
)
INTS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
GOOD = st.fixed_dictionaries(
    {"study": st.text(), "run_id": st.text()},
    optional={
        "n": st.none() | INTS,
        "wait_ms": st.none() | FLOATS,
        "good": st.none() | st.booleans(),
    },
)
ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=2)


@settings(deadline=None)
@given(st.lists(GOOD, max_size=8))
def test_what_fits_goes_in_and_comes_out(rows):
    frame = TABLE.frame(rows)
    assert len(frame) == len(rows)
    for name in TABLE.names:
        values = frame[name].astype(object)
        assert [None if pd.isna(value) else value for value in values] == [row.get(name) for row in rows]
    pd.testing.assert_frame_equal(TABLE.cast(frame), frame)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from([*TABLE.names, "other"]), ANY, max_size=5), max_size=5))
def test_anything_else_is_a_schema_error(rows):
    try:
        frame = TABLE.frame(rows)
    except SchemaError as error:
        assert str(error).startswith("table t: ")
    else:
        assert [str(dtype) for dtype in frame.dtypes] == ["string", "string", "Int64", "Float64", "boolean"]
