"""Attraction probabilities from noisy click counts: the estimating equation of the certified cascade learners.

The only private datum of a cascade round is the click vector X, because the positions that a user examined
follow from it: ``examined_k = 1 - sum_{j<k} X_j``. So from unbiased estimates Z of X, summed over an item's
displays (n of them, at position k, in m releases),

``C = sum Z_k`` and ``E = sum (1 - sum_{j<k} Z_j)`` satisfy ``E[C - w E] = 0``

for the item's attraction probability w, as the items above are attractive or not independently of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.estimates.chernoff import NoiseTail, chernoff_upper
from algorithms.lanes import gather, positions
from algorithms.learner import ClickConfidence
from algorithms.problems import RankedLists
from algorithms.problems.availability import mask_weights
from mechanisms.arrays import BoolArray, FloatArray, IntArray

_UNRELIABLE = 1e12  # ranks above every finite index


@dataclass(frozen=True, slots=True)
class AdditiveNoiseBound:
    """The bound for click counts with Laplace or Gaussian noise.

    Per release, ``Z = X + N`` with K independent noises, so ``C - w E`` is a sum of n independent terms of range
    1 and of noises ``N_k + w sum_{j<k} N_j``. With probability at least ``1 - e^-x``, one side,

    ``|C - w E| <= R(w)``, ``R(u) = b x + sqrt(2 x (n / 4 + s m (1 + u^2 (K - 1))))``,

    with ``s = 2 b^2`` for Laplace noise of scale b, and ``s = sigma^2``, ``b = 0`` for Gaussian noise (Hoeffding and
    the sub-gamma tail of Laplace sums in one exponent). The index is the largest u with ``u E <= C + R(u)``.

    Attributes
    ----------
    positions
        K, the length of a list.
    noise
        The law of one noise: s is its proxy, b its scale.
    exponent
        x; one, or one of each item.
    """

    positions: int
    noise: NoiseTail
    exponent: float | FloatArray

    def upper(self, n: FloatArray, m: FloatArray, clicks: FloatArray, examinations: FloatArray) -> FloatArray:
        """Return U in closed form.

        With ``R(u) = b x + sqrt(al + be u^2)`` and ``C' = C + b x``,
        ``U = (C' E + sqrt(al (E^2 - be) + be C'^2)) / (E^2 - be)``, and +inf if ``E <= sqrt(be)``.
        """
        al = 2.0 * self.exponent * (0.25 * n + self.noise.proxy * m)
        be = 2.0 * self.exponent * self.noise.proxy * (self.positions - 1) * m
        shifted = clicks + self.noise.scale * self.exponent
        determinant = examinations * examinations - be
        reliable = (examinations > 0) & (determinant > 0)
        determinant = np.where(reliable, determinant, 1.0)
        root = np.sqrt(al * determinant + be * shifted * shifted)
        return np.where(reliable, (shifted * examinations + root) / determinant, np.inf)


@dataclass(frozen=True, slots=True)
class ChernoffNoiseBound(AdditiveNoiseBound):
    """The same with Chernoff's inequality for the clicks: tighter, most so where attraction is small.

    Never above `AdditiveNoiseBound`, and equal to it where Chernoff's bound does not fall below 1, so that
    items keep their order there.
    """

    def upper(self, n: FloatArray, m: FloatArray, clicks: FloatArray, examinations: FloatArray) -> FloatArray:
        """Return U: start from the additive bound and lower it (`chernoff_upper`)."""
        closed = AdditiveNoiseBound.upper(self, n, m, clicks, examinations)
        finite = np.isfinite(closed)
        start = np.clip(closed[finite], 0.0, 1.0)
        lowered = chernoff_upper(
            start,
            n[finite],
            m[finite],
            clicks[finite],
            examinations[finite],
            noise=self.noise,
            exponent=np.broadcast_to(self.exponent, finite.shape)[finite],
            above=self.positions - 1,
        )
        closed[finite] = np.where(lowered < start, lowered, closed[finite])
        return closed


def ranked_first(upper: FloatArray, displays: FloatArray) -> FloatArray:
    """Return finite indices: items without a bound rank above all others, the least displayed first."""
    return np.where(np.isfinite(upper), np.minimum(upper, 0.5 * _UNRELIABLE), _UNRELIABLE - displays)


class RankedItems:
    """Ranking of items: an index of each item, and the number of its displays.

    Parameters
    ----------
    lanes
        The number of independent runs.
    structure
        The ranked lists.
    """

    def __init__(self, lanes: int, structure: RankedLists) -> None:
        self.structure = structure
        self.displays: FloatArray = np.zeros((lanes, structure.items))
        self.index: FloatArray = np.full((lanes, structure.items), _UNRELIABLE)

    def best_lists(self, available: BoolArray | None = None) -> IntArray:
        """Return every lane's K items of largest index, the least displayed first, shape (lanes, K).

        Reward depends on the set only, and the top positions are examined most and carry least noise. Of
        equally often displayed items the one of larger index is first, then the lowest id. `available`: as of
        `mask_weights`.
        """
        return self.lists_of(mask_weights(self.index, available), self.displays)

    def lists_of(self, index: FloatArray, displays: FloatArray) -> IntArray:
        """Return the lists of lanes in which items have these indices and displays."""
        chosen = self.structure.solve(index)
        order = np.argsort(gather(displays, chosen), axis=1, kind="stable")
        return gather(chosen, order)


class ClickEstimates(RankedItems):
    """Per item: displays n, releases m, click estimate C, examination estimate E, and its rank.

    Parameters
    ----------
    lanes
        The number of independent runs.
    structure
        The ranked lists.
    noise
        The law of the noise on clicks.
    """

    def __init__(self, lanes: int, structure: RankedLists, noise: NoiseTail) -> None:
        super().__init__(lanes, structure)
        shape = (lanes, structure.items)
        self.noise = noise
        self.releases: FloatArray = np.zeros(shape)
        self.clicks: FloatArray = np.zeros(shape)
        self.examinations: FloatArray = np.zeros(shape)

    def confidence(self) -> ClickConfidence:
        """Return the sums and indices."""
        return ClickConfidence(self.clicks, self.examinations, self.displays, self.releases, self.index)

    def count(self, shown: IntArray, clicks: FloatArray, *, rounds: IntArray, lanes: IntArray) -> None:
        """Add one release for the items shown, and leave the indices.

        Parameters
        ----------
        shown
            The lists, shape (lanes, K).
        clicks
            Unbiased estimates of the clicks per position, shape (lanes, K).
        rounds
            The number of rounds for which each lane's list was shown, shape (lanes,).
        lanes
            The lanes that have a release.
        """
        at, clicks = positions(self.displays, shown)[lanes], clicks[lanes]
        long = rounds[lanes, np.newaxis].astype(np.float64)
        self.displays.reshape(-1)[at] += long
        self.releases.reshape(-1)[at] += 1.0
        self.clicks.reshape(-1)[at] += clicks
        self.examinations.reshape(-1)[at] += long - (np.cumsum(clicks, axis=1) - clicks)

    def renew(self, exponent: float | FloatArray, lanes: npt.NDArray[np.bool_]) -> None:
        """Compute the indices of these lanes, with an exponent: one, of each lane or of each item."""
        own, n = np.flatnonzero(lanes), self.displays[lanes]
        level = np.broadcast_to(exponent, self.displays.shape)[own]
        upper = ChernoffNoiseBound(self.structure.size, self.noise, level).upper(
            np.maximum(n, 1.0), np.maximum(self.releases[own], 1.0), self.clicks[own], self.examinations[own]
        )
        self.index[own] = np.where(n > 0, ranked_first(upper, n), self.index[own])
