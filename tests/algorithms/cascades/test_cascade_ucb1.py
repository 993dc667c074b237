import math

import numpy as np
import pytest

from algorithms import CascadeUCB1
from algorithms.cascades.cascade_ucb1 import examined_positions
from algorithms.problems import Cascade

MEANS = [0.2, 0.7, 0.1, 0.5, 0.3, 0.5]


@pytest.mark.few(1)
@pytest.mark.parametrize("positions", [1, 3, 6])
def test_it_plays_as_the_pseudocode(positions, recorded_run):
    run = recorded_run(CascadeUCB1, Cascade(6, positions, MEANS), 300, 1)
    for lane in (0, 17, 63):
        observed = [[w] for w in run.records[0, lane]]
        for t in range(1, 301):
            past = max(t - 1, 1)  # ln 0 at t = 1 is read as 0
            bound = [sum(w) / len(w) + math.sqrt(1.5 * math.log(past) / len(w)) for w in observed]
            shown = sorted(range(6), key=lambda e: (-bound[e], e))[:positions]
            assert run.actions[t - 1, lane].tolist() == shown
            for e in shown:
                observed[e].append(run.records[t, lane, e])
                if run.records[t, lane, e]:
                    break  # the user clicks and looks no further


def test_examined_positions_follow_from_the_click():
    clicks = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    expected = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1.0]])
    np.testing.assert_array_equal(examined_positions(3)(clicks), expected)
    np.testing.assert_array_equal(
        examined_positions(3)(np.stack([clicks, clicks])), np.stack([expected, expected])
    )
