"""Coupled gates of one lane on which pairs of data sets are played: as they are, steered, or with reflected noise."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from accountant import Coupled, Private
from accountant.gates.private_sums import PrivateSums
from accountant.gates.release import DrawOutput
from mechanisms import Gaussian, Laplace, Mechanism, NoiseSource
from mechanisms.arrays import FloatArray

_SAME = 1e-12  # relative, of distances that only rounding makes differ
_ALL = 1.0 - 1e-9  # of a steered path: the rest is rounding


class Move(NamedTuple):
    """A release with different values on D and a neighbour.

    Attributes
    ----------
    mechanism
        The mechanism of the release; None: it is released as it is.
    value, other
        The values released on D, and on the neighbour.
    first
        True if nothing was released before.
    drew
        True if the learner drew randomness of its own before.
    hidden
        True if a declassified value that is not itself shown differed before.
    """

    mechanism: Mechanism | None
    value: npt.NDArray[Any]
    other: npt.NDArray[Any]
    first: bool
    drew: bool
    hidden: bool

    @property
    def distances(self) -> FloatArray:
        """The distances by which coordinates move, of those that do, ascending."""
        moved = np.abs(np.subtract(self.value, self.other, dtype=np.float64))
        return np.sort(moved[moved > 0.0])

    @property
    def mu(self) -> float | None:
        """The movement in standard deviations of Gaussian noise; None of other noise."""
        if type(self.mechanism) is not Gaussian:
            return None
        return float(np.linalg.norm(self.distances)) / self.mechanism.sigma

    def like(self, other: Move) -> bool:
        """Return True if another one has the same noise and, but for rounding, the same distances: the same loss."""
        own, its = self.distances, other.distances
        return (
            self.mechanism == other.mechanism and own.shape == its.shape and np.allclose(own, its, _SAME, 0.0)
        )


class Watched(Coupled):
    """A gate that records the releases that differ between D and its neighbours.

    Attributes
    ----------
    moves
        The moves of each neighbour, in order.
    releases
        Number of releases.
    """

    def __init__(self, seed: np.random.SeedSequence, neighbours: int) -> None:
        super().__init__(seed, 1, neighbours)
        self.moves: list[list[Move]] = [[] for _ in range(neighbours)]
        self.releases = 0

    @property
    def digest(self) -> str:
        """The digest of all moves, their privacy losses and the number of releases."""
        moves = [
            [(move.value.tolist(), move.other.tolist(), move.drew) for move in of_pair]
            for of_pair in self.moves
        ]
        said = repr((moves, self.loss.tolist(), self.releases))
        return hashlib.sha256(said.encode()).hexdigest()

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: npt.NDArray[np.bool_] | None = None
    ) -> npt.NDArray[Any]:
        """Release, and count it."""
        outputs = super().release(mechanism, private, where)
        self.releases += 1
        return outputs

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Publish D's value, and record the neighbours with another one."""
        published = super().declassify(private, reason, shown=shown)
        if shown:
            self._keep(None, private._values)
            self.releases += 1
        return published

    def _other_draw(self, mechanism: Mechanism, worlds: npt.NDArray[Any]) -> DrawOutput | None:
        self._keep(mechanism, worlds)
        return None

    def _keep(self, mechanism: Mechanism | None, worlds: npt.NDArray[Any]) -> None:
        own, *others = worlds.reshape(len(worlds), -1)
        for moves, other, hidden in zip(self.moves, others, self.hidden[:, 0].tolist(), strict=False):
            if not np.array_equal(own, other):
                moves.append(Move(mechanism, own, other, self.releases == 0, self.drew, hidden))


class Reflected(Watched):
    """A gate with Laplace noise that points away from the neighbour: every release has its largest privacy loss.

    Such outputs have a density under the mechanism's law: an event seen here has positive probability there.
    So a loss above ε refutes pure ε-differential privacy, as one of a play with the mechanism's own noise does.
    """

    def _other_draw(self, mechanism: Mechanism, worlds: npt.NDArray[Any]) -> DrawOutput | None:
        super()._other_draw(mechanism, worlds)
        if type(mechanism) is not Laplace:
            return None
        own, other = (world.reshape(-1) for world in worlds[:2])
        away = np.sign(own - other)

        def draw(
            noisy: Mechanism, value: npt.NDArray[Any], noise: NoiseSource | np.random.Generator
        ) -> npt.NDArray[Any]:
            added = np.asarray(noisy.release(value, noise)) - value
            side = away.reshape(value.shape)
            return np.asarray(value + np.where(side != 0.0, side * np.abs(added), added))

        return draw


