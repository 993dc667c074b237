"""The accountant: what is charged, what is refused, and that a refusal changes nothing."""

import copy
import doctest
import importlib
import os
import pickle
import threading
import time
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reopened import reopened

from accountant import (
    Accountant,
    BasicComposition,
    Budget,
    BudgetExceeded,
    ForeignValue,
    GateClosed,
    RawRead,
    SensitivityExceeded,
    TheoremMissing,
    Trust,
    TrustViolation,
)
from accountant.stores.imports import import_ledger
from mechanisms import (
    Ball,
    Box,
    Categories,
    Composed,
    DomainError,
    Gaussian,
    Interval,
    Laplace,
    OneHot,
    RandomizedResponse,
    Repeated,
    Sensitivity,
)

UNIT = Sensitivity(1.0, 1.0, 1.0)


def box(size, width=1.0):
    return Sensitivity.of_box([width] * size)


def gate(epsilon=1.0, delta=0.0, **options):
    return Accountant(Budget(epsilon, delta), noise=np.random.default_rng(0), seed=1, **options)


def state(accountant):
    """Everything that a refusal must leave as it was, random generators included."""
    generators = (accountant._noise._randomness, accountant._random)
    return accountant.to_dict(), [generator.bit_generator.state for generator in generators]


def refused(error, accountant, operation, match=None):
    """Assert that the operation is refused with this message, here, and that nothing changed."""
    before = state(accountant)
    with pytest.raises(error, match=match) as refusal:
        operation()
    assert state(accountant) == before
    return refusal.value


# --- basic composition, exactly ------------------------------------------------------------------


def test_eight_charges_of_a_800th_fill_a_hundredth_and_not_a_nano_more():
    accountant = gate(0.01)
    private = accountant.private([0.5], Box(0, 1, 1), "u")
    share = Laplace.for_epsilon(Fraction(1, 800), sensitivity=UNIT)
    for _ in range(8):
        accountant.release(share, private)
    assert accountant.spent("u").epsilon == 8 * Fraction(1, 800)
    nano = Laplace.for_epsilon(1e-9, sensitivity=UNIT)
    error = refused(BudgetExceeded, accountant, lambda: accountant.release(nano, private))
    assert error.record == "u"
    assert error.asked == "epsilon = 1e-09"


@given(epsilon=st.floats(1e-6, 20.0), shares=st.integers(1, 40))
def test_k_shares_of_a_kth_fit_exactly(epsilon, shares):
    accountant = gate(epsilon)
    private = accountant.private([0.5], Box(0, 1, 1), 7)
    share = Laplace.for_epsilon(Fraction(epsilon) / shares, sensitivity=UNIT)
    for _ in range(shares):
        accountant.release(share, private)
    exact = shares / Fraction(share.scale)
    assert exact <= accountant.spent(7).epsilon <= min(Fraction(epsilon), exact * (1 + Fraction(1, 2**126)))
    assert accountant.remaining_spend(7).epsilon == Fraction(epsilon) - accountant.spent(7).epsilon


def test_one_release_of_k_coordinates_costs_what_k_releases_of_one_cost():
    mechanism = Laplace.for_epsilon(1.0, sensitivity=box(4))
    whole, parts = gate(), gate()
    whole.release(mechanism, whole.private([0.5] * 4, Box(0, 1, 4), 1))
    private = parts.private([0.5] * 4, Box(0, 1, 4), 1)
    for k in range(4):
        parts.release(mechanism, private.take(np.array([[k]])))
        assert parts.spent(1).epsilon == Fraction(k + 1, 4)
    assert whole.spent(1) == parts.spent(1)


