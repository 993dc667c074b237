"""Transformations: results lie in the domain out, and neighbours come no further apart than the stability says."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from mechanisms import (
    Above,
    Affine,
    Ball,
    BitsToCategory,
    Box,
    Categories,
    CategoryToOneHot,
    Chain,
    Choose,
    Clip,
    DiscreteLaplace,
    Domain,
    DomainError,
    FirstAbove,
    Gaussian,
    Integers,
    Interval,
    Laplace,
    LinearMap,
    NoPrivacy,
    OneHot,
    ParameterError,
    RandomizedResponse,
    RandomRounding,
    Repeated,
    Sensitivity,
    Table,
    Transformation,
    Transformed,
    assumptions_of,
    mechanism_from_dict,
)

NUMBERS = [Interval(-3, 5), Interval(0.1, 0.9), Box(-2, 7, 3), Box(0, 1, 4), Integers(-4, 9, 3), Ball(2.0, 3)]
NUMBERS += [OneHot(3), OneHot(4, allow_none=False), Ball(1.5, 4, order=1), Ball(0.3, 2, order=math.inf)]
factors = st.floats(-100, 100).map(lambda x: round(x, 3)) | st.sampled_from(
    [0.0, 1.0, -1.0, 0.5, 1e-300, 1 / 3]
)
lists = st.lists(factors, min_size=1, max_size=5)


def value_in(draw: Any, domain: Any) -> np.ndarray:
    """Return a value of a domain: an extreme point, or one brought in from anywhere."""
    if isinstance(domain, OneHot | Categories) or draw(st.booleans()):
        extremes = domain.extremes()
        return np.asarray(extremes[draw(st.integers(0, len(extremes) - 1))])
    size = math.prod(domain.shape)
    anywhere = np.array(draw(st.lists(st.floats(-10, 10), min_size=size, max_size=size)))
    return np.asarray(domain.check(domain.clip(anywhere.reshape(domain.shape))))


def of_numbers(draw: Any, size: int) -> Transformation:
    kind = draw(
        st.sampled_from([Affine, Clip, Choose, LinearMap, FirstAbove, Above, RandomRounding, BitsToCategory])
    )
    if kind is BitsToCategory and size > 1:  # the bit of one number is a category already
        return Above(draw(st.lists(factors, min_size=size, max_size=size))) >> BitsToCategory(size)
    if kind is Affine:
        return Affine(draw(factors), draw(factors))
    if kind is Clip:
        return Clip(*sorted((draw(factors), draw(factors))))
    if kind is Choose:
        return Choose(draw(st.lists(st.integers(-1, size - 1), min_size=1, max_size=4)))
    if kind is LinearMap:
        rows = st.lists(factors, min_size=size, max_size=size)
        return LinearMap(draw(st.lists(rows, min_size=1, max_size=3)))
    if kind is FirstAbove:
        return FirstAbove(draw(factors))
    if kind is Above:
        return Above(draw(st.lists(factors, min_size=size, max_size=size)))
    uniform = draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=size, max_size=size))
    return RandomRounding(draw(factors), draw(factors), uniform, -3, 8)


@st.composite
def cases(draw: Any) -> tuple[Transformation, Domain, np.ndarray, np.ndarray]:
    """Return a chain of up to three transformations, its domain, and two values of that."""
    domain: Any = draw(st.sampled_from(NUMBERS))
    chain, reached = None, domain
    for _ in range(draw(st.integers(1, 3))):
        if isinstance(reached, Categories):
            size = reached.size
            rows = st.lists(factors, min_size=2, max_size=2)
            tables = [
                st.lists(each, min_size=size, max_size=size) for each in (st.integers(0, 4), factors, rows)
            ]
            step: Any = draw(st.just(CategoryToOneHot(size)) | st.one_of(*tables).map(Table))
        else:
            step = of_numbers(draw, reached.shape[0] if reached.shape else 1)
        try:
            reached = step.output_domain(reached)
        except DomainError:
            assert isinstance(step, Choose | FirstAbove)  # made for vectors only
            continue
        chain = step if chain is None else chain >> step
    if chain is None:
        chain, reached = Affine(1.0), Affine(1.0).output_domain(domain)
    return chain, domain, value_in(draw, domain), value_in(draw, domain)


def distance(x: np.ndarray, y: np.ndarray, domain: Any) -> Fraction:
    if isinstance(domain, Categories):
        return Fraction(int(x.item() != y.item()))
    pairs = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in pairs), Fraction(0))


@settings(max_examples=80, deadline=None)
@given(cases())
def test_results_lie_in_the_domain_out_and_come_no_further_apart_than_the_stability_says(case: Any) -> None:
    transformation, domain, *pair = case
    into = transformation.output_domain(domain)
    x, y = (np.reshape(value, (1, -1)) for value in pair)
    images = [transformation.apply(value) for value in (x, y)]
    for image in images:
        into.check(image.reshape(into.shape))
    assert distance(*images, into) <= Fraction(into.sensitivity.l1)
    if math.isfinite(transformation.stability):
        moved = Fraction(transformation.stability) * distance(x, y, domain)
        sizes = [1.0]
        for part in transformation.parts if isinstance(transformation, Chain) else (transformation,):
            x, y = part.apply(x), part.apply(y)
            sizes += [float(np.abs(x).max()), float(np.abs(y).max()), abs(getattr(part, "shift", 0.0))]
        rounding = 2.0**-50 * 8 * max(sizes) * max(1.0, transformation.stability) * images[0].size
        assert distance(*images, into) <= moved + Fraction(rounding)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_each_value_is_transformed_on_its_own(case: Any) -> None:
    """Beside other values, again, and in another order: the result is the same to the last bit."""
    transformation, _, *pair = case
    x, y = (np.reshape(value, (1, -1)) for value in pair)
    alone = transformation.apply(x), transformation.apply(y)
    stacked = transformation.apply(np.stack([np.stack([y, x, y]), np.stack([x, x, y])]))
    for (world, lane), each in {(0, 1): 0, (1, 1): 0, (0, 0): 1, (1, 2): 1}.items():
        assert stacked[world, lane].tobytes() == alone[each].astype(stacked.dtype).tobytes()


def test_public_arrays_are_transformed_too() -> None:
    assert Clip(0, 1)([-1.0, 0.5, 3.0]).tolist() == [0.0, 0.5, 1.0]
    assert float(Affine(2, 1)(0.25)) == 1.5
    assert FirstAbove()([[0, 1, 0], [0, 0, 0], [0.5, 0.501, 1]]).tolist() == [1, 3, 1]
    assert (FirstAbove() >> Table([[1.0, 2.0], [3.0, 4.0]]))([[1], [0]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert CategoryToOneHot(3)([2, 0]).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert FirstAbove()(CategoryToOneHot(4)(np.arange(4))).tolist() == [0, 1, 2, 3]
    assert LinearMap([[1, 1], [1, -1]])([[1.0, 2.0]]).tolist() == [[3.0, -1.0]]
    assert Choose([1, -1, 1])([5.0, 6.0]).tolist() == [6.0, 0.0, 6.0]
    of_lanes = Choose([[1, -1], [0, 2], [2, 2]])
    values = np.arange(18.0).reshape(2, 3, 3)
    assert of_lanes(values).tolist() == [[[1, 0], [3, 5], [8, 8]], [[10, 0], [12, 14], [17, 17]]]
    assert of_lanes(values[0, :1]).tolist() == [[1, 0], [0, 2], [2, 2]]  # one row for all
    assert of_lanes(values[0, 0]).tolist() == [[1, 0], [0, 2], [2, 2]]
    assert Above([0.25, 0.75])([0.5, 0.5]).tolist() == [1, 0]
    assert BitsToCategory(3)([[1, 0, 1], [0, 1, 1]]).tolist() == [5, 6]
    assert BitsToCategory(3).bits(np.array([5, 6])).tolist() == [[1, 0, 1], [0, 1, 1]]
    assert RandomRounding(0, 10, [0.0, 0.9], 0, 10)([0.55, 0.55]).tolist() == [5, 6]


@pytest.mark.parametrize("values", [math.nan, [0.5, math.nan], [1j], ["0"]])
def test_what_is_no_number_is_refused(values: Any) -> None:
    with pytest.raises(DomainError):
        Clip(0, 1)(values)


@pytest.mark.parametrize("category", [-1, 3, 0.5, math.nan])
def test_what_is_no_category_is_refused(category: float) -> None:
    for transformation in (CategoryToOneHot(3), Table([1.0, 2.0, 4.0])):
        with pytest.raises(DomainError):
            transformation(category)


@pytest.mark.parametrize(
    ("transformation", "domain", "into"),
    [
        (Affine(-2, 1), Interval(0, 3), Interval(-5, 1)),
        (Affine(0, 4), Box(-math.inf, math.inf, 2), Box(4, 4, 2)),
        (Clip(0, 1), Interval(-math.inf, math.inf), Interval(0, 1)),
        (Clip(-1, 2), Integers(-5, 5, 2), Integers(-1, 2, 2)),
        (Clip(-0.5, 0.5), Ball(2.0, 3), Box(-0.5, 0.5, 3)),
        (Choose([2, 0]), Box(1, 2, 3), Box(1, 2, 2)),
        (Choose([2, -1]), Box(1, 2, 3), Box(0, 2, 2)),
        (Choose([2, 0]), OneHot(3, allow_none=False), OneHot(2)),
        (Choose([0, 0]), OneHot(3), Integers(0, 1, 2)),
        (Choose([2, 0, 1]), Ball(2.0, 3), Ball(2.0, 3)),
        (FirstAbove(), OneHot(4), Categories(5)),
        (FirstAbove(), OneHot(4, allow_none=False), Categories(4)),
        (FirstAbove(1.0), OneHot(4, allow_none=False), Categories(5)),
        (Above(0.5), Interval(0, 1), Categories(2)),
        (Above(0.5), Box(0, 1, 3), Integers(0, 1, 3)),
        (Above(0.5) >> BitsToCategory(3), Box(0, 1, 3), Categories(8)),
        (BitsToCategory(2), OneHot(2), Categories(4)),
        (CategoryToOneHot(4), Categories(4), OneHot(4, allow_none=False)),
        (CategoryToOneHot(4), Categories(3), OneHot(4, allow_none=False)),
        (Table([3, 0]), Categories(2), Categories(4)),
        (Table([3.5, 0]), Categories(2), Interval(0, 3.5)),
        (Table([[3, 0], [1, 1]]), Categories(2), Box(0, 3, 2)),
        (RandomRounding(1, 5, 0.5, 0, 10), Box(-1, 1, 2), Integers(0, 10, 2)),
        (Clip(0, 1) >> Above(0.5), Interval(-9, 9), Categories(2)),
    ],
)
def test_domain_out(transformation: Transformation, domain: Domain, into: Domain) -> None:
    assert transformation.output_domain(domain) == into


def test_a_linear_map_knows_how_far_its_vectors_reach() -> None:
    matrix = [[3.0, 4.0], [-1.0, 0.0]]
    reaches = {Box(0, 1, 2): (-1, 7), OneHot(2): (-1, 4), Ball(1.0, 2): (-5, 5), Ball(1.0, 2, 1): (-4, 4)}
    for domain, reach in reaches.items():
        into: Any = LinearMap(matrix).output_domain(domain)
        assert into.lower == pytest.approx(reach[0], rel=1e-14)
        assert into.upper == pytest.approx(reach[1], rel=1e-14)
        assert into.lower <= reach[0]
        assert into.upper >= reach[1]
    assert LinearMap(matrix).stability == 4.0
    assert math.isinf(float(LinearMap(matrix).output_domain(Box(-math.inf, math.inf, 2)).widths[0]))


def test_a_linear_map_that_rounds_nothing_widens_nothing() -> None:
    assert LinearMap(np.eye(3)).output_domain(Box(0, 1, 3)) == Box(0, 1, 3)
    assert LinearMap([[0.5, 0.0], [0.0, -4.0]]).output_domain(Box(0, 0.7, 2)) == Box(-4 * 0.7, 0.5 * 0.7, 2)
    assert LinearMap(np.eye(3)).output_domain(Ball(2.0, 3, math.inf)) == Box(-2, 2, 3)
    assert LinearMap([[1e308, 1e308]]).output_domain(Box(0, 1e308, 2)) == Box(-math.inf, math.inf, 1)


@given(
    rows=st.lists(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4), min_size=1, max_size=3),
    data=st.data(),
)
def test_no_result_lies_outside_by_rounding(rows: list[list[float]], data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2)))
    ends = st.sampled_from([low, high]) | st.floats(low, high)
    values = np.array(data.draw(st.lists(st.lists(ends, min_size=4, max_size=4), min_size=1, max_size=5)))
    linear = LinearMap(rows)
    into: Any = linear.output_domain(Box(low, high, 4))
    assert (into.lower <= linear(values)).all()
    assert (linear(values) <= into.upper).all()


@pytest.mark.parametrize(
    ("transformation", "domain"),
    [
        (Affine(1), Categories(3)),
        (Clip(0, 1), Categories(3)),
        (Choose([3]), Box(0, 1, 3)),
        (Choose([0]), Interval(0, 1)),
        (LinearMap([[1, 2]]), Box(0, 1, 3)),
        (FirstAbove(), Interval(0, 1)),
        (Above([0.1, 0.2]), Box(0, 1, 3)),
        (CategoryToOneHot(2), Categories(3)),
        (BitsToCategory(2), Integers(0, 1, 3)),
        (BitsToCategory(2), Integers(0, 2, 2)),
        (BitsToCategory(2), Box(0, 1, 2)),
        (Table([1, 2]), Categories(3)),
        (Table([1, 2]), Interval(0, 1)),
    ],
)
def test_domains_that_it_is_not_made_for_are_refused(transformation: Transformation, domain: Domain) -> None:
    with pytest.raises(DomainError):
        transformation.output_domain(domain)


class Sees(np.ndarray):
    """An array that sees whatever it is combined with."""

    def __array_ufunc__(self, *args: Any, **settings: Any) -> Any:
        raise AssertionError("it has seen the value")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Affine(math.nan), "factor"),
        (lambda: Affine(1.0, math.inf), "shift"),
        (lambda: Affine("1"), "factor"),
        (lambda: Affine([1.0, 2.0]), "factor"),
        (lambda: Clip(1, 0), "lower"),
        (lambda: Choose([0.5]), "index"),
        (lambda: Choose([]), "index = .*at least one coordinate"),
        (lambda: Choose(np.zeros((3, 0), int)), "index = .*at least one coordinate"),
        (lambda: LinearMap([1.0, 2.0]), "matrix"),
        (lambda: LinearMap([[math.inf]]), "matrix"),
        (lambda: LinearMap(np.eye(2).view(Sees)), "matrix is a Sees"),
        (lambda: Above(np.zeros(1).view(Sees)), "threshold is a Sees"),
        (lambda: Choose(np.zeros(1, int).view(Sees)), "index is a Sees"),
        (lambda: Table([]), "entries"),
        (lambda: Table(np.zeros(2).view(Sees)), "entries is a Sees"),
        (lambda: RandomRounding(0, 1, [0.5], 0.5, 1), "lower"),
        (lambda: CategoryToOneHot(0), "size"),
        (lambda: BitsToCategory(0), "size"),
        (lambda: BitsToCategory(21), "size = 21: must be at most 20"),
        (lambda: Chain([Affine(1)]), "parts"),
        (lambda: Chain((abs,)), "parts"),
    ],
)
def test_bad_parameters_are_named(make: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        make()


class Ten(float):
    """A number that is another one whenever it is used."""

    def __mul__(self, other: Any) -> float:
        raise AssertionError("it has seen the value")


def test_parameters_are_copied_and_read_only() -> None:
    buffer = np.array([0.25, 0.75])
    transformation = Above(buffer)
    buffer[:] = 9.0
    assert transformation([0.5, 0.5]).tolist() == [1, 0]
    with pytest.raises(ValueError, match="read-only"):
        transformation.threshold[0] = 9.0
    with pytest.raises(FrozenInstanceError):
        transformation.threshold = buffer  # type: ignore[misc]
    assert type(Affine(Ten(10.0)).factor) is float
    assert type(Affine(np.float64(10.0)).factor) is float


def test_equal_parameters_make_equal_transformations() -> None:
    assert Above([0.5]) == Above(np.array([0.5])) != Above([0.25])
    assert hash(Choose([1, 2])) == hash(Choose([1, 2]))
    assert Clip(0, 1) >> Above(0.5) == Clip(0, 1) >> Above(0.5)
    assert Affine(1) != Clip(0, 1)


def test_they_rest_on_nothing_unless_a_user_wrote_one() -> None:
    class Square(Affine):
        """A user's own."""

    assert assumptions_of(Clip(0, 1) >> Choose([0]) >> Above([0.5]) >> Table(np.eye(2))) == ()
    (assumption,) = assumptions_of(Clip(0, 1) >> Square(1.0))
    assert "your class" in assumption.message


