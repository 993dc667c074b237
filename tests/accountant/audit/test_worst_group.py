"""The group that loses most is found without composing every group's releases, and is the one that composing finds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from accountant.audit import worst_group
from accountant.audit.audit_of_releases import audit
from accountant.audit.audit_question import AuditQuestion
from accountant.audit.releases import Group, Release, Releases, fixed_release, from_mechanisms
from accountant.audit.worst_group import (
    AttackAccuracy,
    LossNumber,
    TruePositiveRate,
    at_most,
    find_worst_group,
)
from mechanisms import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    Sensitivity,
    ZeroConcentratedProfile,
)
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure
from mechanisms.composition.risk import risk_of
from mechanisms.numerics.deadline import deadline

UNIT = Sensitivity(1.0, 1.0, 1.0)
KINDS: list[Mechanism] = [
    Laplace(scale=9.0),
    Gaussian(sigma=6.0, sensitivity=UNIT),
    RandomizedResponse(size=3, epsilon=0.2),
    DiscreteLaplace(scale=7),
    Gaussian(sigma=12.0, sensitivity=UNIT),
]
QUESTIONS: list[LossNumber] = [
    AuditQuestion(delta=1e-6),
    AuditQuestion(epsilon=1.5),
    AuditQuestion(delta=0.3),
    AuditQuestion(epsilon=0.0),
    TruePositiveRate(0.01),
    TruePositiveRate(0.3),
    AttackAccuracy(),
]
PURE = [True, False, True, True, False]


def platform(groups: int, *, pure: bool = False, seed: int = 0) -> Releases:
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, is_pure in zip(KINDS, PURE, strict=True) if is_pure or not pure]
    some = from_mechanisms((kind, 1) for kind in kinds)
    counts = rng.poisson(4.0, (groups, len(kinds)))
    named = [
        Group(f"record {number}", 1, {kind: int(count) for kind, count in enumerate(row) if count})
        for number, row in enumerate(counts)
        if row.any()
    ]
    return Releases(some.kinds, tuple(named))


@pytest.mark.slow_cells("question0-False")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("question", "pure"),
    [*((question, False) for question in QUESTIONS), (AuditQuestion(delta=0.0), True)],
)
def test_it_is_the_largest_of_all(question: LossNumber, pure: bool) -> None:
    releases = platform(30, pure=pure)
    answers = [question.evaluate(compose(releases.profile_counts(group))) for group in releases.groups]
    most = find_worst_group(releases, question)
    answer, worst = most.answer, most.group
    assert answer.upper == max(each.upper for each in answers)
    assert answer == answers[releases.groups.index(worst)]
    bounds = at_most(releases, question)
    assert all(bound >= each.lower for bound, each in zip(bounds, answers, strict=True))
    assert bounds.max() < (
        answer.upper + 1.0
        if question in (AuditQuestion(delta=1e-6), AuditQuestion(delta=0.0))
        else 1.0 + 1e-9
    )


@pytest.mark.parametrize("question", [AuditQuestion(delta=1e-6), AttackAccuracy()])
def test_one_contour_leaves_those_that_lose_more(question: LossNumber) -> None:
    """Whoever loses more is left, whoever surely loses less is not, and what comes first loses most."""
    releases = platform(12)
    answers = [question.evaluate(compose(releases.profile_counts(group))) for group in releases.groups]
    worst, *left = np.random.default_rng(4).permutation(len(answers)).tolist()
    most = float(np.median([each.upper for each in answers]))
    found = worst_group._undecided_groups(releases, question, 1.0, worst, most, left)
    assert set(found) >= {i for i in left if answers[i].lower > most}
    assert not any(answers[i].upper < 0.99 * most for i in found)
    assert answers[found[0]].upper >= 0.99 * max(answers[i].upper for i in left)


@pytest.mark.slow
def test_few_of_many_are_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(releases):
        made.append(releases)
        return compose(releases)

    monkeypatch.setattr(worst_group, "compose", counted)
    releases = platform(20_000)
    most = find_worst_group(releases, AuditQuestion(delta=1e-6))
    answer, worst = most.answer, most.group
    assert len(made) < 200
    assert answer == AuditQuestion(delta=1e-6).evaluate(compose(releases.profile_counts(worst)))


def test_what_attacks_reach_is_the_largest_of_each_number() -> None:
    releases = platform(4)
    risk = audit(releases, AuditQuestion(delta=1e-6), risk=True).risk
    assert risk is not None
    every = [risk_of(compose(releases.profile_counts(group))) for group in releases.groups]
    assert risk.advantage.upper == max(one.advantage.upper for one in every)
    assert risk.accuracy.upper == max(one.accuracy.upper for one in every)
    for rate, found in risk.true_positive_rates.items():
        largest = max(one.true_positive_rates[rate].upper for one in every)
        assert found.upper == pytest.approx(largest, rel=1e-6)


def test_what_no_divergence_bounds_is_composed() -> None:
    """Randomness of which a part shows the record loses everything, and nobody else does."""
    releases = platform(40)
    kinds = from_mechanisms(
        [*((kind, 1) for kind in KINDS), (Gaussian(sigma=1e-3, sensitivity=UNIT), 1)]
    ).kinds
    shown = Releases(kinds, (*releases.groups, Group("shown", 1, {5: 1})))
    most = find_worst_group(shown, AuditQuestion(delta=1e-6))
    assert most.group.name == "shown"
    assert most.answer.lower > 1e5
    only = Releases(kinds, (Group("nobody", 1, {0: 1}), Group("all", 1, {1: 1})))
    assert math.isinf(find_worst_group(only, AuditQuestion(delta=0.0)).answer.upper)


def test_when_time_is_over_the_others_count_with_what_they_can_lose() -> None:
    releases, question = platform(2_000), AuditQuestion(delta=1e-6)
    exact = find_worst_group(releases, question).answer
    with deadline(1e-9):
        rough = find_worst_group(releases, question).answer
    assert rough.lower <= exact.lower
    assert exact.upper <= rough.upper < 1.5 * exact.upper
    assert not audit(releases, question, time_limit=1e-9).complete


def test_lower_end_of_a_group_that_does_not_have_the_largest_bound():
    """A loss that another group's data attain decides: of the group with the largest bound none may be known."""
    releases = from_mechanisms([(Laplace(scale=20.0), 1), (Gaussian(sigma=20.0, sensitivity=UNIT), 1)])
    bound = Release("bound", fixed_release(ZeroConcentratedProfile(0.5)), mechanism="zcdp")
    kinds = (*releases.kinds, bound)
    groups = (Group("bound", 1, {2: 1}), Group("little", 1, {1: 1}), Group("attained", 1, {0: 60}))
    audited = audit(replace(releases, kinds=kinds, groups=groups), AuditQuestion(delta=1e-6), budget=2.0)
    by_itself = compose([(Laplace(scale=20.0).profile(), 60)]).epsilon(1e-6)
    assert isinstance(by_itself, Enclosure)
    assert isinstance(audited.answer, Enclosure)
    assert audited.worst.name == "bound"
    assert audited.answer.lower == by_itself.lower < by_itself.upper < audited.answer.upper
    assert audited.answer.lower > 1.5
