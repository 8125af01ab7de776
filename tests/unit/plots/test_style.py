from itertools import pairwise

import matplotlib
import pytest

from agentlab.plots.canvas import new_figure
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


def test_ticks_are_whole_numbers_without_an_offset():
    with style():
        ax = new_figure(4, 2, shown=False).add_subplot()
        ax.plot([10.0004, 10.0083], [0, 1])
        ax.figure.canvas.draw()
    assert ax.xaxis.get_offset_text().get_text() == ""
    assert ax.get_xticklabels()[1].get_text().startswith("10.0")
