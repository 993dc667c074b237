"""What a written-down composition costs: every theorem side by side, the worst record, what still fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from accountant.audit.losing_most import AttackAccuracy, Sums, TruePositiveRate, advantages, losing_most
from accountant.audit.releases import NOTHING_SAID, About, ChosenUnder, Counted, Group, Releases
from accountant.filters.conversions import deltas_of_renyi, epsilons_of_renyi
from accountant.filters.theorems import EXACT, RENYI_ORDERS, theorem_table
from accountant.losses.certified_interval import CertifiedInterval
from accountant.losses.composed_loss import ComposedLoss
from accountant.losses.deadline import deadline, time_is_over
from accountant.losses.risk import FALSE_POSITIVE_RATES, Risk
from accountant.losses.running_loss import RunningLoss
from mechanisms.arrays import FloatArray
from mechanisms.neighbouring import Neighbouring


@dataclass(frozen=True)
class Question:
    """Epsilon at a delta, or delta at an epsilon: exactly one of the two is given.

    Raises
    ------
    ValueError
        If both or none is given, delta is outside [0, 1) or epsilon is not a number of at least 0.
    """

    delta: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if (self.delta is None) == (self.epsilon is None):
            raise ValueError("give delta or epsilon, one of the two")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise ValueError(f"delta={self.delta!r}: must lie in [0, 1)")
        if self.epsilon is not None and not 0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon={self.epsilon!r}: must be a finite number of at least 0")

    @property
    def asked(self) -> str:
        """What is asked for: ``"epsilon"`` or ``"delta"``."""
        return "epsilon" if self.delta is not None else "delta"

    @property
    def given(self) -> float:
        """The number that is given."""
        number = self.delta if self.delta is not None else self.epsilon
        assert number is not None
        return number

    def of(self, loss: ComposedLoss) -> CertifiedInterval:
        """Return the answer for one composition."""
        return loss.epsilon(self.given) if self.asked == "epsilon" else loss.delta(self.given)

    def at_most(self, sums: Sums) -> FloatArray:
        """Return what the answers of some groups are at most."""
        if self.delta == 0.0:
            return sums.largest_losses
        if self.epsilon == 0.0:
            return advantages(sums)
        convert = epsilons_of_renyi if self.asked == "epsilon" else deltas_of_renyi
        return convert(RENYI_ORDERS, sums.divergences, self.given)


@dataclass(frozen=True)
class Remaining:
    """What is left of an epsilon budget for the records of the worst group.

    Attributes
    ----------
    budget
        The budget.
    epsilon
        Budget - what is certainly not exceeded, at least 0.
    more
        How many more of each kind of release fit, by the kind's name; inf if more than a trillion do. After a time
        limit at least so many.
    """

    budget: float
    epsilon: float
    more: Mapping[str, float]


@dataclass(frozen=True)
class Audit:
    """The answer to a question about a file of releases.

    Attributes
    ----------
    question
        What was asked.
    answer
        For the worst group, between two certified bounds.
    theorems
        The same by every theorem by itself.
    worst
        The group with the largest answer.
    groups
        How many groups there are.
    remaining
        What is left of a budget; None if none was given.
    neighbouring
        The neighbouring relation of every number.
    chosen_under
        For a ledger, what held whatever its run chose: the other numbers hold for releases fixed in advance.
    risk
        What attacks can reach, the largest over all groups of records; None if it was not asked for.
    complete
        Whether all was done before the time limit; if not, intervals are wider, and theorems may be missing.
    about
        What the file says about itself.
    """

    question: Question
    answer: CertifiedInterval
    theorems: Mapping[str, CertifiedInterval]
    worst: Group
    groups: int
    remaining: Remaining | None
    neighbouring: Neighbouring
    chosen_under: ChosenUnder | None
    risk: Risk | None = None
    complete: bool = True
    about: About = NOTHING_SAID

    @property
    def best(self) -> str:
        """The theorem with the smallest upper bound."""
        return min(self.theorems, key=lambda name: self.theorems[name].upper)


def audit(
    releases: Releases,
    question: Question,
    budget: float | None = None,
    *,
    risk: bool = False,
    time_limit: float = math.inf,
) -> Audit:
    """Answer a question for the record that loses most.

    Releases that share no record do not add up (parallel composition), so the loss is the largest over
    groups of records.

    Parameters
    ----------
    releases
        What was released.
    question
        Epsilon at a delta, or delta at an epsilon.
    budget
        An epsilon; with a question for epsilon only.
    risk
        Whether to say what attacks can reach.
    time_limit
        Seconds, after which intervals are what is proved by then; see `accountant.losses.deadline.deadline`.

    Raises
    ------
    ValueError
        If the budget is no number of at least 0, or goes with a question for delta.
    """
    if budget is not None:
        if not 0 <= budget < math.inf:
            raise ValueError(f"budget={budget!r}: must be a finite number of at least 0")
        if question.asked != "epsilon":
            raise ValueError(
                f"budget={budget!r}: is an epsilon; it goes with a given delta, not a given epsilon"
            )
    with deadline(time_limit):
        return _answered(releases, question, budget, risk)


def _answered(releases: Releases, question: Question, budget: float | None, risk: bool) -> Audit:
    answer, worst = losing_most(releases, question)
    counted = releases.counted(worst)
    return Audit(
        question=question,
        answer=answer,
        theorems=_theorems(counted, question, answer),
        worst=worst,
        groups=len(releases.groups),
        remaining=None if budget is None else _remaining(releases, worst, question, answer, budget),
        neighbouring=releases.neighbouring,
        chosen_under=releases.chosen_under,
        risk=_risk(releases) if risk else None,
        complete=not time_is_over(),
        about=releases.about,
    )


def _risk(releases: Releases) -> Risk:
    """Return the largest of each number over all groups of records."""
    return Risk(
        losing_most(releases, Question(epsilon=0.0))[0],
        losing_most(releases, AttackAccuracy())[0],
        {rate: losing_most(releases, TruePositiveRate(rate))[0] for rate in FALSE_POSITIVE_RATES},
    )


def _theorems(
    counted: Counted, question: Question, answer: CertifiedInterval
) -> dict[str, CertifiedInterval]:
    if answer.lower == (math.inf if question.asked == "epsilon" else 1.0):
        return {EXACT: answer}  # no theorem has a number for what has none
    return {
        **theorem_table(counted, delta=question.delta, epsilon=question.epsilon),
        **({EXACT: answer} if time_is_over() else {}),
    }


def _remaining(
    releases: Releases, worst: Group, question: Question, answer: CertifiedInterval, budget: float
) -> Remaining:
    running = RunningLoss(releases.counted(worst))
    more = {
        kind.name: running.room(kind.build(1.0), epsilon=budget, delta=question.given)
        for kind in releases.kinds
    }
    return Remaining(budget, max(0.0, budget - answer.upper), more)
