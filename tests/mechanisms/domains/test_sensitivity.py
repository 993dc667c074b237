import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    BinaryTree,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Hybrid,
    Laplace,
    ParameterError,
    Sensitivity,
    SignedTree,
    SquareRootCounter,
)
from mechanisms.numerics.rounding import up

sizes = st.floats(0.0, 1e6, allow_subnormal=False)


def test_of_box_is_exact_where_floats_are() -> None:
    assert Sensitivity.of_box([1.0] * 4) == Sensitivity(4.0, 2.0, 1.0)
    assert Sensitivity.of_box([3.0, 4.0]) == Sensitivity(7.0, 5.0, 4.0)
    assert Sensitivity.of_box(0.5) == Sensitivity(0.5, 0.5, 0.5)
    assert Sensitivity.of_box([]) == Sensitivity(0.0, 0.0, 0.0)
    assert Sensitivity.of_box([1.0, math.inf]).l2 == math.inf


@settings(deadline=None)
@given(st.lists(sizes, min_size=1, max_size=8))
def test_of_box_never_falls_below_the_exact_norms(widths: list[float]) -> None:
    found = Sensitivity.of_box(widths)
    assert Fraction(found.l1) >= sum(map(Fraction, widths))
    assert Fraction(found.l2) ** 2 >= sum(Fraction(w) ** 2 for w in widths)
    assert found.linf == max(widths)
    assert found.l2 <= math.hypot(*widths) * (1 + 1e-15)


@settings(deadline=None)
@given(sizes, sizes, sizes)
def test_sums_and_multiples_round_up(a: float, b: float, factor: float) -> None:
    one, two = Sensitivity(a, a, a), Sensitivity(b, b, b)
    exact_sum, exact_product = Fraction(a) + Fraction(b), Fraction(a) * Fraction(factor)
    assert Fraction((one + two).l1) >= exact_sum
    assert (one + two).l1 <= math.nextafter(a + b, math.inf)
    assert Fraction(one.multiply_by(-factor).l2) >= exact_product
    assert one.multiply_by(factor).linf <= math.nextafter(a * factor, math.inf)


def test_infinite_movement() -> None:
    unbounded = Sensitivity(math.inf, math.inf, 1.0)
    assert unbounded.multiply_by(0.0) == Sensitivity(0.0, 0.0, 0.0)
    assert unbounded.multiply_by(2.0) == Sensitivity(math.inf, math.inf, 2.0)
    assert (unbounded + Sensitivity(1, 1, 1)).l1 == math.inf


def test_covers_compares_every_norm() -> None:
    box = Sensitivity(4.0, 2.0, 1.0)
    assert box.covers(box)
    assert box.covers(Sensitivity(2.0, math.sqrt(2.0), 1.0))
    for larger in (Sensitivity(4.5, 2.0, 1.0), Sensitivity(4.0, 2.1, 1.0), Sensitivity(4.0, 2.0, 1.1)):
        assert not box.covers(larger)


@pytest.mark.parametrize(
    ("norms", "named"),
    [
        ((-1.0, 0.0, 0.0), "l1"),
        ((1.0, math.nan, 0.0), "l2"),
        ((1.0, 1.0, "x"), "linf"),
        ((1.0, 2.0, 1.0), "l2"),
    ],
)
def test_refusals_name_the_norm(norms: tuple[float, float, float], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Sensitivity(*norms)
    with pytest.raises(ParameterError):
        Sensitivity(1.0, 1.0, 1.0).multiply_by(math.nan)


@pytest.mark.parametrize(
    ("by_number", "by_norms"),
    [
        (lambda s: Laplace.for_epsilon(1, sensitivity=s), 2),
        (lambda s: Laplace(scale=4, sensitivity=s), 2),
        (lambda s: DiscreteLaplace.for_epsilon(1, sensitivity=s), 3),
        (lambda s: Gaussian.for_epsilon_delta(1, 1e-6, sensitivity=s), 0.5),
        (lambda s: Gaussian.for_rho(1, sensitivity=s), Fraction(1, 3)),
        (lambda s: DiscreteGaussian(sigma=3, sensitivity=s), 1),
        (lambda s: BinaryTree.for_epsilon(1, horizon=8, sensitivity=s), 2),
        (lambda s: BinaryTree.as_published(1, horizon=8, sensitivity=s), 2),
        (lambda s: SignedTree.for_rho(1, horizon=8, sensitivity=s), 2),
        (lambda s: SquareRootCounter.for_rho(1, horizon=8, sensitivity=s), 2),
        (lambda s: Hybrid(epsilon=1, sensitivity=s), 2),
    ],
)
def test_a_number_is_the_movement_of_one_value(by_number, by_norms):
    size = up(Fraction(by_norms))
    assert by_number(by_norms) == by_number(Sensitivity(size, size, size))


@pytest.mark.parametrize("wrong", ["1", True, None, [1.0], math.nan, -1.0])
def test_neither_a_number_nor_a_sensitivity_is_refused(wrong):
    with pytest.raises(ParameterError, match="sensitivity = "):
        Laplace(scale=1, sensitivity=wrong)
