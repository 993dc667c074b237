"""Random allocation: puts on sums of lognormal factors against quadratures, epochs against golden values and data."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from mechanisms import (
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    ParameterError,
    Sampling,
    convert,
    sampled,
)
from mechanisms.amplification.random_allocation import (
    _UNIT,
    RandomAllocationDirection,
    RandomAllocationProfile,
    SelectedStepsProfile,
    _LognormalTransform,
    _nodes_above,
    _PeriodSums,
    _polygon_below,
    put_bounds,
)
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure
from mechanisms.profiles.related_profile import restate

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT


def normal(x: np.typing.ArrayLike) -> np.ndarray:
    """Return the standard normal density; SciPy's own takes fifty times as long for a number."""
    return np.exp(-0.5 * np.square(x)) / math.sqrt(2.0 * math.pi)


def put_on_one(v: float, m: float) -> float:
    """Return E(v - r)^+ of one lognormal factor of mean 1."""
    if v <= 0.0:
        return 0.0
    at = math.log(v) / m + 0.5 * m
    return float(v * ndtr(at) - ndtr(at - m))


def put_on_two(v: float, m: float) -> float:
    """Return E(v - r - r')^+ by a quadrature over r."""
    if v <= 0.0:
        return 0.0
    last = math.log(v) / m + 0.5 * m
    found = quad(
        lambda x: normal(x) * put_on_one(v - math.exp(m * x - 0.5 * m * m), m),
        min(-12.0, last - 1.0),
        min(12.0, last),
        epsabs=1e-15,
        epsrel=1e-12,
        limit=400,
    )
    return float(found[0])


def allocation(mu: float, steps: int, relation: Neighbouring = A) -> RandomAllocationProfile:
    return RandomAllocationProfile(restate(GaussianProfile(mu), relation), steps)


@pytest.mark.slow_cells("2-put_on_two-0.3")
@pytest.mark.parametrize("m", [0.3, *(pytest.param(m, marks=pytest.mark.slow) for m in (1.0, 2.4))])
@pytest.mark.parametrize(("steps", "truth"), [(1, put_on_one), (2, put_on_two)])
def test_puts_lie_between_their_bounds(m: float, steps: int, truth) -> None:
    v, low, high = put_bounds(m, steps)
    for i in np.unique(np.geomspace(8, v.size - 1, 40).astype(int)):
        exact = truth(float(v[i]), m)
        assert low[i] - 1e-13 * v[i] <= exact <= high[i] + 1e-13 * v[i]
        assert high[i] - low[i] <= 4e-3 * steps


@pytest.mark.slow_cells("0.3-2", "1.0-2")
@pytest.mark.parametrize(("m", "steps"), [(1.0, 1), (1.0, 2), (0.3, 2)])
def test_smoothed_sums_are_above_by_no_more_than_they_say(m: float, steps: int) -> None:
    """A short period has few terms and is not smoothed, a long one is: both hold."""
    truth = put_on_one if steps == 1 else put_on_two
    for period in (40.0 * steps, 4e5):
        v = np.linspace(0.05, 0.25, 3) * period
        sums = _PeriodSums.for_points(v, _LognormalTransform(m), steps, period)
        x = math.exp(-16.0)
        for i, at in enumerate(v):
            exact = sum(x**n * truth(at + n * period, m) for n in range(4))
            slack = 1e-13 * period
            assert sums.values[i] - sums.smoothed[i] - sums.off[i] - slack <= exact
            assert exact <= sums.values[i] + sums.off[i] + slack
            assert sums.off[i] <= 1e-11 * period


