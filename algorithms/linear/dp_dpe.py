"""Distributed phased elimination for linear bandits, certified under three trust models.

Li, Zhou & Ji 2022 ("DP-DPE"), repaired: analytic noise for every epsilon, reports clipped to public bounds that
they exceed with probability at most 1/T in a whole run, clients drawn without replacement (a record enters one
release), and widths that are computed from public quantities action by action instead of bounded.

Theorem (certified): with x = ln(2 k L T) all widths hold in all phases with probability 1 - 1/T, so the best action
is never eliminated, and

    R(T) <= 2S + 6 + 2 + 4 Σ_l (2 h_l + S) √(2x [ (σ² + 2d/h_l) / |U_l| + τ_l² Q_l ]),   Q_l <= 2d (1 + 1/h_l) ,

with 2 for 4 in the last phase, and no summand above ``(2 h_l + S) R``, R the largest gap, where twice the sum is then
less than ``R (T - 2 - S)``: the action of the largest estimate is played to the end, from when
`algorithms.linear.elimination` says.

In production, one client at a time. Where more clients are asked than a phase waits for, late reports are recognised by
the phase that their clients played:

>>> import numpy as np
>>> from accountant import Accountant, Budget
>>> rng = np.random.default_rng(0)
>>> actions = rng.standard_normal((50, 4))
>>> actions /= np.linalg.norm(actions, axis=1)[:, None]
>>> accountant = Accountant(Budget(epsilon=2.0, delta=1e-6), seed=1)
>>> learner = DPDPEShuffle(
...     actions, accountant, epsilon=2.0, delta=1e-6, horizon=300, population=1000, sigma=0.1, reward_bound=1.0
... )
>>> clients = iter(rng.permutation(1000).tolist())  # each reports at most once
>>> while (phase := learner.act()) is not None:  # play phase.support, phase.counts times each
...     for client in (next(clients) for _ in range(phase.clients)):
...         averages = rng.uniform(-1, 1, phase.counts.size)  # the client's averages of its rewards
...         report = phase.report(averages)[np.newaxis]
...         learner.observe(accountant.private(report, phase.domain, client), phase=phase)
>>> accountant.worst()[1].epsilon <= 2, learner.communication.reals
(True, 0)
"""

from __future__ import annotations

from typing import Unpack

import numpy.typing as npt

from accountant import Gate
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.learner import check_delta, check_epsilon
from algorithms.linear.g_optimal import support_bound
from algorithms.linear.linear_phases import PAPER, Phase
from algorithms.linear.phased_elimination import PhasedElimination, PhasedSettings
from algorithms.linear.report_noise import CentralNoise, GaussianNoise, LocalNoise, NoNoise, ShuffledNoise
from mechanisms import ShuffledMean


class DPE(NoNoise[Phase], PhasedElimination):
    """DPE without privacy: the mean of the reports is published."""

    name = "dpe"
    summary = "distributed phased elimination with exact widths, no privacy"
    source = PAPER + "Algorithm 1"
    claim = NO_CLAIM


class _Private(PhasedElimination, GaussianNoise[Phase]):
    """An instance with privacy parameters.

    Parameters
    ----------
    actions, gate, **settings
        As for `PhasedElimination`.
    epsilon, delta
        The privacy of one client's report; exact at every epsilon > 0.
    """

    def __init__(
        self,
        actions: npt.ArrayLike,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        **settings: Unpack[PhasedSettings],
    ) -> None:
        self.epsilon, self.delta = check_epsilon(epsilon), check_delta(delta)
        super().__init__(actions, gate, **settings)


class DPDPECentral(CentralNoise[Phase], _Private):
    """DPE, (epsilon, delta)-DP with a trusted server: Gaussian noise on each phase's sum of reports."""

    name = "dp-dpe-central"
    summary = "distributed phased elimination, analytic Gaussian noise on each phase's sum"
    as_printed = "certified repair of published/dp-dpe-central"
    claim = ClaimForm.for_reports(
        "central", PAPER + "Algorithm 1 with (5), repaired: analytic noise, clipped reports"
    )


class DPDPELocal(LocalNoise[Phase], _Private):
    """DPE, (epsilon, delta)-LDP: every client adds Gaussian noise to its report."""

    name = "dp-dpe-local"
    summary = "distributed phased elimination, analytic Gaussian noise on each report"
    as_printed = "certified repair of published/dp-dpe-local"
    claim = ClaimForm.for_reports(
        "local", PAPER + "Algorithm 1 with (7), repaired: analytic noise, clipped reports"
    )


class DPDPEShuffle(ShuffledNoise[Phase], _Private):
    """DPE, (epsilon, delta)-DP with a trusted shuffler: bits, calibrated numerically; nearly the central noise."""

    name = "dp-dpe-shuffle"
    summary = "distributed phased elimination, numerically calibrated shuffled bits"
    as_printed = "certified repair of published/dp-dpe-shuffle"
    claim = ClaimForm.for_reports(
        "shuffle", PAPER + "Algorithm 1 with (9), repaired: calibrated bits, clipped reports"
    )

    def _begin(self, horizon: int) -> None:
        k, d = self.actions.shape
        size = min(k, support_bound(d))
        ShuffledMean.check_claim(self.epsilon, self.delta, size=size)  # before anybody reports
        super()._begin(horizon)
