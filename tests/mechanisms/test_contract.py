"""The contract of every built-in mechanism. A new mechanism is one more line in `CASES`; without it, it fails.

Density and sampler, exact profile, the transform of its privacy loss, relations, JSON, OpenDP's twin if it has one.
"""

import dataclasses
import json
import math
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from mechanisms import (
    Binomial,
    BuiltInMechanism,
    Composed,
    ComposedProfile,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    LaneStreams,
    Laplace,
    Mechanism,
    Neighbouring,
    NumpyNoise,
    ParameterError,
    PrivacyProfile,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    for_group,
    mechanism_from_dict,
    to_opendp,
)
from mechanisms.noise.mechanism import counts_in_public

UNIT = Sensitivity(1.0, 1.0, 1.0)
ALPHA = 1e-6  # false-alarm rate of each statistical test below; fewer than 50 of them run
EPSILONS = np.array([0.0, 0.2, 1.0])


@dataclass(frozen=True)
class Case:
    """A mechanism, a pair of neighbouring values at its full sensitivity, and where its output lies."""

    mechanism: Mechanism
    value: float | int
    neighbour: float | int
    discrete: bool
    support: tuple[float, float]  # the outputs beyond have probability below 1e-14
    moved: Sensitivity | None = None  # of one coordinate, where the mechanism's own is of several

    @property
    def profile(self) -> PrivacyProfile:
        return self.mechanism.profile(self.moved)


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
    "binomial": Case(Binomial(trials=80, shift=1, dimension=4, delta=1e-6), 3, 4, True, (0, 90), UNIT),
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
    samples = case.mechanism.release(np.full((n, 1), case.value), np.random.default_rng(3))[:, 0]
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


@pytest.mark.few(3)
@cases
@pytest.mark.parametrize("share", [-1.5, -0.9, -0.25, 0.0, 0.1, 0.5, 0.9, 0.999])
def test_profile_is_the_hockey_stick_of_log_density(case: Case, share: float) -> None:
    x = share * min(case.profile.epsilon(1e-6), 6.0)

    def excess(log_p, log_q):  # type: ignore[no-untyped-def]
        return np.maximum(np.exp(log_p) - np.exp(x + log_q), 0.0)

    profile = case.profile
    assert profile.attained()
    assert profile.delta(x) == pytest.approx(total(case, excess, crossed=x), abs=1e-12, rel=1e-10)


@pytest.mark.few(3)
@cases
@pytest.mark.parametrize("z", [0.5 + 0.0j, 2.0 + 0.0j, 0.7 + 1.3j, 3.0 - 4.0j])
def test_the_transform_of_the_loss_is_that_of_log_density(case: Case, z: complex) -> None:
    """M(z) = E e^{zL} = E_Q (P/Q)^{z+1} over the outputs that both data sets have."""
    loss = case.profile.loss()
    assert loss is not None
    largest = loss.supremum

    def integrand(log_p, log_q):  # type: ignore[no-untyped-def]
        both = np.isfinite(log_p) & np.isfinite(log_q)
        tilted = (z + 1.0) * np.where(both, log_p, 0.0) - z * np.where(both, log_q, 0.0)
        assert np.all(log_p[both] - log_q[both] <= largest + 1e-9)
        return np.where(both, np.exp(tilted), 0.0)

    wide = dataclasses.replace(case, support=reaching(case, z.real))
    truth = complex(
        total(wide, lambda p, q: integrand(p, q).real), total(wide, lambda p, q: integrand(p, q).imag)
    )
    found = np.exp(complex(loss.log_mgf(z)))
    assert abs(found - truth) <= 1e-9 * math.exp(loss.log_top(z.real))


def reaching(case: Case, tilt: float) -> tuple[float, float]:
    """Return outputs beyond which P e^{tilt L} has little mass: a Gaussian's moves by as much as the tilt says."""
    low, high = case.support
    further = tilt * abs(case.value - case.neighbour) * (0.0 if case.profile.infinite_mass else 1.0)
    return low - math.ceil(further), high + math.ceil(further)


