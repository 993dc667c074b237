"""Every specimen's true epsilon, computed a second time: closed forms, enumeration, quadrature, and search."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from discrete_laws import (
    exponential_index_law,
    grr_law,
    laplace_index_law,
    olh_law,
    pure_ldp_rates,
    subset_law,
    truncated_law,
    unary_law,
)
from noise_laws import analytic_mu, gaussian_epsilon
from oracles import oracles
from scipy import integrate, stats
from sparse_vector_laws import SCALES, gap_masses, numerical_masses, transcript_masses, value_masses

from mechanisms import GaussianProfile
from verify.zoo import (
    gaussian_noise,
    histograms,
    laplace_noise,
    local,
    rappor,
    secrets_in_the_noise,
    selection,
    sparse_vector,
    specimens,
    sums,
)
from verify.zoo.discrete import PEOPLE

CLOSED = {
    "laplace": 0.1,
    "laplace-half-noise": 0.2,
    "laplace-parallel": 20 * 0.005,
    "laplace-unclipped": 1 / 2.5,
    "laplace-per-coordinate": 5 * 0.1,
    "geometric": 0.5,
    "geometric-linear": math.log(2),
    "staircase": 1.0,
    "snapping": 0.1,
    "laplace-rounded": 0.1,
    "laplace-clamped": 0.1,
    "float-laplace": 1.0,
    "noisy-max-2": 0.1,
    "noisy-max-3": 0.25,
    "noisy-max-4": math.inf,
    "svt3": 0.5,
    "svt5": math.inf,
    "gap-svt-value": 2.5,
    "noisy-hist-1": 0.1,
    "noisy-hist-2": 10.0,
    "hist-shared-noise": math.inf,
    "hist-occupied-cells": math.inf,
    "stable-hist": 1 + 2 * math.log(0.99),
    "stable-hist-low-threshold": math.inf,
    "partial-sum": 0.1,
    "partial-sum-bad": 0.2,
    "prefix-sum": 0.1,
    "prefix-sum-all": 1.0,
    "smart-sum": 0.1,
    "smart-sum-bad": math.inf,
    "smart-sum-unreset": 0.15,
    "grr": 1.0,
    "grr-too-honest": math.log(1 + 4 * math.e / 3),
    "sue": 1.0,
    "oue": 1.0,
    "oue-pure-ldp": math.log(math.e + 2),
    "olh": 1.0,
    "subset-selection": 1.0,
    "duchi": 1.0,
    "piecewise": 1.0,
    "hemisphere": 1.0,
    "median-local-sensitivity": math.inf,
    "mean-secret-count": math.inf,
    "curator": math.inf,
}
COMPUTED = {
    "truncated-geometric", "truncated-geometric-ln", "rappor", "one-time-rappor", "exponential",
    "exponential-missing-half", "noisy-max-1", "svt1", "svt2", "svt4", "svt6", "numerical-svt", "gap-svt",
    "gaussian", "gaussian-classic", "gaussian-classic-large", "gaussian-wrong-delta", "gaussian-wrong-sensitivity",
    "gaussian-variance",
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name):
    assert specimens[name].true_epsilon == pytest.approx(CLOSED[name], rel=1e-9)


def test_the_parameters_that_all_else_is_computed_from():
    """Those of DP-Sniper, for what it has; laws and samplers both read the modules', and would change together."""
    assert {module.EPSILON for module in (laplace_noise, histograms, selection, sparse_vector, sums)} == {0.1}
    assert (laplace_noise.BOUND, laplace_noise.LATTICE) == (100.0, 16.0)
    assert pytest.approx(10.0 + 2000.0 * 2.0**-50, rel=1e-15) == laplace_noise.SNAPPING_SCALE
    assert (sparse_vector.QUERIES, sparse_vector.MOST_TRUE, sparse_vector.NUMERICAL_MOST_TRUE) == (10, 1, 2)
    assert (histograms.CELLS, laplace_noise.PARALLEL, selection.OPTIONS) == (5, 20, 5)
    assert (sums.LENGTH, sums.BLOCK, sums.SMART_LENGTH) == (10, 5, 11)
    assert (rappor.BITS, rappor.HASHES, rappor.VALUES, rappor.ONE_TIME_F) == (20, 4, 11, 0.95)
    assert pytest.approx(1.0 + math.log(50.0), rel=1e-12) == histograms.THRESHOLD
    assert secrets_in_the_noise.LEAK == 1e-9