def test_in_front_of_a_mechanism() -> None:
    mechanism = Clip(0, 1) >> Laplace(scale=2.0)
    assert isinstance(mechanism, Transformed)
    assert mechanism.epsilon == 0.5
    assert mechanism.profile().pure_epsilon == Fraction(1, 2)
    noise = np.random.default_rng(0), np.random.default_rng(0)
    assert (mechanism.release([7.0], noise[0]) == Laplace(scale=2.0).release([1.0], noise[1])).all()
    assert mechanism.log_density([0.5], [7.0]) == Laplace(scale=2.0).log_density([0.5], [1.0])
    assert mechanism_from_dict(mechanism.to_dict()) == mechanism
    chain = (
        Above([0.5])
        >> Table([[1.0, 0.0], [0.0, 1.0]])
        >> Gaussian(sigma=1.0, sensitivity=Sensitivity(2.0, 2.0, 1.0))
    )
    assert mechanism_from_dict(chain.to_dict()) == chain
    assert assumptions_of(chain) == ()
    assert (CategoryToOneHot(3) >> Laplace(scale=1.0)).categorical
    assert not (FirstAbove() >> RandomizedResponse(size=3, epsilon=1.0)).categorical


NOISE = Laplace(scale=1.0)


@pytest.mark.parametrize(
    ("mechanism", "takes", "results", "epsilon"),
    [
        (Clip(0, 2) >> NOISE, Interval(-math.inf, math.inf), Interval(0, 2), 2.0),
        (Clip(5, 7) >> Repeated(NOISE, 3), Interval(-math.inf, math.inf), Interval(5, 7), 6.0),
        (Clip(0, 2) >> NOISE >> np.sum, Interval(-math.inf, math.inf), Interval(0, 2), 2.0),
        (Affine(3.0) >> Clip(0, 1) >> NOISE, Interval(-math.inf, math.inf), Interval(0, 1), 1.0),
        (Clip(0, 1) >> Choose([3, 3]) >> NOISE, Box(-math.inf, math.inf, 4), Box(0, 1, 2), 2.0),
        (CategoryToOneHot(3) >> NOISE, Categories(3), OneHot(3, allow_none=False), 2.0),
        (Table([0.0, 5.0, 1.0]) >> NOISE, Categories(3), Interval(0, 5), 5.0),
        (Above(0.5) >> NOISE, Box(-math.inf, math.inf, 2), Integers(0, 1, 2), 2.0),
        (
            Above(0.5) >> RandomizedResponse(size=2, epsilon=1.5),
            Interval(-math.inf, math.inf),
            Categories(2),
            1.5,
        ),
        (RandomRounding(0, 1, 0.5, 0, 4) >> DiscreteLaplace(scale=1.0), None, Integers(0, 4), 4.0),
        # A category that the response does not know would be seen, and noise for whole numbers takes no others.
        (Table([0, 1, 2, 3]) >> RandomizedResponse(size=3, epsilon=1.0), None, None, math.inf),
        (Clip(0, 2) >> DiscreteLaplace(scale=1.0), None, None, math.inf),
        (Affine(2.0) >> NOISE, None, Interval(-math.inf, math.inf), math.inf),
    ],
)
def test_by_itself_a_mechanism_behind_a_transformation_is_for_any_other_record(
    mechanism: Any, takes: Any, results: Any, epsilon: float
) -> None:
    """Clipping to [0, 2] was said to cost what a movement by 1 costs, of a record that may be any other."""
    assert mechanism.results == results
    assert takes is None or mechanism.takes == takes
    assert mechanism.epsilon == epsilon
    assert mechanism.profile().pure_epsilon == (None if epsilon == math.inf else Fraction(epsilon))


