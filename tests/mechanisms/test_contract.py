"""What every built-in mechanism must satisfy. A new mechanism is one more line in `CASES`."""

import json
import math
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from mechanisms import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    LaneStreams,
    Laplace,
    Mechanism,
    NumpyNoise,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    mechanism_from_dict,
)

UNIT = Sensitivity(1.0, 1.0, 1.0)
ALPHA = 1e-6  # false-alarm rate of each statistical test below; fewer than 30 of them run


@dataclass(frozen=True)
class Case:
    """A mechanism, a pair of neighbouring values at its full sensitivity, and where its output lies."""

    mechanism: Mechanism
    value: float | int
    neighbour: float | int
    discrete: bool
    support: tuple[float, float]  # the outputs beyond have probability below 1e-14


CASES = {
    "laplace": Case(Laplace(scale=0.7), 0.0, 1.0, False, (-25.0, 26.0)),
    "laplace-wide": Case(Laplace(scale=3.0, sensitivity=Sensitivity(2, 2, 2)), -1.0, 1.0, False, (-110, 110)),
    "gaussian": Case(Gaussian(sigma=0.8, sensitivity=UNIT, delta=1e-5), 0.0, 1.0, False, (-8.0, 9.0)),
    "gaussian-loose": Case(Gaussian(sigma=5.0, sensitivity=UNIT), 0.0, -1.0, False, (-46.0, 45.0)),
    "discrete-laplace": Case(DiscreteLaplace(scale=1.3), 0, 1, True, (-60, 61)),
    "discrete-laplace-4": Case(
        DiscreteLaplace(scale=2.5, sensitivity=Sensitivity(4, 4, 4)), -1, 3, True, (-110, 110)
    ),
    "discrete-gaussian": Case(
        DiscreteGaussian(sigma=1.7, sensitivity=UNIT, delta=1e-4), 0, 1, True, (-18, 19)
    ),
    "discrete-gaussian-3": Case(
        DiscreteGaussian(sigma=2.2, sensitivity=Sensitivity(3, 3, 3)), 2, -1, True, (-24, 24)
    ),
    "randomized-response": Case(RandomizedResponse(size=2, epsilon=0.9), 0, 1, True, (0, 1)),
    "randomized-response-5": Case(RandomizedResponse(size=5, epsilon=1.4), 3, 1, True, (0, 4)),
}

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
COMBINED = [
    Composed((CASES["laplace"].mechanism, CASES["gaussian"].mechanism)),
    Repeated(CASES["discrete-laplace"].mechanism, 7),
    Repeated(Composed((RandomizedResponse(size=3, epsilon=0.1),)), 2),
]
every = pytest.mark.parametrize(
    "mechanism", [case.mechanism for case in CASES.values()] + COMBINED, ids=lambda m: type(m).__name__
)


def epsilons(mechanism: Mechanism) -> np.ndarray:
    return np.linspace(-3.0, 4.0, 71) * max(0.1, min(mechanism.profile().epsilon(1e-3), 5.0))


@every
def test_is_a_mechanism_frozen_and_hashable(mechanism: Mechanism) -> None:
    assert isinstance(mechanism, Mechanism)
    assert hash(mechanism) == hash(mechanism_from_dict(mechanism.to_dict()))
    with pytest.raises(FrozenInstanceError):
        setattr(mechanism, fields(mechanism)[0].name, 1)  # type: ignore[arg-type]


@every
def test_json_round_trip_is_exact(mechanism: Mechanism) -> None:
    text = json.dumps(mechanism.to_dict(), allow_nan=False)
    assert mechanism_from_dict(json.loads(text)) == mechanism


@cases
@pytest.mark.parametrize("shape", [(), (3,), (64, 4), (64, 2, 3), (0,)])
def test_release_has_the_shape_of_the_value(case: Case, shape: tuple[int, ...]) -> None:
    value = np.full(shape, case.value)
    rng = np.random.default_rng(1)
    assert case.mechanism.release(value, rng).shape == shape
    assert case.mechanism.log_density(value, value).shape == shape


@cases
def test_coordinates_are_drawn_independently(case: Case) -> None:
    released = case.mechanism.release(np.full((20_000, 2), case.value), np.random.default_rng(2))
    correlation = np.corrcoef(released[:, 0], released[:, 1])[0, 1]
    # The correlation of independent columns is about N(0, 1/n); one shared draw makes it 1.
    assert abs(correlation) < stats.norm.isf(ALPHA / 2) / math.sqrt(20_000)


@cases
def test_lanes_do_not_depend_on_their_number(case: Case) -> None:
    few, many = (
        case.mechanism.release(np.full((n, 3), case.value), NumpyNoise(LaneStreams(5, n))) for n in (64, 256)
    )
    np.testing.assert_array_equal(few, many[:64])


@cases
def test_log_density_is_normalised(case: Case) -> None:
    assert total(case, lambda log_p, _: np.exp(log_p)) == pytest.approx(1.0, abs=1e-12)