def test_every_function_of_the_zoo_has_its_epsilon_checked():
    functions = {name for name, specimen in specimens.items() if hasattr(specimen.subject, "dpwitness_claim")}
    assert functions - CLOSED.keys() - COMPUTED == {name for name in functions if name.startswith("bandit")}


# Where the oracle's own events do not reach the truth, another pair does, or only unbounded data do.
ELSEWHERE = {"svt1", "svt2", "svt4", "svt6", "numerical-svt", "gap-svt", "noisy-max-1", "exponential"} | {
    "exponential-missing-half", "mean-secret-count", "bandit",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted((CLOSED.keys() | COMPUTED) - ELSEWHERE))
def test_the_oracles_events_attain_the_truth(name):
    specimen = specimens[name]
    assert oracles[name].epsilon(specimen.delta) == pytest.approx(specimen.true_epsilon, rel=1e-5)


# --- enumeration ---------------------------------------------------------------------------------


def worst(laws):
    return max(
        math.log(p / q)
        for law, other in itertools.permutations(laws, 2)
        for p, q in zip(law, other, strict=True)
    )


def test_local_randomizers_by_enumeration():
    laws = {
        "grr": grr_law,
        "grr-too-honest": lambda value: grr_law(value, too_honest=True),
        "sue": lambda value: unary_law(value, local.SUE),
        "oue": lambda value: unary_law(value, local.OUE),
        "oue-pure-ldp": lambda value: unary_law(value, pure_ldp_rates()),
        "olh": olh_law,
    }
    for name, law in laws.items():
        values = [law(value) for value in range(local.SIZE)]
        assert all(row.sum() == pytest.approx(1.0) for row in values)
        assert worst(values) == pytest.approx(specimens[name].true_epsilon)
    subsets = [subset_law(value) for value in range(local.SUBSET_SIZE)]
    assert all(row.sum() == pytest.approx(1.0) for row in subsets)
    assert worst(subsets) == pytest.approx(1.0)


def test_rappor_over_all_pairs_of_values():
    filters = [rappor.bloom_filter(value) for value in range(rappor.VALUES)]
    one, zero = rappor.report_rates(rappor.F, rappor.P, rappor.Q)

    def loss(first, second, q, p):
        # The worst report: each differing bit as in the first filter.
        gained, lost = (first & ~second).sum(), (second & ~first).sum()
        return gained * math.log(q / p) + lost * math.log((1 - p) / (1 - q))

    pairs = list(itertools.permutations(filters, 2))
    assert max(loss(*pair, one, zero) for pair in pairs) == pytest.approx(specimens["rappor"].true_epsilon)
    half = rappor.ONE_TIME_F / 2
    once = max(loss(*pair, 1 - half, half) for pair in pairs)
    assert once == pytest.approx(specimens["one-time-rappor"].true_epsilon)
    assert int((filters[0] ^ filters[1]).sum()) == 6
    assert int((filters[6] ^ filters[10]).sum()) == 8


def test_murmur3_against_published_vectors():
    assert rappor.murmur3(b"", 0) == 0
    assert rappor.murmur3(b"", 1) & 0xFFFFFFFF == 0x514E28B7
    assert rappor.murmur3(b"\x21", 0) & 0xFFFFFFFF == 0x72661CF4
    assert rappor.murmur3(b"\x21\x43", 0) & 0xFFFFFFFF == 0xA0F7B07A
    assert rappor.murmur3(b"\x21\x43\x65", 0) & 0xFFFFFFFF == 0x7E4A8634
    with pytest.raises(ValueError, match="three bytes"):
        rappor.murmur3(b"four", 0)


def test_truncated_geometric_in_exact_fractions():
    laws = [truncated_law(count) for count in range(PEOPLE + 1)]
    assert all(sum(law) == 1 for law in laws)
    steps = [(laws[c], laws[c + 1]) for c in range(PEOPLE)]
    ratios = [max(p / q, q / p) for pair in steps for p, q in zip(*pair, strict=True)]
    assert max(ratios) == Fraction(9, 8)
    for name in ("truncated-geometric", "truncated-geometric-ln"):
        assert specimens[name].true_epsilon == pytest.approx(math.log(9 / 8), rel=1e-12)


# --- quadrature ----------------------------------------------------------------------------------