def test_approximate_costs_add_in_both_coordinates():
    accountant = gate(3.0, 1e-5)
    gaussian = Gaussian.for_epsilon_delta(1.0, 4e-6, sensitivity=UNIT)
    private = accountant.private([0.5], Box(0, 1, 1), "u")
    accountant.release(gaussian, private)
    accountant.release(Laplace(scale=1.0), private)
    accountant.release(gaussian, private)
    assert accountant.spent("u").delta == 2 * Fraction(4e-6)
    assert accountant.spent("u").epsilon == 2 * Fraction(gaussian.epsilon) + 1
    error = refused(BudgetExceeded, accountant, lambda: accountant.release(gaussian, private))
    assert error.asked.endswith(", delta = 4e-06")
    assert error.left.endswith(", delta = 2e-06")


def test_a_budget_without_delta_says_so():
    accountant = gate(1.0)
    private = accountant.private([0.5], Box(0, 1, 1), "u")
    gaussian = Gaussian.for_epsilon_delta(0.5, 1e-6, sensitivity=UNIT)
    error = refused(BudgetExceeded, accountant, lambda: accountant.release(gaussian, private))
    assert (error.asked, error.left) == ("epsilon = 0.5, delta = 1e-06", "epsilon = 1, delta = 0")


def test_parallel_composition_needs_no_rule():
    accountant = gate()
    mechanism = Laplace(scale=1.0)
    for record in range(50):
        accountant.release(mechanism, accountant.private([0.5], Box(0, 1, 1), record))
    assert accountant.worst()[1].epsilon == 1
    assert accountant.summary().records == 50


def test_records_in_one_sum_pay_each():
    accountant = gate()
    total = sum(accountant.private([0.5], Box(0, 1, 1), record) for record in range(5))
    accountant.release(Laplace(scale=2.0), total)
    assert [accountant.spent(record).epsilon for record in range(6)] == [Fraction(1, 2)] * 5 + [0]


def test_post_processing_is_free():
    accountant = gate()
    published = accountant.release(Laplace(scale=2.0), accountant.private([0.5], Box(0, 1, 1), 1))
    before = state(accountant)
    assert np.clip(published * 3 + 1, 0, 1).shape == (1, 1)
    assert state(accountant) == before
    doubled = Laplace(scale=2.0) >> (lambda outputs: outputs * 2)
    accountant.release(doubled, accountant.private([0.5], Box(0, 1, 1), 2))
    assert accountant.spent(2) == accountant.spent(1)


def test_masks_charge_the_masked_coordinates_only():
    accountant = gate()
    private = accountant.private([0.1, 0.2, 0.3, 0.4], Box(0, 1, 4), 1)
    mechanism = Laplace(scale=8.0, sensitivity=box(4))
    outputs = accountant.release(mechanism, private, where=np.array([[True, False, True, False]]))
    assert accountant.spent(1).epsilon == Fraction(2, 8)
    assert (outputs != 0).tolist() == [[True, False, True, False]]
    before = state(accountant)
    assert accountant.release(mechanism, private, where=np.zeros((1, 4), bool)).tolist() == [[0.0] * 4]
    assert state(accountant) == before


def test_a_mask_of_numbers_is_refused():
    """NumPy would take them for indices: [[0, 0]] as a mask is nothing, as an index everything."""
    accountant = gate()
    private = accountant.private([0.1, 0.2], Box(0, 1, 2), 1)
    mechanism = Laplace(scale=8.0, sensitivity=box(2))
    for where in (np.zeros((1, 2), int), np.zeros((1, 2)), np.array([True, False]), np.ones((1, 3), bool)):
        refused(
            ValueError,
            accountant,
            lambda w=where: accountant.release(mechanism, private, w),
            "a boolean mask",
        )


def test_mechanisms_that_release_more_than_once_pay_more_than_once():
    accountant = gate(3.0)
    private = accountant.private([0.5, 0.5], Box(0, 1, 2), 1)
    laplace = Laplace(scale=4.0, sensitivity=box(2))
    assert accountant.release(Repeated(laplace, 3), private).shape == (3, 1, 2)
    assert accountant.spent(1).epsilon == Fraction(6, 4)
    outputs = accountant.release(Composed((laplace, laplace)), private, where=np.array([[False, True]]))
    assert outputs.shape == (2, 1, 2)
    assert (outputs != 0).tolist() == [[[False, True]], [[False, True]]]
    assert accountant.spent(1).epsilon == Fraction(6, 4) + Fraction(2, 4)


