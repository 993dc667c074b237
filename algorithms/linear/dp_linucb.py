"""Contextual linear bandits under joint differential privacy: optimism on released moments.

Round t's user brings a set of actions C_t in the unit ball of R^d; x_t in C_t is played, and the reward y_t in [-1, 1]
has mean ``theta* . x_t``, ``|theta*| <= S``. A record is all of that, contexts too. In the view of *joint* differential
privacy (Shariff & Sheffet 2018) everybody but the user sees all releases and the actions of all other rounds, not x_t,
which may depend on C_t in any way: if it were seen, every private learner would have linear regret. So the server
publishes a policy that maps any context to an action (`LinearUCB`), the choice is made beside the user's data, and the
server receives the round's moments ``(x x', x y)`` (`RegressionMoments`), which contain the action: they may come late
and in any order.

**Releases.** Rounds are put in batches; the first has f rounds, each later one half of all rounds released before. A
batch's sum is released once with normal noise of standard deviation s, at distance ``sqrt(4.5)`` of two records. A
record is in one batch and pays once, for any horizon. After j releases of n rounds in all, with G their sum of ``x
x'``, the released matrix is ``G + H``, H symmetric with ``N(0, j s^2)`` on its diagonal and ``N(0, j s^2 / 2)`` off it,
and the released vector is off by ``h ~ N(0, j s^2 I)``. (A running sum by a matrix factorisation, updated every B
rounds, has about ``1 + ln(T / B) / pi`` times s at every release, where this has ``sqrt(j)`` times s: about the same
for the last ones at T = 2e4, and less for the early ones.)

**Theorem** (width). Let J be the most releases within T rounds, ``x = ln(3 J T)``, ``op_j = sqrt(j) s (sqrt(2 d) +
sqrt(2 x))``, ``gam_j = sqrt(j) s (sqrt d + sqrt(2 x))``, ``lam_j = max(1, op_j)``, ``V_j = G + H + (op_j + lam_j) I``,
``theta_j = V_j^-1`` times the released vector, and

``beta_j = sqrt(2 ln(J T) + min(ln det V_j - d ln lam_j, d ln(1 + n / (d lam_j)))) + S sqrt(2 op_j + lam_j) + gam_j /
sqrt(lam_j)``.

With probability ``1 - 2 / T`` at least, ``|theta_j - theta*|_(V_j) <= beta_j`` for all j.

*Proof.* ``|H| <= op_j`` and ``|h| <= gam_j`` for all j but with probability ``3 J e^-x = 1 / T``: the largest
eigenvalue of H has mean at most ``sqrt(2 d j) s`` (Sudakov and Fernique) and is Lipschitz with constant ``sqrt(j) s``
in independent standard normals; so is -H's, and ``|h|``, of mean at most ``sqrt(d j) s`` (Gaussian concentration).
Then ``lam I <= V - G <= (2 op + lam) I``. With e the rewards' errors, 1-sub-Gaussian as rewards are in [-1, 1],
``V (theta_j - theta*) = sum x e - (V - G) theta* + h``. In the norm of V^-1 the first term is at most what it is in
that of ``(G + lam I)^-1``, so at most ``sqrt(2 ln(J T) + ln det(G / lam + I))`` but with probability ``1 / (J T)``
(Abbasi-Yadkori, Pal & Szepesvari 2011), and ``det(G + lam I) <= det V``; the second is at most ``sqrt(2 op + lam) S``,
as ``V - G <= V``; the third ``gam / sqrt(lam)``, as ``lam I <= V``. QED (The gate rounds moments to 2^-25, which is not
in it.)

Without a horizon, the policies of epoch k have the widths of H_k (`algorithms.epochs`), whose J counts all releases
until then; what is released and when is as it was, the first batch that of H_0. They hold in the whole epoch but with
probability ``2 / H_k``: of all rounds at most ``sum 2 N_k / H_k <= 2`` have others in expectation, as with a horizon.

On that event a round's regret is at most ``2 beta_j |x_t|_(V_j^-1)``, and a run's the sum of these: a bound that runs
tell (`algorithms.theory.contextual_regret`). For any contexts, regret is therefore at most ``4 beta sqrt(d T ln(1 + T /
(d lam)))``, with the largest beta and the least lam, and twice the length of the ``d log2(1 + T / (d lam))`` longest
batches, in which the determinant may double. As a third of all rounds may be in one batch, that is no useful bound for
contexts which change late: no function of T is claimed; equal batches and a tree's noise would have one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM, ClaimForm, View
from algorithms.estimates.doubling_batches import BatchSizes, GrowingBatches, released_counts
from algorithms.learner import check_delta, check_epsilon
from algorithms.linear.contextual_learner import ContextualLearner, LinearUCB, regress
from mechanisms import Gaussian, RegressionMoments


class BatchedLinUCB(ContextualLearner):
    """LinUCB on growing batches of moments, released with the noise of `mechanism`, or raw if it is None.

    Parameters
    ----------
    gate, domain, mechanism, horizon, norm
        As of `ContextualLearner`; the mechanism releases a batch's sum.
    """

    growth: ClassVar[float] = 0.5
    """The size of the next batch, as a share of all rounds released before."""
    mechanism: Gaussian | None
    needs_horizon = ""

    def __init__(
        self,
        gate: Gate,
        domain: RegressionMoments,
        mechanism: Gaussian | None,
        horizon: int | None,
        norm: float,
    ) -> None:
        super().__init__(gate, domain, mechanism, horizon, norm)
        operator, _ = self._noise_bounds(1)
        self.first = max(1, math.ceil(operator))  # before, the noise has more to say than the data
        sizes = BatchSizes(self.first, self.growth)
        self.batches = GrowingBatches(gate, domain.shape[0], mechanism, sizes)
        self.renew()

    @property
    def releases(self) -> int:
        """j, at which all coordinates are: a batch is of all of its rounds' moments."""
        return int(self.batches.releases[0, 0])

    @property
    def released(self) -> int:
        """The rounds in the releases."""
        return int(self.batches.size[0, 0])

    @property
    def most_releases(self) -> int:
        """J."""
        return max(1, len(released_counts(self.horizon, 1, self.growth)))

    def renew(self) -> None:
        """Compute the policy from the released values, with the widths of the epoch."""
        self.policy = self._policy(*self._noise_bounds(self.releases))

    def _noise_bounds(self, releases: int) -> tuple[float, float]:
        """Return op_j and gam_j, beyond which noise is after j releases with probability ``1 / (J T)`` at most."""
        d = self.feedback_domain.features
        if not releases:
            return 0.0, 0.0
        far = math.sqrt(2.0 * math.log(3.0 * self.most_releases * self.horizon))
        deviation = 0.0 if self.mechanism is None else math.sqrt(releases) * self.mechanism.sigma
        return deviation * (math.sqrt(2.0 * d) + far), deviation * (math.sqrt(d) + far)

    def learn(self, feedback: Private) -> None:
        """Add the moments to the open batch; if it is full, make the next policy of all that was released."""
        if self.batches.add(self._places(), feedback) is not None:
            self.renew()

    def _policy(self, operator: float, vector: float) -> LinearUCB:
        """Return the policy at the noise bounds of the releases so far."""
        d, least = self.feedback_domain.features, max(1.0, operator)
        matrix, total = self.feedback_domain.parts(self.batches.total)
        estimate, inverse, volume = regress(matrix + (operator + least) * np.eye(d), total, least)
        grown = np.minimum(volume, d * math.log1p(self.released / (d * least)))
        level = 2.0 * math.log(self.most_releases * self.horizon)
        width = np.sqrt(level + grown) + (
            self.norm * math.sqrt(2.0 * operator + least) + vector / math.sqrt(least)
        )
        return LinearUCB(estimate, inverse, width)


