"""Counters on binary trees, with nodes that are released when they are complete.

Chan, Shi & Song 2011, "Private and continual release of statistics"; Dwork, Naor, Pitassi & Rothblum 2010.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.counters.continual import (
    Factorization,
    NodeNoise,
    Stream,
    check_node_noise,
    checked_horizon,
    checked_steps,
    node_variance,
)
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.discrete_laplace import DiscreteLaplace
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.laplace import Laplace
from mechanisms.noise.mechanism import checked_sensitivity
from mechanisms.noise.noise_sources import NoiseSource
from mechanisms.numerics.rounding import multiply_up, square_root_up
from mechanisms.parameters import ParameterError, positive
from mechanisms.profiles.privacy_profile import PrivacyProfile


def in_levels(moved: Sensitivity, levels: int) -> Sensitivity:
    """Return the movement of the vector of all nodes by a record that lies in one node of each level."""
    l1 = multiply_up(moved.l1, float(levels))
    l2 = multiply_up(moved.l2, square_root_up(Fraction(levels)))
    return Sensitivity(l1, min(l1, l2), moved.linf)


@dataclass(frozen=True, kw_only=True)
class TreeOfNodes(abc.ABC):
    """Base class of counters on trees: a horizon, node noise, and a record in at most one node per level.

    Parameters
    ----------
    horizon
        T >= 1, the largest number of steps.
    mechanism
        Adds the noise of one node: Laplace, Gaussian or discrete Laplace.
    sensitivity
        The largest change of an increment by the one record that it holds.
    """

    horizon: int
    mechanism: NodeNoise
    sensitivity: Sensitivity = UNIT

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", checked_horizon(self.horizon))
        check_node_noise(self.mechanism, Laplace, Gaussian, DiscreteLaplace)
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))

    @property
    @abc.abstractmethod
    def levels(self) -> int:
        """Largest number of nodes that hold one record."""

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the profile of all outputs: the node mechanism's at one record's movement of all nodes."""
        moved = self.sensitivity if sensitivity is None else sensitivity
        return self.mechanism.profile(in_levels(moved, self.levels))

    @abc.abstractmethod
    def weight(self, t: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the number of nodes with noise in the running sum after t steps, elementwise."""

    def variance(self, t: npt.ArrayLike) -> FloatArray:
        """Return the node variance times `weight`.

        Raises
        ------
        HorizonExceeded
            If a t is not in 1 .. horizon.
        """
        return np.asarray(
            node_variance(self.mechanism) * self.weight(checked_steps(t, self.horizon)), np.float64
        )


@dataclass(frozen=True, kw_only=True)
class BinaryTree(TreeOfNodes):
    """The binary mechanism: the sum of t increments is that of one complete node per binary digit of t.

    Every increment lies in at most ⌊log₂ T⌋ + 1 released nodes, so Laplace noise of scale
    l1 (⌊log₂ T⌋ + 1) / ε is exactly ε-differentially private.

    Examples
    --------
    >>> import numpy as np
    >>> tree = BinaryTree.for_epsilon(1.0, horizon=1000)
    >>> stream = tree.start((1,), np.random.default_rng(0))
    >>> for _ in range(1000):
    ...     noisy = stream.step([1.0])
    >>> bool(abs(noisy[0] - 1000) < 10 * tree.variance(1000) ** 0.5)
    True
    """

    @classmethod
    def for_epsilon(
        cls, epsilon: float, *, horizon: int, sensitivity: Sensitivity | float = UNIT
    ) -> BinaryTree:
        """Return the ε-DP counter with Laplace noise of the exact scale l1 (⌊log₂ T⌋ + 1) / ε."""
        increment = checked_sensitivity(sensitivity)
        moved = in_levels(increment, checked_horizon(horizon).bit_length())
        return cls(
            horizon=horizon,
            mechanism=Laplace.for_epsilon(epsilon, sensitivity=moved),
            sensitivity=increment,
        )

    @classmethod
    def for_rho(
        cls, rho: float, *, horizon: int, sensitivity: Sensitivity | float = UNIT, delta: float | None = None
    ) -> BinaryTree:
        """Return the ρ-zCDP counter with Gaussian noise σ = l2 √((⌊log₂ T⌋ + 1) / 2ρ)."""
        increment = checked_sensitivity(sensitivity)
        moved = in_levels(increment, checked_horizon(horizon).bit_length())
        return cls(
            horizon=horizon,
            mechanism=Gaussian.for_rho(rho, sensitivity=moved, delta=delta),
            sensitivity=increment,
        )

    @classmethod
    def as_published(
        cls, epsilon: float, *, horizon: int, sensitivity: Sensitivity | float = UNIT, factor: float = 2.0
    ) -> BinaryTree:
        """Return the tree of Chen et al. 2020 with node noise Lap(factor · l1 ln T / ε).

        Factor 2 is their Algorithm 3 (Theorem 7), factor 1 their Lemma 1. The profile is exact: the
        loss is (⌊log₂ T⌋ + 1) / (factor · ln T) ε, at T = 10⁵ 0.738 ε for factor 2 and 1.477 ε for factor 1.

        Raises
        ------
        ParameterError
            If horizon is 1 (the printed scale is 0 there), or epsilon or factor not positive and finite.
        """
        checked_horizon(horizon)
        if horizon == 1:
            raise ParameterError("horizon = 1: the published scale, 2 K ln T / ε, is no noise there")
        increment = checked_sensitivity(sensitivity)
        scale = positive("factor", factor) * increment.l1 * math.log(horizon) / positive("epsilon", epsilon)
        moved = in_levels(increment, horizon.bit_length())
        return cls(horizon=horizon, mechanism=Laplace(scale=scale, sensitivity=moved), sensitivity=increment)

    @property
    def levels(self) -> int:
        """⌊log₂ T⌋ + 1."""
        return self.horizon.bit_length()

    def weight(self, t: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the number of ones among the binary digits of t."""
        return np.bitwise_count(np.asarray(t, dtype=np.int64)).astype(np.int64)

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> BinaryStream:
        """Start a stream of increments of this shape (lanes first)."""
        return BinaryStream(shape, self.horizon, self.levels, self.mechanism, noise)

    def materialize(self, steps: int) -> Factorization:
        """Return the matrices of the first steps; see `Factorization`."""
        rows, columns = [], []
        checked_steps(steps, self.horizon)
        for level in range(steps.bit_length()):
            for node in range(1, (steps >> level) + 1, 2):
                ends = np.arange(1, steps + 1)
                rows.append(((ends - 1) >> level) + 1 == node)
                columns.append((ends >> level) == node)
        deviation = np.full(len(rows), math.sqrt(node_variance(self.mechanism)))
        return Factorization(np.array(columns, dtype=float).T, np.array(rows, dtype=float), deviation)


def _zeros(mechanism: NodeNoise, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return np.zeros(shape, dtype=np.int64 if isinstance(mechanism, DiscreteLaplace) else np.float64)


class BinaryStream(Stream):
    """Algorithm 2 of Chan, Shi & Song 2011: one open sum and one released node per level."""

    def __init__(
        self,
        shape: tuple[int, ...],
        horizon: int | None,
        levels: int,
        mechanism: NodeNoise,
        noise: NoiseSource | np.random.Generator,
    ) -> None:
        super().__init__(shape, horizon, mechanism, noise)
        self._open = self._zeros(levels)
        self._released = self._zeros(levels)

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        value = self._next(increment)
        level = (self.steps & -self.steps).bit_length() - 1
        assert self._mechanism is not None
        self._open[level] += value + self._open[:level].sum(axis=0)
        self._released[level] = self._mechanism.release(self._open[level], self._noise)
        self._open[:level] = 0
        self._released[:level] = 0
        return np.asarray(self._released.sum(axis=0))
