"""The k-ary tree counter with signed digits: the best counter known under pure differential privacy.

Andersson, Pagh, Steiner & Torkamani 2025, "Count on your elders: Laplace vs Gaussian noise" (FORC 2025).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.counters.continual import Factorization, Stream, checked_horizon, checked_steps, node_variance
from mechanisms.counters.tree_counter import TreeOfNodes, in_levels
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.discrete_laplace import DiscreteLaplace
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.laplace import Laplace
from mechanisms.noise.mechanism import checked_sensitivity
from mechanisms.noise.noise_sources import NoiseSource
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.profiles.bounding_profiles import PureProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile

_LARGEST_BRANCHING = 201


def levels_for(horizon: int, branching: int) -> int:
    """Return the fewest digits in -(k-1)/2 .. (k-1)/2 that write every t <= T: (k^h - 1) / 2 >= T."""
    levels = 1
    while (branching**levels - 1) // 2 < horizon:
        levels += 1
    return levels


def _digit(t: IntArray, branching: int, level: int) -> tuple[IntArray, IntArray]:
    """Return m = t / k^level rounded to the nearest whole number, and t's signed digit there."""
    half = (branching - 1) // 2
    size = branching**level
    m = (t + (size - 1) // 2) // size
    return m, (m + half) % branching - half


def _total_weight(horizon: int, branching: int) -> int:
    """Return the sum over t = 1 .. T of the absolute signed digits of t, by counting whole blocks."""
    k, half = branching, (branching - 1) // 2
    total = 0
    for level in range(levels_for(horizon, k)):
        size = k**level
        last, inside = divmod(
            horizon + (size - 1) // 2, size
        )  # m runs up to last, there on inside + 1 values of t
        cycles, rest = divmod(last, k)
        blocks = cycles * half * (half + 1) + sum(abs((m + half) % k - half) for m in range(rest))
        total += blocks * size + abs((last + half) % k - half) * (inside + 1)
    return total


def best_branching(horizon: int, power: int = 2) -> int:
    """Return the odd k <= 201 with the least mean variance: h^power times the mean weight, h the levels.

    Parameters
    ----------
    horizon
        T.
    power
        2 for Laplace noise (variance 2 h² / ε² per node), 1 for Gaussian noise (h / 2ρ).
    """
    odd = range(3, _LARGEST_BRANCHING + 1, 2)
    return min(odd, key=lambda k: levels_for(horizon, k) ** power * _total_weight(horizon, k))


@dataclass(frozen=True, kw_only=True)
class SignedTree(TreeOfNodes):
    """Running sums by signed digits: t = Σ d_l k^l, |d_l| <= (k-1)/2, nodes added for d_l > 0, subtracted else.

    A node that is subtracted ends after t: only its noise is, so sums are exact but for |d_0| + |d_1| + ... node
    noises, about k h / 4 of them, and an increment lies in at most one used node on each of the
    h = ⌈log_k(2T + 1)⌉ levels. With Laplace noise l1 h / ε every stream is ε-differentially private.

    Parameters
    ----------
    horizon, mechanism, sensitivity
        As for `TreeOfNodes`.
    branching
        k, odd and at least 3.
    """

    branching: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if whole_number("branching", self.branching, least=3) % 2 == 0:
            raise ParameterError(f"branching = {self.branching}: must be odd")

    @classmethod
    def for_epsilon(
        cls,
        epsilon: float,
        *,
        horizon: int,
        sensitivity: Sensitivity | float = UNIT,
        branching: int | None = None,
        discrete: bool = False,
    ) -> SignedTree:
        """Return the ε-DP counter with Laplace noise of scale l1 h / ε; the best branching by default.

        ``discrete`` takes discrete Laplace noise, for streams of whole numbers: exact on a computer.
        """
        k = best_branching(checked_horizon(horizon)) if branching is None else branching
        increment = checked_sensitivity(sensitivity)
        moved = in_levels(increment, levels_for(horizon, max(3, k)))
        noise = Laplace.for_epsilon(epsilon, sensitivity=moved)
        return cls(
            horizon=horizon,
            mechanism=DiscreteLaplace(scale=noise.scale, sensitivity=moved) if discrete else noise,
            sensitivity=increment,
            branching=k,
        )

    @classmethod
    def for_rho(
        cls,
        rho: float,
        *,
        horizon: int,
        sensitivity: Sensitivity | float = UNIT,
        branching: int | None = None,
        delta: float | None = None,
    ) -> SignedTree:
        """Return the ρ-zCDP counter with Gaussian noise σ = l2 √(h / 2ρ); the best branching by default."""
        k = best_branching(checked_horizon(horizon), 1) if branching is None else branching
        increment = checked_sensitivity(sensitivity)
        moved = in_levels(increment, levels_for(horizon, max(3, k)))
        return cls(
            horizon=horizon,
            mechanism=Gaussian.for_rho(rho, sensitivity=moved, delta=delta),
            sensitivity=increment,
            branching=k,
        )

    @property
    def levels(self) -> int:
        """H = ⌈log_k(2T + 1)⌉."""
        return levels_for(self.horizon, self.branching)

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the profile of all outputs, also for increments that depend on earlier outputs.

        Gaussian noise: exact. Laplace noise: the largest loss only (`PureProfile`), because nodes with noise that is
        used before they are complete make the direction of a shift depend on that noise.
        """
        moved = in_levels(self.sensitivity if sensitivity is None else sensitivity, self.levels)
        profile = self.mechanism.profile(moved)
        if isinstance(self.mechanism, Gaussian) or profile.pure_epsilon is None:
            return profile
        return PureProfile(profile.pure_epsilon)

    def weight(self, t: npt.ArrayLike) -> IntArray:
        """Return the sum of the absolute signed digits of t."""
        steps = np.asarray(t, dtype=np.int64)
        return np.asarray(
            sum(np.abs(_digit(steps, self.branching, level)[1]) for level in range(self.levels))
        )

    def start(self, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator) -> SignedStream:
        """Start a stream of increments of this shape (lanes first)."""
        return SignedStream(self, shape, noise)

    def materialize(self, steps: int) -> Factorization:
        """Return the matrices of the first steps; see `Factorization`."""
        t = checked_steps(np.arange(1, steps + 1), self.horizon)
        rows, columns = [], []
        for level in range(self.levels):
            size = self.branching**level
            m, digit = _digit(t, self.branching, level)
            for node in range(1, int(np.maximum(m, m - digit).max()) + 1):
                added = (m - digit < node) & (node <= m)
                subtracted = (m < node) & (node <= m - digit)
                if added.any() or subtracted.any():
                    columns.append(added.astype(float) - subtracted)
                    rows.append((t - 1) // size + 1 == node)
        deviation = np.full(len(rows), math.sqrt(node_variance(self.mechanism)))
        return Factorization(np.array(columns).T, np.array(rows, dtype=float), deviation)


class SignedStream(Stream):
    """One stream of a signed tree: per level the noise in use, and that of the nodes still to be taken back."""

    def __init__(
        self, counter: SignedTree, shape: tuple[int, ...], noise: NoiseSource | np.random.Generator
    ) -> None:
        super().__init__(shape, counter.horizon, counter.mechanism, noise)
        if self._noise.secure and not self._whole:
            raise ParameterError(
                f"noise = {self._noise.name}: its floating-point guarantee does not carry over to sums of values "
                "and correlated noise; use a discrete mechanism, or BinaryTree, which releases each node by itself"
            )
        self._branching = counter.branching
        self._half = (counter.branching - 1) // 2
        self._sizes = [counter.branching**level for level in range(counter.levels)]
        self._total = self._zeros()
        self._used = self._zeros(counter.levels)
        self._ahead = self._zeros(counter.levels, self._half)

    def _draw(self) -> FloatArray:
        """Return the noise of one node."""
        assert self._mechanism is not None
        return np.asarray(self._mechanism.release(self._zeros(), self._noise))

    def step(self, increment: npt.ArrayLike) -> FloatArray:
        """Add an increment and return the private running sum; see `RunningSum.step`."""
        self._total += self._next(increment)
        for level, size in enumerate(self._sizes):
            m, inside = divmod(self.steps + (size - 1) // 2, size)
            if inside:
                break  # neither this digit nor a higher one changed
            digit = (m + self._half) % self._branching - self._half
            if digit == -self._half:
                for node in range(self._half):
                    self._ahead[level, node] = self._draw()
            if digit <= 0:
                self._used[level] = -self._ahead[level, self._half + digit :].sum(axis=0)
            else:
                self._used[level] += self._draw()
        return np.asarray(self._total + self._used.sum(axis=0))
