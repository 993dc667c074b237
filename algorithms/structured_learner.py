"""The base classes of learners on a structure: the action of the round, the rounds observed, and the horizon."""

from __future__ import annotations

import abc
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

from accountant import Gate, Private, check_feedback, check_gate
from algorithms.claim import ClaimForm
from algorithms.epochs import epoch_horizon
from algorithms.learner import Family, check_horizon, check_rounds
from algorithms.problems import (
    Arms,
    Experts,
    LinearBandit,
    LinearContexts,
    Matroid,
    ProblemError,
    RankedLists,
    SuperArms,
)
from algorithms.problems.availability import available_arms
from algorithms.problems.own_choices import check_choice, is_ours
from algorithms.problems.problem_errors import require_structure
from algorithms.tickets import Ticket, TicketedLearner
from mechanisms import Box, Domain, OneHot
from mechanisms.arrays import BoolArray, IntArray
from mechanisms.parameters import DPWitnessError, ParameterError

PLAYS: dict[str, tuple[Family, ...]] = {
    "bandit": ("bandit",),
    "semi-bandit": ("semi-bandit", "matroid", "bandit"),
    "matroid": ("matroid",),
    "cascade": ("cascade",),
    "experts": ("experts",),
    "linear": ("linear",),
    "contextual": ("contextual",),
}
"""The kinds of problems that each family of learners plays: a matroid's bases are super arms, and so is one arm."""

StructureType = TypeVar("StructureType", bound=SuperArms | RankedLists)


def _structure_kind(structure: object) -> Family:
    """Return the kind of problem that a structure belongs to.

    Raises
    ------
    ProblemError
        If it is no structure.
    """
    require_structure(structure)
    if isinstance(structure, RankedLists):
        return "cascade"
    if isinstance(structure, Arms):
        return "bandit"
    if isinstance(structure, Experts):
        return "experts"
    return "matroid" if isinstance(structure, Matroid) else "semi-bandit"


def problem_kind(problem: object) -> Family:
    """Return the kind of a problem, or of a log: that of its structure, if it has one.

    Raises
    ------
    ProblemError
        If it is of no kind.
    """
    if isinstance(problem, LinearBandit):
        return "linear"
    if isinstance(problem, LinearContexts):
        return "contextual"
    return _structure_kind(getattr(problem, "structure", problem))


@functools.lru_cache(maxsize=256)  # asked in every round of a service, of few functions
def _takes_available(choose: Callable[..., Any]) -> bool:
    return "available" in inspect.signature(choose).parameters


class NothingPlayed(DPWitnessError, ValueError, AttributeError):
    """A learner was shown feedback on an action that it has not chosen yet."""


class HorizonPassed(UserWarning):
    """A learner has observed more rounds than its horizon: it is as private as before, but its regret bound is void."""


class _NoAction:
    """Placeholder of an action until there is one: a non-data descriptor, hidden by the learner's own attribute."""

    def __get__(self, learner: object, kind: type[Any]) -> Any:
        if learner is None:
            return self
        raise NothingPlayed(f"{kind.__name__} has played nothing yet: call act before observe")


class RoundCount:
    """Counts the rounds that a learner has observed, and warns once when there are more than its horizon.

    Attributes
    ----------
    horizon
        T, or None.
    observed
        The rounds so far; shape (lanes,) if lanes have clocks of their own.
    passed
        Whether the warning was given.
    """

    def __init__(self, horizon: int | None) -> None:
        self.horizon = None if horizon is None else check_horizon(horizon)
        self.observed: int | IntArray = 0
        self.passed = False

    def add(self, rounds: IntArray | None, learner: object) -> None:
        """Count rounds, 1 by default; to be called by `observe` itself, as a warning is issued to its caller."""
        self.observed = self.observed + (1 if rounds is None else rounds)
        if self.horizon is None:
            return
        longest = self.observed if isinstance(self.observed, int) else self.observed.max()
        if longest > self.horizon and not self.passed:
            self.passed = True
            none = "" if getattr(learner, "needs_horizon", True) else ", or none (horizon=None)"
            warnings.warn(
                f"{type(learner).__name__} has observed more rounds than horizon={self.horizon}: it is as private as "
                "before, but its confidence radii, and so its regret bound, are for that many rounds only. Give it a "
                f"horizon that is long enough (it enters by its logarithm){none}",
                HorizonPassed,
                stacklevel=3,
            )


