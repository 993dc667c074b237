"""The number of remaining releases: so many pass, and the next one is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reopened import reopened

from accountant import (
    Accountant,
    AdvancedComposition,
    AssumptionRefused,
    Budget,
    BudgetExceeded,
    GateClosed,
    GaussianComposition,
    Plan,
    PlanStep,
    PurposeRefused,
    RenyiComposition,
    Rule,
    RunningLoss,
    SensitivityExceeded,
    TheoremMissing,
    ZeroConcentratedComposition,
    calling_place,
    deadline,
    spending_on,
)
from mechanisms import AssumptionKind, Gaussian, Interval, Laplace, PureProfile, Sensitivity
from mechanisms.composition.inversion import most_that_fit

SHARE = Interval(0, 1)
WIDE = Laplace(scale=20.0)
NARROW = Laplace(scale=3.0)
GAUSSIAN = Gaussian(sigma=20.0, sensitivity=SHARE.sensitivity, delta=1e-9)


def gate(epsilon=1.0, delta=1e-6, **options):
    return Accountant(Budget(epsilon, delta), noise=np.random.default_rng(0), **options)


def release(accountant, mechanism, record="ann"):
    accountant.release(mechanism, accountant.private([0.4], SHARE, record))


def check_room(accountant, mechanism, record="ann"):
    """Return the room, which must be what passes, and not one less or more."""
    room = accountant.remaining_releases(mechanism, record)
    before = len(accountant.ledger)
    for left in range(int(room), 0, -1):
        assert accountant.remaining_releases(mechanism, record) == left
        release(accountant, mechanism, record)
    assert accountant.remaining_releases(mechanism, record) == 0
    with pytest.raises(BudgetExceeded):
        release(accountant, mechanism, record)
    assert len(accountant.ledger) == before + room
    return room


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("composition", "mechanism", "expected"),
    [
        (None, NARROW, 3),  # exactly the budget: a third of it is no float
        (None, Laplace(scale=4.0), 4),
        (AdvancedComposition(failures=0.1), WIDE, None),
        (ZeroConcentratedComposition(), GAUSSIAN, None),
        (RenyiComposition(), GAUSSIAN, None),
        (GaussianComposition(), GAUSSIAN, None),
    ],
)
def test_exactly_so_many_pass(composition, mechanism, expected):
    accountant = gate(composition=composition)
    release(accountant, mechanism, "bob")  # of another record: it does not matter
    room = check_room(accountant, mechanism)
    assert room >= 2
    assert expected is None or room == expected


def test_a_plan_has_room_for_what_it_holds_and_the_record_has_not_used():
    plan = Plan((PlanStep(WIDE, count=5), PlanStep(NARROW, count=2)))
    accountant = gate(1.0, plan=plan)
    release(accountant, WIDE)
    assert accountant.remaining_releases(WIDE, "ann") == 4
    assert accountant.remaining_releases(WIDE, 17) == 5
    assert check_room(accountant, NARROW) == 2
    assert check_room(accountant, WIDE) == 4
    with pytest.raises(TheoremMissing):
        accountant.remaining_releases(GAUSSIAN, "ann")


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([NARROW, WIDE, GAUSSIAN]), max_size=6),
    st.sampled_from([NARROW, WIDE, GAUSSIAN]),
    st.sampled_from([None, ZeroConcentratedComposition(), RenyiComposition(), GaussianComposition()]),
    st.floats(0.05, 1.5),
)
def test_whatever_was_released_before(earlier, mechanism, composition, epsilon):
    accountant = gate(epsilon, composition=composition)
    try:
        for each in earlier:
            release(accountant, each)
    except BudgetExceeded:
        pass
    except TheoremMissing:  # of Laplace noise under Gaussian composition, say
        return
    try:
        check_room(accountant, mechanism)
    except TheoremMissing:
        with pytest.raises(TheoremMissing):
            release(accountant, mechanism)


def test_a_smaller_movement_has_more_room():
    accountant = gate(delta=0.0)
    assert accountant.remaining_releases(NARROW, "ann") == 3
    assert accountant.remaining_releases(NARROW, "ann", sensitivity=Sensitivity(0.5, 0.5, 0.5)) == 6
    assert accountant.remaining_releases(NARROW, "ann", sensitivity=Sensitivity(0.0, 0.0, 0.0)) == math.inf
    with pytest.raises(SensitivityExceeded):
        accountant.remaining_releases(NARROW, "ann", sensitivity=Sensitivity(2.0, 2.0, 2.0))


def test_reservations_take_room_until_they_are_given_back():
    accountant = gate()
    reservation = accountant.reserve(accountant.price(NARROW, accountant.private([0.4], SHARE, "ann")))
    assert accountant.remaining_releases(NARROW, "ann") == 2
    reservation.cancel()
    assert accountant.remaining_releases(NARROW, "ann") == 3


@pytest.mark.parametrize("lasting", [False, True])
def test_rules_take_room_too_and_of_groups_others_do(lasting, tmp_path):
    rules = [
        Rule(Budget(epsilon=1.0), purpose="ads", days=30),
        Rule(Budget(epsilon=2.0), purpose="care", groups=[("ann", "bob")]),
    ]
    accountant = gate(3.0, 0.0, rules=rules, store=tmp_path / "ledger.db" if lasting else None)
    with pytest.raises(PurposeRefused):
        accountant.remaining_releases(NARROW, "ann")
    with spending_on("ads"):
        release(accountant, NARROW)
        assert check_room(accountant, NARROW) == 2
    with spending_on("care"):
        release(accountant, NARROW, "bob")
        assert check_room(accountant, NARROW) == 5
    if lasting:
        accountant.ledger.close()


@pytest.mark.slow
def test_it_is_a_question_and_charges_nothing(tmp_path):
    accountant = gate()
    release(accountant, NARROW)
    for _ in range(100):  # more amounts than a ledger in memory keeps by their ids
        accountant.remaining_releases(Laplace(scale=1e9), "ann")
    assert accountant.spent("ann").epsilon == Fraction(1, 3)
    assert check_room(reopened(accountant, tmp_path), NARROW) == 2


def test_many_are_counted_to_a_trillion_exactly():
    unit = Laplace(scale=1.0)
    for count in (1, 2, 3, 10**6 + 1, 10**11 + 7, 10**12 - 1):
        assert gate(float(count)).remaining_releases(unit, "ann") == count
    assert gate(1e12).remaining_releases(unit, "ann") == math.inf
    assert Accountant(Budget.unlimited()).remaining_releases(unit, "ann") == math.inf
    for count in (6 * 10**11, 10**12 - 1):  # of both that say how many fit
        running, profile = RunningLoss(), PureProfile(Fraction(1, 10**12))
        assert running.remaining_releases(profile, epsilon=count / 10**12, delta=0.0) == pytest.approx(
            count, abs=1
        )
        assert most_that_fit(lambda n, count=count: n <= count) == count


def test_after_a_deadline_at_least_so_many_fit():
    with deadline(1e-9):
        assert gate().remaining_releases(NARROW, "ann") == 0


def test_what_no_release_would_pass_is_refused():
    class Own(Laplace):
        pass

    accountant = gate()
    for wrong in (Laplace, 3, None):
        with pytest.raises(ValueError, match="must be a mechanism"):
            accountant.remaining_releases(wrong, "ann")
    for record in (True, 1.5, None):
        with pytest.raises(ValueError, match="must be an int or a str"):
            accountant.remaining_releases(NARROW, record)
    with pytest.raises(AssumptionRefused):
        Accountant(Budget(1.0), strict=True).remaining_releases(Own(scale=3.0), "ann")
    assert accountant.remaining_releases(Own(scale=3.0), "ann") == 3
    assert [each.kind for each in accountant.assumptions] == [AssumptionKind.SEEDED]
    accountant.close("a test", calling_place())
    with pytest.raises(GateClosed):
        accountant.remaining_releases(NARROW, "ann")
