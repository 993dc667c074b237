import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    Ball,
    Box,
    Categories,
    Domain,
    DomainError,
    Integers,
    Interval,
    OneHot,
    ParameterError,
    Sensitivity,
)

DOMAINS = [
    Interval(-1.0, 3.0),
    Box(0.0, 1.0, 1),
    Box(-2.0, 0.5, 3),
    OneHot(1),
    OneHot(4),
    OneHot(4, allow_none=False),
    Categories(5),
    Ball(1.5, 3),
    Ball(2.0, 4, order=1),
    Ball(1.0, 2, order=math.inf),
]
each = pytest.mark.parametrize("domain", DOMAINS, ids=str)


@each
def test_extremes_lie_in_the_domain_and_reach_its_sensitivity(domain: Domain) -> None:
    points = domain.check(domain.extremes())
    assert isinstance(domain, Domain)
    assert points.shape == (len(points), *domain.shape)
    assert domain.widths.shape == domain.shape
    assert len(np.unique(points, axis=0)) == len(points)
    if isinstance(domain, Categories):
        assert points.tolist() == [0, 1, 2, 3, 4]
        return
    moved = np.abs(points[:, None] - points[None]).reshape(len(points) ** 2, -1)
    reached = moved.sum(1).max(), np.sqrt((moved**2).sum(1)).max(), moved.max()
    declared = domain.sensitivity
    assert np.all(np.array(reached) <= np.array([declared.l1, declared.l2, declared.linf]) * (1 + 1e-15))
    # The extreme points of a round ball do not include the diagonal, where l1 is largest.
    round_ball = isinstance(domain, Ball) and domain.order == 2
    assert reached[1:] == pytest.approx((declared.l2, declared.linf))
    assert round_ball or reached[0] == pytest.approx(declared.l1)
    np.testing.assert_allclose(moved.max(0).reshape(domain.shape), domain.widths)


def test_sensitivities() -> None:
    assert Interval(0, 1).sensitivity == Sensitivity(1, 1, 1)
    assert Box(0, 1, 4).sensitivity == Sensitivity(4, 2, 1)
    assert OneHot(9).sensitivity == Sensitivity(2, math.sqrt(2), 1)
    assert OneHot(1).sensitivity == Sensitivity(1, 1, 1)
    assert OneHot(1, allow_none=False).sensitivity == Sensitivity(0, 0, 0)
    assert OneHot(2, allow_none=False).sensitivity.l1 == 2
    assert Categories(3).sensitivity == Sensitivity(1, 1, 1)
    assert Ball(1, 4).sensitivity == Sensitivity(4, 2, 2)
    assert Ball(1, 4, order=1).sensitivity == Sensitivity(2, 2, 2)
    assert Ball(1, 4, order=math.inf).sensitivity == Sensitivity(8, 4, 2)


def test_box_extremes_in_order() -> None:
    assert Box(0, 1, 3).extremes().tolist() == [
        [0, 0, 0],
        [1, 1, 1],
        [1, 0, 0],
        [0, 1, 1],
        [0, 1, 0],
        [1, 0, 1],
        [0, 0, 1],
        [1, 1, 0],
    ]
    assert Box(0, 1, 2).extremes().tolist() == [[0, 0], [1, 1], [1, 0], [0, 1]]
    assert OneHot(2).extremes().tolist() == [[0, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("domain", "values", "reason"),
    [
        (Interval(0, 1), [0.5, 1.5], "1.5"),
        (Interval(0, 1), math.nan, "nan"),
        (Interval(0, 1), "x", "real numbers"),
        (Box(0, 1, 2), [0.5, -0.1], "-0.1"),
        (Box(0, 1, 2), [0.5, 0.5, 0.5], "shape"),
        (Box(0, 1, 2), 0.5, "shape"),
        (Box(0, 1, 2), [[0.5, math.nan]], "nan"),
        (OneHot(3), [1, 1, 0], "2 ones"),
        (OneHot(3), [0.5, 0, 0], "other than 0 and 1"),
        (OneHot(3), [math.nan, 0, 0], "other than 0 and 1"),
        (OneHot(3, allow_none=False), [[1, 0, 0], [0, 0, 0]], "outside"),
        (Categories(3), [0, 3], "3.0"),
        (Categories(3), [0.5], "not whole"),
        (Ball(1, 2), [0.8, 0.8], "norm"),
        (Ball(1, 2), [math.nan, 0.0], "norm"),
        (Ball(1, 2, order=1), [0.6, 0.6], "norm"),
    ],
)
def test_values_outside_are_refused(domain: Domain, values: object, reason: str) -> None:
    with pytest.raises(DomainError, match=reason) as refusal:
        domain.check(values, "reward")  # type: ignore[arg-type]
    assert str(refusal.value).startswith("reward")


def test_check_returns_arrays_with_leading_axes() -> None:
    assert Box(0, 1, 2).check(np.zeros((5, 7, 2))).shape == (5, 7, 2)
    assert Categories(3).check([[0, 2]]).dtype == np.int64
    assert Box(0, 1, 2).check(np.zeros((0, 2))).shape == (0, 2)
    assert OneHot(3).check([0, 0, 0]).dtype == np.float64


@settings(deadline=None)
@given(st.sampled_from([1, 2, math.inf]), st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3))
def test_clipped_points_pass_the_check(order: float, point: list[float]) -> None:
    for domain in (Ball(0.7, 3, order=order), Box(-0.3, 0.9, 3)):
        clipped = domain.clip(point)
        domain.check(clipped)
        np.testing.assert_array_equal(domain.clip(clipped), clipped)