@pytest.mark.slow_cells("1.0", "2.5")
@pytest.mark.parametrize("m", [0.05, 0.4, 1.0, 2.5])
def test_transforms_against_quadratures_and_their_heights(m: float) -> None:
    transform = _LognormalTransform(m)
    for z in (1e-6 + 2e-6j, 0.02 + 0.7j, 0.3 + 0.0j, 0.1 + 5.0j):

        def integrand(x: float, z: complex = z) -> complex:
            return complex(normal(x) * np.expm1(-z * math.exp(m * x - 0.5 * m * m)))

        real, imaginary = (
            quad(
                lambda x, part=part: part(integrand(x)),
                -10.0,
                10.0 + m,
                epsabs=1e-15,
                epsrel=1e-13,
                limit=2000,
            )[0]
            for part in (np.real, np.imag)
        )
        found, off = transform.rise(np.array([z]))
        assert abs(found[0] - complex(real, imaginary)) <= off[0] + 1e-12 * min(abs(z), 1.0)
    heights = np.geomspace(0.01, 50.0, 12)
    for damping in (1e-3, 0.5):
        most = transform.largest_log(damping, heights)
        for i, height in enumerate(heights):
            beyond = damping + 1j * height * np.array([1.0, 1.3, 4.0])
            assert (np.log(np.abs(1.0 + transform.rise(beyond)[0])) <= most[i] + 1e-9).all()


@pytest.mark.slow_cells("100-5-1e-06-1.43503-1.43507-0.0002", "2-1-0.001-2.49579189-2.4957919-0.002")
@pytest.mark.parametrize(
    ("steps", "epochs", "delta", "low", "high", "width"),
    [
        (2, 1, 1e-3, 2.49579189, 2.49579190, 2e-3),
        (100, 1, 1e-6, 0.857970, 0.857986, 2e-4),
        (100, 5, 1e-6, 1.435030, 1.435070, 2e-4),
    ],
)
def test_epochs_meet_certified_intervals(
    steps: int, epochs: int, delta: float, low: float, high: float, width: float
) -> None:
    """The third is that of an independent computation by grids of r, split upwards and put together downwards."""
    found = compose([(allocation(1.0, steps), epochs)]).epsilon(delta)
    assert isinstance(found, Enclosure)
    assert found.lower <= high
    assert found.upper >= low
    assert found.width <= width


@pytest.mark.parametrize(("mu", "delta"), [(1.0, 1e-30), pytest.param(2.5, 1e-6, marks=pytest.mark.slow)])
def test_far_out_noise_alone_bounds_each_epoch(mu: float, delta: float) -> None:
    """There was an infinite mass of 1e-11, or at the largest movement laws that did not add up to 1."""
    profile = allocation(mu, 100)
    assert profile.infinite_mass < 1e-260
    found = compose([(profile, 5)]).epsilon(delta)
    assert 0.0 < found.lower < found.upper < 0.7 * compose([(GaussianProfile(mu), 5)]).epsilon(delta).upper


def test_infinite_losses_of_the_law_above_are_not_those_of_epochs() -> None:
    profile, delta = allocation(1.5, 10_000), 1e-286
    assert all(5 * side.infinite_mass > delta for side in profile.directions() if side.added)
    upper = compose([(profile, 5)]).epsilon(delta).upper
    assert upper == pytest.approx(compose([(GaussianProfile(1.5), 5)]).epsilon(delta).upper, rel=1e-9)


def test_polygon_below_next_to_nothing_is_that_of_the_mean() -> None:
    """Nodes far beyond the mean were at 0: then S had a mean that is too large."""
    v = np.linspace(0.0, 4.0, 9)
    low = np.maximum(v - 2.0, 0.0)
    places, y = _polygon_below(v, low, low + 1.0, 2)
    assert places[-1] == pytest.approx(2.0, abs=1e-12)
    assert not y.any()


def test_adding_a_record_is_cheaper_and_meets_its_interval() -> None:
    side = RandomAllocationDirection(restate(GaussianProfile(1.0), A), 100, True)
    once = compose([(side, 1)]).epsilon(1e-6)
    assert once.lower <= 0.48643
    assert once.upper >= 0.48584
    assert once.width <= 3e-4