@cases
def test_samples_follow_log_density(case: Case) -> None:
    """Kolmogorov-Smirnov (continuous) or chi-square (discrete) at rate ALPHA."""
    n = 20_000
    samples = case.mechanism.release(np.full(n, case.value), np.random.default_rng(3))
    low, high = case.support
    if case.discrete:
        points = np.arange(int(low), int(high) + 1)
        expected = n * np.exp(case.mechanism.log_density(points, case.value))
        counts = np.bincount(samples - int(low), minlength=points.size)
        common = expected >= 10.0
        observed = np.append(counts[common], counts[~common].sum())
        wanted = np.append(expected[common], expected[~common].sum())
        keep = wanted > 0.0
        assert observed[~keep].sum() == 0
        p_value = stats.chisquare(observed[keep], wanted[keep] * n / wanted[keep].sum()).pvalue
    else:
        grid = np.linspace(low, high, 400_001)
        density = np.exp(case.mechanism.log_density(grid, case.value))
        distribution = integrate.cumulative_trapezoid(density, grid, initial=0.0)
        p_value = stats.kstest(samples, lambda x: np.interp(x, grid, distribution)).pvalue
    assert p_value > ALPHA


def total(case: Case, integrand, crossed: float = 0.0) -> float:  # type: ignore[no-untyped-def]
    """Sum or integrate ``integrand(log p, log q)`` over the outputs; its kink is where ln p/q = crossed."""
    low, high = case.support
    mechanism = case.mechanism

    def at(y):  # type: ignore[no-untyped-def]
        return integrand(mechanism.log_density(y, case.value), mechanism.log_density(y, case.neighbour))

    if case.discrete:
        return math.fsum(at(np.arange(int(low), int(high) + 1)))

    def above(y: float) -> float:
        return (
            float(mechanism.log_density(y, case.value) - mechanism.log_density(y, case.neighbour)) - crossed
        )

    centres = [case.value, case.neighbour]
    edges = np.unique(np.concatenate([np.linspace(low, high, 501), centres]))
    signs = np.sign([above(y) for y in edges])
    kinks = [
        optimize.brentq(above, edges[i], edges[i + 1], xtol=1e-14)
        for i in np.flatnonzero(signs[:-1] * signs[1:] < 0)
    ]
    edges = np.unique(np.concatenate([edges, kinks]))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    points = edges[:-1, None] + half * (nodes + 1.0)
    return math.fsum((at(points) * weights * half).ravel())


@cases
@pytest.mark.parametrize("share", [-1.5, -0.9, -0.25, 0.0, 0.1, 0.5, 0.9, 0.999])
def test_profile_is_the_hockey_stick_of_log_density(case: Case, share: float) -> None:
    x = share * min(case.mechanism.profile().epsilon(1e-6), 6.0)

    def excess(log_p, log_q):  # type: ignore[no-untyped-def]
        return np.maximum(np.exp(log_p) - np.exp(x + log_q), 0.0)

    profile = case.mechanism.profile()
    assert profile.exact
    assert profile.delta(x) == pytest.approx(total(case, excess, crossed=x), abs=1e-12, rel=1e-10)


@every
def test_profile_is_a_privacy_profile(mechanism: Mechanism) -> None:
    profile = mechanism.profile()
    x = epsilons(mechanism)
    delta = profile.delta(x)
    assert np.all(np.diff(delta) <= 1e-14)
    assert np.all(delta >= np.maximum(0.0, -np.expm1(x)) - 1e-14)
    assert np.all((delta >= 0.0) & (delta <= 1.0))
    # Convex in e^x: the slopes between neighbours do not fall.
    slopes = np.diff(delta) / np.diff(np.exp(x))
    noise = 1e-13 / np.diff(np.exp(x))
    assert np.all(np.diff(slopes) >= -(noise[1:] + noise[:-1]))
    assert profile.delta(math.inf) == 0.0
    assert profile.delta(-math.inf) == 1.0
    assert [profile.delta(float(one)) for one in x[:5]] == delta[:5].tolist()


@every
@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6, 1e-12])
def test_epsilon_inverts_delta(mechanism: Mechanism, delta: float) -> None:
    profile = mechanism.profile()
    epsilon = profile.epsilon(delta)
    assert profile.delta(epsilon) <= delta
    if epsilon > 0.0:
        assert profile.delta(epsilon * (1.0 - 1e-9)) > delta


@every
def test_epsilon_at_delta_zero_is_the_largest_loss(mechanism: Mechanism) -> None:
    profile = mechanism.profile()
    largest = profile.epsilon(0.0)
    if profile.pure_epsilon is None:
        assert largest == math.inf
    else:
        assert profile.pure_epsilon <= largest <= float(profile.pure_epsilon) * (1 + 1e-15)
        assert profile.delta(largest) == 0.0


@every
def test_epsilon_property_reads_the_profile(mechanism: Mechanism) -> None:
    assert mechanism.epsilon == mechanism.profile().epsilon(mechanism.nominal_delta)


@every
def test_a_smaller_movement_costs_no_more_and_none_costs_nothing(mechanism: Mechanism) -> None:
    full = mechanism.profile()
    x = epsilons(mechanism)
    # Whole numbers and categories move by whole steps, hence the smaller movement may be none at all.
    assert np.all(mechanism.profile(mechanism.sensitivity.scaled(0.5)).delta(x) <= full.delta(x) + 1e-15)
    assert mechanism.profile(Sensitivity(0.0, 0.0, 0.0)).pure_epsilon == 0
    assert mechanism.profile(Sensitivity(math.inf, math.inf, math.inf)).delta(1e6) == 1.0
