"""Linear UCB with joint differential privacy as printed (Shariff & Sheffet 2018, Algorithm 1 and section 4.2).

With ``L~^2 = L^2 + B~^2``, here 2 as actions are in the unit ball and rewards in [-1, 1], and ``m = 1 + ceil(log2 n)``,
a binary tree with a leaf for every round sums the matrices ``(x, y)(x, y)'``. Each node has noise ``(Z + Z') /
sqrt(2)``, the entries of Z ``N(0, s^2)``, ``s^2 = 16 m L~^4 ln(4/delta)^2 / epsilon^2``. Of the sum over the rounds
before t its corner of x is ``G_t + N_t``, its column of x y is ``u~_t``; with

``Upsilon = sqrt(2 m) s (4 sqrt d + 2 ln(2 n / alpha))``, ``rho_min = Upsilon``, ``rho_max = 3 Upsilon``,
``gamma = s sqrt(m / Upsilon) (sqrt d + sqrt(2 ln(2 n / alpha)))``,

``V_t = G_t + N_t + 2 Upsilon I``, and round t plays the x of largest ``theta . x + beta |x|_(V^-1)`` with ``theta =
V^-1 u~`` and

``beta = sigma sqrt(2 ln(2/alpha) + ln det V - d ln rho_min) + S sqrt(rho_max) + gamma``.

sigma is 1, as rewards are in [-1, 1], and alpha is 1/n, as in the authors' experiments. The sum's corner of y^2 is
left out: no action depends on it, and it does not change how far one record moves a node.

Sources. m, L~, s, beta and the theorem are those of the authors' manuscript, whose TeX is in the first author's
repository beside the code of the paper's experiments. The manuscript at hand is earlier than the paper: it has
``Upsilon + 1``, 1 and ``2 Upsilon + 1`` for the shift, rho_min and rho_max, and ``n / alpha`` in Upsilon. The numbers
above are those of the later code, and of a second public implementation, made after the paper, which agree. Elsewhere
the two codes differ, and the manuscript decides: the first author's plain tree has ``m = floor(log2 n) + 1``; its last
form, which always has the noise of m nodes, and the second code have the m above. The second code adds the shift to
every node, not to the sum; the first one has ``4 / alpha`` for ``2 / alpha`` in beta. The paper's other noise, of
section 4.1 (Wishart), is not here.

Verdict (joint (epsilon, delta)-differential privacy): **holds, with much slack**. Symmetric, a node's noise has
standard deviation ``sqrt(2) s`` in every direction of the Frobenius norm, and two records are ``sqrt(2) L~^2`` apart,
so that m nodes are mu-Gaussian DP with ``mu = epsilon / (4 ln(4 / delta))`` exactly (and a record is in ``floor(log2 n)
+ 1`` of them at most). At epsilon = 1 and delta = 1e-5, mu is 0.019, where 0.27 would do: the noise is 14 times as
large as the claim needs. Only for absurdly large claims do the releases lose more: for epsilon from 399 on at delta =
0.1, from 4,886 on at delta = 1e-5. `DPLinUCB` takes its place.

The regret bound (Theorem 5), with probability ``1 - alpha`` at least ``sqrt(8 n) (sigma (2 ln(2/alpha) + d
ln(rho_max/rho_min + n / (d rho_min))) + (S sqrt(rho_max) + gamma) sqrt(d ln(1 + n / (d rho_min))))``. It is below 2 n,
the largest possible regret, from 25 million rounds on at d = 4, epsilon = 1 and delta = 1e-5.
That the widths hold is proved for the numbers above, with probability ``1 - 2 / n``, in
`algorithms.theory.contextual_regret`, with a bound that is computed from runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accountant import Gate, Private
from algorithms.claim import ClaimForm, View
from algorithms.estimates.continual_sums import PrivateTreeSums
from algorithms.learner import check_delta, check_epsilon, check_horizon
from algorithms.linear.contextual_learner import ContextualLearner, LinearUCB, regress
from mechanisms import BinaryTree, Gaussian, RegressionMoments
from mechanisms.arrays import FloatArray
from mechanisms.domains.regression_moments import MOST_WEIGHT

SQUARED_NORM = 2.0
"""L~^2, the squared norm of an action in the unit ball with its reward in [-1, 1]."""
_REWARD_NOISE = 1.0  # sigma


@dataclass(frozen=True, slots=True)
class _PrintedNoise:
    """The numbers of section 4.2.

    Attributes
    ----------
    nodes
        m.
    deviation
        s.
    shift
        2 Upsilon.
    least, most
        rho_min and rho_max: between them are the eigenvalues of ``N_t`` + shift.
    vector
        gamma.
    """

    nodes: int
    deviation: float
    shift: float
    least: float
    most: float
    vector: float

    @classmethod
    def for_horizon(cls, features: int, *, epsilon: float, delta: float, horizon: int) -> _PrintedNoise:
        """Return the numbers, at alpha = 1 / horizon."""
        nodes = 1 + (horizon - 1).bit_length()
        deviation = 4.0 * math.sqrt(nodes) * SQUARED_NORM * math.log(4.0 / delta) / epsilon
        far = math.log(2.0 * horizon * horizon)
        upsilon = math.sqrt(2.0 * nodes) * deviation * (4.0 * math.sqrt(features) + 2.0 * far)
        vector = deviation * math.sqrt(nodes / upsilon) * (math.sqrt(features) + math.sqrt(2.0 * far))
        return cls(nodes, deviation, 2.0 * upsilon, upsilon, 3.0 * upsilon, vector)


class TreeLinUCBGaussian(ContextualLearner):
    """LinUCB on running sums of a tree with the printed Gaussian noise.

    Parameters
    ----------
    features
        d, the length of an action's vector.
    gate
        The gate of the rounds' moments.
    epsilon, delta
        The claimed privacy of one round.
    horizon
        The number of rounds n; `observe` raises `HorizonExceeded` beyond it.
    norm
        S, a bound on ``|theta*|``.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the gate is none.
    TrustViolation
        If the gate's trust is local.
    """

    name = "published/tree-linucb-gaussian"
    summary = "LinUCB on a binary tree of noisy moments, a leaf for every round"
    as_printed = "holds with much slack (joint differential privacy)"
    repaired_by = "dp-linucb"
    claim = ClaimForm.for_reports(
        "central",
        "Shariff & Sheffet 2018, Algorithm 1 with the Gaussian noise of section 4.2",
        view=View.OTHER_ACTIONS,
    )

    def __init__(
        self, features: int, gate: Gate, *, epsilon: float, delta: float, horizon: int, norm: float = 1.0
    ) -> None:
        domain = RegressionMoments(features, MOST_WEIGHT)
        self.noise = _PrintedNoise.for_horizon(
            domain.features,
            epsilon=check_epsilon(epsilon),
            delta=check_delta(delta),
            horizon=check_horizon(horizon),
        )
        node = Gaussian(
            sigma=MOST_WEIGHT * self.noise.deviation,
            sensitivity=domain.sensitivity,
            delta=delta / (2 * self.noise.nodes),  # the share of a node, in the paper
        )
        super().__init__(gate, domain, node, horizon, norm)
        self.tree = BinaryTree(horizon=horizon, mechanism=node, sensitivity=domain.sensitivity)
        self.sums = PrivateTreeSums(gate, self.tree, domain.shape[0])
        self.policy = self._policy(np.zeros((gate.lanes, domain.shape[0])))

    def learn(self, feedback: Private) -> None:
        """Put the moments in the tree, and make the next policy of its running sum."""
        self.policy = self._policy(self.sums.step(feedback, self._places()))

    def _policy(self, total: FloatArray) -> LinearUCB:
        """Return the policy on noisy sums: bounds for the noise of m nodes hold for that of fewer."""
        matrix, vector = self.feedback_domain.parts(total)
        shifted = matrix + self.noise.shift * np.eye(self.feedback_domain.features)
        estimate, inverse, volume = regress(shifted, vector, self.noise.least)
        width = _REWARD_NOISE * np.sqrt(2.0 * math.log(2.0 * self.horizon) + volume) + (
            self.norm * math.sqrt(self.noise.most) + self.noise.vector
        )
        return LinearUCB(estimate, inverse, width)