def test_by_itself_a_mechanism_behind_a_map_of_values_of_any_size_promises_nothing() -> None:
    """1 and 0 plus 2^60 are the same float, and 256 more may be the next: no bound holds for all of them."""
    mechanism = Affine(1.0, 2.0**60) >> Affine(1.0, -(2.0**60)) >> Laplace(scale=1.0)
    assert isinstance(mechanism.profile(), NoPrivacy)
    assert mechanism.profile().attained() == ()
    assert math.isinf(mechanism.epsilon)
    assert mechanism.sensitivity.l1 == 0.0


def test_a_table_moves_its_results_as_far_as_its_entries_are_apart() -> None:
    """Categories are one apart, whatever their names; numbers by what the farthest two differ, hardly more."""
    assert Table([3, 1, 3]).stability == 1.0
    assert Table([2, 2]).stability == Table([[0.5, 0.5]] * 2).stability == 0.0
    for entries, apart in (([1.0, 2.0, 4.0], 3.0), ([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]], 2.5)):
        assert apart <= Table(entries).stability <= apart * (1.0 + 1e-14)


def test_chains_apply_their_parts_one_after_another_to_numbers_and_vectors() -> None:
    clip, shift = Clip(0, 1), Affine(2.0, 1.0)
    for values in (0.25, [0.25, 7.0], [[-3.0], [0.5]]):
        np.testing.assert_array_equal((clip >> shift)(values), shift(clip(values)))
    assert (clip >> Above([0.5]))([0.25]).tolist() == Above([0.5])(clip([0.25])).tolist()
    assert ((clip >> clip).stability, (clip >> shift).stability) == (1.0, 2.0)
    tenth = (Affine(0.1) >> Affine(0.1)).stability  # rounded up
    assert Fraction(tenth) >= Fraction(0.1) ** 2 > Fraction(math.nextafter(tenth, 0.0))