class StructuredLearner(TicketedLearner, abc.ABC, Generic[StructureType]):
    """Learner of super arms, bases or ranked lists: it chooses actions, and learns from feedback on them.

    Feedback is an outcome in [0, 1] of each arm played, or a click on at most one position of a list. A subclass
    defines how it chooses an action (`choose`) and how it learns from feedback on one (`learn`); this class assigns
    feedback to actions.

    **One user after the other**: `act`, then `observe`. **Late feedback**: `issue` hands out an action with a ticket,
    and `observe` with that ticket takes its feedback at any later time, in any order, once. Public counts decide, when
    feedback arrives, which of an action's outcomes are still used. So every privacy claim holds as without delay if
    the *time* at which feedback arrives does not depend on its content (a missing click that is only known by waiting
    does: then observe every action a fixed time after it was shown). A delay of at most W tickets at a time costs a
    learner by upper confidence bounds at most W more rounds of every arm. One by phases (`DPBestArm`,
    `CascadeUCBBatch`) goes on playing until the last feedback of a phase has arrived, so W more in each, and for each
    arm that a phase plays; a bandit by batches plays up to W more each time that it comes back to an arm.

    **Arms that come and go**: `act` and `issue` take the arms available in this round (`available`). They are public:
    they may depend on anything but the content of feedback. Then an action is still a function of public values and of
    earlier releases, and every privacy claim holds as it is for a learner that uses counts of its actions and
    indices of all arms (`needs_all_arms` is empty); others refuse. Regret is claimed for rounds with all arms only.

    Parameters
    ----------
    structure
        The actions that can be played.
    gate
        The gate for feedback.

    Raises
    ------
    ProblemError
        If the structure is not one that the learner's family plays.
    ParameterError
        If the gate is none.
    TrustViolation
        If the gate's trust is local and the learner's claim is not.
    """

    claim: ClassVar[ClaimForm]
    family: ClassVar[Family]
    needs_all_arms: ClassVar[str] = "its proofs are for the same arms in every round"
    """The reason why all arms must be available in every round; empty if some may be missing."""
    action: IntArray = _NoAction()  # type: ignore[assignment]
    """The action that `act` returned last."""

    def __init__(self, structure: StructureType, gate: Gate) -> None:
        size = self.size_of(structure)
        check_gate(gate, self.claim.model, type(self).__name__)
        super().__init__()
        self.structure = structure
        self.gate = gate
        self.feedback_domain: Domain = OneHot(size) if self.family == "cascade" else Box(0, 1, size)

    @classmethod
    def size_of(cls, structure: StructureType) -> int:
        """Return the size K of a structure that the learner plays.

        Raises
        ------
        ProblemError
            If it is no structure, or not one that the learner's family plays.
        """
        kind = _structure_kind(structure)
        if kind not in PLAYS[cls.family]:
            raise ProblemError(
                f"{cls.__name__} plays {' and '.join(PLAYS[cls.family])} structures, not a "
                f"{type(structure).__name__} ({kind})"
            )
        return structure.size

    @abc.abstractmethod
    def choose(self) -> IntArray:
        """Return the next action, shape (lanes, size), padded with -1.

        A learner that can play without some arms takes `available`, too: the available arms, shape (arms,), or None for
        all.
        """

    @abc.abstractmethod
    def learn(self, action: IntArray, feedback: Private) -> None:
        """Learn from private feedback on one round of an action; one that holds its actions takes `rounds`, too."""

    def act(self, *, available: Iterable[int] | None = None) -> IntArray:
        """Return the action of the next round, for feedback without a ticket.

        Parameters
        ----------
        available
            The arms that are available in this round, all by default; public, see the class.

        Raises
        ------
        ProblemError
            If the learner or its structure needs all arms, or no super arm consists of these. Nothing changes then.
            If the choice of a learner or an oracle of your own is no super arm, or holds an arm that is not available.
        """
        action = self._checked_choice(available)
        self.waiting.ask(action, vars(self).get("action"))
        self.action = action
        return action

    def issue(self, *, available: Iterable[int] | None = None) -> Ticket:
        """Return the action for one user, with the ticket that its feedback will come with.

        Parameters
        ----------
        available
            As for `act`, with the same errors.
        """
        return self.waiting.issue(self._checked_choice(available))

    def check_available(self, available: Iterable[int]) -> BoolArray:
        """Return which arms are available, shape (arms,), if the learner can play them without the others.

        Raises
        ------
        ProblemError
            Otherwise; as for `act`.
        """
        if self.needs_all_arms:
            raise ProblemError(f"available: {type(self).__name__} plays with all arms: {self.needs_all_arms}")
        if not _takes_available(getattr(self.choose, "__func__", self.choose)):
            raise ProblemError(
                f"available: {type(self).__name__} plays with all arms: its choose must take `available`"
            )
        return available_arms(self.structure, available)

    def _checked_choice(self, available: Iterable[int] | None) -> IntArray:
        which = () if available is None else (self.check_available(available),)
        action = self.choose(*which)
        for owner, method in ((self.structure, "solve"), (self, "choose")):
            if not is_ours(owner, method):
                name = f"{type(owner).__name__}: {method}"
                return check_choice(action, self.gate.lanes, self.structure, name, *which)
        return action

    def observe(
        self, feedback: Private, rounds: IntArray | None = None, *, ticket: Ticket | str | None = None
    ) -> None:
        """Learn from the private feedback on an action: a ticket's, or the last one that `act` returned.

        Parameters
        ----------
        feedback
            Shape (lanes, size), of one round.
        rounds
            For a learner that holds its actions, the number of rounds of the last one that the feedback totals.
        ticket
            The ticket, or its name.

        Raises
        ------
        NothingPlayed
            Without a ticket, before the first `act`.
        TicketRefused
            If the ticket is not open: every ticket is for one feedback.
        AmbiguousFeedback
            Without a ticket, if earlier calls of `act` returned other actions and were not observed.
        ForeignValue, DomainError, ValueError
            As `accountant.check_feedback`.
        Refusal
            If the gate refuses the record. Nothing is charged and nothing changes, as with all of these; a ticket
            stays open.
        """
        if ticket is not None:
            if rounds is not None:
                raise ParameterError("rounds with a ticket: a ticket is for the feedback of one round")
            own = self.waiting.find(ticket)
            check_feedback(self.gate, feedback, self.feedback_domain)
            self.learn(own.action, feedback)
            self.waiting.close(own)
            return
        action = self.action
        self.waiting.check_one()
        held: tuple[IntArray, ...] = ()
        try:
            if hasattr(type(self), "committed_rounds"):
                held = (check_rounds(rounds, self.committed_rounds),)  # type: ignore[attr-defined]
            elif rounds is not None:
                raise ParameterError(f"rounds: {type(self).__name__} learns from one round at a time")
            check_feedback(self.gate, feedback, self.feedback_domain, rounds=rounds)
            self.learn(action, feedback, *held)
        finally:  # refused records are not waited for
            self.waiting.note_feedback(int(held[0].max()) if held else 1)


