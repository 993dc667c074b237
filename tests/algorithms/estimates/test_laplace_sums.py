"""What the exact law of a sum of Laplace noises says against a mean: valid, tight, and never less than Chernoff."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from algorithms.estimates.chernoff import NoiseTail, chernoff_exponent
from algorithms.estimates.laplace_sums import (
    FAR,
    MOST,
    OFF,
    _between,
    _laws,
    laplace_exponent,
    noise_exponent,
)


def computed(u, n, m, y, scale, of=laplace_exponent):
    arrays = (np.array([float(value)]) for value in (u, n, m, y))
    return float(of(*arrays, noise=NoiseTail(2 * scale**2, scale))[0])


def literal(u, n, m, y, scale):
    """-ln E q(y - L) by adaptive quadrature, with the density of L by a Bessel function of the second kind."""

    def density(t):
        t = max(abs(t), 1e-9)
        power = (m - 0.5) * math.log(t / 2) + math.log(special.kve(m - 0.5, t)) - t - special.gammaln(m)
        return math.exp(power) / math.sqrt(math.pi)

    def integrand(t):
        value = min(max((y - scale * t) / n, 0.0), 1.0)
        return density(t) * math.exp(-n * (special.rel_entr(value, u) + special.rel_entr(1 - value, 1 - u)))

    low, high = -(n * u - y) / scale, min(y / scale, 150.0)
    cuts = [
        low,
        *(cut for cut in (-60.0, -20.0, -5.0, 0.0, 5.0, 20.0, 60.0) if low < cut < high),
        max(low, high),
    ]
    inside = sum(integrate.quad(integrand, a, b, limit=200, epsabs=0)[0] for a, b in itertools.pairwise(cuts))
    return -math.log(inside + integrate.quad(density, -low, -low + 30 + 6 * m, limit=200, epsabs=0)[0])


def random_cases(count):
    rng = np.random.default_rng(1)
    for _ in range(count):
        scale, n, m = (
            10 ** rng.uniform(-3, 1.3),
            float(int(10 ** rng.uniform(0.3, 5))),
            int(rng.integers(1, MOST)),
        )
        u = float(rng.uniform(0.01, 0.99))
        deviation = math.sqrt(n * u * (1 - u) + 2 * scale**2 * m)
        yield u, n, m, n * u - rng.uniform(0.02, 6) * deviation, scale


def test_random_cases_are_within_what_is_said():
    for u, n, m, y, scale in random_cases(40):
        found, truth = computed(u, n, m, y, scale), literal(u, n, m, y, scale)
        assert min(truth, FAR) - OFF <= found <= truth + 1e-5 * (1 + truth)
        assert found >= min(computed(u, n, m, y, scale, chernoff_exponent), FAR) - OFF


@pytest.mark.parametrize(
    "case",
    [
        # Nearly all values are 1, so that the integrand lives in a few cells of the first 128: 0 was computed once.
        (0.99938, 21473.0, 39, 15780.0, 99.238),
        (0.99717, 10454.0, 24, 7938.2, 50.373),
        (0.99025, 9667.0, 20, 6693.0, 80.196),
    ],
)
def test_where_the_first_cells_are_too_large_they_are_halved(case):
    found, truth = computed(*case), literal(*case)
    assert truth - OFF <= found <= truth + 1e-4
    lower, upper = _between(*(np.array([float(value)]) for value in case[:4]), scale=case[4], cells=128)
    assert lower[0] * (1 - 1e-4) < math.exp(-truth) < upper[0] * (1 + 1e-4)
    assert upper[0] > lower[0] * math.exp(OFF)


def test_a_case_is_computed_alone_as_among_others():
    """To the last bit, in parts of any size and in any order."""
    rng = np.random.default_rng(8)
    m = np.floor(rng.uniform(1, 60, 1500))
    n = np.floor(m * rng.uniform(1, 20, m.shape))
    u = rng.random(m.shape)
    y = n * u * rng.uniform(-0.2, 1.0, m.shape)
    together = laplace_exponent(u, n, m, y, noise=NoiseTail(2.0, 1.0))
    for i in range(0, 1500, 60):
        alone = laplace_exponent(*(each[i : i + 1] for each in (u, n, m, y)), noise=NoiseTail(2.0, 1.0))
        assert alone[0] == together[i]
    assert (together > 0).mean() > 0.5


def test_chords_and_tangents_have_the_integral_between_them():
    for u, n, m, y, scale in random_cases(10):
        truth = math.exp(-literal(u, n, m, y, scale))
        arrays = [np.array([float(value)]) for value in (u, n, m, y)]
        for cells in (8, 128):
            lower, upper = _between(*arrays, scale=scale, cells=cells)
            assert lower[0] <= truth * (1 + 1e-4)
            assert truth * (1 - 1e-4) <= upper[0]
            assert lower[0] < upper[0]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(-5, 5))
def test_it_ends_at_any_mean_and_scale(seed, scale):
    """Also at means of 0 and 1, and as near to them as floats are; no less is said than Chernoff's inequality says."""
    rng, noise = np.random.default_rng(seed), NoiseTail(2 * 100.0**scale, 10.0**scale)
    n, m = np.floor(10 ** rng.uniform(0, 12, 40)), rng.integers(1, MOST + 1, 40).astype(float)
    near = np.where(rng.random(40) < 0.1, 0.0, 10 ** rng.uniform(-16, 0, 40))
    u = np.where(rng.random(40) < 0.5, near, 1 - near)
    y = n * u - 10 ** rng.uniform(-3, 1.2, 40) * np.sqrt(n * u * (1 - u) + noise.proxy * m)
    found = laplace_exponent(u, n, m, y, noise=noise)
    least = np.minimum(chernoff_exponent(u, n, m, y, noise=noise), FAR) - OFF - 1e-6
    assert (found >= np.where(n * u - y > 1e-9 * n, least, 0.0)).all()


