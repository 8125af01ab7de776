from itertools import pairwise

import matplotlib
import pytest

from agentlab.plots.style import arm_styles, style

ARMS = [f"arm {i}" for i in range(70)]


def test_settings_are_what_they_were_after_the_block() -> None:
    before = dict(matplotlib.rcParams)
    with style():
        assert matplotlib.rcParams["pdf.fonttype"] == 42
    assert dict(matplotlib.rcParams) == before


def test_settings_are_restored_after_an_error() -> None:
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), style():
        _ = 1 / 0
    assert dict(matplotlib.rcParams) == before


def test_seventy_arms_look_different() -> None:
    styles = arm_styles(ARMS)
    assert len({(s.color, s.marker) for s in styles.values()}) == 70


def test_arms_differ_without_colour() -> None:
    """In greyscale: by marker, and neighbours by line and by luminance."""
    styles = list(arm_styles(ARMS[:7]).values())
    assert len({s.marker for s in styles}) == 7
    for one, two in pairwise(styles):
        assert one.line != two.line
        assert abs(_luminance(one.color) - _luminance(two.color)) > 0.03


def test_the_same_arm_has_one_look() -> None:
    assert list(arm_styles(["a", "b", "a"])) == ["a", "b"]


def _luminance(color: str) -> float:
    red, green, blue = matplotlib.colors.to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue
