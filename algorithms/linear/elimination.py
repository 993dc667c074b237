"""Phased elimination: designs, surviving actions, and the rule to commit to the leader.

After a phase of widths W_a, on the event that they hold, the leader â = argmax <theta~, a> has a gap of at most
W_â + W_a* <= 2 W, W the largest of them, where a survivor has one of up to 4 W. So with `left` rounds to come, of
which j more phases of n_1, ..., n_j rounds would explore and leave widths W_1, ..., W_j (public before anyone reports),
regret is at most

    4 Σ_{i <= j} n_i W_{i-1} + 2 (left - Σ_{i <= j} n_i) W_j,    W_0 = W ,

and the leader is played to the end, with no reports, if j = 0 makes this least, also where each W_i is no more than
those before it. The actions follow from released values, so privacy is as without the rule. With all phases that fit
the bound is no more than that of exploring to the horizon, whose last, cut phase costs 4 W a round where the leader
costs 2 W.

No better constants would bring the theorem of the local learners below a third of the worst regret on the default
problem, at ``epsilon = 1``, ``delta = 1e-6`` and ``T = 10^6``:

*Proof.* The argument says of a round that its gap is at most two widths, or four; the widths are those that the learner
itself computes. With all actions left `algorithms.DPDPELocal` has widths of .54 and more up to its last phase, and no
gap is above .89: the bound is vacuous. In a run of `algorithms.DPPELocal` widths after phases 13, 14 and 15, of 69,633,
139,266 and 278,529 rounds, are .30, .21 and .18 and more: whenever the leader is played, the sum is three fifths of the
worst regret or more. QED
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Sequence
from typing import ClassVar, Generic

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.claim import ClaimForm
from algorithms.learner import Family, check_horizon
from algorithms.linear.g_optimal import g_optimal_design
from algorithms.linear.linear_parameters import checked_actions, checked_gate
from algorithms.linear.linear_phases import Following, Learned, Phase, PhaseType, ReportMean
from algorithms.restarts import restart_horizon
from mechanisms import Communication, Mechanism
from mechanisms.arrays import FloatArray, IntArray

_TOLERANCE = 1e-8
"""Below this share of the largest singular value, public, a direction is outside the span.