def test_what_lies_beyond_the_cells_is_little():
    """The last cell ends where less than 0.011 e^-FAR of a sum of m noises lies beyond."""
    _, tail = _laws()
    for m in range(1, MOST + 1):
        reach = 30 + m + 2 * math.sqrt(2 * m)
        beyond = math.exp(-reach) * sum(c * reach**i for i, c in enumerate(tail[m]))
        assert beyond < 0.011 * math.exp(-FAR)


@pytest.mark.parametrize("m", [1, 2, 7, MOST])
def test_where_values_say_nothing_it_is_the_noises_own_tail(m):
    """One value near 0 and a scale of 1000: P(L <= -t), by 50,000 sums; each fails at 1e-7."""
    rng, scale = np.random.default_rng(2), 1000.0
    sums = rng.laplace(size=(50_000, m)).sum(axis=1)
    for depth in (0.5, 1.5):
        t = depth * math.sqrt(2 * m)
        chance = math.exp(-computed(1e-3, 1, m, -scale * t, scale))
        error = 5.4 * math.sqrt(chance / 50_000)
        assert abs((sums <= -t).mean() - chance) < error + 2e-3 * chance


def test_the_true_mean_is_rejected_no_more_often_than_it_says():
    """20,000 totals of 30 values and 3 noises; each of 4 levels is exceeded more often with 1e-7 at most."""
    rng, n, m, u, scale, runs = np.random.default_rng(3), 30, 3, 0.3, 2.0, 20_000
    totals = rng.binomial(n, u, runs) + scale * rng.laplace(size=(runs, m)).sum(axis=1)
    against = laplace_exponent(
        np.full(runs, u),
        np.full(runs, float(n)),
        np.full(runs, float(m)),
        totals,
        noise=NoiseTail(2 * scale**2, scale),
    )
    for level in (1.0, 2.0, 4.0, 6.0):
        assert (against > level).sum() <= stats.binom.isf(1e-7, runs, math.exp(-level))
    assert (against > 2.0).mean() > 0.4 * math.exp(-2)  # Chernoff's is exceeded half as often