@cases
@pytest.mark.parametrize("relation", list(Neighbouring))
def test_a_profile_for_each_relation(case: Case, relation: Neighbouring) -> None:
    """The same curve for what moves the value as far, stated; reports whose number is public cannot be added."""
    if relation is Neighbouring.ADD_OR_REMOVE and counts_in_public(case.mechanism):
        with pytest.raises(ParameterError, match="public"):
            case.mechanism.profile_for(relation)  # type: ignore[attr-defined]
        return
    profile = case.mechanism.profile_for(relation, case.moved)  # type: ignore[attr-defined]
    assert profile.neighbouring is relation
    np.testing.assert_array_equal(
        profile.delta(epsilons(case.mechanism)), case.profile.delta(epsilons(case.mechanism))
    )
    assert for_group(profile, 3).neighbouring is relation
    assert np.all(for_group(profile, 3).delta(EPSILONS) >= profile.delta(EPSILONS) - 1e-15)


WITHOUT_TWIN = {"Binomial"}


@pytest.mark.few(2)
@cases
def test_opendp_measures_what_the_profile_says(case: Case) -> None:
    """The twin's noise follows the density (at rate ALPHA), and its map is no smaller than the profile's number."""
    mechanism = case.mechanism
    if type(mechanism).__name__ in WITHOUT_TWIN:
        with pytest.raises(ParameterError, match="no OpenDP counterpart"):
            to_opendp(mechanism)
        return
    twin = to_opendp(mechanism)
    profile = case.profile
    if mechanism.categorical:  # type: ignore[attr-defined]
        epsilon = twin.map(1)
        assert float(profile.pure_epsilon) * (1 - 1e-6) <= epsilon <= float(profile.pure_epsilon)
        released = np.array([twin(case.value) for _ in range(400)])
    else:
        size = mechanism.sensitivity.l1 if profile.pure_epsilon is not None else mechanism.sensitivity.l2
        cost = twin.map(int(size) if case.discrete else float(size))
        least = profile.pure_epsilon if profile.pure_epsilon is not None else profile.rho
        assert float(least) * (1 - 1e-12) <= cost <= float(least) * (1 + 1e-9)
        one = int(case.value) if case.discrete else float(case.value)
        released = np.array(twin([one] * 500))
    if case.discrete:
        points = np.arange(int(case.support[0]), int(case.support[1]) + 1)
        law = np.cumsum(np.exp(mechanism.log_density(points, case.value)))
        seen = np.mean(released[:, None] <= points, axis=0)
        distance = float(np.max(np.abs(seen - law)))
    else:
        grid = np.linspace(*case.support, 40_001)
        law = integrate.cumulative_trapezoid(
            np.exp(mechanism.log_density(grid, case.value)), grid, initial=0.0
        )
        distance = stats.kstest(released, lambda x: np.interp(x, grid, law)).statistic
    assert distance < math.sqrt(math.log(2.0 / ALPHA) / (2.0 * released.size))  # Massart 1990, Cor. 1


def test_every_mechanism_is_held_to_the_contract() -> None:
    built = {type(case.mechanism).__name__ for case in CASES.values()}
    of_others = {"Composed", "Repeated", "PostProcessed", "Transformed"}  # made of mechanisms
    assert {
        name for name, own in BuiltInMechanism._registry.items() if own.__module__.startswith("mechanisms.")
    } == (built | of_others)


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
    assert profile.delta(math.inf) == profile.infinite_mass < 1e-14
    assert profile.delta(-math.inf) == 1.0
    assert [profile.delta(float(one)) for one in x[:5]] == delta[:5].tolist()


@pytest.mark.few(3)
@every
@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6, 1e-12])
def test_epsilon_inverts_delta(mechanism: Mechanism, delta: float) -> None:
    profile = mechanism.profile()
    epsilon = profile.epsilon(delta)
    assert profile.delta(epsilon) <= delta * (1.0 + 1e-9 * isinstance(profile, ComposedProfile))
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


@pytest.mark.few(4)
@every
def test_a_smaller_movement_costs_no_more_and_none_costs_nothing(mechanism: Mechanism) -> None:
    full = mechanism.profile()
    x = epsilons(mechanism)
    # Whole numbers and categories move by whole steps, hence the smaller movement may be none at all.
    assert np.all(mechanism.profile(mechanism.sensitivity.multiply_by(0.5)).delta(x) <= full.delta(x) + 1e-15)
    assert mechanism.profile(Sensitivity(0.0, 0.0, 0.0)).pure_epsilon == 0
    assert mechanism.profile(Sensitivity(math.inf, math.inf, math.inf)).delta(1e6) == 1.0
