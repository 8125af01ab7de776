"""JSON as a JavaScript engine writes it."""

import json
import math
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.importers.script_json import dumps

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_nothing_is_lost(data):
    # every number is a double there
    assert json.loads(dumps(data), parse_int=float) == data


@pytest.mark.parametrize(
    "value, text",
    [
        (1.0, "1"), (-0.0, "0"), (0.5, "0.5"), (1e21, "1e+21"), (1.5e300, "1.5e+300"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (1.25e-10, "1.25e-10"), (123456789012345680000.0, "123456789012345680000"),
        (0.1 + 0.2, "0.30000000000000004"), (5e-324, "5e-324"), (True, "true"), (None, "null"),
        ([], "[]"), ({}, "{}"), ("\u2028\x7f\x01\n\"\\", '"\u2028\x7f\\u0001\\n\\"\\\\"'),
    ],
)  # fmt: skip
def test_numbers_and_texts(value, text):
    assert dumps(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_json_does_not_have_is_refused(value):
    with pytest.raises(ValueError, match="no JSON number"):
        dumps([value])


def test_node_writes_the_same(tmp_path):
    """A real JavaScript engine reads it and writes it back, byte for byte."""
    node = shutil.which("node")
    assert node, "agents need Node, so it is here"
    data = {
        "a": [1.0, 0.1, 1e-7, 3e-6, 1e21, 2**53, -1.5e-9, {"b": [], "c": {}}],
        "d": "\u00fc\n\u2028",
        "e": None,
    }
    (tmp_path / "x.json").write_text(dumps(data), encoding="utf-8")
    code = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync('x.json')), null, 2))"
    done = subprocess.run([node, "-e", code], cwd=tmp_path, capture_output=True, check=True, timeout=30)
    assert done.stdout == (tmp_path / "x.json").read_bytes()
