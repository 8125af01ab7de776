import numpy as np

from agentlab.stats.ramp import median_curve


def curve(times, values):
    return np.array(times, dtype=float), np.array(values, dtype=float)


def test_the_middle_is_known_where_all_curves_are():
    at, middle = median_curve([curve([0, 2, 4], [0, 2, 4]), curve([1, 3], [10, 10]), curve([0, 5], [5, 5])])
    assert at.tolist() == [1.0, 2.0, 3.0]
    assert middle.tolist() == [5.0, 5.0, 5.0]


def test_between_samples_a_curve_changes_evenly():
    at, middle = median_curve([curve([0, 4], [0, 8]), curve([0, 1, 4], [0, 0, 0])])
    assert at.tolist() == [0.0, 1.0, 4.0] and middle.tolist() == [0.0, 1.0, 4.0]


def test_one_curve_is_its_own_middle_and_none_has_none():
    at, middle = median_curve([curve([1, 2], [3, 4]), curve([], [])])
    assert at.tolist() == [1.0, 2.0] and middle.tolist() == [3.0, 4.0]
    assert len(median_curve([])[0]) == 0
    assert len(median_curve([curve([0, 1], [1, 1]), curve([2, 3], [1, 1])])[0]) == 0
