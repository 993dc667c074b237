"""The interface of learners: `act`, `observe`, and a claim.

A learner is built on a public *structure* (super arms, matroid bases or ranked lists with their
oracle), never on a problem's means, and touches user data only through its gate. Its arrays have a
leading axis of lanes, one lane in production.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from accountant import Private
from algorithms.claim import ClaimForm
from mechanisms import Domain
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError, open_unit, whole_number, within

DEFAULT_DELTA = 1e-3
"""The delta of simulated learners that need one (the cascading bandits paper's); a claim names its own."""
LEAST_DELTA = 2.0**-203
"""The least delta that is charged exactly as a float; a smaller one is rounded up, beyond a budget of its size."""
LEAST_EPSILON, LARGEST_EPSILON = 1e-7, 1e9
"""Between these, all learners' indices and bounds are right to rounding; beyond, squares and debiased bits are not."""

Family = Literal["bandit", "semi-bandit", "matroid", "cascade", "experts", "linear", "contextual"]
"""The kinds of problems that learners are for."""


class Learner(Protocol):
    """One bandit learner in any number of lanes."""

    claim: ClassVar[ClaimForm]
    """The learner's privacy claim, for every epsilon."""

    family: ClassVar[Family]
    """The kind of problem that it plays."""

    @property
    def feedback_domain(self) -> Domain:
        """Domain of the observation of one record."""

    def act(self) -> IntArray:
        """Return the super arm to play in the next round, shape (lanes, size), padded with -1.

        Asked again before `observe`, it is the same one, but for learners that draw it at random.
        """

    def observe(self, feedback: Private) -> None:
        """Learn from the private feedback on the last action of `act`, shape (lanes, size).

        Learners on a structure take feedback that comes late with a ticket (`StructuredLearner.observe`).

        Raises
        ------
        NothingPlayed
            Before the first `act`.
        AmbiguousFeedback
            If earlier calls of `act` returned other actions and were not observed.
        ForeignValue, DomainError, ValueError
            If the feedback is not private, of another gate, from a domain that does not lie in `feedback_domain`, or a
            sum of other than one round's. Values that `private` admits with `feedback_domain` are accepted, and so are
            values that `Private.map` maps into it.
        Refusal
            If the gate refuses the record.

        Nothing is charged and nothing changes then: the learner is as before the call. One exception: if a record that
        was admitted spends its budget elsewhere before its release, that release fails for all records that wait
        with it; they are lost, and the learner goes on without them.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """Statistics by which a learner chooses its next action, each of shape (lanes, arms).

    Attributes
    ----------
    estimate
        The estimate of each arm's mean; anything where `count` is 0.
    count, releases
        The number of values and of noises in it.
    index
        The upper bound that is passed to the oracle; or, where the arm of least index is played, that index.
    """

    estimate: FloatArray
    count: FloatArray
    releases: FloatArray
    index: FloatArray

    def copy(self) -> Confidence:
        """Return arrays of their own, which later rounds do not change."""
        return Confidence(self.estimate.copy(), self.count.copy(), self.releases.copy(), self.index.copy())


class ExplainedLearner(Learner, Protocol):
    """Learner that shows the statistics of its regret proof.

    A learner that uses only some of the outcomes that it sees names their arms: ``fed_arms``, (lanes, q), after `act`.
    """

    def confidence(self) -> Confidence:
        """Return the statistics by which the next action is chosen: views of its state, or copies.

        A learner that draws its indices shows those of its last action.
        """


@dataclass(frozen=True, slots=True, eq=False)
class ClickConfidence:
    """Statistics by which a learner of ranked lists chooses, each of shape (lanes, items).

    Attributes
    ----------
    clicks, examinations
        Estimates of an item's clicks and examinations, over its displays.
    displays, releases
        The number of displays and of noises in them.
    index
        The index by which items are ranked; at least 5e11 for one without an upper bound.
    """

    clicks: FloatArray
    examinations: FloatArray
    displays: FloatArray
    releases: FloatArray
    index: FloatArray

    def copy(self) -> ClickConfidence:
        """Return arrays of their own, which later rounds do not change."""
        arrays = (self.clicks, self.examinations, self.displays, self.releases, self.index)
        return ClickConfidence(*(array.copy() for array in arrays))


class ExplainedLists(Learner, Protocol):
    """Learner of ranked lists that shows the statistics of its regret proof."""

    def click_confidence(self) -> ClickConfidence:
        """Return the statistics by which the next list is chosen: views of its state, or copies."""


class PhasedLearner(Learner, Protocol):
    """Learner that holds its action for a phase of known length.

    It also accepts the total of several rounds at once: under `Simulation` a problem's `draw_totals`, under an
    accountant the sum of the records' private values. One round at a time is the same with totals of one.
    """

    @property
    def committed_rounds(self) -> IntArray:
        """Number of rounds from now on in which `act` returns its last action, at least 1; shape (lanes,)."""

    def observe(self, feedback: Private, rounds: IntArray | None = None) -> None:
        """Learn from the private total of `rounds` rounds, at most the committed ones, 0 for none; 1 by default."""


def check_rounds(rounds: IntArray | None, committed: IntArray) -> IntArray:
    """Return how many rounds a total is of, shape (lanes,), after checking them; 1 by default.

    Raises
    ------
    ParameterError
        Unless each is a whole number from 0 up to the rounds that its lane is committed to.
    """
    try:
        rounds = np.ones_like(committed) if rounds is None else np.asarray(rounds)
    except ValueError:  # lists of different lengths
        rounds = np.empty((), dtype=object)
    if rounds.shape != committed.shape or rounds.dtype.kind not in "iu":
        raise ParameterError(
            f"rounds of shape {rounds.shape} and type {rounds.dtype}: must be whole numbers of "
            f"shape {committed.shape}"
        )
    wrong = np.flatnonzero((rounds < 0) | (rounds > committed))
    if wrong.size:
        raise ParameterError(
            f"rounds[{wrong[0]}] = {rounds[wrong[0]]}: must be from 0 to the {committed[wrong[0]]} rounds "
            "that the action is committed to (at 0, call act for the next one)"
        )
    return rounds


class WarmStartLearner(Learner, Protocol):
    """A learner that its paper starts on a full outcome vector before the first round."""

    def observe_initial(self, outcomes: Private) -> None:
        """Learn from the outcomes of all arms at once, shape (lanes, arms)."""


def check_epsilon(epsilon: float) -> float:
    """Return a privacy parameter after checking it.

    Raises
    ------
    ParameterError
        Unless it is a number from `LEAST_EPSILON` to `LARGEST_EPSILON`.
    """
    return within("epsilon", epsilon, LEAST_EPSILON, LARGEST_EPSILON)


_NEEDED = "its noise or its radii are for a known number of rounds"


def takes_horizon(make: type) -> bool:
    """Return True if learners of a class can be given a horizon."""
    parameters = inspect.signature(make).parameters.values()
    return any(each.name == "horizon" or each.kind is each.VAR_KEYWORD for each in parameters)


def takes_delta(make: type) -> bool:
    """Return True if learners of a class are built with a delta."""
    return "delta" in inspect.signature(make).parameters


def needs_horizon(make: type) -> str:
    """Return why learners of a class must be given a horizon; empty if they need not."""
    if not takes_horizon(make):
        return ""
    reason: str = getattr(make, "needs_horizon", _NEEDED)
    return reason


def check_horizon(horizon: int | None, needed: str = _NEEDED) -> int:
    """Return a horizon after checking it.

    Parameters
    ----------
    horizon
        The number of rounds.
    needed
        Why it must be given.

    Raises
    ------
    ParameterError
        Unless it is a whole number of at least 1, and below 2^63: rounds are counted in 64 bits.
    """
    if horizon is None:
        raise ParameterError(f"horizon = None: must be given: {needed}")
    return whole_number("horizon", horizon, least=1)


def check_delta(delta: float) -> float:
    """Return the delta of approximate differential privacy after checking it.

    Raises
    ------
    ParameterError
        Unless it is a number strictly between 0 and 1, of at least `LEAST_DELTA`.
    """
    number = open_unit("delta", delta)
    if number < LEAST_DELTA:
        raise ParameterError(
            f"delta = {delta!r}: must be at least {LEAST_DELTA:.3g}, as less is charged rounded up"
        )
    return number
