"""The base class of contextual learners: a public policy for all contexts, and moments of rounds through a gate.

The server publishes a policy that maps any context to an action (`LinearUCB`), the choice is made beside the user's
data, and the server receives the round's moments ``(x x', x y)`` (`RegressionMoments`), which contain the action: they
may come late and in any order.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private, check_feedback, check_gate
from algorithms.claim import ClaimForm
from algorithms.epochs import epoch_horizon, epoch_of
from algorithms.learner import Family, check_horizon
from algorithms.linear.linear_parameters import checked_scale
from algorithms.problems import Parameter
from algorithms.problems.linear import LONGEST_UNIT
from algorithms.structured_learner import RoundCount
from algorithms.tickets import Ticket, TicketedLearner
from mechanisms import Gaussian, RegressionMoments
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.domain import as_numbers
from mechanisms.domains.regression_moments import shortened
from mechanisms.parameters import ParameterError

_NORM = Parameter("norm", "float", 1.0, 1e-9, None, "S, a bound on the length of theta*")


@dataclass(frozen=True, slots=True, eq=False)
class LinearUCB:
    """Public policy for all contexts, which stays the same until the next release.

    Attributes
    ----------
    estimate
        theta_j, (lanes, d).
    covariance
        V_j^-1, (lanes, d, d).
    width
        beta_j, (lanes,).
    """

    estimate: FloatArray
    covariance: FloatArray
    width: FloatArray

    def choose(self, contexts: npt.ArrayLike) -> IntArray:
        """Return the place of the action x of largest ``theta . x + beta |x|_(V^-1)``, ties by the first; (lanes,).

        To be called where the context may be known, and its result shown to its user only. Actions outside the unit
        ball are shortened, as `RegressionMoments.moments` shortens them for learning.

        Parameters
        ----------
        contexts
            The actions offered in each lane, (lanes, actions, d), one at least, and finite.

        Raises
        ------
        ParameterError
            If they are not.
        """
        offered = as_numbers(contexts, "contexts")
        lanes, d = self.estimate.shape
        if (
            offered.ndim != 3
            or not offered.shape[1]
            or offered.shape[2] != d
            or lanes not in (1, len(offered))
        ):
            raise ParameterError(f"contexts of shape {offered.shape}: must be ({lanes}, actions, {d})")
        if not np.isfinite(offered).all():
            raise ParameterError("contexts: must be finite numbers")
        # Others are as they were: ties are not broken by rounding.
        inside = np.linalg.norm(offered.clip(-2.0, 2.0), axis=2, keepdims=True) <= LONGEST_UNIT
        offered = np.where(inside, offered, shortened(offered))
        mean = np.einsum("lad,ld->la", offered, self.estimate)
        return np.asarray((mean + self.radii(offered)).argmax(axis=1))

    def radii(self, actions: FloatArray) -> FloatArray:
        """Return ``beta |x|_(V^-1)`` of actions (lanes, actions, d): how far estimates may be off; (lanes, actions)."""
        square = np.einsum("lad,lde,lae->la", actions, self.covariance, actions)
        return np.asarray(self.width[:, np.newaxis] * np.sqrt(np.maximum(square, 0.0)))


def regress(
    matrix: FloatArray, vector: FloatArray, least: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``V^-1 u``, ``V^-1`` and ``ln det(V / least)`` of each lane; eigenvalues below `least` count as `least`.

    Parameters
    ----------
    matrix
        V, symmetric, (lanes, d, d).
    vector
        u, (lanes, d).
    least
        The least eigenvalue, unless the noise exceeds its bound; above 0.
    """
    values, axes = np.linalg.eigh(matrix)
    values = np.maximum(values, least)
    inverse = (axes / values[:, np.newaxis, :]) @ np.swapaxes(axes, 1, 2)
    return np.einsum("lde,le->ld", inverse, vector), inverse, np.log(values / least).sum(axis=1)


class ContextualLearner(TicketedLearner, abc.ABC):
    """LinUCB on moments that a gate releases.

    Parameters
    ----------
    gate
        The gate of the rounds' moments.
    domain
        The domain of a round's moments.
    mechanism
        The noise of released sums; None if they are released raw.
    horizon, norm
        T and S of the widths; without a horizon, they are of each epoch's (`algorithms.epochs`).

    Attributes
    ----------
    policy
        The policy to play now.
    epoch
        The epoch of its widths; 0 with a horizon.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the gate is none; or the horizon None, and the learner needs one.
    TrustViolation
        If the gate's trust is local.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (_NORM,)
    claim: ClassVar[ClaimForm]
    family: ClassVar[Family] = "contextual"
    needs_horizon: ClassVar[str] = "its noise or its widths are for a known number of rounds"
    policy: LinearUCB

    def __init__(
        self,
        gate: Gate,
        domain: RegressionMoments,
        mechanism: Gaussian | None,
        horizon: int | None,
        norm: float,
    ) -> None:
        super().__init__()
        check_gate(gate, self.claim.model, type(self).__name__)
        self.norm = checked_scale("norm", norm)
        self.feedback_domain = domain
        self.mechanism: Gaussian | None = mechanism
        self.gate = gate
        if self.needs_horizon:
            horizon = check_horizon(horizon, self.needs_horizon)
        self.rounds = RoundCount(horizon)
        self.epoch = 0

    @property
    def horizon(self) -> int:
        """T, or that of the epoch."""
        return epoch_horizon(self.epoch) if self.rounds.horizon is None else self.rounds.horizon

    def issue(self) -> Ticket:
        """Return a ticket for the feedback on one round.

        Its action is empty, shape (lanes, 0): the choice of `policy` in the round's context is for its user only, and
        the round's moments contain it. The ticket ensures that they are learned from once.
        """
        return self.waiting.issue(np.zeros((self.gate.lanes, 0), dtype=np.int64))

    def observe(self, feedback: Private, *, ticket: Ticket | str | None = None) -> None:
        """Learn from a round's private moments, `feedback_domain`'s; in any order, at any delay.

        Parameters
        ----------
        feedback
            The moments.
        ticket
            The round's ticket or its name, if it has one.

        Raises
        ------
        TicketRefused
            If the ticket is not open.
        ForeignValue, DomainError, ValueError
            As `accountant.check_feedback`.
        Refusal
            If the gate refuses the record. Nothing is charged and nothing changes, as with all of these.
        """
        own = None if ticket is None else self.waiting.find(ticket)
        check_feedback(self.gate, feedback, self.feedback_domain)
        self.learn(feedback)
        if own is not None:
            self.waiting.close(own)
        self.rounds.add(None, self)
        if self.rounds.horizon is None:
            epoch = int(epoch_of(self.rounds.observed))
            if epoch != self.epoch:
                self._begin(epoch)

    def _begin(self, epoch: int) -> None:
        """Begin an epoch; if this is interrupted, the next round begins it."""
        before = self.epoch
        try:
            self.epoch = epoch
            self.renew()
        except BaseException:
            self.epoch = before
            raise

    def renew(self) -> None:
        """Compute the policy from the released values with the current widths; by default do nothing."""

    @abc.abstractmethod
    def learn(self, feedback: Private) -> None:
        """Learn from a round's moments, once they are checked."""

    def _places(self) -> IntArray:
        """Return the coordinates of all moments, (lanes, coordinates)."""
        return np.arange(self.feedback_domain.shape[0])[np.newaxis].repeat(self.gate.lanes, axis=0)