def test_gaussian_scales_and_losses():
    """σ and ε by root finding on δ(ε), where the zoo has numbers and the library's profile."""
    exact, variance = gaussian_noise.SIGMA, gaussian_noise.VARIANCE_SIGMA
    assert exact == pytest.approx(1 / analytic_mu(1.0, 0.01), rel=1e-13)
    assert variance == pytest.approx(1 / analytic_mu(4.0, 0.01), rel=1e-13)
    assert pytest.approx(math.sqrt(2 * math.log(125)) / 0.9) == gaussian_noise.CLASSIC_SIGMA
    assert pytest.approx(math.sqrt(2 * math.log(6.25)) / 8) == gaussian_noise.LARGE_SIGMA
    mu = {
        "gaussian": 1 / exact,
        "gaussian-classic": 1 / gaussian_noise.CLASSIC_SIGMA,
        "gaussian-classic-large": 1 / gaussian_noise.LARGE_SIGMA,
        "gaussian-wrong-delta": 1 / gaussian_noise.LOOSE_SIGMA,
        "gaussian-wrong-sensitivity": 2 / exact,
        "gaussian-variance": 1 / variance**2,
    }
    for name, value in mu.items():
        specimen = specimens[name]
        assert specimen.true_epsilon == pytest.approx(gaussian_epsilon(value, specimen.delta), rel=1e-9)
        assert GaussianProfile(value).delta(specimen.true_epsilon) == pytest.approx(specimen.delta, rel=1e-9)


def winner_by_quad(counts, i, scale):
    law = stats.laplace(scale=scale)

    def integrand(x):
        return law.pdf(x - counts[i]) * np.prod([law.cdf(x - q) for j, q in enumerate(counts) if j != i])

    return integrate.quad(integrand, -900, 900, points=sorted(set(counts)), limit=400, epsabs=1e-13)[0]


def test_noisy_max_at_the_corner_of_the_box():
    near, far = [-9.0] + 4 * [9.0], [-10.0] + 4 * [10.0]
    loss = math.log(winner_by_quad(near, 0, 20.0) / winner_by_quad(far, 0, 20.0))
    assert loss == pytest.approx(specimens["noisy-max-1"].true_epsilon, abs=1e-7)


@pytest.mark.slow
def test_the_published_loss_of_noisy_max_on_the_patterns():
    ones, behind = 5 * [1.0], [0.0] + 4 * [2.0]
    law, other = laplace_index_law(ones), laplace_index_law(behind)
    assert math.log(law[0] / other[0]) == pytest.approx(0.094615, abs=1e-6)
    law, other = exponential_index_law(ones), exponential_index_law(behind)
    assert math.log(law[0] / other[0]) == pytest.approx(0.1, abs=1e-9)


def first_true_by_quad(queries, k, threshold, b, s):
    rho, nu = stats.laplace(scale=b), stats.laplace(scale=s)

    def integrand(r):
        below = np.prod([nu.cdf(threshold + r - q) for q in queries[:k]])
        return rho.pdf(r) * below * nu.sf(threshold + r - queries[k])

    kinks = sorted({0.0, *(q - threshold for q in queries)})
    return integrate.quad(integrand, -30 * b, 30 * b, points=kinks, limit=600, epsabs=1e-16, epsrel=1e-10)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["svt1", "svt2", "svt4"])
def test_sparse_vectors_at_the_corner_of_the_box(name):
    near, far = np.repeat([9.0, -9.0], [9, 1]), np.repeat([10.0, -10.0], [9, 1])
    threshold, b, s, _ = SCALES[name]
    p, q = (first_true_by_quad(queries, 9, threshold, b, s) for queries in (near, far))
    assert math.log(p / q) == pytest.approx(specimens[name].true_epsilon, abs=2e-7)


def test_svt6_at_the_corner_of_the_box():
    threshold, b, s, _ = SCALES["svt6"]
    rho, nu = stats.laplace(scale=b), stats.laplace(scale=s)

    def half_and_half(low, high):  # the first five FALSE, the second five TRUE
        def integrand(r):
            return rho.pdf(r) * nu.cdf(threshold + r - high) ** 5 * nu.sf(threshold + r - low) ** 5

        return integrate.quad(integrand, -30 * b, 30 * b, points=[0, high - 1, low - 1], limit=400)[0]

    loss = math.log(half_and_half(-9, 9) / half_and_half(-10, 10))
    assert loss == pytest.approx(specimens["svt6"].true_epsilon, abs=1e-6)


def loss_of(p, q):
    return math.log(p[0] / q[0])