@pytest.mark.parametrize("domain", [OneHot(2), Categories(2)], ids=str)
def test_choices_cannot_be_clipped(domain: Domain) -> None:
    with pytest.raises(TypeError, match="clip"):
        domain.clip([0.3, 0.7])


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Interval(1, 0), "lower"),
        (lambda: Interval(math.nan, 0), "lower"),
        (lambda: Box(0, 1, 0), "size"),
        (lambda: OneHot(2.5), "size"),
        (lambda: Categories(0), "size"),
        (lambda: Ball(0.0, 2), "radius"),
        (lambda: Ball(1.0, 2, order=3), "order"),
        (lambda: Interval(math.inf, math.inf), "hold no number"),
        (lambda: Box(-math.inf, -math.inf, 2), "hold no number"),
    ],
)
def test_bad_domains_are_refused(build, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=named):
        build()


@pytest.mark.parametrize("radius", [1e-200, 1e-300, 1e200, 1e300])
@pytest.mark.parametrize("order", [1, 2, math.inf])
def test_balls_of_any_size_know_what_is_outside(radius, order):
    """Squares of small numbers vanish, those of large ones overflow: norms are computed in units of the radius."""
    ball = Ball(radius, 2, order)
    ball.check([radius, 0.0])
    ball.check(ball.clip([3 * radius, -2 * radius]))
    for outside in ([1.001 * radius, 0.0], [1e40 * radius, 0.0], [0.9 * radius, 0.9 * radius]):
        if order == math.inf and outside[1]:
            continue
        with pytest.raises(DomainError):
            ball.check(outside)


@pytest.mark.parametrize(
    "domain",
    [
        Interval(0, 5),
        Box(0, 5, 1),
        Ball(5.0, 1),
        OneHot(1, allow_none=True),
        Integers(0, 5, 1),
        Categories(6),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.array(["1"]), "of type <U1"),
        (["1"], "of type <U1"),
        (np.array(["1"], dtype=object), "of type object"),
        (np.array([b"1"]), "of type [|]S1"),
        (np.array([1], dtype="M8[s]"), "of type datetime64"),
        (np.array([1], dtype="m8[s]"), "of type timedelta64"),
        (np.array([1.0 + 0.0j]), "of type complex128"),
        (np.ma.masked_array([1], mask=[True]), "holds masked values"),
        (np.ma.masked_array([1.0], mask=[True]), "holds masked values"),
        ([10**400], "larger than every float"),
    ],
    ids=range(10),
)
def test_what_is_no_number_is_refused_and_not_made_one(domain: Domain, value: Any, reason: str) -> None:
    """A number missing under its mask was taken as data, a whole number of 401 digits ended in OverflowError."""
    with pytest.raises(DomainError, match=reason):
        domain.check(value)
    if not isinstance(domain, OneHot | Categories):
        with pytest.raises(DomainError, match=reason):
            domain.clip(value)


def test_numbers_of_other_types_are_taken() -> None:
    unmasked = np.ma.masked_array([1.0], mask=[False])
    for value in (True, np.uint8(1), np.float16(1), Fraction(1), [Fraction(1)], np.longdouble(1), unmasked):
        assert Box(0, 1, 1).check(np.atleast_1d(value)).tolist() == [1.0]


@pytest.mark.parametrize("order", [1, 2, math.inf])
def test_a_ball_whose_diameter_is_beyond_floats_moves_without_bound(order: float) -> None:
    assert Ball(1.7e308, 3, order).sensitivity == Sensitivity(math.inf, math.inf, math.inf)
