"""Phased elimination for standard linear bandits, certified under three trust models: one client per round.

Li, Zhou & Ji 2022, Algorithm 3 ("DP-PE"), repaired as `algorithms.linear.dp_dpe`. A client is one round: it plays one
action, and its one reward in [-B, B] enters one sum, so a phase ends with a private sum for each action in the
support. With x = ln(2 k L T), sums of T(x) rewards and noise of proxy τ(x)² on each sum,

    W_a = √(2x Σ_x c_a(x)² v(x)),  v(x) = B²/T(x) + τ(x)²/T(x)²,  c_a(x) = v(x)⁻¹ aᵀV⁺x,  V = Σ v(x)⁻¹ x xᵀ,

holds for all actions in all phases with probability 1 - 1/T (rewards in [-B, B] are B-sub-Gaussian).

In production, as with `algorithms.linear.dp_dpe`, but a client for every round:

>>> import numpy as np
>>> from accountant import Accountant, Budget
>>> rng = np.random.default_rng(0)
>>> actions = rng.standard_normal((50, 4))
>>> actions /= np.linalg.norm(actions, axis=1)[:, None]
>>> accountant = Accountant(Budget(epsilon=2.0, delta=1e-6), seed=1)
>>> learner = DPPELocal(actions, accountant, epsilon=2.0, delta=1e-6, horizon=100)
>>> clients = iter(range(100))
>>> while (phase := learner.act()) is not None:  # play phase.order, one client after the other
...     for action, client in zip(phase.order, clients, strict=False):
...         reward = rng.uniform(-1, 1)  # of this client for this action
...         if phase.clients:  # else it is the last one, in which nobody reports
...             report = phase.report(reward)[np.newaxis]
...             learner.observe(accountant.private(report, phase.domain, client))
>>> accountant.worst()[1].epsilon <= 2, learner.played
(True, 100)
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.claim import NO_CLAIM, ClaimForm
from algorithms.learner import check_delta, check_epsilon
from algorithms.linear.elimination import Elimination
from algorithms.linear.g_optimal import support_bound
from algorithms.linear.linear_parameters import checked_scale
from algorithms.linear.linear_phases import PAPER, RewardPhase, check_reports
from algorithms.linear.report_noise import CentralNoise, LocalNoise, NoNoise, ShuffledNoise
from algorithms.problems import Parameter
from mechanisms import Box, ShuffledMean
from mechanisms.arrays import IntArray
from mechanisms.parameters import ParameterError

ASSUMED_BOUND = Parameter(
    "reward_bound", "float", 1.0, 1e-9, None, "B; what a client reports is clipped to [-B, B]"
)


class StandardElimination(Elimination[RewardPhase]):
    """Phased elimination in which a new client plays every round and reports its reward.

    Parameters
    ----------
    actions
        Shape (k, d), each of length at most 1.
    gate
        The gate for rewards; one lane.
    horizon
        T, also the number of clients; None if it is not known.
    reward_bound
        B: rewards are clipped to [-B, B] and must lie there for the regret theorem to hold.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the gate has more than one lane.
    TrustViolation
        If the gate's trust is local and the learner's claim is not.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (ASSUMED_BOUND,)
    _waited_for = "rewards"
    reward_bound: float

    def __init__(
        self, actions: npt.ArrayLike, gate: Gate, *, horizon: int | None, reward_bound: float = 1.0
    ) -> None:
        super().__init__(actions, gate, horizon)
        self.reward_bound = checked_scale(
            "reward_bound", reward_bound, why=": a single reward is not concentrated"
        )
        # Rewards of each action of the open phase's support.
        self._received: IntArray = np.zeros(0, dtype=np.int64)
        self._begin(self.horizon)

    def _begin(self, horizon: int) -> None:
        # The first phase has h_1 = S rounds, so T/S + 1 >= 2^L for L completed ones.
        first = self.length(1)
        self.phases = max(1, math.floor(math.log2(horizon / first + 1)))
        self.exponent = math.log(2.0 * self.actions.shape[0] * self.phases * horizon)

    def length(self, number: int) -> int:
        """Return h_l = 2^{l-1} S, S = 4d ln ln d + 16 the largest support of a design."""
        return (1 << (number - 1)) * support_bound(self.actions.shape[1])

    def _clients(self, number: int, counts: IntArray) -> int:
        return int(counts.sum())

    def _planned(self, number: int, support: IntArray, counts: IntArray, clients: int) -> RewardPhase:
        return RewardPhase(number, support, counts, clients, np.full(support.size, self.reward_bound))

    @property
    def next_action(self) -> int | None:
        """The action of the next client, for the reward that `observe` takes; None if `act` is next."""
        return None if self._phase is None else int(self._phase.support[self._coordinate(self._phase)])

    def _coordinate(self, phase: RewardPhase) -> int:
        """Return the place in the support of the first action that lacks rewards."""
        return int(np.argmax(self._received < phase.counts))

    def _place_of(self, phase: RewardPhase, action: int) -> int:
        """Return the place in the support of an action that a client played."""
        found = np.flatnonzero(phase.support == action)
        if found.size == 0 or self._received[found[0]] == phase.counts[found[0]]:
            known = "is not played in this phase" if found.size == 0 else "has all its rewards in this phase"
            missing = phase.support[self._received < phase.counts].tolist()
            raise ParameterError(f"action = {action!r}: {known}; waited for are {missing}")
        return int(found[0])

    def observe(self, report: Private, *, action: int | None = None) -> None:
        """Take a client's report, in `RewardPhase.domain`, shape (1, 1).

        Parameters
        ----------
        report
            The client's reward.
        action
            The action that the client played, where clients come in any order; by default `next_action`.

        Raises
        ------
        RuntimeError
            If no phase waits for rewards.
        ParameterError
            If the phase does not play the action, or has all its rewards; nothing changes.
        ForeignValue, DomainError, ValueError
            If the report is not private or comes from another domain; nothing changes.
        RecordWaiting, BudgetExceeded
            If the client has reported in this phase already, or cannot pay for its release; nothing changes. From the
            release itself, if a client has spent its budget elsewhere meanwhile: then the phase ends, and nobody
            learns from it.
        """
        phase = self._asking_phase()
        self._observe(
            phase, report, 1, self._coordinate(phase) if action is None else self._place_of(phase, action)
        )

    def observe_many(self, reports: Private, clients: int) -> None:
        """Take the rewards of the next clients side by side; all play the same action.

        Under `Simulation` only, where no record pays; the same draws as one reward at a time.

        Raises
        ------
        RuntimeError, ForeignValue, DomainError, ValueError
            As `observe`; also if fewer clients are to play the next action, or several come elsewhere than under
            `Simulation`.
        """
        phase = self._asking_phase()
        self._observe(phase, reports, clients, self._coordinate(phase))

    def _observe(self, phase: RewardPhase, reports: Private, clients: int, coordinate: int) -> None:
        left = int(phase.counts[coordinate] - self._received[coordinate])
        check_reports(self.gate, reports, phase, clients, left)
        self._take(phase, reports, clients, coordinate)
        self._received[coordinate] += clients

    def _open(self, phase: RewardPhase) -> None:
        self._received = np.zeros_like(phase.counts)
        super()._open(phase)