def test_the_randomness_for_decisions_is_seeded():
    assert gate().random.random(3).tolist() == gate().random.random(3).tolist()


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [[1.5], [-0.1], [np.nan], [np.inf], [0.5, 0.5], 0.5, ["x"]], ids=str)
def test_domains_are_checked_first(value):
    accountant = gate()
    refused(DomainError, accountant, lambda: accountant.private(value, Box(0, 1, 1), "u"), "values")


def test_unbounded_domains_hold_finite_numbers():
    """An infinity times zero is no number, and shows through any noise although its movement is zero."""
    accountant = gate()
    everything = Box(-np.inf, np.inf, 1)
    refused(DomainError, accountant, lambda: accountant.private([np.inf], everything, 1), "must be finite")
    private = accountant.private([7.0], everything, 1)
    refused(
        SensitivityExceeded, accountant, lambda: accountant.release(Laplace(scale=1.0), private), "l1 = inf"
    )
    accountant.release(Laplace(scale=1.0), private * 0.0)
    assert accountant.spent(1).epsilon == 0


def test_one_value_for_one_record():
    accountant = gate()
    refused(
        ValueError, accountant, lambda: accountant.private([[0.1], [0.2]], Box(0, 1, 1), 1), "has one lane"
    )


def test_numpy_integers_name_the_same_records_as_python_ones():
    accountant = gate()
    accountant.release(Laplace(scale=1.0), accountant.private([0.5], Interval(0, 1), np.int64(3)))
    assert list(accountant.ledger.records()) == [3]
    assert type(next(iter(accountant.ledger.records()))) is int


@pytest.mark.parametrize("record", [1.0, True, None, ("u", 1)], ids=repr)
def test_records_are_named_by_what_a_ledger_can_save(record):
    accountant = gate()
    refused(
        ValueError,
        accountant,
        lambda: accountant.private([0.1], Box(0, 1, 1), record),
        "record = .*an int or a str",
    )


def test_sensitivity_exceeded_names_both():
    accountant = gate()
    private = accountant.private([0.5] * 4, Box(0, 1, 4), 1)
    message = (
        r"move the value by \(l1 = 4, l2 = 2, linf = 1\), "
        r"but this Laplace is calibrated for \(l1 = 1, l2 = 1, linf = 1\)"
    )
    error = refused(
        SensitivityExceeded, accountant, lambda: accountant.release(Laplace(scale=1.0), private), message
    )
    assert error.where.file == __file__
    refused(SensitivityExceeded, accountant, lambda: accountant.release(Laplace(scale=1.0), private * 0.3))
    accountant.release(Laplace(scale=1.0), private * 0.25)
    assert accountant.spent(1).epsilon == 1


def test_budget_exceeded_names_record_asked_and_left():
    accountant = gate()
    private = accountant.private([0.5], Box(0, 1, 1), "user-17")
    accountant.release(Laplace(scale=1.25), private)
    error = refused(
        BudgetExceeded,
        accountant,
        lambda: accountant.release(Laplace(scale=4.0), private),
        "charges record 'user-17' epsilon = 0.25, and only epsilon = 0.199999 is left of its budget",
    )
    assert error.where.file == __file__
    assert accountant.remaining_spend("user-17").epsilon == 1 - Fraction(1) / Fraction(1.25)


def test_what_is_short_by_little_is_shown_to_be_short():
    accountant = gate(1.0)
    error = refused(
        BudgetExceeded,
        accountant,
        lambda: accountant.release(
            Laplace(scale=np.nextafter(1.0, 0)), accountant.private([0.5], Box(0, 1, 1), 1)
        ),
    )
    assert (error.asked, error.left) == ("epsilon = 1.00001", "epsilon = 1")