@pytest.mark.slow_cells("0.000708-1e-07")
@pytest.mark.parametrize(
    ("mu", "width"),
    [(0.000708, 1e-7), (0.4, 1e-4), (1.0, 3e-4), pytest.param(2.0, 5e-3, marks=pytest.mark.slow)],
)
def test_both_directions_are_those_of_two_steps(mu: float, width: float) -> None:
    """δ by quadrature over two steps, also at negative ε; both bounds hold and are near."""
    profile = allocation(mu, 2)
    for side in profile.directions():
        for x in (-1.0, -0.2, 0.0, 0.3, 1.0, 2.5):
            w = math.exp(x)
            puts = (
                put_on_two(2.0 / w, mu) * w / 2.0 if side.added else 1.0 - w + put_on_two(2.0 * w, mu) / 2.0
            )
            low, high = side.bounds(np.array(x))
            assert low - 1e-12 <= puts <= high + 1e-12
            assert high - low <= 4.0 * width


def test_no_queries_that_follow_the_outputs_lose_more() -> None:
    """Two steps; how far the record moves the second follows what the first one released."""
    profile = allocation(1.0, 2)
    y = np.linspace(-9.0, 10.0, 501)
    first, second = np.meshgrid(y, y, indexing="ij")
    base = normal(first) * normal(second)
    for rule in (np.sign(first), np.where(first > 0.5, 0.2, 1.0), np.where(first > 0.0, 1.0, -0.6)):
        moved = 0.5 * (normal(first - 1.0) * normal(second) + normal(first) * normal(second - rule))
        for side, (p, q) in zip(profile.directions(), ((moved, base), (base, moved)), strict=True):
            for x in (-0.3, 0.0, 0.5, 1.5):
                lost = float(np.sum(np.maximum(p - math.exp(x) * q, 0.0))) * (y[1] - y[0]) ** 2
                assert lost <= side.bounds(np.array(x))[1] + 1e-6