class PE(NoNoise[RewardPhase], StandardElimination):
    """PE without privacy: sums are published."""

    name = "pe"
    summary = "phased elimination with exact widths, one client per round, no privacy"
    source = PAPER + "Algorithm 3"
    claim = NO_CLAIM


class _Private(StandardElimination):
    """An instance with privacy parameters.

    Parameters
    ----------
    actions, gate, horizon, reward_bound
        As for `StandardElimination`.
    epsilon, delta
        The privacy of one client's reward; exact at every epsilon > 0.
    """

    def __init__(
        self,
        actions: npt.ArrayLike,
        gate: Gate,
        *,
        epsilon: float,
        delta: float,
        horizon: int | None,
        reward_bound: float = 1.0,
    ) -> None:
        self.epsilon, self.delta = check_epsilon(epsilon), check_delta(delta)
        super().__init__(actions, gate, horizon=horizon, reward_bound=reward_bound)


class DPPECentral(CentralNoise[RewardPhase], _Private):
    """PE, (epsilon, delta)-DP with a trusted server: Gaussian noise on each action's sum, τ = 2B / μ."""

    name = "dp-pe-central"
    summary = "phased elimination, analytic Gaussian noise on each action's sum"
    as_printed = "certified repair of published/dp-pe-central"
    claim = ClaimForm.for_reports("central", PAPER + "Algorithm 3 with (55), repaired: analytic noise")


class DPPELocal(LocalNoise[RewardPhase], _Private):
    """PE, (epsilon, delta)-LDP: every client adds Gaussian noise to its reward, τ(x)² = T(x) (2B / μ)²."""

    name = "dp-pe-local"
    summary = "phased elimination, analytic Gaussian noise on each reward"
    as_printed = "certified repair of published/dp-pe-local"
    claim = ClaimForm.for_reports("local", PAPER + "Algorithm 3 with (57), repaired: analytic noise")


class DPPEShuffle(ShuffledNoise[RewardPhase], _Private):
    """PE, (epsilon, delta)-DP with a trusted shuffler: calibrated bits for each action's T(x) clients."""

    name = "dp-pe-shuffle"
    summary = "phased elimination, numerically calibrated shuffled bits"
    as_printed = "certified repair of published/dp-pe-shuffle"
    claim = ClaimForm.for_reports("shuffle", PAPER + "Algorithm 3 with (59), repaired: calibrated bits")

    def _begin(self, horizon: int) -> None:
        ShuffledMean.check_claim(self.epsilon, self.delta, size=1)  # before anybody reports
        super()._begin(horizon)


REWARD_DOMAIN = Box(-1.0, 1.0, 1)
"""The domain of a client's clipped reward, in units of B."""
