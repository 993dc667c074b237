import numpy as np

from algorithms.estimates.confidence import ratio_or_infinity, ucb1_radius


def test_a_ratio_is_infinite_where_nothing_is_counted():
    counts = np.array([[0.0, 1.0, 4.0]])
    np.testing.assert_array_equal(ratio_or_infinity(2.0, counts), [[np.inf, 2.0, 0.5]])
    np.testing.assert_array_equal(ratio_or_infinity(0.0, counts), [[np.inf, 0.0, 0.0]])


def test_ratios_may_differ_by_element():
    numerators = np.array([[3.0, -1.0]])
    np.testing.assert_array_equal(ratio_or_infinity(numerators, np.array([[0.0, 2.0]])), [[np.inf, -0.5]])


def test_the_radius_is_the_root_of_the_ratio():
    np.testing.assert_array_equal(ucb1_radius(8.0, np.array([[0.0, 2.0, 8.0]])), [[np.inf, 2.0, 1.0]])