@pytest.mark.slow_cells("0.1-1000")
@pytest.mark.parametrize(
    ("mu", "steps"), [(0.1, 1000), (0.7, 30), pytest.param(2.0, 7, marks=pytest.mark.slow)]
)
def test_more_steps_hide_more_and_no_more_than_the_noise(mu: float, steps: int) -> None:
    x = np.linspace(-2.0, 4.0, 61)
    less, more = (allocation(mu, t).bounds(x) for t in (steps, 2 * steps))
    assert (less[1] <= GaussianProfile(mu).bounds(x)[1] + 1e-12).all()
    once = compose([(allocation(mu, steps), 1)])
    for delta in (1e-6, 1e-14, 1e-40):
        assert once.epsilon(delta).upper <= GaussianProfile(mu).epsilon(delta) * (1.0 + 1e-9)
    assert once.delta(6.0 * mu).upper <= GaussianProfile(mu).delta(6.0 * mu) * (1.0 + 1e-9)
    assert (more[0] <= less[1]).all()
    assert (less[0] <= less[1]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(("steps", "epochs", "sigma"), [(2, 50, 50.0), (10, 10, 10.0)])
def test_where_next_to_nothing_is_lost_all_bounds_agree(steps: int, epochs: int, sigma: float) -> None:
    """The grid had the noise's own curve as an upper end, below the law that the contour composed."""
    composed = compose([(allocation(1.0 / sigma, steps), epochs)])
    assert 0.0 <= composed.delta(1.0).upper <= 1e-9
    assert composed.delta(0.0).upper < 0.3


def test_schemes_are_told_apart() -> None:
    base = restate(GaussianProfile(1.0), Z)
    allocated = sampled(base, 0.01, Z, Sampling.RANDOM_ALLOCATION)
    assert allocated == allocation(1.0, 100, Z)
    shuffled = compose([(sampled(base, 0.01, Z, Sampling.SHUFFLED), 5)]).epsilon(1e-6)
    assert not isinstance(shuffled, Enclosure)
    assert shuffled.upper > 10.0
    assert convert(allocation(1.0, 100), R).delta(1.5) >= allocation(1.0, 100).delta(1.5)
    with pytest.raises(ParameterError, match="it must be 1/t"):
        sampled(base, 0.013, Z, Sampling.RANDOM_ALLOCATION)
    with pytest.raises(ParameterError, match="convert makes 'replace one'"):
        sampled(GaussianProfile(1.0), 0.01, R, Sampling.RANDOM_ALLOCATION)


@pytest.mark.parametrize(
    ("profile", "steps", "message"),
    [
        (restate(GaussianProfile(1.0), A), 1, "steps = 1"),
        (restate(GaussianProfile(1.0), A), 10**6, "steps = 1000000: must be at most"),
        (GaussianProfile(1.0), 10, "is for 'replace one'"),
        (
            restate(LaplaceProfile(1.0, 1.0), A),
            10,
            "random allocation has a price for Gaussian noise that moves, and for no other",
        ),
        (restate(GaussianProfile(3.0), A), 10, "sigma: a record moves the query by 3 sigma; for 10 steps"),
        (restate(GaussianProfile(1e-3), A), 100, "it must be 0.005 to 2.5"),
    ],
)
def test_parameters_outside_the_theorem_or_the_engine_are_refused(profile, steps: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RandomAllocationProfile(profile, steps)


@pytest.mark.slow
def test_in_two_of_five_steps() -> None:
    """The pair in five dimensions, drawn: P/Q is the mean of r_i r_j; below blocks of two and three steps."""
    m, steps = 0.8, 5
    own = SelectedStepsProfile(restate(GaussianProfile(m), A), steps, 2)
    assert own.parts() == tuple(
        (RandomAllocationProfile(own.base, size, is_block=True), 1) for size in (2, 3)
    )
    r = np.exp(m * np.random.default_rng(11).normal(size=(400_000, steps)) - 0.5 * m * m)
    ratio = (r.sum(axis=1) ** 2 - (r * r).sum(axis=1)) / (steps * (steps - 1))
    for epsilon in (-0.5, 0.0, 0.3, 1.0):
        removed = np.maximum(ratio - math.exp(epsilon), 0.0).mean()
        added = np.maximum(1.0 - math.exp(epsilon) * ratio, 0.0).mean()
        upper = own.delta(epsilon)
        assert max(removed, added) <= upper + 4e-3
        assert upper <= 1.6 * max(removed, added) + 1e-2
    found = compose([(own, 3)]).epsilon(1e-6)
    assert not isinstance(found, Enclosure)
    alone = compose([(GaussianProfile(m), 6)]).epsilon(1e-6)
    assert found.upper < alone.upper


@pytest.mark.parametrize("selected", [0, 51, 100])
def test_steps_that_a_record_cannot_be_in(selected: int) -> None:
    with pytest.raises(ParameterError, match="selected"):
        SelectedStepsProfile(restate(GaussianProfile(1.0), A), 100, selected)


def test_several_steps_are_composed_of_fewer() -> None:
    """Two of 100 steps are two epochs of 50, and no lower end is said."""
    base = restate(GaussianProfile(1.0), A)
    two = compose([(sampled(base, 2 / 100, A, Sampling.RANDOM_ALLOCATION, selected=2), 2)]).epsilon(1e-6)
    four = compose([(RandomAllocationProfile(base, 50), 4)]).epsilon(1e-6)
    assert four.lower <= two.upper <= four.upper * (1 + 1e-6)
    assert not hasattr(two, "lower")


def test_nodes_of_upper_bounds_lie_on_or_above_the_least_put():
    """E(v - S)^+ is at least 0, and at least v - t; it is 0 at v = 0."""
    steps = 4
    v, heights = _nodes_above(0.1, steps)
    assert len(v) == len(heights)
    for place, height in zip(v.tolist(), heights, strict=True):
        assert height >= max(0, int(Fraction(place) * _UNIT) - steps * _UNIT)
    assert heights[0] == 0 == v[0]
