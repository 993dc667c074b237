"""Follow the regularised leader in a ball, on private running sums of gradients (DP-FTRL).

The theorems are in `leader_regret`. Kairouz, McMahan, Song, Thakkar, Thakurta & Xu 2021, "Practical and private (deep)
learning without sampling or shuffling", on trees.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from accountant import Gate, Private, PrivateStream, check_feedback
from accountant.argument_checks import checked_flag
from algorithms.full_information.leader_regret import gradient_regret, linear_regret
from algorithms.learner import check_delta, check_epsilon, check_horizon
from mechanisms import Ball, BandedCounter, BufferedCounter
from mechanisms.arrays import FloatArray
from mechanisms.parameters import positive, whole_number


class DPFTRL:
    """DP-FTRL in a ball of radius D: weights are minus the private sum of gradients over lambda, shortened to D.

    The user computes the gradient of the loss at `weights`, which are public, from data of that record only, and lets
    it in as a point of the ball of radius G (longer ones are to be shortened): its record moves it by 2 G at most.
    Every record pays exactly (epsilon, delta) for all of its gradients.

    Parameters
    ----------
    gate
        The gate of the gradients; of central trust.
    size
        The dimension d.
    epsilon, delta
        The privacy of one record, in the view of everything released.
    horizon
        The number of rounds T.
    radius, gradient
        D and G.
    participations, separation
        The number of rounds that a record may take part in, and their least distance; other ones are refused by name
        (`PrivateStream`).
    bandwidth
        The bandwidth of a banded counter in place of the buffered one: for records that return, at least T / 20 rounds
        apart.
    fixed_in_advance
        Whether losses are linear and do not answer the weights: then lambda is that of Theorem 3, and privacy is added
        to regret; else Theorem 2's, for every convex loss.

    Attributes
    ----------
    weights
        Shape (lanes, d).
    feedback_domain
        The ball of gradients.
    regret_bound
        The theorem's bound on the expected regret after T rounds.

    Raises
    ------
    ParameterError
        If a number is out of range.
    TrustViolation, TheoremMissing
        As `PrivateStream`.

    Examples
    --------
    >>> import numpy as np
    >>> from accountant import Accountant, Budget
    >>> from algorithms import DPFTRL
    >>> accountant = Accountant(Budget(epsilon=2.0, delta=1e-6), noise=np.random.default_rng(1))
    >>> learner = DPFTRL(accountant, 2, epsilon=2.0, delta=1e-6, horizon=500)
    >>> for user in range(500):
    ...     gradient = learner.weights[0] - [0.8, 0.0]  # of the squared distance to a user's point, halved
    ...     gradient /= max(1.0, np.linalg.norm(gradient))
    ...     learner.observe(accountant.private(gradient, learner.feedback_domain, record=user))
    >>> bool(learner.weights[0, 0] > 0.2)
    True
    """

    def __init__(
        self,
        gate: Gate,
        size: int,
        *,
        epsilon: float,
        delta: float,
        horizon: int | None,
        radius: float = 1.0,
        gradient: float = 1.0,
        participations: int = 1,
        separation: int = 1,
        bandwidth: int | None = None,
        fixed_in_advance: bool = False,
    ) -> None:
        size, horizon = whole_number("size", size, least=1, bits=27), check_horizon(horizon)
        self.radius = positive("radius", radius)
        self.feedback_domain = Ball(positive("gradient", gradient), size)
        claim: dict[str, Any] = {
            "horizon": horizon,
            "sensitivity": self.feedback_domain.sensitivity,
            "participations": participations,
            "separation": separation,
        }
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        checked_flag("fixed_in_advance", fixed_in_advance)
        counter = (
            BufferedCounter.for_epsilon_delta(epsilon, delta, **claim)
            if bandwidth is None
            else BandedCounter.for_epsilon_delta(epsilon, delta, bandwidth=bandwidth, **claim)
        )
        theorem = linear_regret if fixed_in_advance else gradient_regret
        self.curvature, self.regret_bound = theorem(counter, size, radius=self.radius, gradient=gradient)
        self.gate = gate
        self._sums = PrivateStream(gate, counter, size)
        self.weights: FloatArray = np.zeros((gate.lanes, size))

    def observe(self, gradient: Private) -> None:
        """Learn from the private gradient of a round, of shape (lanes, d).

        Raises
        ------
        HorizonExceeded
            Beyond the horizon.
        ForeignValue, DomainError, ParameterError
            As `accountant.check_feedback`.
        Refusal
            If a record comes too often, too soon, or cannot pay. With all of these nothing is charged or changes.
        """
        check_feedback(self.gate, gradient, self.feedback_domain)
        free = -self._sums.step(gradient) / self.curvature
        norm = np.linalg.norm(free, axis=1, keepdims=True)
        self.weights = free * np.minimum(1.0, self.radius / np.maximum(norm, math.ulp(0.0)))
