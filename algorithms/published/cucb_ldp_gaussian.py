"""CUCB under local privacy with Gaussian noise, as printed (cascading bandits paper, Algorithm 4).

Verdict on Theorem 9 ((epsilon, delta)-local differential privacy): **false**, because u_0 is sent raw. The noise
part alone holds with slack up to epsilon = 7.46 at delta = 1e-3 and fails beyond: it is the classical Gaussian
mechanism. The certified `algorithms.CUCBLDPGaussian` has no raw start and exact noise.
"""

from __future__ import annotations

import math

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.learner import check_delta, check_epsilon
from algorithms.means_learner import StartsRaw
from algorithms.problems import SuperArms
from algorithms.published.noise_multiplier import NOISE_MULTIPLIER
from mechanisms import Gaussian
from mechanisms.arrays import IntArray
from mechanisms.parameters import positive


class CUCBLDPGaussian(StartsRaw[SuperArms]):
    """Algorithm 4: all outcomes are sent with ``sigma = sqrt(2 K ln(1.25 / delta)) / epsilon``.

    ``U_i = mean_i + sqrt(3 ln t / (2 T_i)) + (2 / epsilon) sqrt(2 K ln(1.25 / delta) ln t / T_i)``, t = m + 1, ...

    Parameters
    ----------
    structure
        The super arms.
    gate
        The gate of the feedback.
    epsilon, delta
        The claimed privacy of one user's message.
    noise_multiplier
        The factor on the noise, not on the radius: 1 as printed, 0.01 in the paper's experiments.
    """

    name = "published/cucb-ldp-gaussian"
    summary = "combinatorial UCB, every user sends all outcomes with Gaussian noise, as printed"
    as_printed = (
        "FALSE: u_0 is sent raw; the noise part holds with slack up to epsilon = 7.46 at delta = 1e-3"
    )
    parameters = (NOISE_MULTIPLIER,)
    repaired_by = "cucb-ldp-gaussian"
    claim = ClaimForm.for_reports("local", "cascading bandits paper, Algorithm 4, Theorem 9")
    family = "semi-bandit"
    noisy = True

    def __init__(
        self,
        structure: SuperArms,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        noise_multiplier: float = 1.0,
    ) -> None:
        super().__init__(structure, gate)
        outcomes = self.feedback_domain.sensitivity
        printed = Gaussian.classical(check_epsilon(epsilon), check_delta(delta), sensitivity=outcomes)
        self.sigma = printed.sigma
        noise = self.sigma * positive("noise_multiplier", noise_multiplier)
        self.randomizer = Gaussian(sigma=noise, sensitivity=outcomes, delta=printed.delta)
        self.round = structure.arms  # m rounds of initialisation

    def _width(self, t: int) -> float:
        # 2 sqrt(2 K ln(1.25 / delta) ln t) / epsilon = 2 sigma sqrt(ln t)
        return (math.sqrt(1.5) + 2 * self.sigma) * math.sqrt(math.log(t))

    def learn(self, action: IntArray, feedback: Private) -> None:
        """Average the noisy outcomes of all arms played."""
        played = action >= 0
        messages = self.gate.release(self.randomizer, feedback, None if played.all() else played)
        self.add(action, messages)