class HorizonLearner(StructuredLearner[StructureType]):
    """A learner that is built for a number of rounds.

    Parameters
    ----------
    structure, gate
        As for `StructuredLearner`.
    horizon
        The number of rounds T; when more are observed, it warns once (`HorizonPassed`).

    Raises
    ------
    ProblemError
        As `StructuredLearner`.
    ParameterError
        If the horizon is no whole number of at least 1; or None, and the learner needs one.
    """

    needs_horizon: ClassVar[str] = "its radii are for a known number of rounds"
    """The reason why the learner needs a horizon; empty if it needs none."""

    def __init__(self, structure: StructureType, gate: Gate, horizon: int | None) -> None:
        super().__init__(structure, gate)
        if self.needs_horizon:
            horizon = check_horizon(horizon, self.needs_horizon)
        self.rounds = RoundCount(horizon)

    @property
    def horizon(self) -> int:
        """T; of a learner without a horizon, the one for which its first confidence levels are computed."""
        return epoch_horizon(0) if self.rounds.horizon is None else self.rounds.horizon

    def observe(
        self, feedback: Private, rounds: IntArray | None = None, *, ticket: Ticket | str | None = None
    ) -> None:
        """Learn from the private feedback on an action, and count the rounds; see `StructuredLearner.observe`."""
        self.update_epoch()  # if it was interrupted, it is made up for
        super().observe(feedback, rounds, ticket=ticket)
        self.rounds.add(rounds, self)
        self.update_epoch()

    def update_epoch(self) -> None:
        """Act once on a new number of rounds: do nothing if the horizon is known."""
