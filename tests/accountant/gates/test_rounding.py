"""Rounding: honest sums are exact, and what floating point could add to a movement is charged or refused."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget, Coupled, Simulation
from accountant.gates.movement import ROUNDING_SHARE
from accountant.refusals import RoundingExceeded, SensitivityExceeded
from algorithms.durable.durable_run import DurableRun
from mechanisms import (
    Affine,
    Ball,
    Box,
    Categories,
    Clip,
    Integers,
    Interval,
    Laplace,
    OneHot,
    Sensitivity,
)
from mechanisms.domains.float_bounds import GRID_BITS, NO_GRID, FloatBounds, _exact_up_to, grid_of

UNIT = Laplace.for_epsilon(1.0, sensitivity=Interval(0, 1).sensitivity)
HERE = np.zeros((1, 1), dtype=np.int64)


def accountant() -> Accountant:
    return Accountant(Budget.unlimited(), noise=np.random.default_rng(0))


# --- the grid -------------------------------------------------------------------------------------

ends = (
    st.floats(-1e12, 1e12)
    | st.floats(-2, 2)
    | st.sampled_from([0.0, 1.0, 1e6, 1e6 + 1, 5e-324, 1e-310, 1e300])
)


@st.composite
def domains(draw: Any) -> Any:
    lower, upper = sorted((draw(ends), draw(ends)))
    radius = max(abs(lower), 1e-300)
    kinds = [Interval(lower, upper), Box(lower, upper, 3)]
    kinds += [Ball(radius, 3, order) for order in (1, 2, math.inf)]
    return draw(st.sampled_from(kinds))


@settings(max_examples=75, deadline=None)
@given(domains(), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_rounded_values_are_multiples_in_the_domain_and_close(domain: Any, shares: list[float]) -> None:
    corners = [np.asarray(point) for point in (domain.extremes()[0], domain.extremes()[-1])]
    weights = np.array(shares[:1] if not domain.shape else shares)
    inside = domain.clip(
        corners[0] * (1 - weights.reshape(domain.shape)) + corners[1] * weights.reshape(domain.shape)
    )
    bounds = grid_of(domain).bounds
    for value in (*corners, domain.check(inside)):
        rounded = np.ravel(grid_of(domain).onto(value)).tolist()
        exact = [Fraction(number) for number in rounded]
        step = Fraction(2) ** bounds.exponent
        assert all((number / step).denominator == 1 for number in exact)
        assert all(abs(number) <= Fraction(bounds.magnitude) for number in exact)
        domain.check(np.reshape(rounded, domain.shape))
        if isinstance(domain, Ball):  # exactly, not only as computed
            size = {
                1: sum(map(abs, exact)),
                2: sum(number * number for number in exact),
                math.inf: max(map(abs, exact)),
            }[domain.order]
            assert size <= Fraction(domain.radius) ** (2 if domain.order == 2 else 1)
        largest = Fraction(float(np.max(domain.widths))) * Fraction(2, 2**GRID_BITS)
        coarse = Fraction(math.ulp(bounds.magnitude)) if math.isfinite(bounds.magnitude) else Fraction(0)
        for number, given_ in zip(exact, np.ravel(value).tolist(), strict=True):
            assert abs(number - Fraction(given_)) <= max(largest, coarse)


@pytest.mark.parametrize(
    ("domain", "exponent"),
    [
        (Interval(0, 1), -26),
        (Interval(-1, 1), -25),
        (Interval(0, 1.5), -26),
        (Interval(0, 0.75), -27),
        (Interval(1e6, 1e6 + 1), -26),
        (Interval(1e15, 1e15 + 1), -3),  # floats are no finer there
        (Box(0, 1, 9), -26),
        (Integers(-5, 2**40, 2), 0),
        (OneHot(4), 0),
        (Categories(3), 0),
        (Interval(0, math.inf), NO_GRID),
        (Interval(0, 1e-310), NO_GRID),
    ],
)
def test_the_grid_of_a_domain(domain: Any, exponent: int) -> None:
    assert grid_of(domain).bounds.exponent == exponent


def test_the_bounds_of_numbers_of_two_values_hold_for_each() -> None:
    tenths, halves = FloatBounds(0.1, 1e-9, -60), FloatBounds(8.0, 0.0, -1)
    assert tenths.cover(halves) == halves.cover(tenths) == FloatBounds(8.0, 1e-9, -60)


def test_zeros_and_ones_and_whole_numbers_stay_what_they_are() -> None:
    for values, domain in [
        ([0.0, 1.0, 0.5], Box(0, 1, 3)),
        ([0.125, -1.0, 1.0], Box(-1, 1, 3)),
        ([2**40, -3, 7], Integers(-5, 2**41, 3)),
        ([0.0, 1.0, 0.0], OneHot(3)),
        ([0.1, 0.9, 0.1], Box(0.1, 0.9, 3)),
    ]:
        rounded = grid_of(domain).onto(np.asarray(values))
        if domain == Box(0.1, 0.9, 3):  # its ends are no multiples: values go to the next ones inside
            assert rounded.min() > 0.1
            assert rounded.max() < 0.9
        else:
            assert rounded.tolist() == values


def test_every_gate_rounds_alike() -> None:
    values = np.random.default_rng(0).random((64, 3))
    box = Box(0, 1, 3)
    expected = grid_of(box).onto(values)
    assert (expected != values).any()
    assert Simulation(0, 64).private(values, box, 1)._values[0].tobytes() == expected.tobytes()
    assert Coupled(0, 64, 1).private(values[None], box, 1)._values[0].tobytes() == expected.tobytes()
    for lane in range(64):
        assert accountant().private(values[lane], box, 1)._values[0, 0].tolist() == expected[lane].tolist()


# --- sums -----------------------------------------------------------------------------------------


def test_a_running_sum_of_many_reals_is_exact() -> None:
    """200,000 additions in order, as running sums make them; the same in whole numbers is equal."""
    values = np.random.default_rng(1).random(200_000)
    gate = Simulation(0, 1)
    rounded = gate.private(values, Box(0, 1, len(values)), 1)._values.ravel()
    steps = (rounded * 2.0**26).astype(np.int64)
    assert (steps == rounded * 2.0**26).all()
    assert np.cumsum(rounded)[-1] * 2.0**26 == int(steps.sum())  # exact: whole numbers below 2^53
    assert np.cumsum(values)[-1] != math.fsum(values.tolist())  # the values as they came are rounded off
    assert np.abs(rounded - values).max() <= 2.0**-27
    one = grid_of(Interval(0, 1)).bounds
    assert FloatBounds(199_999.0, 0.0, -26).add(one) == FloatBounds(200_000.0, 0.0, -26)


def test_a_sum_under_an_accountant_is_charged_as_before() -> None:
    gate = accountant()
    sums = gate.sums(1)
    for user in range(300):
        sums.add(gate.private([0.1 * (user % 7)], Interval(0, 1), user), HERE)
    gate.release(UNIT, sums)
    assert {gate.spent(user).epsilon for user in range(300)} == {1}


def test_numbers_beyond_the_grid_count_until_they_are_refused() -> None:
    """2^26 numbers from [0, 1] add up exactly; what follows may be off by an ulp each."""
    one = grid_of(Interval(0, 1)).bounds
    full = FloatBounds(2.0**27, 0.0, -26)
    assert FloatBounds(2.0**27 - 1, 0.0, -26).add(one).error == 0.0
    assert full.add(one).error == math.ulp(2.0**27)


# --- what cuts off digits is refused --------------------------------------------------------------


def cut(value: Any) -> Any:
    return value + 2.0**60 - 2.0**60


LEAKS = [
    cut,
    lambda value: value + 1e308 + 1e308 - 1e308 - 1e308,
    lambda value: value * 1e308 * 1e10 * 1e-308 * 1e-10,
    lambda value: value * 1e-318 * 1e160 * 1e158,  # through the smallest numbers there are
    lambda value: value * 1e-200 * 1e-122 * 1e161 * 1e161,
    lambda value: (value * 2.0**-60 + 1.0) * 2.0**60,
    lambda value: (value + 2.0**60).map(Affine(1.0, -(2.0**60))),
    lambda value: value.map(Affine(1.0, 2.0**60) >> Affine(1.0, -(2.0**60))),
    lambda value: (value * 1.0).map(Affine(1.0, 2.0**60) >> Affine(1.0, -(2.0**60))),
    lambda value: value + value * 2.0**60 - value * 2.0**60,
    lambda value: -(-value + 1e17) + 1e17,
]


@pytest.mark.parametrize("leak", LEAKS)
def test_digits_that_were_cut_off_are_refused_or_charged(leak: Any) -> None:
    """Whatever is released: the computed movement between the ends is not larger than what is charged."""
    computed = []
    for point in (0.0, 0.5 - 2.0**-26, 1.0):
        gate = accountant()
        value = leak(gate.private([point], Interval(0, 1), "ann"))
        try:
            gate.release(UNIT, value)
        except ValueError:  # refused, whatever the value is
            computed.append(None)
            continue
        computed.append(value._values.item())
        charged = max((entry.sensitivity.linf for entry in gate.ledger.entries), default=0.0)
    if None in computed:
        assert computed == [None] * 3
        return
    assert max(computed) - min(computed) <= charged * (1 + ROUNDING_SHARE)


@pytest.mark.parametrize("through", [lambda value: value * 1.0, lambda value: value])
def test_digits_that_a_chain_cuts_off_are_charged_or_refused(through: Any) -> None:
    computed = []
    calibrated = Laplace(scale=1.0, sensitivity=Sensitivity(*[100.0] * 3))
    for point in (100.0, 200.0):
        gate = accountant()
        value = through(gate.private([point], Interval(100, 200), "ann"))
        value = value.map(Affine(1.0, 2.0**60) >> Affine(1.0, -(2.0**60)))
        computed.append(value._values.item())
        with pytest.raises(SensitivityExceeded):
            gate.release(calibrated, value)
    assert computed == [0.0, 256.0]


def test_adding_a_large_public_number_and_taking_it_away_is_refused_with_a_reason() -> None:
    gate = accountant()
    value = cut(gate.private([0.5], Interval(0, 1), "ann"))
    with pytest.raises(RoundingExceeded, match=r"rounding could move the value by 1536 more than the 1 that"):
        gate.release(UNIT, value)
    assert len(gate.ledger) == 0
    sums = gate.sums(2)
    sums.add(value, HERE)
    with pytest.raises(RoundingExceeded):
        gate.release(UNIT, sums)
    with pytest.raises(RoundingExceeded):
        gate.price(UNIT, sums)
    sums.clear(np.array([[True, False]]))
    sums.add(gate.private([0.5], Interval(0, 1), "bob"), HERE)
    gate.release(UNIT, sums)  # cleared sums hold nothing of it
    gate.release(UNIT, value.map(Clip(0, 1)))  # in a domain again, a record moves it by no more than that


def test_a_record_that_moves_others_sums_is_charged_for_their_rounding() -> None:
    """A record of a tiny movement in a large sum: it can tip a rounding, and pays for that."""
    gate = accountant()
    tiny = gate.private([0.5], Interval(0, 1), "tiny") * 2.0**-40
    total = tiny
    for user in range(4):
        total = total + gate.private([0.3], Interval(0, 1), user) * 0.7
    gate.release(UNIT, total)
    paid = gate.spent("tiny").epsilon
    assert 2.0**-40 + 2.0**-53 < paid < 2.0**-39
    assert gate.spent(1).epsilon >= Fraction(0.7)


@pytest.mark.few(1)
@pytest.mark.parametrize("users", [3, 7, 1000])
def test_means_and_weighted_sums_are_not_refused(users: int) -> None:
    gate = accountant()
    total = gate.private([0.3], Interval(0, 1), 0) * 0.1
    for user in range(1, users):
        total = total + gate.private([0.3], Interval(0, 1), user) * 0.1
    mechanism = Laplace.for_epsilon(1.0, sensitivity=Interval(0, 1).sensitivity.multiply_by(0.1))
    gate.release(mechanism, total)
    assert gate.spent(0).epsilon == 1  # what the mechanism is calibrated for: the excess is within the share


def test_a_release_of_some_coordinates_is_judged_by_these() -> None:
    gate = accountant()
    sums = gate.sums(2)
    sums.add(cut(gate.private([0.5], Interval(0, 1), "ann")), np.array([[0]]))
    sums.add(gate.private([0.5], Interval(0, 1), "bob"), np.array([[1]]))
    gate.release(UNIT, sums, np.array([[False, True]]))
    with pytest.raises(RoundingExceeded):
        gate.release(UNIT, sums, np.array([[True, False]]))


def test_whole_numbers_that_could_overflow_are_refused() -> None:
    gate = accountant()
    value = gate.private([2**52], Integers(0, 2**52, 1), "ann")
    for _ in range(10):
        value = value + value
    calibrated = Laplace(scale=1.0, sensitivity=Sensitivity(*[2.0**63] * 3))
    gate.release(calibrated, value)
    with pytest.raises(RoundingExceeded, match="inf more"):
        gate.release(calibrated, value + value)


# --- the bounds hold --------------------------------------------------------------------------------

public = st.sampled_from([0.1, -3.0, 0.5, 2.0**-30, 2.0**20, 1 / 3, 1e-300, 1e200, -1e16, 0.0])


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.floats(0, 1), min_size=2, max_size=2),
    path=st.lists(st.tuples(st.sampled_from(["shift", "scale", "double", "other"]), public), max_size=6),
)
def test_computed_values_are_as_close_to_exact_ones_as_the_bounds_say(values: Any, path: Any) -> None:
    gate = accountant()
    box = Box(0, 1, 2)
    value, other = gate.private(values, box, "u"), gate.private(values[::-1], box, "v")
    exact = [Fraction(number) for number in value._values.ravel().tolist()]
    beside = [Fraction(number) for number in other._values.ravel().tolist()]
    for name, number in path:
        if name == "shift":
            value, exact = value + number, [each + Fraction(number) for each in exact]
        elif name == "scale":
            value, exact = value * number, [each * Fraction(number) for each in exact]
        elif name == "double":
            value, exact = value + value, [2 * each for each in exact]
        else:
            value, exact = value + other, [each + more for each, more in zip(exact, beside, strict=True)]
        bounds = value._provenance.bounds
        if math.isinf(bounds.error):
            return
        step = Fraction(2) ** bounds.exponent
        for computed, true in zip(map(Fraction, value._values.ravel().tolist()), exact, strict=True):
            assert abs(computed - true) <= Fraction(bounds.error)
            assert abs(computed) <= Fraction(bounds.magnitude)
            assert (computed / step).denominator == 1


@pytest.mark.slow
def test_the_bounds_of_waiting_sums_survive_a_restart(tmp_path: Any) -> None:
    """A batch that holds what was cut off is refused after a restart, too."""

    class Batch:
        def __init__(self, gate: Accountant) -> None:
            self.gate = gate
            self.waiting = gate.sums(1)

    run = DurableRun(Batch, accountant())
    run.learner.waiting.add(cut(run.accountant.private([0.5], Interval(0, 1), "ann")), HERE)
    run.save(tmp_path / "run")
    run.learner.waiting.add(cut(run.accountant.private([0.5], Interval(0, 1), "bob")), HERE)
    run.save(tmp_path / "run")
    before = run.learner.waiting._provenance.to_dict()
    run.close()
    again = DurableRun.load(tmp_path / "run", Batch, noise=np.random.default_rng(0))
    assert again.learner.waiting._provenance.to_dict() == before
    with pytest.raises(RoundingExceeded):
        again.accountant.release(UNIT, again.learner.waiting)


# --- what moves nothing in exact arithmetic ---------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "values", "factors"),
    [
        (Interval(0, 1e300), (0.0, 1e300), (1e300,)),
        (
            Interval(1.7e300, 1.9e300),
            (1.7e300, 1.9e300),
            (1e8,),
        ),  # the product overflows for one of them only
        (Interval(-math.inf, math.inf), (1.0, 1e300), (1e200, 1e200)),
    ],
)
@pytest.mark.parametrize("summed", [False, True])
def test_zero_times_what_may_have_overflowed_moves(
    domain: Any, values: tuple[float, float], factors: tuple[float, ...], summed: bool
) -> None:
    """Infinity times 0 is no number: such a release told an overflow, and nobody paid."""
    held = []
    for number in values:
        gate = accountant()
        value = gate.private([number], domain, "ann")
        for factor in (*factors, 0.0):
            value = value * factor
        held.append(value._values.item())
        sums = gate.sums(1)
        sums.add(value, HERE)
        waiting = sums if summed else value
        with pytest.raises(SensitivityExceeded, match="l1 = inf"):
            gate.release(UNIT, waiting)
        assert len(gate.ledger) == 0
        gate.declassify(waiting, "a test")
        assert gate.spent("ann").epsilon is None
    assert math.isnan(held[1])


def test_zero_times_finite_numbers_moves_nothing() -> None:
    gate = accountant()
    for domain in (Interval(0, 1e300), Interval(-math.inf, math.inf)):
        gate.release(UNIT, gate.private([1e299], domain, "ann") * 0.0)
    gate.release(UNIT, gate.private([1.0, 0.5], Box(0, 1, 2), "ann") * np.array([[0.0, 0.0]]))
    assert gate.spent("ann").epsilon == 0


@pytest.mark.parametrize(
    ("domain", "values", "factor"), [(Interval(-1, 1), (-1.0, 1.0), 0.0), (Interval(0, 0), (-0.0, 0.0), 1.0)]
)
def test_a_zero_that_leaves_has_no_sign(domain: Any, values: tuple[float, float], factor: float) -> None:
    """Its record pays nothing, as the number does not move; its sign did."""
    for number in values:
        gate = accountant()
        value = gate.private([number], domain, "ann") * factor
        shown = gate.declassify(value, "a test")
        assert shown.item() == 0.0
        assert not np.signbit(shown).any()
        assert gate.spent("ann").epsilon == 0


@pytest.mark.parametrize(("exponent", "most"), [(-1074, 2.0**-1021), (0, 2.0**53), (970, 2.0**1023)])
def test_multiples_of_a_power_are_floats_up_to_53_digits(exponent: int, most: float) -> None:
    """And all of those that are no infinity beyond."""
    assert _exact_up_to(exponent) == most
    assert _exact_up_to(971) == _exact_up_to(1023) == sys.float_info.max