REACHING = [
    *(Affine(factor, shift) for factor, shift in ((0.1, 0.3), (-7.7, 1e-3), (1 / 3, 0.0))),
    LinearMap([[0.1, -0.7, 0.3], [1 / 3, 0.0, 1e-9]]),
    LinearMap([[0.1, 0.2, 0.3]]),
    Clip(-0.1, 0.3),
    Choose([2, 0, -1]),
    Affine(0.1) >> LinearMap([[0.3, 0.1, -0.3]]) >> Affine(3.0),
]
DOMAINS = [Box(-0.1, 0.7, 3), Ball(0.7, 3), Ball(0.3, 3, order=1), Ball(0.3, 3, order=math.inf), OneHot(3)]


@pytest.mark.parametrize("transformation", REACHING, ids=range(len(REACHING)))
def test_domains_out_are_as_recorded_to_the_last_digit(
    transformation: Transformation, snapshot: SnapshotAssertion
) -> None:
    """Domains are wider by roundings in the last digit alone; that results lie inside is tested above."""
    lines = [f"stability {transformation.stability!r}"]
    for domain in DOMAINS:
        into: Any = transformation.output_domain(domain)
        ends = f", {into.lower!r} to {into.upper!r}" if isinstance(into, Box | Interval) else ""
        lines.append(f"{domain}: {into}{ends}")
    assert "\n".join(lines) == snapshot
