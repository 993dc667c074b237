"""Means of noisy messages and their upper confidence bounds, for local semi-bandit learners."""

from __future__ import annotations

import numpy as np

from algorithms.lanes import gather, places
from algorithms.learner import Confidence
from mechanisms.arrays import FloatArray, IntArray


class MessageMeans:
    """Per arm: messages n, their mean, and the index ``mean + root / sqrt(n)``, clipped to [0, 1].

    An oracle is promised weights in [0, 1]; an arm without a message has index 1. An index changes only when
    a message about its arm arrives. (Chen et al. cap at 1 and play any super arm where an index is not positive:
    the oracle's answer to the clipped ones is such a choice.)

    Parameters
    ----------
    lanes, arms
        Independent runs, and base arms.
    root
        The width of the confidence radius.
    """

    def __init__(self, lanes: int, arms: int, *, root: float) -> None:
        self.count: FloatArray = np.zeros((lanes, arms))
        self.mean: FloatArray = np.zeros((lanes, arms))
        self.index: FloatArray = np.ones((lanes, arms))
        self._root = root

    def confidence(self) -> Confidence:
        """Return the means, their counts (a noise in each message) and indices."""
        return Confidence(self.mean, self.count, self.count, self.index)

    def add(self, arms: IntArray, messages: FloatArray) -> None:
        """Average one more message into each of `arms`, shape (lanes, k), negative for none."""
        at, which = places(self.count, arms)
        count = self.count.take(at) + 1.0
        mean = self.mean.take(at)
        mean += (messages[which] - mean) / count
        self.count.reshape(-1)[at] = count
        self.mean.reshape(-1)[at] = mean
        self.index.reshape(-1)[at] = np.clip(self._upper(at, mean, count), 0.0, 1.0)

    def widen(self, *, root: float) -> None:
        """Compute all indices again, with another width."""
        self._root = root
        at = np.flatnonzero(self.count)
        upper = self._upper(at, self.mean.take(at), self.count.take(at))
        self.index.reshape(-1)[at] = np.clip(upper, 0.0, 1.0)

    def _upper(self, at: IntArray, mean: FloatArray, count: FloatArray) -> FloatArray:
        """Return upper confidence bounds of arms at places of the arrays, from their new means and counts."""
        return np.asarray(mean + self._root / np.sqrt(count))


def least_counted(count: FloatArray, super_arm: IntArray, many: int = 1) -> IntArray:
    """Return the positions of the least counted arms in each lane's super arm, shape (lanes, many); ties by lowest id.

    A function of public numbers. Arms need not be in the order of their ids (a path's edges are not). If a super
    arm has fewer arms, padding comes last.
    """
    rank = gather(count, super_arm) * count.shape[1] + super_arm
    rank[super_arm < 0] = np.inf
    if many == 1:
        return np.asarray(rank.argmin(axis=1)[:, np.newaxis], dtype=np.int64)
    return np.asarray(rank.argsort(axis=1, kind="stable")[:, :many], dtype=np.int64)
