"""Compositions of many different losses with atoms, against a plain contour of their transforms."""

import math

import numpy as np
import pytest

from mechanisms import GaussianProfile, LaplaceProfile, PrivacyProfile, RandomizedResponse
from mechanisms.composition.composed_loss import compose
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.gaussian_profile import gaussian_epsilons
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile

Mechanism = tuple[str, float]


def profile(mechanism: Mechanism) -> PrivacyProfile:
    kind, e = mechanism
    if kind == "laplace":
        return LaplaceProfile(1.0, 1.0 / e)
    return RandomizedResponse(size=2, epsilon=e).profile() if kind == "response" else GaussianProfile(e)


def reference(mechanisms: list[Mechanism], epsilon: float, s: float) -> float:
    """Return δ(ε) by the trapezoid rule, uncertified: its own abscissa, and as far as the product is not noise."""
    period = 60.0 / s + 4.0
    t = (2.0 * math.pi / period) * np.arange(240)
    z = s + 1j * t
    y = z + 0.5
    log_m = np.zeros(t.shape, dtype=complex)
    for kind, e in mechanisms:
        if kind == "laplace":
            log_m += np.log(np.cosh(e * y) + np.sinh(e * y) / (2 * y)) - e / 2
        elif kind == "response":
            log_m += np.log(np.cosh(e * y)) - math.log(math.cosh(e / 2))
        else:
            log_m += e * e * z * (z + 1) / 2
    values = np.exp(log_m - epsilon * z) / (z * (z + 1))
    terms = values.real.copy()
    terms[0] *= 0.5
    size = np.abs(values)
    last = (
        int(np.argmax(size < 1e-17 * size[0])) or t.size
    )  # beyond, other terms are spikes that the bound covers
    return float(np.sum(terms[:last])) * 2.0 / period


CASES: dict[str, list[Mechanism]] = {
    "1,000 Laplace": [("laplace", 1.0 / (b * math.sqrt(1000))) for b in np.geomspace(1, 20, 1000)],
    "300 Laplace": [("laplace", float(e)) for e in np.geomspace(0.001, 0.04, 300)],
    "500 responses": [("response", float(e)) for e in np.geomspace(0.003, 0.06, 500)],
    "both, and Gaussians": [
        mechanism
        for e in np.geomspace(0.004, 0.05, 120)
        for mechanism in (("laplace", float(e)), ("response", float(0.7 * e)), ("gaussian", float(0.01 * e)))
    ],
}


@pytest.mark.slow_cells("1e-06-1,000 Laplace")
@pytest.mark.few(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_many_different_losses(name: str, delta: float) -> None:
    mechanisms = CASES[name]
    loss = compose((profile(mechanism), 1) for mechanism in mechanisms)
    found = loss.epsilon(delta)
    assert found.width < 5e-9 * max(1.0, found.upper)
    s = 0.8 * -math.log(delta) / found.upper
    assert reference(mechanisms, found.lower, s) >= delta * (1.0 - 1e-10)
    assert reference(mechanisms, found.upper, s) <= delta * (1.0 + 1e-10)
    at = loss.delta(found.upper)
    assert at.lower * (1.0 - 1e-10) <= reference(mechanisms, found.upper, s) <= at.upper * (1.0 + 1e-10)


def test_the_published_thousand() -> None:
    """Found by an independent prototype: [1.7903189399, 1.7903189409]."""
    found = compose((profile(mechanism), 1) for mechanism in CASES["1,000 Laplace"]).epsilon(1e-6)
    assert found.lower <= 1.7903189409
    assert found.upper >= 1.7903189399


def sampled(rate: float, sigma: float) -> PrivacyProfile:
    base = RelatedProfile(GaussianProfile(1.0 / sigma), Neighbouring.ADD_OR_REMOVE)
    return SubsampledProfile(base, rate)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("releases", "delta", "lower", "upper", "width"),
    [
        ([(sampled(0.01, 1.0), 10)], 1e-6, 0.5923494495, 0.5923494502, 3e-9),
        (
            [(sampled(0.01, float(s)), 1) for s in np.linspace(0.8, 2.0, 100)],
            1e-40,
            14.5015285657,
            14.5015285661,
            3e-8,
        ),
        ([(sampled(1e-4, 2.0), 10**9)], 1e-6, 8.95828061, 8.95828062, 1e-7),
    ],
)
def test_few_many_and_different_sampled_gaussians(
    releases: list[tuple[PrivacyProfile, int]], delta: float, lower: float, upper: float, width: float
) -> None:
    """The first two found by an independent prototype; the last by this engine, for its width."""
    found = compose(releases).epsilon(delta)
    assert found.width <= width
    assert found.lower <= upper
    assert found.upper >= lower


@pytest.mark.slow
def test_sampled_gaussians_against_a_lattice() -> None:
    """Ten different: the plain contour and the grid, which knows the curves only, meet."""
    loss = compose((sampled(0.01, float(s)), 1) for s in np.linspace(0.8, 2.0, 10))
    found = loss.epsilon(1e-6)
    assert found.width < 1e-8
    (first, _) = loss.directions
    other = first._grid_epsilon(1e-6, 1e-6)
    assert other.lower <= found.upper
    assert found.lower <= other.upper


def test_the_sum_of_largest_losses_is_exact_however_many() -> None:
    loss = compose((profile(mechanism), 2) for mechanism in CASES["300 Laplace"][::6])
    total = loss.pure_epsilon
    assert total == sum(2 * own.pure_epsilon for own, _ in loss.releases)  # type: ignore[operator, misc]
    assert loss.delta(float(total) * (1.0 - 1e-15)).upper > 0.0  # type: ignore[arg-type]
    assert loss.delta(float(total) * (1.0 + 1e-15)).upper == 0.0  # type: ignore[arg-type]


@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-6, 1e-20, 1e-200])
def test_many_gaussians_are_inverted_at_once(delta: float) -> None:
    mus = np.geomspace(1e-5, 40.0, 24)
    found = gaussian_epsilons(mus, delta)
    each = np.array([GaussianProfile(float(mu)).epsilon(delta) for mu in mus])
    assert (found >= each).all()
    assert (found <= each * (1.0 + 1e-9) + 1e-12).all()


@pytest.mark.slow
def test_ten_thousand_different_scales_are_no_grid() -> None:
    scales = np.linspace(1.0, 20.0, 10_000) * 100.0
    found = compose((LaplaceProfile(1.0, float(scale)), 1) for scale in scales).epsilon(1e-6)
    assert found.width < 2e-9
    mechanisms = [("laplace", 1.0 / float(scale)) for scale in scales]
    assert reference(mechanisms, found.lower, 12.0) >= 1e-6 * (1.0 - 1e-10)
    assert reference(mechanisms, found.upper, 12.0) <= 1e-6 * (1.0 + 1e-10)
