"""`Private.map`: transformations are charged by what they say, functions are assumptions; every gate does the same."""

from __future__ import annotations

import functools
import inspect
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled, GateClosed, Simulation
from mechanisms import (
    Above,
    Affine,
    AssumptionKind,
    Ball,
    BitsToCategory,
    Box,
    Categories,
    CategoryToOneHot,
    Choose,
    Clip,
    DomainError,
    FirstAbove,
    Gaussian,
    Interval,
    Laplace,
    LinearMap,
    OneHot,
    RandomizedResponse,
    RandomRounding,
    Sensitivity,
    Table,
)

FLAT = Laplace(scale=16.0, sensitivity=Sensitivity(16, 16, 16))


def accountant(**settings: Any) -> Accountant:
    """Make an accountant whose noise rests on nothing."""
    return Accountant(Budget.unlimited(), **settings)


@pytest.mark.parametrize(
    ("domain", "transformation", "epsilon"),
    [
        (Interval(0, 4), Affine(0.5, 3), Fraction(2, 16)),
        (Interval(0, 4), Clip(0, 1), Fraction(1, 16)),
        (Box(0, 4, 3), Clip(1, 2), Fraction(3, 16)),
        (Box(0, 4, 3), Choose([1]), Fraction(4, 16)),
        (Box(0, 4, 3), Choose([[1, 1]]), Fraction(8, 16)),
        (Box(0, 4, 3), Choose([2]) >> Affine(-0.25), Fraction(1, 16)),
        (Categories(3), Table([0.0, 1.0, 5.0]), Fraction(5, 16)),
        (Categories(3), CategoryToOneHot(3), Fraction(2, 16)),
        (OneHot(3), FirstAbove() >> Table(np.tri(4, 3)), Fraction(3, 16)),
        (Ball(2.0, 3, order=1), Choose([0, 1, 2]), Fraction(4, 16)),
    ],
)
def test_what_a_record_pays_follows_from_the_domain_out(
    domain: Any, transformation: Any, epsilon: Fraction
) -> None:
    gate = accountant(strict=True)
    value = gate.private(domain.extremes()[0], domain, "ann")
    gate.release(FLAT, value.map(transformation))
    assert gate.spent("ann").epsilon == epsilon
    ahead = accountant(strict=True)
    ahead.release(transformation >> FLAT, ahead.private(domain.extremes()[0], domain, "ann"))
    assert ahead.spent("ann").epsilon == epsilon
    assert ahead.assumptions == gate.assumptions == ()
    assert ahead.ledger.entries[0].mechanism == FLAT


def test_a_linear_map_is_charged_for_its_box() -> None:
    gate = accountant(strict=True)
    value = gate.private([0.5, 0.5], Box(0, 1, 2), "ann")
    gate.release(FLAT, value.map(LinearMap([[3.0, 1.0]])))
    assert 4 / 16 <= gate.spent("ann").epsilon <= 4 / 16 * (1 + 1e-13)


def test_values_that_were_computed_are_vectors_of_any_numbers() -> None:
    gate = accountant(strict=True)
    total = gate.private([0.5, 0.5], Box(0, 1, 2), "ann") + gate.private([0.25, 1.0], Box(0, 1, 2), "bob")
    gate.release(FLAT, total.map(Clip(0, 1)))
    assert gate.spent("ann").epsilon == Fraction(2, 16)
    gate.release(RandomizedResponse(size=3, epsilon=1.0), total.map(FirstAbove(0.6)))
    gate.release(FLAT, total.map(Affine(2.0)))  # its stability: 2 in L1 norm
    assert float(gate.spent("bob").epsilon) == pytest.approx(2 / 16 + 1 + 4 / 16, rel=1e-12)
    with pytest.raises(ValueError, match=r"can move the value by \(l1 = inf"):
        gate.release(FLAT, gate.private([0.5], Interval(-math.inf, math.inf), "eve").map(Affine(1.0)))


def test_a_transformation_in_front_of_a_mechanism_clips_whatever_came_in() -> None:
    """As in OpenDP: the domain in is far too wide for the noise."""
    gate = accountant(strict=True)
    value = gate.private([7e9], Interval(-math.inf, math.inf), "ann")
    mechanism = Clip(0, 1) >> Laplace(scale=1.0)
    quote = gate.price(mechanism, value)
    assert quote.entries[0].charge.epsilon == 1
    outputs = [gate.release(mechanism, value), gate.reserve(quote).release()]
    assert all(abs(output.item()) < 40 for output in outputs)
    sums = gate.sums(1)
    with pytest.raises(ValueError, match="sums cannot be transformed"):
        gate.release(mechanism, sums)


