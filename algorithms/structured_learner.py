"""What all learners on a structure share: the structure that they play, the action of the round, and the horizon."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Generic, TypeVar

from accountant import Gate, Private, check_feedback, check_gate
from algorithms.claim import ClaimForm
from algorithms.learner import Family, check_horizon
from algorithms.problems import Matroid, ProblemError, RankedLists, SuperArms
from mechanisms import Box, Domain, OneHot
from mechanisms.arrays import IntArray

PLAYS: dict[str, tuple[Family, ...]] = {
    "semi-bandit": ("semi-bandit", "matroid"),
    "matroid": ("matroid",),
    "cascade": ("cascade",),
}
"""Which structures each family of learners plays: a matroid's bases are super arms."""

StructureType = TypeVar("StructureType", bound=SuperArms | RankedLists)


def structure_kind(structure: object) -> Family:
    """Return the kind of problem that a structure belongs to.

    Raises
    ------
    ProblemError
        If it is no structure.
    """
    if isinstance(structure, type) or not all(hasattr(structure, name) for name in ("arms", "size", "solve")):
        of = "; pass the problem's structure" if hasattr(structure, "structure") else ""
        raise ProblemError(f"structure={structure!r}: must be a structure, such as TopK or RankedLists{of}")
    if isinstance(structure, RankedLists):
        return "cascade"
    return "matroid" if isinstance(structure, Matroid) else "semi-bandit"


class NothingPlayed(ValueError, AttributeError):
    """A learner was shown feedback on an action that it has not chosen yet."""


class HorizonPassed(UserWarning):
    """A learner has observed more rounds than its horizon: it is as private as before, but its regret bound is void."""


class _NotYet:
    """Stands for an action until there is one: a non-data descriptor, which the learner's own attribute hides."""

    def __get__(self, learner: object, kind: type[Any]) -> Any:
        if learner is None:
            return self
        raise NothingPlayed(f"{kind.__name__} has played nothing yet: call act before observe")


def last_action() -> Any:
    """Return what a class has in the place of its last action: reading it before `act` raises `NothingPlayed`."""
    return _NotYet()


class RoundCount:
    """Counts the rounds that a learner has observed, and warns once when there are more than its horizon.

    Attributes
    ----------
    horizon
        T.
    observed
        The rounds so far; shape (lanes,) if lanes have clocks of their own.
    passed
        Whether the warning was given.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = check_horizon(horizon)
        self.observed: int | IntArray = 0
        self.passed = False

    def add(self, rounds: IntArray | None, learner: object) -> None:
        """Count rounds, 1 by default; to be called by the learner's `observe` itself, whose caller is warned."""
        self.observed = self.observed + (1 if rounds is None else rounds)
        longest = self.observed if isinstance(self.observed, int) else self.observed.max()
        if longest > self.horizon and not self.passed:
            self.passed = True
            warnings.warn(
                f"{type(learner).__name__} has observed more rounds than horizon={self.horizon}: it is as private as "
                "before, but its confidence radii, and so its regret bound, are for that many rounds only. Give it a "
                "horizon that is long enough (it enters by its logarithm)",
                HorizonPassed,
                stacklevel=3,
            )


class StructuredLearner(Generic[StructureType]):
    """A learner of super arms, bases or ranked lists, before it has learnt anything.

    Feedback is an outcome in [0, 1] of each arm played, or a click on at most one position of a list.

    Parameters
    ----------
    structure
        What can be played.
    gate
        Where feedback comes from.

    Raises
    ------
    ProblemError
        If the structure is not one that the learner's family plays.
    ValueError
        If the gate is none.
    TrustViolation
        If the gate's trust is local and the learner's claim is not.
    """

    claim: ClassVar[ClaimForm]
    family: ClassVar[Family]

    def __init__(self, structure: StructureType, gate: Gate) -> None:
        size = self.size_of(structure)
        check_gate(gate, self.claim.model, type(self).__name__)
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
        kind = structure_kind(structure)
        if kind not in PLAYS[cls.family]:
            raise ProblemError(
                f"{cls.__name__} plays {' and '.join(PLAYS[cls.family])} structures, not a "
                f"{type(structure).__name__} ({kind})"
            )
        return structure.size

    def check_feedback(self, feedback: Private, rounds: IntArray | None = None) -> None:
        """Refuse what is not private feedback in `feedback_domain`: the first thing that `observe` does.

        Raises
        ------
        ForeignValue, DomainError, ValueError
            As `accountant.check_feedback`.
        """
        check_feedback(self.gate, feedback, self.feedback_domain, rounds=rounds)


class HorizonLearner(StructuredLearner[StructureType]):
    """A learner whose radii are for a known number of rounds.

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
    ValueError
        If the horizon is no whole number of at least 1.
    """

    def __init__(self, structure: StructureType, gate: Gate, horizon: int) -> None:
        super().__init__(structure, gate)
        self.rounds = RoundCount(horizon)

    @property
    def horizon(self) -> int:
        """T."""
        return self.rounds.horizon