def test_one_poor_record_refuses_the_release_for_all():
    accountant = gate()
    poor, rich = (accountant.private([0.5], Box(0, 1, 1), record) for record in ("poor", "rich"))
    accountant.release(Laplace(scale=1.0), poor)
    refused(BudgetExceeded, accountant, lambda: accountant.release(Laplace(scale=2.0), rich + poor), "'poor'")
    assert accountant.spent("rich").epsilon == 0


def test_local_trust_takes_one_record_at_a_time():
    accountant = gate(trust=Trust.LOCAL)
    one, two = (accountant.private([0.5, 0.5], Box(0, 1, 2), record) for record in (1, 2))
    mechanism = Laplace(scale=8.0, sensitivity=box(2))
    both = one + two
    refused(
        TrustViolation,
        accountant,
        lambda: accountant.release(mechanism, both),
        "the released value holds 2 records",
    )
    sums = accountant.sums(2)
    for private in (one, two):
        sums.add(private, at=np.array([[0, 1]]))
    refused(TrustViolation, accountant, lambda: accountant.release(mechanism, sums))
    accountant.release(mechanism, one)
    accountant.release(mechanism, one + one.take(np.array([[1, 0]])) * 0.0)
    apart = one * np.array([[1.0, 0.0]]) + two * np.array([[0.0, 1.0]])
    accountant.release(mechanism, apart, where=np.array([[True, False]]))
    assert accountant.spent(2).epsilon == 0
    refused(TrustViolation, accountant, lambda: accountant.release(mechanism, apart))


def test_basic_composition_says_when_it_needs_a_delta():
    accountant = gate()
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    gaussian = Gaussian(sigma=1.0, sensitivity=UNIT)
    message = "basic composition: Gaussian has unbounded privacy loss and names no delta"
    refused(TheoremMissing, accountant, lambda: accountant.release(gaussian, private), message)


def test_values_of_another_gate_are_refused():
    accountant, other = gate(), gate()
    foreign, sums = other.private([0.5], Box(0, 1, 1), 1), other.sums(1)
    for value in (foreign, sums):
        refused(
            ForeignValue,
            accountant,
            lambda v=value: accountant.release(Laplace(scale=1.0), v),
            "another gate",
        )
        refused(ForeignValue, accountant, lambda v=value: accountant.declassify(v, "why"), "another gate")
    refused(
        ForeignValue,
        accountant,
        lambda: accountant.release(Laplace(scale=1.0), np.ones((1, 1))),
        "got a ndarray",
    )


def test_names_and_numbers_do_not_mix():
    accountant = gate()
    number, name = accountant.private([1.0], Box(0, 2, 1), 1), accountant.private(1, Categories(3), 2)
    response = RandomizedResponse(size=3, epsilon=0.5)
    refused(
        SensitivityExceeded,
        accountant,
        lambda: accountant.release(response, number),
        "are numbers, which Randomized",
    )
    refused(
        SensitivityExceeded,
        accountant,
        lambda: accountant.release(Laplace(scale=9.0), name),
        "are category names",
    )
    accountant.release(response, name)
    assert accountant.spent(2).epsilon == Fraction(1, 2)


def test_a_category_that_the_mechanism_does_not_know_would_give_itself_away():
    accountant = gate()
    name = accountant.private(7, Categories(10), 1)
    small = RandomizedResponse(size=3, epsilon=0.1)
    refused(
        SensitivityExceeded,
        accountant,
        lambda: accountant.release(small, name),
        "one of 10 categories.* knows 3",
    )
    accountant.release(RandomizedResponse(size=11, epsilon=0.1), name)


def test_raw_reads_are_refused():
    accountant = gate()
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    refused(RawRead, accountant, lambda: float(private), "turned into a float")


# --- mechanisms of users -------------------------------------------------------------------------


