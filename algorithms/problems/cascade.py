"""Cascading bandits: a user goes down a list and clicks the first attractive item."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from algorithms.lanes import gather, lookup
from algorithms.problems.problem import BernoulliProblem, checked_means
from algorithms.problems.ranked_lists import RankedLists
from mechanisms import OneHot, Randomness
from mechanisms.arrays import FloatArray, IntArray


class Cascade(BernoulliProblem):
    """Item e attracts a user with probability ``w(e)``, independently of the other items.

    A record is one user's attraction vector in ``{0, 1}^L``. Shown a list, the user clicks the first item
    that attracts (record value 1) and examines no further; the feedback is the click vector, one-hot or
    zero. The examined positions follow from it, ``examined_k = 1 - sum_{j<k} click_j``, so it is all the
    private data that a round yields (Kveton et al. 2015).

    Parameters
    ----------
    items, positions
        L items, of which a list shows K.
    means
        The attraction probability of each item.

    Raises
    ------
    ProblemError
        Unless ``1 <= positions <= items`` and there is one mean in [0, 1] for each item.
    """

    structure: RankedLists

    def __init__(self, items: int, positions: int, means: npt.ArrayLike) -> None:
        self.structure = RankedLists(items, positions)
        self.means = checked_means(means, items)

    def __repr__(self) -> str:
        return (
            f"Cascade(items={self.structure.items}, positions={self.structure.positions}, "
            f"means={self.means.tolist()})"
        )

    @cached_property
    def feedback_domain(self) -> OneHot:
        """Click vectors of K positions, at most one click."""
        return OneHot(self.structure.positions, allow_none=True)

    def feedback(self, records: FloatArray, super_arm: IntArray) -> FloatArray:
        """Return the click vectors of given users on given lists: ``(..., lanes, items)`` to positions."""
        attracted = gather(records, super_arm) == 1.0
        first = attracted.argmax(axis=-1)[..., np.newaxis]
        return np.asarray((attracted & (np.arange(self.structure.positions) == first)).astype(np.float64))

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the click vectors ``(lanes, positions)`` from one uniform number a lane.

        With ``s_k = prod_{j<=k} (1 - w(a_j))`` the first click is at or above position k with probability
        ``1 - s_k``, which is the event ``u >= s_k`` for u uniform on [0, 1).
        """
        unclicked = 1.0 - lookup(self.means, super_arm)
        for k in range(1, self.structure.positions):  # five times faster than a cumulative product
            unclicked[:, k] *= unclicked[:, k - 1]
        uniform = randomness.random((len(super_arm), 1))
        clicks = (uniform >= unclicked).astype(np.float64)
        for k in range(self.structure.positions - 1, 0, -1):
            clicks[:, k] -= clicks[:, k - 1]
        return clicks

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the clicks of `rounds` users per position, ``(lanes, positions)``.

        Of the users that examine position k a ``Bin(., w(a_k))`` number clicks, and the others go on: the
        histogram is multinomial.
        """
        attraction = lookup(self.means, super_arm)
        clicks = np.empty(super_arm.shape)
        examining = rounds.copy()
        for k in range(self.structure.positions):
            clicked = randomness.binomial(examining, attraction[:, k])
            clicks[:, k] = clicked
            examining -= clicked
        return clicks
