"""Cascading bandits under local privacy as printed: Algorithms 2 and 3, and the variant of Theorem 8.

Verdict on Theorems 3, 5 and 8: **false for every epsilon and every delta < 1**. The message holds ``min(C_t, K)``
numbers, so their number gives the click position away; and w_0 is sent raw. The certified `CascadeUCBRR` sends one
symbol.

The paper's experiments multiply the noise by 0.01 and leave the rest as it is: that is ``noise_multiplier``. The
mechanism has the smaller noise, so the accountant charges for its true privacy loss.
"""

from __future__ import annotations

import abc
import math
from typing import ClassVar

from accountant import Gate, Private
from algorithms.cascades.cascade_ucb1 import examined_positions
from algorithms.claim import ClaimForm
from algorithms.learner import check_delta, check_epsilon
from algorithms.means_learner import StartsRaw
from algorithms.problems import Parameter, RankedLists
from algorithms.published.noise_multiplier import NOISE_MULTIPLIER
from mechanisms import Box, Gaussian, Laplace
from mechanisms.arrays import IntArray
from mechanisms.parameters import positive


class _PrintedCascade(StartsRaw[RankedLists]):
    """Noise on every examined position; the K largest of ``mean_e + width(t) / sqrt(T_e)`` are shown."""

    as_printed: ClassVar[str] = "FALSE for every epsilon: the number of reports is the click position"
    parameters: ClassVar[tuple[Parameter, ...]] = (NOISE_MULTIPLIER,)
    repaired_by: ClassVar[str] = "cascade-ucb-rr"
    family = "cascade"
    noisy = True

    def __init__(self, structure: RankedLists, gate: Gate, mechanism: Laplace | Gaussian) -> None:
        super().__init__(structure, gate)
        self.examined = examined_positions(structure.size)
        self.mechanism = mechanism

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average the noisy values of the positions up to the click."""
        sent = self.gate.declassify(
            feedback.map(self.examined),
            "the user sends min(C_t, K) numbers: how many gives the click position away",
            shown=False,
        )
        examined_here = sent > 0
        values = self.gate.release(self.mechanism, feedback, where=examined_here)
        self.add(action, values, seen=examined_here)


class CascadeUCBLDPLaplace(_PrintedCascade):
    """Algorithm 2: every examined position is sent with noise ``Lap(K / epsilon)``.

    ``U_t(e) = mean_e + sqrt(1.5 ln t / T_e) + (K / epsilon) sqrt(24 ln t / T_e)``.

    Parameters
    ----------
    structure
        The ranked lists: L items, K positions.
    gate
        The gate of the feedback.
    epsilon
        The claimed privacy of one user's message.
    noise_multiplier
        The factor on the noise, not on the radius: 1 as printed, 0.01 in the paper's experiments.
    """

    name = "published/cascade-ucb-ldp-laplace"
    summary = "cascading bandits with Laplace noise per examined position, as printed"
    claim = ClaimForm.for_reports("local", "cascading bandits paper, Algorithm 2, Theorem 3")

    def __init__(
        self, structure: RankedLists, gate: Gate, *, epsilon: float, noise_multiplier: float = 1.0
    ) -> None:
        self.scale = self.size_of(structure) / check_epsilon(epsilon)
        outcomes = Box(0, 1, self.size_of(structure)).sensitivity
        noise = self.scale * positive("noise_multiplier", noise_multiplier)
        super().__init__(structure, gate, Laplace(scale=noise, sensitivity=outcomes))

    def _width(self, t: int) -> float:
        return math.sqrt(1.5 * math.log(t)) + self.scale * math.sqrt(24 * math.log(t))


class _Approximate(_PrintedCascade):
    """The same with a delta."""

    def __init__(
        self,
        structure: RankedLists,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        noise_multiplier: float = 1.0,
    ) -> None:
        self.epsilon, self.delta = check_epsilon(epsilon), check_delta(delta)
        multiplier = positive("noise_multiplier", noise_multiplier)
        super().__init__(structure, gate, self._noise(Box(0, 1, self.size_of(structure)), multiplier))

    @abc.abstractmethod
    def _noise(self, outcomes: Box, multiplier: float) -> Laplace | Gaussian:
        """Return the noise on outcomes, times a multiplier."""


class CascadeUCBLDPGaussian(_Approximate):
    """Algorithm 3: every examined position is sent with noise ``N(0, sigma^2)``.

    ``sigma = sqrt(2 K ln(1.25 / delta)) / epsilon`` (Lemma 3, the classical Gaussian mechanism at L2 distance
    sqrt(K)); ``U_t(e) = mean_e + sqrt(1.5 ln t / T_e) + sigma sqrt(2 ln(2 t^3) / T_e)``.

    Parameters
    ----------
    structure, gate, epsilon, noise_multiplier
        As for `CascadeUCBLDPLaplace`.
    delta
        The claimed delta.
    """

    name = "published/cascade-ucb-ldp-gaussian"
    summary = "cascading bandits with Gaussian noise per examined position, as printed"
    claim = ClaimForm.for_reports("local", "cascading bandits paper, Algorithm 3, Theorem 5")

    def _noise(self, outcomes: Box, multiplier: float) -> Gaussian:
        printed = Gaussian.classical(self.epsilon, self.delta, sensitivity=outcomes.sensitivity)
        self.sigma = printed.sigma
        return Gaussian(sigma=self.sigma * multiplier, sensitivity=outcomes.sensitivity, delta=printed.delta)

    def _width(self, t: int) -> float:
        return math.sqrt(1.5 * math.log(t)) + self.sigma * math.sqrt(2 * math.log(2 * t**3))


class CascadeUCBLDPComposition(_Approximate):
    """The variant of Theorem 8: Algorithm 2 with a composition theorem over the K positions.

    Noise ``Lap(sqrt(4 K ln(e + epsilon / delta)) / epsilon)`` (Kairouz, Oh & Viswanath 2015, Corollary 4.1, for
    epsilon <= 0.9), ``U_t(e) = mean_e + sqrt(3 ln t / (2 T_e)) + (4 / epsilon) sqrt(6 K ln(e + epsilon / delta) ln t
    / T_e)``. It adds more noise than Algorithm 2 unless ``K > 4 ln(e + epsilon / delta)``.

    Parameters
    ----------
    structure, gate, epsilon, noise_multiplier
        As for `CascadeUCBLDPLaplace`.
    delta
        The claimed delta.
    """

    name = "published/cascade-ucb-ldp-composition"
    summary = "cascading bandits with Laplace noise composed over the positions, as printed"
    claim = ClaimForm.for_reports("local", "cascading bandits paper, Theorems 7 and 8")

    def _noise(self, outcomes: Box, multiplier: float) -> Laplace:
        self.composed = outcomes.size * math.log(math.e + self.epsilon / self.delta)
        noise = math.sqrt(4 * self.composed) / self.epsilon * multiplier
        return Laplace(scale=noise, sensitivity=outcomes.sensitivity)

    def _width(self, t: int) -> float:
        log_term = math.log(t)
        return math.sqrt(1.5 * log_term) + 4 / self.epsilon * math.sqrt(6 * self.composed * log_term)
