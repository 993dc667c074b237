"""The rules of reports, on runs whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.simulate import Trace
from verify.experiments import comparisons
from verify.experiments.simulated_runs import SimulatedRuns

ROUNDS = np.unique(np.geomspace(1, 10_000, 60).round()).astype(np.int64)


def line(curve, noise=0.0, x=0.0, runs=8):
    """One point: the runs lie around the curve, `noise` to either side."""
    offsets = noise * np.linspace(-1, 1, runs)
    regret = np.array([curve(t) for t in ROUNDS.astype(float)])[:, np.newaxis] * np.ones(runs) + offsets
    reward = 2.0 * ROUNDS[:, np.newaxis] - regret
    return x, SimulatedRuns(Trace(ROUNDS, regret, reward, 1.0), "a", "b", "replace one")


LOW, HIGH, WIDE = (
    line(lambda t: 10.0, 1.0),
    line(lambda t: 20.0, 1.0),
    line(lambda t: 15.0, 40.0),
)
RESULTS = {
    "low": [LOW], "high": [HIGH], "wide": [WIDE],
    "log": [line(lambda t: 5 * np.log(t))], "linear": [line(lambda t: 0.1 * t)],
    "falling": [line(lambda t, x=x: 100 / x, 0.5, x) for x in (1.0, 2.0, 4.0)],
    "bump": [line(lambda t, y=y: y, 0.5, x) for x, y in ((1.0, 100.0), (2.0, 10.0), (4.0, 30.0))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (comparisons.has_falling_order("high", "low"), True),
        (comparisons.has_falling_order("low", "high"), False),
        (comparisons.has_falling_order("wide", "low"), None),
        (comparisons.has_less_regret("low", "high"), True),
        (comparisons.has_less_regret("high", "low"), False),
        (comparisons.has_less_regret("low", "wide"), None),
        (comparisons.within("high", "low", 2.5), True),
        (comparisons.within("high", "low", 1.5), False),
        (comparisons.near_optimum("low", 0.99), True),
        (comparisons.near_optimum("linear", 0.99), False),
        (comparisons.decreases_along("falling"), True),
        (comparisons.decreases_along("bump"), False),
        (comparisons.is_linear_in("falling", lambda x: 1 / x), True),
        (comparisons.is_linear_in("bump", lambda x: 1 / x), False),
        (comparisons.logarithmic("log"), True),
        (comparisons.logarithmic("linear"), False),
        (comparisons.levels("log"), True),
        (comparisons.levels("linear"), False),
        (
            comparisons.all_of(
                comparisons.has_falling_order("high", "low"), comparisons.has_falling_order("wide", "low")
            ),
            None,
        ),
        (
            comparisons.all_of(
                comparisons.has_falling_order("low", "high"), comparisons.has_falling_order("wide", "low")
            ),
            False,
        ),
    ],
)
def test_what_a_rule_says(rule, holds):
    seen = rule(RESULTS)
    assert seen.holds is holds
    assert seen.words


def test_doublings_are_of_the_rounds():
    rounds = np.arange(100, 10_001, 100)
    regret = 0.1 * rounds[:, np.newaxis] * np.ones(2)
    runs = SimulatedRuns(Trace(rounds, regret, regret, 1.0), "a", "b", "replace one")
    said = comparisons.logarithmic("it")({"it": [(0.0, runs)]}).words
    assert said.startswith("it: the last doubling of the rounds adds 500 ")
    assert " the one before 250 " in said


def test_what_is_equal_is_not_told_apart():
    values = np.array([1.0, 2.0])
    assert comparisons.is_larger(values, values) is None
    assert comparisons.is_larger(np.array([3.0]), np.array([1.0])) is None  # one run tells nothing
    assert comparisons.in_words(np.array([3.0])) == "3"


def test_runs_that_differ_by_rounding_are_equal():
    equal = np.full(20, 3.386e5)
    equal[::2] = np.nextafter(equal[0], np.inf)
    assert comparisons.in_words(equal) == "3.386e+05 ± 0"
    assert comparisons.in_words(np.array([1.0, 1.0 + 1e-9])) == "1 ± 5e-10"