class Home:
    """A user's mechanism with whatever profile."""

    sensitivity = UNIT
    nominal_delta = 0.0

    def __init__(self, pure=None, at_delta=1.0, delta=0.0):
        self.nominal_delta = delta
        self.told = SimpleNamespace(pure_epsilon=pure, epsilon=lambda delta: at_delta)

    def profile(self, sensitivity):
        return self.told

    def release(self, value, noise):
        value += noise.laplace(np.zeros(value.shape), 1.0)  # in place, as a user might
        return value


@pytest.mark.parametrize(
    "mechanism",
    [
        Home(Fraction(-1)),
        Home(delta=-0.1),
        Home(delta=1.5),
        Home(at_delta=np.nan, delta=0.1),
        Home(at_delta=-1, delta=0.1),
    ],
    ids=["negative", "negative delta", "large delta", "not a number", "negative at delta"],
)
def test_no_profile_gives_budget_back(mechanism):
    accountant = gate(1.0, 0.5)
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    refused(ValueError, accountant, lambda: accountant.release(mechanism, private))


def test_a_mechanism_that_works_in_place_changes_no_private_value():
    accountant = gate(5.0)
    sums = accountant.sums(1)
    sums.add(accountant.private([0.25], Box(0, 1, 1), 1), at=np.array([[0]]))
    published = accountant.release(Home(Fraction(1)), sums)
    seen = published.copy()
    sums.add(accountant.private([0.5], Box(0, 1, 1), 2), at=np.array([[0]]))
    assert published == seen
    assert sums._values.item() == 0.75


def test_a_mechanism_that_fails_is_charged():
    class Failing(Laplace):
        def release(self, value, noise):
            noise.laplace(np.zeros(3), 1.0)
            raise RuntimeError("out of entropy")

    accountant = gate()
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    with pytest.raises(RuntimeError):
        accountant.release(Failing(scale=2.0), private)
    assert accountant.spent(1).epsilon == Fraction(1, 2)


# --- declassification ----------------------------------------------------------------------------


def test_declassification_needs_an_unlimited_budget():
    accountant = gate(1e9, 0.5)
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    error = refused(BudgetExceeded, accountant, lambda: accountant.declassify(private, "as printed"))
    assert error.asked == "epsilon = ∞"


def test_declassification_charges_infinity_and_names_the_place():
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    sums = accountant.sums(2)
    sums.add(accountant.private([0.5, 0.25], Box(0, 1, 2), "u"), at=np.array([[1, 0]]))
    assert accountant.declassify(sums, "Algorithm 1, line 7").tolist() == [[0.25, 0.5]]
    assert accountant.spent("u").epsilon is None
    assert accountant.worst() == ("u", accountant.spent("u"))
    (entry,) = [each for each in accountant.ledger.entries if each.mechanism is None]
    assert (entry.note, entry.where.file, entry.records) == ("Algorithm 1, line 7", __file__, ("u",))
    assert "declassified: Algorithm 1, line 7" in str(accountant.summary())
    accountant.release(Laplace(scale=9.0), accountant.private([0.5], Box(0, 1, 1), "u"))
    assert accountant.spent("u").epsilon is None


@pytest.mark.parametrize("reason", ["", "  ", None, 7])
def test_declassification_gives_a_reason(reason):
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    refused(ValueError, accountant, lambda: accountant.declassify(private, reason), "reason = ")


# --- sensitivities that records really have ------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 10])
def test_one_hot_records_move_two_coordinates_however_many_there_are(size):
    accountant = gate(4.0)
    private = accountant.private(np.eye(size)[1], OneHot(size), 1)
    mechanism = Laplace(scale=2.0, sensitivity=OneHot(size).sensitivity)
    accountant.release(mechanism, private)
    assert accountant.spent(1).epsilon == 1
    accountant.release(mechanism, private.take(np.array([[0]])))
    assert accountant.spent(1).epsilon == Fraction(3, 2)