Gaps along it are below about ``1e-8 sqrt(2 d)``, as no leverage is above 2 d: of no account in 2^63 rounds.
"""


class Elimination(abc.ABC, Generic[PhaseType]):
    """Base class of all learners in phases.

    Parameters
    ----------
    actions
        Shape (k, d), each of length at most 1.
    gate
        The gate for reports; one lane.
    horizon
        T; None if it is not known: then the learner restarts (`algorithms.restarts`), with all actions, and clients
        that have not reported before.

    Attributes
    ----------
    played
        The rounds so far, with all of the open phase.
    reported
        The clients that were asked so far, with all of the open phase.
    epoch
        The number of restarts; 0 with a horizon.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the gate has more than one lane; or the horizon None, and the learner needs
        one.
    TrustViolation
        If the gate's trust is local and the learner's claim is not.
    """

    claim: ClassVar[ClaimForm]
    family: ClassVar[Family] = "linear"
    needs_horizon: ClassVar[str] = ""
    _waited_for: ClassVar[str] = "reports"
    sigma: float = 0.0
    reward_bound: float | None
    exponent: float  # x

    def __init__(self, actions: npt.ArrayLike, gate: Gate, horizon: int | None) -> None:
        self.gate = checked_gate(gate, self.claim, type(self).__name__)
        self.actions = checked_actions(actions)
        self.active: IntArray = np.arange(self.actions.shape[0])
        self.learned: Learned | None = None
        if horizon is not None or self.needs_horizon:
            horizon = check_horizon(horizon, self.needs_horizon)
        self.told = horizon
        self.epoch = 0
        self.played = self.reported = 0
        self._begun = 0  # rounds played when the epoch began
        self.communication = Communication()
        self._number = 0
        self._phase: PhaseType | None = None
        self._reports = 0

    def act(self) -> PhaseType | None:
        """Return the next phase: ⌈h_l π_l(x)⌉ plays of each action in the design's support.

        None when the horizon is reached; without one there is always a next. In the last phase of a horizon or epoch,
        where ``clients`` is 0, nobody reports: a certified learner plays its leader, a published one the phase that the
        horizon cuts. After an error it may be called again: no phase is open then, and no round counted.

        Raises
        ------
        RuntimeError
            If reports of the open phase are missing.
        PopulationTooSmall
            If the phase needs more clients than are left, without a horizon; with one, it was seen in the beginning.
        ParameterError
            If its messages are to be shuffled, and would take more random bits than are supported.
        """
        if self._phase is not None:
            missing = self._phase.clients - self._reports
            raise RuntimeError(f"phase {self._number}: {missing} {self._waited_for} are missing")
        left = self._rounds_left
        if left == 0:
            if self.told is not None:
                return None
            self._restart()
            left = self._rounds_left
        self._number += 1
        try:
            phase = self._exploration(
                left, None if self.learned is None else float(self.learned.widths.max())
            )
            if phase is None:
                phase = self._planned(self._number, np.array([self._leader]), np.array([left]), 0)
            self._check_clients(phase)
            if phase.clients:
                self._open(phase)
        except BaseException:  # refused, or interrupted: nothing was handed out
            self._number -= 1
            raise
        self.played += phase.rounds
        self.reported += phase.clients
        if phase.clients:
            self._phase, self._reports = phase, 0
        return phase

    @property
    def horizon(self) -> int:
        """T, or that of the epoch."""
        return restart_horizon(self.epoch) if self.told is None else self.told

    @property
    def _rounds_left(self) -> int:
        """Number of rounds to the end of the horizon or epoch."""
        return self.horizon - (self.played - self._begun)

    def _restart(self) -> None:
        """Begin the next epoch: with its horizon, all actions, and nothing learned."""
        self._begin(restart_horizon(self.epoch + 1))
        self.active = np.arange(self.actions.shape[0])
        self.learned, self._number = None, 0
        self.epoch, self._begun = self.epoch + 1, self.played

    @abc.abstractmethod
    def _begin(self, horizon: int) -> None:
        """Set all that depends on the horizon; also the first time."""

    def _check_clients(self, phase: PhaseType) -> None:
        """Refuse a phase that more clients are to report in than are left."""

    @abc.abstractmethod
    def length(self, number: int) -> int:
        """Return h_l."""

    @abc.abstractmethod
    def _clients(self, number: int, counts: IntArray) -> int:
        """Return how many clients report in a phase."""

    @abc.abstractmethod
    def _planned(self, number: int, support: IntArray, counts: IntArray, clients: int) -> PhaseType:
        """Return a phase."""

    def _open(self, phase: PhaseType) -> None:
        """Get ready for the reports of a phase."""
        self._mean = self._private_mean(phase)

    @abc.abstractmethod
    def _private_mean(self, phase: PhaseType) -> ReportMean:
        """Return the averager of the reports of a phase."""

    def _expected_noise(self, phase: PhaseType) -> FloatArray:
        """Return the noise that `widths` takes, or more, of a phase without reports, shape (s,)."""
        return np.asarray(self._private_mean(phase).proxy * phase.bounds**2)

    def _take(self, phase: PhaseType, reports: Private, clients: int, at: int = 0) -> None:
        """Take checked reports; the last ones of a phase end it."""
        self.communication += self._mean.add(reports, clients, at) * clients
        self._reports += clients
        if self._reports == phase.clients:
            self._phase = None
            self._eliminate(phase, self._mean.release() * phase.bounds, self._noise_of(phase))

    def _noise_of(self, phase: Phase) -> FloatArray:
        return np.asarray(self._mean.proxy * phase.bounds**2)

    def _averaged(self, phase: Phase) -> int:
        """Return how many clients' rewards an average is of, as often as each has played; 1 if each plays once."""
        return 1

    def _eliminate(self, phase: Phase, averages: FloatArray, noise: FloatArray) -> None:
        values, widths = self.values(phase, averages, noise), self.widths(phase, noise)
        variances = self._reward_variances(phase) + noise
        self.learned = Learned(phase, self.active, averages, variances, values, widths)
        self.active = self.active[keeps(values, widths)]

    def values(self, phase: Phase, averages: FloatArray, noise: FloatArray) -> FloatArray:
        """Return <theta~, a> for every active action, shape (..., active).

        Weights om(x) = 1 / (1/(|U| T(x)) + τ(x)²), the inverse variances; V = Σ om x xᵀ, theta~ = V⁺ Σ om x y~(x).

        Parameters
        ----------
        phase
            The phase that was played, with its reporting clients.
        averages
            Private averages y~ of the actions in the support, shape (..., s): one outcome, or many at once.
        noise
            Sub-Gaussian proxies τ(x)² of the noise on them, shape (s,).
        """
        points, weights, root = self._weighted(phase, noise)
        theta = (weights * averages) @ points @ root
        return theta @ (self.actions[self.active] @ root).T

    def widths(self, phase: Phase, noise: FloatArray) -> FloatArray:
        """Return the public width W_a of every active action, which does not depend on the averages.

        W_a = √(2x [ σ² |a|² / |U| + Σ_x c_a(x)² / om(x) ]) with c_a(x) = om(x) aᵀV⁺x; the sum is aᵀV⁺a.

        Parameters
        ----------
        phase, noise
            As for `values`.
        """
        _, _, root = self._weighted(phase, noise)
        candidates = self.actions[self.active]
        variance = self.sigma**2 * np.einsum("ij,ij->i", candidates, candidates) / self._averaged(phase)
        variance += ((candidates @ root) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(2.0 * self.exponent * variance))

    def _weighted(self, phase: Phase, noise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the support's vectors, their weights om, and R with R Rᵀ = V⁺."""
        points = self.actions[phase.support]
        weights = 1.0 / (self._reward_variances(phase) + noise)
        return points, weights, inverse_root(points, weights)

    def _reward_variances(self, phase: Phase) -> FloatArray:
        """Return sub-Gaussian proxies of averages around their clients' means: 1, or B² (Hoeffding), of a reward."""
        one = 1.0 if self.reward_bound is None else self.reward_bound**2
        return np.asarray(one / (self._averaged(phase) * phase.counts))

    @property
    def open_phase(self) -> PhaseType | None:
        """The phase that waits for reports; None if `act` is next."""
        return self._phase

    def _asking_phase(self) -> PhaseType:
        """Return the phase that waits for reports; refuse reports if there is none."""
        if self._phase is None:
            raise RuntimeError(f"no phase waits for {self._waited_for}: call act first")
        return self._phase

    # --- consequences of a released value, for audits of the action sequence --------------------

    @property
    def mechanism(self) -> Mechanism | None:
        """Mechanism that releases the open phase's reports; None if they are not private."""
        return self._mean.mechanism

    def convert_sums(self, phase: Phase, released: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return averages and noise, as `values` takes them, from released sums of reports, shape (..., s)."""
        return released / phase.reports * phase.bounds, self._noise_of(phase)

    @property
    def _settled(self) -> bool:
        """True if the active actions are all the same: then it is played to the end, without reports."""
        return self.active.size == 1 or not self.actions[self.active].any()

    @property
    def _leader(self) -> int:
        """The action of the largest estimate, which is active; the first one before there are estimates."""
        learned = self.learned
        return int(self.active[0] if learned is None else learned.active[np.argmax(learned.values)])

    def _exploration(self, left: int, widest: float | None) -> PhaseType | None:
        """Return the next phase; None if the leader is played to the end.

        Parameters
        ----------
        left
            Rounds to come.
        widest
            The largest width of the last estimates; None if there are none.
        """
        if self._settled:
            return None
        design = g_optimal_design(self.actions[self.active], start="volume")
        support, number = self.active[design.support], self._number
        phases: list[PhaseType] = []
        explored = 0
        while True:
            counts = design_counts(self.length(number), design.weights)
            explored += int(counts.sum())
            if explored > left:
                break
            phases.append(self._planned(number, support, counts, self._clients(number, counts)))
            number += 1
            if widest is None:
                break
        if not phases:
            return None
        if widest is not None:
            widths = [float(self.widths(phase, self._expected_noise(phase)).max()) for phase in phases]
            if _commits(left, [phase.rounds for phase in phases], [widest, *widths]):
                return None
        return phases[0]

    def continuation(self, kept: npt.NDArray[np.bool_]) -> Following | None:
        """Return the continuation after the open phase if these active actions survive; None at the horizon.

        The learner does not change. At an epoch's end the survivors have no effect: all actions are active again.
        """
        phase, left = self._phase, self._rounds_left
        if phase is None or left == 0:
            return None
        widest = float(self.widths(phase, self.convert_sums(phase, np.zeros(phase.support.size))[1]).max())
        other = copy.copy(self)
        other.active, other._number = self.active[kept], self._number + 1
        return Following(other._exploration(left, widest), left)


def design_counts(length: int, weights: FloatArray) -> IntArray:
    """Return ⌈h π(x)⌉, where a product a little above a whole number is that number."""
    return np.ceil(length * weights - 1e-9).astype(np.int64)


def _commits(left: int, rounds: Sequence[int], widths: Sequence[float]) -> bool:
    """Return True if playing the leader from now on has the least bound on regret; see the module.

    Parameters
    ----------
    left
        The remaining rounds.
    rounds
        The rounds of the phases that would explore next, no more than `left` together.
    widths
        The largest width now, and after each of these phases; one above those before counts as the least of them.

    Examples
    --------
    >>> _commits(500, [100], [1.0, 0.7]), _commits(400, [100], [1.0, 0.7])
    (False, True)
    """
    after = np.minimum.accumulate(widths)
    explored = np.concatenate([[0.0], np.cumsum(rounds)])
    spent = np.concatenate([[0.0], np.cumsum(4.0 * np.asarray(rounds) * after[:-1])])
    return int(np.argmin(spent + 2.0 * (left - explored) * after)) == 0


def keeps(values: FloatArray, widths: FloatArray) -> npt.NDArray[np.bool_]:
    """Keep a iff <theta~, a> + W_a >= max_b (<theta~, b> - W_b); shape (..., active)."""
    return np.asarray(values + widths >= np.max(values - widths, axis=-1, keepdims=True))


def inverse_root(points: FloatArray, weights: FloatArray | IntArray) -> FloatArray:
    """Return R with ``R R' = V^+``, V the sum of ``weight x x'`` over points (s, d); shape (d, rank).

    By singular values, and not multiplied out: V and V^+ themselves would lose short directions to rounding.
    """
    _, values, axes = np.linalg.svd(np.sqrt(weights)[:, np.newaxis] * points, full_matrices=False)
    inside = values > _TOLERANCE * values[0]
    return np.asarray(axes[inside].T / values[inside])
