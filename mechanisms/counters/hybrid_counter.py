"""The hybrid counter: a private running sum for an unknown horizon.

Chan, Shi & Song 2011, "Private and continual release of statistics", Sec. 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.counters.continual import Factorization, Stream, checked_steps, node_variance
from mechanisms.counters.tree_counter import BinaryStream, BinaryTree, in_levels
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.laplace import Laplace
from mechanisms.noise.mechanism import checked_sensitivity
from mechanisms.noise.noise_sources import NoiseSource
from mechanisms.numerics.rounding import divide_up
from mechanisms.parameters import positive
from mechanisms.profiles.bounding_profiles import PureProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile


@dataclass(frozen=True, kw_only=True)
class Hybrid:
    """The hybrid mechanism, for an unknown horizon: ε/2 to segments, ε/2 to a tree inside the open one.

    Segments end at powers of two. A complete one is released with Lap(2 l1 / ε); inside (2^k, 2^{k+1}) runs a
    binary tree over at most 2^k - 1 increments, hence k levels, with node noise Lap(2k l1 / ε).

    Parameters
    ----------
    epsilon
        Positive and finite.
    sensitivity
        The movement by one record of the one increment that holds it.
    """

    epsilon: float
    sensitivity: Sensitivity = UNIT

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        positive("sensitivity.l1", self.sensitivity.l1)

    @property
    def horizon(self) -> None:
        """None: there is no limit."""
        return None

    def node(self, levels: int) -> Laplace:
        """Return the mechanism of a node if an increment lies in that many of them: Lap(2 levels l1 / ε)."""
        moved = in_levels(self.sensitivity, levels)
        return Laplace(scale=2.0 * divide_up(moved.l1, self.epsilon), sensitivity=moved)

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return pure ε, in proportion to the movement: l1 (ε/2 + ε/2) / l1 of `sensitivity`."""
        l1 = self.sensitivity.l1 if sensitivity is None else sensitivity.l1
        if math.isinf(l1):
            return self.node(1).profile(sensitivity)
        # At least the loss at the rounded-up scales: 1/b₁ + k/b_k <= ε / l1.
        return PureProfile(Fraction(self.epsilon) * Fraction(l1) / Fraction(self.sensitivity.l1))

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return 8 (l1/ε)² (k + 1 + k² ones(t - 2^k)), k = ⌊log₂ t⌋."""
        steps = checked_steps(t, None)
        k = np.frexp(steps.astype(np.float64))[1] - 1
        ones = np.bitwise_count(steps - (np.int64(1) << k.astype(np.int64)))
        weight: FloatArray = k + 1.0 + np.square(k.astype(np.float64)) * ones
        return 8.0 * (self.sensitivity.l1 / self.epsilon) ** 2 * weight

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> HybridStream:
        """Start a stream of increments of this shape (lanes first)."""
        return HybridStream(self, shape, noise)

    def materialize(self, steps: int) -> Factorization:
        """Return the matrices of the first steps; see `Factorization`."""
        ends = np.arange(1, steps + 1)
        rows, columns, deviation = [], [], []
        for k in range(steps.bit_length()):
            first, last = 1 << k, min((1 << (k + 1)) - 1, steps)
            rows.append((ends <= first) & (ends > first // 2))
            columns.append(ends >= first)
            deviation.append(math.sqrt(node_variance(self.node(1))))
            if last > first:
                inner = BinaryTree(horizon=last - first, mechanism=self.node(k)).materialize(last - first)
                for column, row, own in zip(inner.left.T, inner.right, inner.deviation, strict=True):
                    rows.append(np.concatenate([np.zeros(first), row, np.zeros(steps - last)]) > 0)
                    columns.append(np.concatenate([np.zeros(first), column, np.zeros(steps - last)]) > 0)
                    deviation.append(own)
        return Factorization(
            np.array(columns, dtype=float).T, np.array(rows, dtype=float), np.array(deviation)
        )


class HybridStream(Stream):
    """One stream of the hybrid mechanism."""

    def __init__(
        self, counter: Hybrid, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator
    ) -> None:
        super().__init__(shape, None, counter.node(1), noise)
        self._counter = counter
        self._complete = self._zeros()
        self._segment = self._zeros()
        self._tree: BinaryStream | None = None

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        value = self._next(increment)
        self._segment += value
        if self.steps & (self.steps - 1) == 0:
            assert self._mechanism is not None
            self._complete += self._mechanism.release(self._segment, self._noise)
            self._segment = self._zeros()
            k = self.steps.bit_length() - 1
            self._tree = (
                BinaryStream(self.shape, None, k, self._counter.node(k), self._noise) if k > 0 else None
            )
            return self._complete.copy()
        assert self._tree is not None
        return self._complete + self._tree.step(value)
