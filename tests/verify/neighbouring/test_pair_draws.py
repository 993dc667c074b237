"""Draws of pairs are counted as they are made, also those that are made again."""

import numpy as np
import pytest

from verify.events.view_sample import Column, ViewSample
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.pair_draws import PairDraws

PAIR = Pair(np.array(0.0), np.array(1.0))


class CountedDraws:
    """Uniform numbers on [0, 1), moved by 0.2 in the other world, or mirrored there, too."""

    def __init__(self, mirrored):
        self.mirrored, self.rows = mirrored, 0

    def __call__(self, pair, other, n, seed):
        self.rows += n
        uniform = np.random.default_rng(seed).random(n)
        values = (1.2 - uniform if self.mirrored else 0.2 + uniform) if other else uniform
        return ViewSample(values[:, np.newaxis], (Column("output", "the output", "real"),))


@pytest.mark.parametrize("mirrored", [False, True])
def test_every_draw_is_counted(mirrored):
    source = CountedDraws(mirrored)
    draws = PairDraws(source, seed=1, remaining_draws=1_000)
    first, second = draws.draw_within_budget(PAIR, 200, look=0)
    assert draws.coupled is not mirrored
    assert draws.spent == source.rows == (600 if mirrored else 400)
    assert np.allclose(second.values, first.values + 0.2) is not mirrored
    draws.draw_within_budget(PAIR, 200, look=1)
    assert draws.spent == source.rows, "how worlds are drawn is known"


def test_what_is_not_left_is_not_drawn():
    source = CountedDraws(mirrored=False)
    draws = PairDraws(source, seed=1, remaining_draws=399)
    assert draws.draw_within_budget(PAIR, 200, look=0) is None
    assert (draws.spent, source.rows, draws.remaining_draws) == (0, 0, 399)