def test_it_rises_with_the_mean_and_falls_with_the_total():
    """So does the difference of two means', as totals fall: what the theorem's step (B) rests on."""
    totals = np.linspace(-40.0, 29.0, 120)
    some, noise = np.ones_like(totals), NoiseTail(2 * 9.0, 3.0)
    low, high = (laplace_exponent(u * some, 100 * some, 4 * some, totals, noise=noise) for u in (0.3, 0.4))
    assert (np.diff(low) < 0).all()
    assert (high > low).all()
    assert (np.diff(high - low) <= OFF).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("m", [1, 2, 5, 17, MOST])
def test_what_noises_say_alone(m):
    """-ln P(|L| >= -y), L the difference of two gamma variables; a single noise's is -y."""
    totals = np.array([-30.0, -12.0, -4.0, -0.5, -1e-3, 0.0, 3.0])
    found = noise_exponent(np.full(7, float(m)), 2.0 * totals, noise=NoiseTail(8.0, 2.0))
    for short, value in zip(-totals[:5], found[:5].tolist(), strict=True):
        points = [max(m - 1.0, 0.0), 2.0 * m]

        def joint(g, short=short):
            return stats.gamma.pdf(g + short, m) * stats.gamma.cdf(g, m)

        tail = integrate.quad(joint, 0, 60 + 6 * m, points=points, limit=200)[0]
        assert value == pytest.approx(-math.log(2 * tail), rel=1e-6, abs=2e-9)
        assert m > 1 or value == pytest.approx(short, abs=2e-9)
    assert found[5:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("scale", "m"), [(3.0, 4.0), (3.0, MOST + 5.0), (0.0, 4.0)])
def test_what_is_left_is_not_negative_and_falls_with_the_total(scale, m):
    """J = I - Z, of the exact law, of Chernoff's inequality, and of Gaussian noise: the theorem's step (A)."""
    noise = NoiseTail(18.0, scale)
    totals = np.linspace(-60.0, 20.0, 161)
    some = np.ones_like(totals)
    against = laplace_exponent if scale else chernoff_exponent
    left = [
        against(u * some, 100 * some, m * some, totals, noise=noise)
        - np.minimum(noise_exponent(m * some, totals, noise=noise), 8.0)
        for u in (0.0, 0.05, 0.3)
    ]
    error = OFF if scale else 1e-6
    assert all((each >= -error).all() for each in left)
    assert all((np.diff(each) <= error).all() for each in left)
    assert all((high - low >= -error).all() for low, high in itertools.pairwise(left))


def test_noise_below_0_hides_no_arm():
    """Thirteen values of 0 with noise of -0.9 say that there was noise: they reject .02 and .1 about alike."""
    arrays = [np.array([value]) for value in (0.02, 13.0, 5.0, -0.9)]
    noise = NoiseTail(0.02, 0.1)
    alone = noise_exponent(*arrays[2:], noise=noise)[0]
    assert laplace_exponent(*arrays, noise=noise)[0] > 5.0
    assert laplace_exponent(*arrays, noise=noise)[0] - alone < 1.0


def test_more_noises_than_the_law_is_known_for():
    many = (0.5, 300.0, MOST + 1.0, 100.0, 1.0)
    assert computed(*many) == computed(*many, chernoff_exponent) > 0
    assert computed(0.5, 300.0, 3.0, 151.0, 1.0) == 0


@pytest.mark.parametrize("u", [0.0, 1.0])
def test_means_at_the_ends(u):
    """Values are all 0, or all 1: what is left is the noise."""
    found = computed(u, 3.0, 1.0, 3 * u - 2.0, 0.5)
    assert found == pytest.approx(4 + math.log(2), abs=OFF)