@pytest.mark.slow
def test_numerical_and_gap_svt_at_the_corner_of_the_box():
    near, far = np.repeat([9.0, -9.0], [8, 2]), np.repeat([10.0, -10.0], [8, 2])
    assert loss_of(*numerical_masses(near, far)) == pytest.approx(
        specimens["numerical-svt"].true_epsilon, abs=1e-6
    )
    near, far = np.repeat([9.0, -9.0], [9, 1]), np.repeat([10.0, -10.0], [9, 1])
    assert loss_of(*gap_masses(near, far)) == pytest.approx(specimens["gap-svt"].true_epsilon, abs=1e-6)


def test_the_published_loss_of_sparse_vector_on_the_patterns():
    ones, split = np.ones(10), np.repeat([2.0, 0.0], 5)
    assert loss_of(*transcript_masses("svt1", ones, split)) == pytest.approx(0.088526, abs=1e-6)


def test_svt4_tends_to_the_published_limit():
    """(1 + 6c) ε / 4 for answers far from the threshold (Lyu, Su, Li 2017, section 3.2)."""
    far = np.repeat([400.0, -400.0], [9, 1])
    loss = loss_of(*transcript_masses("svt4", far - np.sign(far), far))
    assert loss == pytest.approx(0.175, abs=1e-6)


def test_the_exponential_mechanism_at_the_corner_of_the_box():
    for name, rate in (("exponential", 0.5), ("exponential-missing-half", 1.0)):
        weights = [math.exp(rate * u) for u in (-9, 9, -10, 10)]
        p, q = weights[0] / (weights[0] + 4 * weights[1]), weights[2] / (weights[2] + 4 * weights[3])
        assert math.log(p / q) == pytest.approx(specimens[name].true_epsilon, abs=1e-7)


# --- no other pair is worse ----------------------------------------------------------------------


def random_pairs(size, number):
    """Neighbours in [-10, 10]: at the corners, at ties, and anywhere."""
    rng = np.random.default_rng(5)
    for kind in range(number):
        if kind % 3 == 0:
            data = rng.choice([-9.0, 9.0], size=size)
            other = data + rng.choice([-1.0, 1.0], size=size)
        elif kind % 3 == 1:
            data = np.sign(rng.normal(size=size)) * 9
            other = data + np.sign(data)
        else:
            data = rng.uniform(-10, 10, size=size)
            other = np.clip(data + rng.uniform(-1, 1, size=size), -10, 10)
        yield data, other
        yield other, data


@pytest.mark.slow
@pytest.mark.parametrize("name", ["svt1", "svt2", "svt4"])
def test_no_other_neighbours_lose_more_by_a_transcript(name):
    worst_found = max(loss_of(*transcript_masses(name, *pair)) for pair in random_pairs(10, 150))
    assert worst_found <= specimens[name].true_epsilon + 1e-7


@pytest.mark.slow
def test_no_other_neighbours_lose_more_by_svt6_numerical_or_gap():
    for data, other in random_pairs(10, 3):
        assert loss_of(*transcript_masses("svt6", data, other)) <= specimens["svt6"].true_epsilon + 1e-7
    for data, other in random_pairs(10, 60):
        assert loss_of(*numerical_masses(data, other, 1)) <= specimens["numerical-svt"].true_epsilon + 1e-7
    for data, other in random_pairs(10, 2):
        assert loss_of(*gap_masses(data, other)) <= specimens["gap-svt"].true_epsilon + 1e-7


@pytest.mark.slow
def test_no_other_neighbours_lose_more_by_a_value():
    # Whole numbers only: the value laws' lattice holds their kinks.
    for name in ("svt3", "gap-svt-value"):
        for data, other in random_pairs(4, 12):
            masses = value_masses(name, np.round(data), np.round(other))
            assert loss_of(*masses) <= specimens[name].true_epsilon + 1e-6


@pytest.mark.slow
def test_no_other_neighbours_lose_more_by_a_choice():
    for data, other in random_pairs(5, 30):
        for name, law in (
            ("noisy-max-1", laplace_index_law),
            ("noisy-max-2", exponential_index_law),
            ("exponential", lambda u: selection.selection_law(u, 0.5)),
            ("exponential-missing-half", lambda u: selection.selection_law(u, 1.0)),
        ):
            loss = float(np.max(np.log(law(data) / law(other))))
            assert loss <= specimens[name].true_epsilon + 1e-7