@pytest.mark.parametrize("wrong", [{"into": Interval(0, 1)}, {"stability": 1.0}])
def test_a_transformation_says_itself_where_its_results_lie(wrong: Any) -> None:
    value = accountant().private([0.5], Interval(0, 1), "ann")
    with pytest.raises(ValueError, match="map needs neither"):
        value.map(Clip(0, 1), **wrong)


def test_a_transformation_for_other_values_is_refused_and_the_gate_stays_open() -> None:
    gate = accountant()
    value = gate.private(1, Categories(3), "ann")
    with pytest.raises(DomainError, match="Clip takes real numbers, and Categories"):
        value.map(Clip(0, 1))
    gate.check_open()


@pytest.mark.parametrize("taken", [[[0, 0]], [[0, 0, 0]], np.zeros((1, 0), int)])
def test_a_transformation_of_one_category_refuses_several(taken: Any) -> None:
    gate = accountant()
    value = gate.private(1, Categories(3), "ann").take(np.asarray(taken))
    for transformation in (CategoryToOneHot(3), Table([0.0, 1.0, 5.0])):
        with pytest.raises(DomainError, match="takes one category, and this value has"):
            value.map(transformation)
    gate.check_open()


ROWS = [
    Choose(np.repeat([[0, 1, 2]], 100, axis=0)),
    Choose([[0, 1, 2], [0, 1, 2]]) >> Affine(2.0),
    Above(np.zeros((100, 3))),
    RandomRounding(0.0, 1.0, np.zeros((2, 3)), 0, 9),
]


@pytest.mark.parametrize("domain", [Box(0, 1, 3), Box(-math.inf, math.inf, 3)])
@pytest.mark.parametrize("transformation", ROWS)
def test_a_transformation_of_more_lanes_than_there_are_is_refused(transformation: Any, domain: Any) -> None:
    """Its result would move once for each of its rows, whether the value's domain is known or was lost on the way."""
    for known in (True, False):
        gate = accountant()
        value = gate.private([0.25, 0.5, 1.0], domain, "ann")
        with pytest.raises(DomainError, match="is not one value of it for each of"):
            (value if known else value * 1.0).map(transformation)
        assert gate.closure is not None


class Repeats(LinearMap):
    """A user's, of another form than it says."""

    def apply(self, values: Any) -> Any:
        return np.concatenate([values, values], axis=-1)


def test_a_users_transformation_gives_what_its_domain_out_says() -> None:
    for domain in (Box(0, 1, 3), Box(-math.inf, math.inf, 3)):
        with pytest.raises(DomainError, match="is not one value of it"):
            accountant().private([0.25, 0.5, 1.0], domain, "ann").map(Repeats(np.eye(3)))


class Stretches(Affine):
    """A user's, which declares too little."""

    @property
    def stability(self) -> float:
        return 0.001


def test_coupled_runs_check_the_stability_of_a_users_transformation() -> None:
    gate = Coupled(0, 1, 1)
    value = gate.private(np.array([[[0.25]], [[0.75]]]), Box(-math.inf, math.inf, 1), "ann")
    value.map(Affine(5.0))
    assert not gate.divergences
    value.map(Stretches(5.0))
    (divergence,) = gate.divergences
    assert divergence.kind == "stability"
    assert "0.001 moved its result by 2.5 when one record moved its input by 0.5" in divergence.message


def test_an_overflow_closes_the_gate() -> None:
    """That there is one tells something about the value."""
    gate = accountant()
    value = gate.private([1e300, 0.0], Box(0, 1e300, 2), "ann") * 1e9
    with pytest.raises(ValueError, match="not finite"):
        value.map(Affine(2.0))
    with pytest.raises(GateClosed):
        gate.private([0.5], Interval(0, 1), "bob")


TRANSFORMED = [
    (OneHot(3), FirstAbove()),
    (Box(0, 1, 3), Choose([[2, 0]] * 64) >> Affine(0.3, 0.1)),
    (Box(0, 1, 3), Above(np.linspace(0, 1, 192).reshape(64, 3))),
    (Box(0, 1, 3), Above(np.linspace(0, 1, 192).reshape(64, 3)) >> BitsToCategory(3)),
    (Box(-1, 1, 3), RandomRounding(1.0, 7.0, np.linspace(0, 0.99, 192).reshape(64, 3), 0, 14)),
    (Box(-1, 1, 3), LinearMap([[0.1, 0.2, 0.3], [1.0, -1.0, 0.0]]) >> Clip(-0.7, 0.7)),
    (Categories(4), Table([[0.0, 1.0], [0.25, 0.5], [1.0, 1.0], [0.0, 0.0]])),
]


