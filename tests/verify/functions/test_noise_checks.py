"""The source of a function's randomness, found from agreement among four calls."""

from types import SimpleNamespace

import numpy as np
import pytest

from verify.findings.finding import Statement
from verify.functions.noise_checks import NoiseChecks
from verify.neighbouring.adjacency import Pair


class Calls:
    """Runs of a function, the same for both data sets, whose outputs are known beforehand."""

    def __init__(self, outputs):
        self.outputs, self.asked = outputs, []

    def outputs_with_effects(self, data, n, sequence, global_seed=None):
        self.asked.append(n)
        return SimpleNamespace(rows=self.outputs[(len(self.asked) - 1) % len(self.outputs)])


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ("aaa", None),
        ("abba", Statement.GLOBAL_RANDOMNESS),  # one for each global random state
        ("abab", Statement.OWN_RANDOMNESS),  # every other call
        ("aaba", Statement.OWN_RANDOMNESS),  # every third call
        ("abca", Statement.OWN_RANDOMNESS),
        ("aabb", Statement.OWN_RANDOMNESS),
        ("abbc", Statement.OWN_RANDOMNESS),
        ("abcd", Statement.OWN_RANDOMNESS),
    ],
)
def test_whose_randomness_it_is(outputs, found):
    calls = Calls(outputs)
    assert NoiseChecks(calls, Pair(np.array(0.0), np.array(1.0)), 0).foreign_randomness(10) is found
    assert all(n % 2 for n in calls.asked), "so that every other output moves on from one call to the next"
