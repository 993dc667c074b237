"""Linear UCB with joint differential privacy as printed, with Wishart noise (Shariff & Sheffet 2018, section 4.1).

As `tree_linucb`, but for the noise. Each node of the tree has a Wishart matrix of d + 1 rows, scale ``L~^2 I``, L~^2 =
2, and

``k = d + 1 + ceil(224 m ln(8 m / delta) ln(2 / delta) / epsilon^2)``

degrees of freedom. The noise of exactly m nodes is ``W(L~^2 I, m k)``: nodes that a running sum does not have are made
up for by Wishart noise that is drawn anew. With ``f = sqrt d + sqrt(2 ln(8 n / alpha))``, ``r = sqrt(m k)`` and alpha
= 1/n,

``c = L~^2 ((r - f)^2 - 4 r f)``, ``rho_min = 4 L~^2 r f``, ``rho_max = 8 L~^2 r f``,
``gamma = L~ (sqrt d + sqrt(2 ln(2 n / alpha))) (r - f) / sqrt(4 r f)``,

``V_t = G_t + N_t - c I``. Policies and widths are those of `tree_linucb`.

Sources. k, c and rho are those of the public implementation that was made after the paper, but for slips of its code:
it has L~ for L~^2 as a Wishart matrix's scale, log2 for ln in f, and takes c from every node, not from the sum. k is
``p + 28 ln(4 / delta') / epsilon'^2``, as in the first author's code (the mechanism is that of Sheffet 2019, "Old
techniques in differentially private linear regression"), at ``epsilon' = epsilon / sqrt(8 m ln(2 / delta))`` and
``delta' = delta / (2 m)``, which advanced composition gives a node. That code, older than the paper, divides delta by
m + 1 there, and has ``4 n / alpha`` in f. gamma is from it: ``u' N^-1 u`` is L~^2 times a chi-square variable with d
degrees of freedom, and ``(N - c I)^-1`` is at most ``(r - f)^2 / (4 r f)`` times N^-1, as N is at least ``L~^2 (r -
f)^2 I``. In the last form of its tree each sum has the noise of m nodes. The corner of y^2 is left out: no action
depends on it. The paper's text was not at hand: neither k, c and rho nor a theorem on Wishart noise are read from it.

Verdict (joint (epsilon, delta)-differential privacy): **holds, with very much slack**. `Wishart`'s theorem bounds a
node's loss, and basic composition the sum of all of a round's nodes, by less than the claim: at d = 4, n = 20,000 and
delta = 1e-5 by 0.24 at epsilon = 1 and by 2.7 at epsilon = 10. That bound grows with sqrt d: at epsilon = 1 it is above
the claim from d = 75 on, and nothing is certified there. In truth a node's loss is at most that of the theorem below,
which has no d: about ``N(0, 1 / k)``, so that m nodes are close to mu-Gaussian DP with ``mu = epsilon / sqrt(224 ln(8 m
/ delta) ln(2 / delta))``, 0.0047 at epsilon = 1, where 0.27 would do: the noise is 57 times what the claim needs, where
`TreeLinUCBGaussian`'s is 14 times. (So say numbers: composed on a grid, not rounded up, the theorem's losses of a
round's 15 nodes keep the claim up to epsilon = 230. From 235 on they are infinite with more than delta, and the claim
has no proof.) `DPLinUCB` takes the learner's place.

**Theorem** (a node's loss). Let ``K = k - d - 1 >= 1``, s be chi-square with ``2 (K + 2)`` degrees of freedom, q
Beta((K + 1) / 2, 1), phi uniform on the circle, all independent, ``D = s^2 q / 4``, ``R = s sqrt(1 - q)``. Whatever two
rounds are exchanged, delta at any epsilon is at most that of the loss ``-(K - 1) / 2 ln(1 + (R cos phi - 1) / D)``,
infinite where the logarithm has no positive argument.

*Proof.* Release the corner, too, as what makes the trace of a round's matrix L~^2 = 2; to leave it out costs nothing.
Two rounds' matrices then differ by Q of trace 0, the sum of whose positive eigenvalues is at most 2: Q is in the convex
hull of ``2 (v v' - u u')``, u and v unit vectors. The noise has a log-concave density, so delta(Q) at any epsilon is
quasi-convex in Q (`mechanisms.laplace.LaplaceProfile` has the argument) and largest at one of these. By rotation it
depends on the eigenvalues of Q only, and it does not fall along a ray from 0, so it is largest if u and v are
orthogonal. There the loss is a function of the 2 x 2 block of N^-1 on u and v, whose inverse is ``Y ~ W_2(L~^2 I, K +
2)``; in units of L~^2, ``s = tr Y``, ``4 det Y = s^2 q`` and ``Y_11 - Y_22 = R cos phi`` have the laws above. QED
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from accountant import Gate
from algorithms.claim import ClaimForm, View
from algorithms.estimates.continual_sums import TreeNodes
from algorithms.learner import check_delta, check_epsilon, check_horizon
from algorithms.published.tree_linucb import SQUARED_NORM, TreeLinUCB
from algorithms.unit import ONE_REPORT
from mechanisms import NumpyNoise, RegressionMoments, Wishart
from mechanisms.arrays import FloatArray
from mechanisms.regression_moments import MOST_WEIGHT


@dataclass(frozen=True, slots=True)
class PrintedWishart:
    """The numbers of section 4.1.

    Attributes
    ----------
    nodes
        m.
    freedom
        k.
    shift
        -c.
    least, most
        rho_min and rho_max: between them are the eigenvalues of ``N_t`` + shift.
    vector
        gamma.
    """

    nodes: int
    freedom: int
    shift: float
    least: float
    most: float
    vector: float

    @classmethod
    def of(cls, features: int, *, epsilon: float, delta: float, horizon: int) -> PrintedWishart:
        """Return the numbers, at alpha = 1 / horizon.

        Raises
        ------
        ValueError
            If epsilon is so large that the least eigenvalue of ``N_t`` has no bound above 0.
        """
        nodes = 1 + (horizon - 1).bit_length()
        more = 224.0 * nodes * math.log(8.0 * nodes / delta) * math.log(2.0 / delta) / epsilon**2
        freedom = features + 1 + math.ceil(more)
        squares = 2.0 * math.log(8.0 * horizon * horizon)
        root, far = math.sqrt(nodes * freedom), math.sqrt(features) + math.sqrt(squares)
        if root <= far:
            raise ValueError(
                f"epsilon={epsilon!r}: must be smaller, as the noise that is printed for it, {freedom} degrees of "
                f"freedom in each of {nodes} nodes, has no bound for its widths"
            )
        least = 4.0 * SQUARED_NORM * root * far
        unshifted = SQUARED_NORM * (root - far) ** 2
        of_vector = math.sqrt(features) + math.sqrt(2.0 * math.log(2.0 * horizon * horizon))
        vector = math.sqrt(SQUARED_NORM) * of_vector * math.sqrt(unshifted / least)
        return cls(nodes, freedom, least - unshifted, least, 2.0 * least, vector)


class TreeLinUCBWishart(TreeLinUCB):
    """LinUCB on running sums of a tree with the printed Wishart noise, shifted down.

    Parameters
    ----------
    features
        d, the length of an action's vector.
    gate
        Where rounds' moments come from; not one with a secure noise source, which cannot draw the noise.
    epsilon, delta
        The claimed privacy of one round.
    horizon
        The number of rounds n; `observe` raises `HorizonExceeded` beyond it.
    norm
        S, a bound on ``|theta*|``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the gate is none.
    TrustViolation
        If the gate's trust is local.
    """

    claim: ClassVar[ClaimForm] = ClaimForm(
        model="central",
        view=View.OTHER_ACTIONS,
        unit=ONE_REPORT,
        source="Shariff & Sheffet 2018, Algorithm 1 with the Wishart noise of section 4.1",
    )

    def __init__(
        self, features: int, gate: Gate, *, epsilon: float, delta: float, horizon: int, norm: float = 1.0
    ) -> None:
        domain = RegressionMoments(features, MOST_WEIGHT)
        self.noise = PrintedWishart.of(
            domain.features,
            epsilon=check_epsilon(epsilon),
            delta=check_delta(delta),
            horizon=check_horizon(horizon),
        )
        self._node = Wishart(
            features=domain.features,
            freedom=self.noise.freedom,
            scale=SQUARED_NORM,
            delta=delta / (2 * self.noise.nodes),  # the share of a node, in the paper
            sensitivity=domain.sensitivity,
        )
        tree = TreeNodes(horizon=horizon, mechanism=self._node)
        super().__init__(gate, domain, self._node, tree, self.noise, horizon, norm)

    def _filled(self, total: FloatArray) -> FloatArray:
        """Return the sum with noise of its own for the nodes that it does not have."""
        missing = self.noise.nodes - self.sums.steps.bit_count()
        if not missing:  # after the only round of one
            return total
        rest = replace(self._node, freedom=missing * self._node.freedom)
        return rest.release(total, NumpyNoise(self.gate.random))
