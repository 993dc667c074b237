"""The cost of a composition fixed in advance: every theorem side by side, the worst record, remaining releases."""

from __future__ import annotations

import math

from accountant.audit.audit_question import AuditQuestion
from accountant.audit.audit_result import Audit, ReleaseSummary, RemainingBudget
from accountant.audit.releases import Group, Releases
from accountant.audit.worst_group import AttackAccuracy, TruePositiveRate, WorstGroup, find_worst_group
from accountant.provenance import made_now
from mechanisms.composition.enclosure import Bound, Enclosure, lower_end
from mechanisms.composition.risk import FALSE_POSITIVE_RATES, Risk
from mechanisms.composition.running_loss import RunningLoss
from mechanisms.composition.theorems import EXACT
from mechanisms.numerics.deadline import deadline, time_is_over
from mechanisms.parameters import ParameterError

_CURVE = 12  # steps of ε in which the trade-off curve is computed


def audit(
    releases: Releases,
    question: AuditQuestion,
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
        The releases.
    question
        Epsilon at a delta, or delta at an epsilon.
    budget
        An epsilon; with a question for epsilon only.
    risk
        True to bound the success of attacks, too.
    time_limit
        Seconds, after which intervals are those that are proved by then; see `mechanisms.numerics.deadline.deadline`.

    Raises
    ------
    ParameterError
        If the budget is no number of at least 0, or goes with a question for delta.
    """
    if budget is not None:
        if not 0 <= budget < math.inf:
            raise ParameterError(f"budget = {budget!r}: must be a finite number of at least 0")
        if question.quantity != "epsilon":
            raise ParameterError(
                f"budget = {budget!r}: is an epsilon; it goes with a given delta, not a given epsilon"
            )
    with deadline(time_limit):
        most = find_worst_group(releases, question, every_theorem=True)
        answer, worst = most.answer, most.group
        return Audit(
            question=question,
            answer=answer,
            theorems=_theorems(most, question),
            worst=worst,
            groups=len(releases.groups),
            remaining=None if budget is None else _remaining(releases, worst, question, answer, budget),
            neighbouring=releases.neighbouring,
            chosen_under=releases.chosen_under,
            risk=_risk(releases, *question.point(answer.upper)) if risk else None,
            complete=not time_is_over(),
            about=releases.about,
            released=tuple(
                ReleaseSummary(kind.name, worst.counts.get(i, 0), kind.sensitivity_text, kind.mechanism)
                for i, kind in enumerate(releases.kinds)
            ),
            group_size=releases.group_size,
            provenance=made_now(),
        )


def _risk(releases: Releases, epsilon: float, delta: float) -> Risk:
    """Return the largest of each number over all groups of records, the profile from ε = 0 to a proved (ε, δ).

    No value is above that of this (ε, δ): after a time limit it is the best proved bound.
    """
    farthest = epsilon if math.isfinite(epsilon) else 1.0

    def find_largest(asked: AuditQuestion | AttackAccuracy | TruePositiveRate) -> Enclosure | Bound:
        return find_worst_group(releases, asked, every_theorem=True).answer.stated_for(releases.neighbouring)

    curve = [(x, AuditQuestion(epsilon=x)) for x in (farthest * (k / _CURVE) for k in range(_CURVE + 1))]
    return Risk(
        find_largest(AuditQuestion(epsilon=0.0)),
        find_largest(AttackAccuracy()),
        {rate: find_largest(TruePositiveRate(rate)) for rate in FALSE_POSITIVE_RATES},
        tuple((x, min(1.0, find_worst_group(releases, one).answer.upper)) for x, one in curve),
    ).within(epsilon, delta)


def _theorems(most: WorstGroup, question: AuditQuestion) -> dict[str, Enclosure | Bound]:
    if lower_end(most.answer) == (math.inf if question.quantity == "epsilon" else 1.0):
        return {EXACT: most.answer}  # no theorem has a number for an infinite answer
    return question.theorems(most.loss)


def _remaining(
    releases: Releases, worst: Group, question: AuditQuestion, answer: Enclosure | Bound, budget: float
) -> RemainingBudget:
    running = RunningLoss(releases.profile_counts(worst))
    more = {
        kind.name: running.remaining_releases(kind.build(1.0), epsilon=budget, delta=question.fixed_value)
        for kind in releases.kinds
    }
    return RemainingBudget(budget, max(0.0, budget - answer.upper), more)
