import json

import pytest

from agentlab.frames.values import as_bool, as_count, as_float, as_int, as_text, ms, share, total


@pytest.mark.parametrize("value", [None, True, "3", 3.5, float("nan"), float("inf"), 2**64, [], {}])
def test_what_is_no_whole_number_is_unknown(value):
    assert as_int(value) is None


def test_numbers():
    assert (as_int(3.0), as_int(-2), as_count(-2), as_count(0)) == (3, -2, None, 0)
    assert (as_float(2), as_float(float("inf")), as_float("2"), as_float(False), as_float(10**400)) == (
        2.0,
        None,
        None,
        None,
        None,
    )
    assert (as_bool(True), as_bool(1), as_bool("true")) == (True, None, None)


def test_mixed_objects_become_text_and_come_back():
    mixed = ["ok", 402, None, {}, {"b": 1, "a": [True]}]
    texts = [as_text(value) for value in mixed]
    assert texts == ["ok", "402", None, "{}", '{"a": [true], "b": 1}']
    assert json.loads(texts[4] or "") == mixed[4]


def test_nothing_is_clamped_or_made_up():
    assert share(120, 100) is None
    assert share(-1, 100) is None
    assert share(0, 0) is None
    assert share(None, 10) is None
    assert share(0, 10) == 0.0
    assert total(1, None, 2) is None
    assert total(1, 2) == 3
    assert ms(None, 5) is None
    assert ms(2_500_000, 0) == 2.5