def test_a_coordinate_taken_twice_moves_twice():
    accountant = gate(100.0)
    private = accountant.private([0.0, 1.0, 0.0], OneHot(3), 1)
    copies = private.take(np.zeros((1, 50), int))
    refused(
        SensitivityExceeded,
        accountant,
        lambda: accountant.release(Laplace(scale=1.0, sensitivity=box(2)), copies),
    )
    accountant.release(Laplace(scale=1.0, sensitivity=box(50)), copies)
    assert accountant.spent(1).epsilon == 50


def test_the_same_record_twice_pays_for_both():
    accountant = gate()
    first, again = (accountant.private([0.5], Box(0, 1, 1), "u") for _ in range(2))
    accountant.release(Laplace(scale=4.0, sensitivity=Sensitivity(2, 2, 2)), first + again)
    assert accountant.spent("u").epsilon == Fraction(1, 2)


def test_maps_cost_by_their_range_or_their_stability():
    mechanism = Laplace(scale=16.0, sensitivity=Sensitivity(16, 16, 16))
    for mapped, epsilon in [
        (lambda p: p.map(lambda v: v.sum(axis=-1), into=Interval(0, 4)), Fraction(4, 16)),
        (lambda p: p.map(lambda v: v * 0.5, stability=0.5), Fraction(1, 16)),
        (lambda p: p.map(lambda v: v, into=Ball(2.0, 2, order=1)), Fraction(4, 16)),
        (lambda p: (p * 3 - p).sum(), Fraction(8, 16)),
    ]:
        accountant = gate()
        accountant.release(mechanism, mapped(accountant.private([0.5, 0.25], Box(0, 1, 2), 1)))
        assert accountant.spent(1).epsilon == epsilon


def test_running_sums_charge_who_is_in_them():
    accountant = gate(2.0)
    sums, mechanism = accountant.sums(3), Laplace(scale=4.0, sensitivity=box(3))
    for record in ("a", "b"):
        sums.add(accountant.private([0.5, 0.5], Box(0, 1, 2), record), at=np.array([[0, -1]]))
    sums.add(accountant.private([0.5], Box(0, 1, 1), "a"), at=np.array([[1]]))
    accountant.release(mechanism, sums, where=np.array([[True, False, False]]))
    assert [accountant.spent(r).epsilon for r in "ab"] == [Fraction(1, 4)] * 2
    sums.clear(np.array([[True, False, False]]))
    accountant.release(mechanism, sums)
    assert [accountant.spent(r).epsilon for r in "ab"] == [Fraction(2, 4), Fraction(1, 4)]
    accountant.release(mechanism, sums, where=np.array([[True, False, True]]))
    assert [accountant.spent(r).epsilon for r in "ab"] == [Fraction(2, 4), Fraction(1, 4)]


def test_a_record_added_twice_to_a_sum_counts_twice():
    accountant = gate(2.0)
    sums = accountant.sums(1)
    private = accountant.private([0.5], Box(0, 1, 1), "u")
    for _ in range(2):
        sums.add(private, at=np.array([[0]]))
    refused(SensitivityExceeded, accountant, lambda: accountant.release(Laplace(scale=4.0), sums), "l1 = 2")
    accountant.release(Laplace(scale=4.0, sensitivity=Sensitivity(2, 2, 2)), sums)
    assert accountant.spent("u").epsilon == Fraction(1, 2)


# --- one account, whoever holds it ---------------------------------------------------------------


def test_an_accountant_cannot_be_forked():
    accountant = gate()
    for fork in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            fork(accountant)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such system call here")
def test_a_fork_of_the_process_releases_nothing():
    """A pool of forked workers would spend the budget once each."""
    accountant = gate(2.0)
    value = accountant.private([0.5], Interval(0, 1), "u")
    reservation = accountant.reserve(accountant.price(Laplace(scale=1.0), value))
    asked = (
        lambda: accountant.release(Laplace(scale=1.0), value),
        lambda: accountant.declassify(value, "shown"),
        reservation.release,
    )
    ends = os.pipe()
    child = os.fork()
    if child == 0:  # no assertion may leave this branch
        try:
            for ask in asked:
                try:
                    ask()
                except GateClosed as refusal:
                    os.write(ends[1], b"fork " if "is a fork" in str(refusal) else b"closed ")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(ends[0], 200) == b"fork fork fork "
    for end in ends:
        os.close(end)
    assert accountant.release(Laplace(scale=1.0), value).shape == (1, 1)  # the parent goes on