@dataclass(frozen=True)
class Steering:
    """The target of steered plays: Gaussian releases with Σ μ² of m², counted from a loss of ε on.

    Attributes
    ----------
    m
        Above 0.
    epsilon
        At least 0.
    """

    m: float
    epsilon: float

    @property
    def delta(self) -> float:
        """δ(ε) of one release that moves by m standard deviations; see `SteeredPair`."""
        return gaussian_delta(self.m, self.epsilon)

    def end(self, rng: np.random.Generator) -> float:
        """Draw S(m²): density in proportion to φ(s/m) (1 - e^(ε - m²/2 - s))₊."""
        m, start = self.m, self.epsilon - self.m * self.m / 2.0

        def upper_tail(s: float) -> float:
            return float(ndtr(-s / m) - math.exp(start + m * m / 2.0 + log_ndtr(-s / m - m)))

        level, far = rng.random() * upper_tail(start), start + m
        while upper_tail(far) > level:
            far += far - start
        return float(brentq(lambda s: upper_tail(s) - level, start, far, xtol=1e-13))


class SteeredPair(Watched):
    """A gate of one neighbour that steers the noise of Gaussian releases to values with large privacy loss.

    Theorem. Let releases that move be Gaussian, by μ_j standard deviations, known before the draw; fix m > 0 and ε, and
    let δ_m(ε) = Φ(m/2 - ε/m) - e^ε Φ(-m/2 - ε/m). For T = {Σ μ_j² >= m²} and the law Q of these plays

        δ(ε) of all releases  >=  δ_m(ε) Q(T).

    Proof. Z_j, the noise of release j along its movement, is N(0, 1) given the past under D; the log likelihood ratio
    is Σ (μ_j²/2 + μ_j Z_j), for all other releases have the same law on both data sets. Put a Brownian motion S
    through S(Σ_{i<=j} μ_i²) = Σ_{i<=j} μ_i Z_i, bridges in between. On D′ it has drift -1, and a bridge between given
    ends does not depend on the drift: S(m²), made in the release in which the sum passes m², is post-processing of the
    releases, and so is T. On T the likelihood ratio of all until then is exp(S(m²) + m²/2). So δ(ε) >= E[f; T] with
    f = (1 - e^(ε - m²/2 - S(m²)))₊. As S(m²) is N(0, m²), E f = δ_m(ε), and dQ = f / δ_m(ε) dP is a law. Given S(m²),
    everything else is as under D: draw S(m²) from its law under Q first, and let noise bridge to it.

    The learner's own draws count as released here, or nothing moves any more from there on: plays end
    at the first such draw, which no release after it can hide.

    Parameters
    ----------
    seed
        The seed of all randomness.
    steering
        The target.
    sees_draws
        True if the learner's own draws are seen.

    Attributes
    ----------
    reached
        True if T has occurred.
    lost
        True if T cannot occur any more.
    """

    def __init__(self, seed: np.random.SeedSequence, steering: Steering, *, sees_draws: bool) -> None:
        playing, steered = seed.spawn(2)
        super().__init__(playing, 1)
        self._rng = np.random.default_rng(steered)
        self._left, self._at, self._end = steering.m * steering.m, 0.0, steering.end(self._rng)
        self._sees_draws = sees_draws
        self.lost = False

    @property
    def reached(self) -> bool:
        """True if Σ μ_j² has reached m²."""
        return self._left <= 0.0 and not self.lost

    def _other_draw(self, mechanism: Mechanism, worlds: npt.NDArray[Any]) -> DrawOutput | None:
        super()._other_draw(mechanism, worlds)
        own, other = (world.reshape(-1).astype(np.float64) for world in worlds[:2])
        if self.reached or self.lost or np.array_equal(own, other):
            return None
        if type(mechanism) is not Gaussian or (self.drew and not self._sees_draws):
            self.lost = True
            return None
        length = float(np.linalg.norm(own - other))
        along = (own - other) / length
        target = self._step(length / mechanism.sigma)

        def draw(
            noisy: Mechanism, value: npt.NDArray[Any], noise: NoiseSource | np.random.Generator
        ) -> npt.NDArray[Any]:
            added = np.asarray(noisy.release(value, noise)) - value
            own_noise = float(added.reshape(-1) @ along)
            steered = added + (mechanism.sigma * target - own_noise) * along.reshape(value.shape)
            return np.asarray(value + steered)

        return draw

    def _step(self, mu: float) -> float:
        """Return the noise along the movement, in standard deviations."""
        passed, gap = mu * mu, self._end - self._at
        if passed >= self._left * _ALL:
            further = math.sqrt(max(passed - self._left, 0.0)) * self._rng.standard_normal()
            moved, self._left = gap + further, 0.0
        else:
            share = passed / self._left
            spread = math.sqrt(passed * (1.0 - share))
            moved, self._left = gap * share + spread * self._rng.standard_normal(), self._left - passed
        self._at += moved
        return moved / mu

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Publish D's value; where the neighbour's differs, T can no longer occur."""
        before = len(self.moves[0])
        published = super().declassify(private, reason, shown=shown)
        if len(self.moves[0]) > before or self.hidden.any():
            self.lost = self.lost or not self.reached
        return published


def gaussian_delta(m: float, epsilon: float) -> float:
    """Return Φ(m/2 - ε/m) - e^ε Φ(-m/2 - ε/m)."""
    return float(ndtr(m / 2.0 - epsilon / m) - math.exp(epsilon + log_ndtr(-m / 2.0 - epsilon / m)))