class DPLinUCB(BatchedLinUCB):
    """Jointly (epsilon, delta)-differentially private LinUCB: every round pays once.

    Parameters
    ----------
    features
        d, the length of an action's vector.
    gate
        The gate of the rounds' moments.
    epsilon, delta
        The privacy of one round: the contexts offered, and the reward.
    horizon
        The number of rounds T that the widths are for; when more are observed, it warns once (`HorizonPassed`). None if
        it is not known: then they are for each epoch's (`algorithms.epochs`), and nothing else changes.
    norm
        S, a bound on ``|theta*|``.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the gate is none.
    TrustViolation
        If the gate's trust is local.

    Examples
    --------
    >>> import numpy as np
    >>> from accountant import Accountant, Budget, GaussianComposition
    >>> from algorithms import DPLinUCB
    >>> rng = np.random.default_rng(1)
    >>> accountant = Accountant(Budget(1.0, 1e-5), composition=GaussianComposition(), noise=rng)
    >>> learner = DPLinUCB(2, accountant, epsilon=1.0, delta=1e-5, horizon=500)
    >>> for user in range(500):
    ...     offered = rng.uniform(-0.7, 0.7, (5, 2))
    ...     action = offered[learner.policy.choose([offered])[0]]
    ...     moments = learner.feedback_domain.moments(action, reward := action[0])
    ...     learner.observe(accountant.private(moments, learner.feedback_domain, record=user))
    >>> learner.releases, bool(learner.policy.estimate[0, 0] > learner.policy.estimate[0, 1])
    (6, True)
    """

    name = "dp-linucb"
    summary = "LinUCB on growing batches of moments, analytic Gaussian noise on each batch"
    as_printed = "certified (joint differential privacy)"
    claim = ClaimForm.for_reports(
        "central",
        "this library: LinUCB on growing batches of noisy moments; the view is Shariff & Sheffet's (2018)",
        view=View.OTHER_ACTIONS,
    )

    def __init__(
        self,
        features: int,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        horizon: int | None,
        norm: float = 1.0,
    ) -> None:
        domain = RegressionMoments(features)
        mechanism = Gaussian.for_epsilon_delta(
            check_epsilon(epsilon), check_delta(delta), sensitivity=domain.sensitivity
        )
        super().__init__(gate, domain, mechanism, horizon, norm)


class LinUCB(BatchedLinUCB):
    """LinUCB on the same batches, without noise and without privacy: the baseline for `DPLinUCB`.

    Parameters
    ----------
    features, gate, horizon, norm
        As for `DPLinUCB`.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the gate is none.
    """

    name = "linucb"
    summary = "LinUCB on growing batches, no privacy"
    source = "Li et al. 2010; widths of Abbasi-Yadkori, Pal & Szepesvari 2011"
    claim = replace(NO_CLAIM, view=View.OTHER_ACTIONS)

    def __init__(self, features: int, gate: Gate, *, horizon: int | None, norm: float = 1.0) -> None:
        super().__init__(gate, RegressionMoments(features), None, horizon, norm)