@pytest.mark.parametrize("name", ["budget", "composition", "trust", "ledger"])
def test_the_terms_cannot_be_changed(name):
    with pytest.raises(AttributeError):
        setattr(gate(), name, Budget.unlimited())


class Hesitant(BasicComposition):
    """Lets other threads run between the check and the charge."""

    def fits(self, spent, budget):
        time.sleep(1e-4)
        return super().fits(spent, budget)


def test_threads_share_one_budget():
    accountant = gate(1.0, composition=Hesitant())
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    slow, paid = Laplace(scale=64.0), []
    barrier = threading.Barrier(8)

    def spend():
        barrier.wait()
        for _ in range(40):
            try:
                accountant.release(slow, private)
                paid.append(1)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paid) == 64
    assert accountant.spent(1).epsilon == 1


# --- saving and loading --------------------------------------------------------------------------


def busy():
    accountant = gate(20.0, 0.5)
    private = accountant.private([0.1, 0.2, 0.3], Box(0, 1, 3), "ä-1")
    accountant.release(Laplace.for_epsilon(0.1, sensitivity=box(3)), private)
    accountant.release(Gaussian.for_epsilon_delta(0.3, 1e-7, sensitivity=box(3)), private + private * 0.0)
    accountant.release(RandomizedResponse(size=4, epsilon=0.7), accountant.private(3, Categories(4), 12))
    return accountant


def test_what_is_loaded_is_what_was_saved(tmp_path):
    accountant = busy()
    loaded = reopened(accountant, tmp_path, noise=np.random.default_rng(0))
    assert loaded.to_dict() == accountant.to_dict()
    assert loaded.budget == accountant.budget
    assert loaded.trust is accountant.trust
    assert str(loaded.summary()) == str(accountant.summary())
    assert [loaded.spent(r) for r in ("ä-1", 12)] == [accountant.spent(r) for r in ("ä-1", 12)]


def test_every_mechanism_can_be_saved_and_its_cost_is_loaded(tmp_path):
    accountant = gate(9.0)
    private = accountant.private([0.5], Box(0, 1, 1), 1)
    accountant.release(Home(Fraction(1, 3)), private)
    accountant.release(Laplace(scale=1.0) >> (lambda outputs: outputs), private)
    loaded = reopened(accountant, tmp_path, noise=np.random.default_rng(0))
    assert loaded.spent(1) == accountant.spent(1)
    assert loaded.to_dict() == accountant.to_dict()
    assert "Home" in str(loaded.summary())


DAMAGES = {
    "no JSON": (lambda text: text[:-20], "not a dpwitness ledger"),
    "another format": (lambda text: text.replace("ledger-2", "ledger-9"), "not a dpwitness ledger"),
    "a list": (lambda text: "[]", "not a dpwitness ledger"),
    "no entries": (lambda text: text.replace('"entries"', '"lines"'), "damaged .KeyError: 'entries'"),
    "theorem": (
        lambda text: text.replace('"basic composition"', '"magic"'),
        "entry 1: its hash is not that of its text",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_refused_in_one_line(damage, message, tmp_path):
    path = tmp_path / "ledger.json"
    busy().export(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match=message) as error:
        import_ledger(path, tmp_path / "ledger.db", "ann", "moved")
    assert path.exists()
    assert not (tmp_path / "ledger.db").exists()
    assert str(path) in str(error.value)


def test_the_example_in_the_docstring_runs():
    found = doctest.testmod(importlib.import_module("accountant.accountant"))
    assert found.attempted >= 5
    assert found.failed == 0