@pytest.mark.parametrize(("domain", "transformation"), TRANSFORMED)
def test_all_gates_give_the_same_bits(domain: Any, transformation: Any) -> None:
    rng = np.random.default_rng(3)
    if isinstance(domain, Box):
        values = rng.uniform(domain.lower, domain.upper, (64, *domain.shape))
    else:
        values = domain.extremes()[rng.integers(0, len(domain.extremes()), 64)]
    simulated = Simulation(0, 64).private(values, domain, 1).map(transformation)
    other = np.stack([values, np.roll(values, 1, axis=0)])
    coupled = Coupled(0, 64, 1).private(other, domain, 1).map(transformation)
    assert coupled._values[0].tobytes() == simulated._values[0].tobytes()
    assert coupled._domain == simulated._domain == transformation.output_domain(domain)
    assert coupled._categories == simulated._categories
    if transformation == FirstAbove():
        for lane in range(64):
            single = accountant().private(values[lane], domain, 1).map(transformation)
            assert single._values[0, 0].tobytes() == simulated._values[0, lane].tobytes()


# --- Python functions -----------------------------------------------------------------------------


class Adds:
    def __call__(self, values: Any) -> Any:
        return values

    def method(self, values: Any) -> Any:
        return values


def named(values: Any, more: float = 0.0) -> Any:
    return values + more


def _line_of(function: Any) -> int:
    return inspect.getsourcelines(function)[1]


@pytest.mark.parametrize(
    ("function", "name", "line"),
    [
        (named, "named", _line_of(named)),
        (functools.partial(functools.partial(named), more=0.0), "named", _line_of(named)),
        (Adds(), "Adds", _line_of(Adds.__call__)),
        (Adds().method, "Adds.method", _line_of(Adds.method)),
        (abs, "abs", None),
        (np.abs, "absolute", None),
        (np.clip, "clip", None),
    ],
)
@pytest.mark.parametrize("make", [accountant, lambda: Coupled(0, 64, 1)])
def test_whatever_can_be_called_is_a_declared_function(
    make: Any, function: Any, name: str, line: int | None
) -> None:
    gate = make()
    values = np.full((gate.lanes, 1), 0.5)
    value = gate.private(values[None] if isinstance(gate, Coupled) else values, Box(0, 1, 1), 1)
    called = functools.partial(function, a_min=0, a_max=1) if function is np.clip else function
    for _ in range(2):
        value.map(called, into=Box(0, 1, 1))
    (assumption,) = gate.assumptions
    assert assumption.kind is AssumptionKind.DECLARED_FUNCTION
    assert assumption.message == f"your function {name} in map depends on nothing but its argument"
    if line is not None:
        assert assumption.where == f"tests/accountant/gates/test_map.py:{line}"
    elif function is not np.clip:
        assert "test_map.py:" in assumption.where  # the line of the call


def test_a_users_own_transformation_is_an_assumption() -> None:
    class Remembers(Affine):
        """Nothing proves that it does not."""

    gate = accountant()
    gate.private([0.5], Interval(0, 1), 1).map(Clip(0, 1) >> Remembers(1.0))
    (assumption,) = gate.assumptions
    assert assumption.kind is AssumptionKind.FOREIGN_CLASS
    assert "Remembers" in assumption.message


def test_a_patched_transformation_is_an_assumption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clip, "apply", lambda self, values: values)
    gate = accountant()
    gate.private([0.5], Interval(0, 1), 1).map(Clip(0, 1))
    assert [each.kind for each in gate.assumptions] == [AssumptionKind.PATCHED]


def test_the_gate_uses_its_own_copy() -> None:
    """What is changed by force after it was given has no effect; before, its class checks it."""
    gate = accountant()
    transformation = Affine(1.0)
    object.__setattr__(transformation, "apply", lambda values: values * 100)
    gate.private([0.5], Interval(0, 1), 1).map(transformation)
    assert [each.kind for each in gate.assumptions] == [AssumptionKind.PATCHED]


# --- charges hold ---------------------------------------------------------------------------------


def test_gaussian_noise_is_charged_by_the_box_too() -> None:
    gate = accountant()
    value = gate.private([0.5, 0.5], Box(0, 1, 2), "ann").map(Clip(0, 0.5))
    gaussian = Gaussian(sigma=1.0, sensitivity=Sensitivity(2.0, 1.5, 1.0), delta=1e-6)
    gate.release(gaussian, value)
    moved = gate.ledger.entries[0].sensitivity
    assert (moved.l1, moved.linf) == (1.0, 0.5)
    assert moved.l2 == pytest.approx(math.sqrt(0.5), rel=1e-15)
