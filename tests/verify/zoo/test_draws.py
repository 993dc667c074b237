"""Every sampler follows its law, on both data sets of its oracle.

Events of known probability are counted in n draws; a count may be off by z = 5.5 standard errors (false alarm
4e-8 each, below 1e-5 for the whole file). Whole laws are compared by chi-square or Kolmogorov-Smirnov at level
1e-7.
"""

import math

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
from oracles import oracles
from scipy import stats
from sparse_vector_laws import SCALES, first_value_cells, gap_cells, transcripts

from verify.zoo import discrete, gaussian_noise, local, rappor, selection, specimens
from verify.zoo.histograms import THRESHOLD
from verify.zoo.laplace_noise import LATTICE, SNAPPING_SCALE
from verify.zoo.secrets_in_the_noise import LEAK
from verify.zoo.sparse_vector import GAP_VALUE_EPSILON

N = 60_000
LEVEL = 1e-7


def draws(name, data, n=N, seed=1):
    return specimens[name].subject(data, np.random.default_rng(seed), n)


def assert_frequency(hits, probability, n=N):
    error = math.sqrt(probability * (1 - probability) / n)
    assert abs(hits / n - probability) <= 5.5 * error + 3 / n, (hits / n, probability)


def assert_law(outcomes, law):
    """Chi-square of outcomes against {outcome: probability}, rare ones taken together."""
    values, counts = np.unique(outcomes, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert set(seen) <= set(law)
    n = len(outcomes)
    common = [value for value, mass in law.items() if n * mass >= 10]
    expected = np.array([n * law[value] for value in common])
    observed = np.array([seen.get(value, 0) for value in common])
    rest, rest_seen = max(n - expected.sum(), 0.0), n - observed.sum()
    if rest > 1e-6 * n:
        expected, observed = np.append(expected, rest), np.append(observed, rest_seen)
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > LEVEL


def assert_noise(sample, law):
    """Kolmogorov-Smirnov, and for symmetric laws the mean size, which tells scales 3 % apart."""
    assert stats.kstest(sample, law.cdf).pvalue > LEVEL
    size = {"laplace": 1.0, "norm": math.sqrt(2 / math.pi)}.get(law.dist.name)
    if size is not None:
        sizes = np.abs(sample)
        scale = law.std() / (math.sqrt(2) if law.dist.name == "laplace" else 1.0)
        assert abs(sizes.mean() - size * scale) < 5.5 * sizes.std() / math.sqrt(len(sample))


ADDITIVE = [  # name, data, law of output - data (coordinate by coordinate)
    ("laplace", 1.5, stats.laplace(scale=10)),
    ("laplace-half-noise", 1.5, stats.laplace(scale=5)),
    ("laplace-parallel", 1.5, stats.laplace(scale=200)),
    ("laplace-per-coordinate", np.arange(5.0), stats.laplace(scale=10)),
    ("gaussian", 1.5, stats.norm(scale=gaussian_noise.SIGMA)),
    ("gaussian-classic", 1.5, stats.norm(scale=math.sqrt(2 * math.log(125)) / 0.9)),
    ("gaussian-classic-large", 1.5, stats.norm(scale=math.sqrt(2 * math.log(6.25)) / 8)),
    ("gaussian-wrong-delta", 1.5, stats.norm(scale=math.sqrt(2 * math.log(12.5)))),
    ("gaussian-wrong-sensitivity", np.arange(4.0), stats.norm(scale=gaussian_noise.SIGMA)),
    ("gaussian-variance", 1.5, stats.norm(scale=gaussian_noise.VARIANCE_SIGMA**2)),
    ("noisy-hist-1", np.arange(5.0), stats.laplace(scale=10)),
    ("noisy-hist-2", np.arange(5.0), stats.laplace(scale=0.1)),
    ("float-laplace", 1.5, stats.laplace(scale=1)),
    ("curator", 1.5, stats.laplace(scale=1)),
]


@pytest.mark.parametrize(("name", "data", "law"), ADDITIVE, ids=[row[0] for row in ADDITIVE])
def test_additive_noise(name, data, law):
    n = 60_000 if np.ndim(data) == 0 else 20_000
    noise = draws(name, data, n).reshape(n, -1) - data
    for column in noise.T:
        assert_noise(column, law)
    if noise.shape[1] > 1:
        correlation = np.corrcoef(np.sign(noise.T)) - np.eye(noise.shape[1])
        assert np.abs(correlation).max() < 5.5 / math.sqrt(n)


def test_sums():
    ones = np.ones(10)
    assert_noise(draws("partial-sum", ones) - 10, stats.laplace(scale=10))
    assert_noise(draws("partial-sum-bad", ones) - 10, stats.laplace(scale=5))
    for name in ("prefix-sum", "prefix-sum-all"):
        terms = np.diff(draws(name, ones), axis=1, prepend=0.0) - 1
        for column in terms.T:
            assert_noise(column, stats.laplace(scale=10))


def test_smart_sum_is_its_noisy_terms():
    data = np.arange(1.0, 12.0)
    for name, totals in (
        ("smart-sum", (15, 40)),
        ("smart-sum-unreset", (15, 55)),
        ("smart-sum-bad", (15, 40)),
    ):
        out = draws(name, data)
        terms = np.diff(out, axis=1, prepend=0.0) - data
        inner = [i for i in range(11) if i not in (4, 9)]
        for i in inner:
            assert_noise(terms[:, i], stats.laplace(scale=20))
        for i, total in zip((4, 9), totals, strict=True):
            if name == "smart-sum-bad":
                assert np.all(out[:, i] == total)
            else:
                assert_noise(out[:, i] - total, stats.laplace(scale=20))


def test_clipping_clamping_rounding_and_snapping():
    law = stats.laplace(scale=2.5)
    out = draws("laplace-unclipped", 0.875)
    assert_frequency((out == -0.125).sum(), law.cdf(-1.0))
    assert_frequency((out == 0.125).sum(), law.sf(-0.75))
    law = stats.laplace(scale=10)
    out = draws("laplace-clamped", 2.0)
    assert_frequency((out == 0.0).sum(), law.cdf(-2))
    assert_frequency((out == 10.0).sum(), law.sf(8))
    assert_frequency((out <= 5).sum(), law.cdf(3))
    out = draws("laplace-rounded", 0.3)
    assert np.all(out == np.round(out))
    assert_frequency((out <= 0).sum(), law.cdf(0.2))
    law = stats.laplace(scale=SNAPPING_SCALE)
    out = draws("snapping", 3.0)
    edges = np.r_[-np.inf, LATTICE * (np.arange(-7, 7) + 0.5), np.inf]
    places = [-100.0, *(LATTICE * np.arange(-6, 7)), 100.0]  # the lattice, and the clamp beyond ±104
    masses = np.diff(law.cdf(edges - 3.0))
    assert_law(out, dict(zip(places, masses, strict=True)))
    many = draws("snapping", 3.0, 2_000_000)  # as many show the scale of either side, which a lattice hides
    assert abs(many.mean() - masses @ places) < 5.5 * many.std() / math.sqrt(many.size)


def test_noisy_max():
    counts = [9.0, -9.0, -9.0, 0.0, 4.0]
    for name, law in (
        ("noisy-max-1", laplace_index_law),
        ("noisy-max-2", exponential_index_law),
    ):
        assert_law(draws(name, np.array(counts), 400_000), dict(enumerate(law(counts))))
    for name, noise in (("noisy-max-3", stats.laplace(scale=20)), ("noisy-max-4", stats.expon(scale=20))):
        values = draws(name, np.array(counts), 20_000)
        assert (
            stats.kstest(values, lambda t, f=noise: np.prod([f.cdf(t - q) for q in counts], axis=0)).pvalue
            > LEVEL
        )


def test_exponential_mechanism():
    utilities = np.array([1.0, 0.0, -3.0, 2.0, 0.5])
    for name, rate in (("exponential", 0.5), ("exponential-missing-half", 1.0)):
        assert_law(draws(name, utilities), dict(enumerate(selection.selection_law(utilities, rate))))


def words(transcript):
    """Rows of 1, 0 and NaN as strings, as `transcripts` names them."""
    letters = np.where(np.isnan(transcript), "", np.where(transcript > 0, "1", "0"))
    return np.array(["".join(row) for row in letters])


ANSWERS = np.array([3.0, -2.0, 0.5, 7.0, -9.0, 1.0, 0.0, 2.0, -1.0, 4.0])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["svt1", "svt2", "svt4", "svt6"])
def test_sparse_vector_transcripts(name):
    law = transcripts(ANSWERS, *SCALES[name])
    assert_law(words(draws(name, ANSWERS)), law)
    if name == "svt1":  # its threshold's half shows in a million first replies only
        n = 1_000_000
        first = sum(mass for word, mass in law.items() if word[0] == "1")
        assert_frequency((draws(name, ANSWERS, n)[:, 0] == 1).sum(), first, n)


def test_svt5_shows_the_order_of_the_answers():
    out = draws("svt5", ANSWERS)
    law = stats.laplace(scale=20)
    for i, answer in enumerate(ANSWERS):
        assert_frequency((out[:, i] == 1).sum(), law.cdf(answer - 1.0))
    assert np.all(np.diff(out[:, np.argsort(ANSWERS)], axis=1) >= 0)
    # The oracle's event: equal answers never part, and split ones part as often as the oracle says.
    oracle = oracles["svt5"]
    for data, probability in ((oracle.data, oracle.masses()[0][0]), (oracle.other, 0.0)):
        pairs = draws("svt5", data).reshape(N, 5, 2)
        assert_frequency((pairs[:, :, 0] != pairs[:, :, 1]).any(axis=1).sum(), probability)


@pytest.mark.parametrize("name", ["svt3", "gap-svt-value"])
def test_sparse_vector_values(name):
    threshold, b, s, _ = SCALES[name]
    out = draws(name, np.round(ANSWERS))
    step = b / 160 if name == "svt3" else 1 / 64
    assert GAP_VALUE_EPSILON == 1.0
    edges = step * np.arange(-4000, 4001) if name == "svt3" else step * np.arange(-6400, 6401)
    cells, nothing = first_value_cells(np.round(ANSWERS), threshold, b, s, edges)
    first = np.argmax(out != 0, axis=1)  # NaN ≠ 0 comes after the value
    silent = (out == 0).all(axis=1)
    assert_frequency(silent.sum(), nothing)
    value = out[np.arange(N), first]
    cut = len(edges) // 2
    for k in range(10):
        here = ~silent & (first == k)
        assert_frequency(here.sum(), cells[k].sum())
        assert_frequency((here & (value < edges[cut])).sum(), cells[k, :cut].sum())


def test_gap_svt():
    edges = np.array([0.0, 5.0, 20.0, 60.0, math.inf])
    cells, nothing = gap_cells(ANSWERS, *SCALES["gap-svt"][:3], edges)
    out = draws("gap-svt", ANSWERS)
    assert_frequency((out == 0).all(axis=1).sum(), nothing)
    silent = (out == 0).all(axis=1)
    first = np.argmax(out != 0, axis=1)
    gap = out[np.arange(N), first]
    for k in range(10):
        for j in range(4):
            inside = ~silent & (first == k) & (gap >= edges[j]) & (gap < edges[j + 1])
            assert_frequency(inside.sum(), cells[k, j])


def test_numerical_svt():
    out = draws("numerical-svt", ANSWERS)
    replies = np.where(np.isnan(out), np.nan, (out != 0).astype(float))
    assert_law(words(replies), transcripts(ANSWERS, *SCALES["numerical-svt"]))
    values = (out - ANSWERS)[(out != 0) & ~np.isnan(out)]
    assert_noise(values[:20_000], stats.laplace(scale=60))


def test_histograms():
    counts = np.array([3, 0, 10, 1, 0])
    shared = draws("hist-shared-noise", counts.astype(float))
    assert np.ptp(shared - shared[:, :1] - (counts - counts[0])) < 1e-10
    shown = draws("hist-occupied-cells", counts)
    assert np.array_equal(~np.isnan(shown), np.tile(counts > 0, (N, 1)))
    law = stats.laplace(scale=1)
    for name, threshold in (("stable-hist", THRESHOLD), ("stable-hist-low-threshold", THRESHOLD - 1)):
        out = draws(name, counts)
        assert np.isnan(out[:, counts == 0]).all()
        for i in np.flatnonzero(counts):
            assert_frequency((~np.isnan(out[:, i])).sum(), law.sf(threshold - counts[i]))
    assert law.sf(THRESHOLD - 1) == pytest.approx(0.01)


def test_local_randomizers():
    value = 2
    assert_law(draws("grr", value), dict(enumerate(grr_law(value))))
    assert_law(draws("grr-too-honest", value), dict(enumerate(grr_law(value, too_honest=True))))
    powers = 2 ** np.arange(local.SIZE)[::-1]
    for name, rates in (("sue", local.SUE), ("oue", local.OUE), ("oue-pure-ldp", pure_ldp_rates())):
        assert_law(draws(name, value) @ powers, dict(enumerate(unary_law(value, rates))))
    a, b, report = draws("olh", value).T
    place = ((a - 1) * local.PRIME + b) * local.BUCKETS + report
    assert_law(place, dict(enumerate(olh_law(value))))
    rows, columns = np.triu_indices(local.SUBSET_SIZE, 1)
    subsets = dict(zip((2**rows + 2**columns).tolist(), subset_law(value), strict=True))
    assert_law(draws("subset-selection", value) @ 2 ** np.arange(local.SUBSET_SIZE), subsets)


def test_rappor():
    for name, rates in (
        ("rappor", rappor.report_rates(rappor.F, rappor.P, rappor.Q)),
        ("one-time-rappor", (1 - rappor.ONE_TIME_F / 2, rappor.ONE_TIME_F / 2)),
    ):
        out = draws(name, 6)
        for i, bit in enumerate(rappor.bloom_filter(6)):
            assert_frequency(out[:, i].sum(), rates[0] if bit else rates[1])
        correlation = np.corrcoef(out.T.astype(float)) - np.eye(rappor.BITS)
        assert np.abs(correlation).max() < 5.5 / math.sqrt(N)


def test_discrete_noise():
    for name, alpha in (("geometric", math.exp(-0.5)), ("geometric-linear", 0.5)):
        law = {k + 4: (1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(-200, 201)}
        assert_law(draws(name, np.array([4])), law)
    for count in (0, 2, 5):
        law = {z: float(mass) for z, mass in enumerate(truncated_law(count))}
        assert_law(draws("truncated-geometric", np.array([count])), law)
    noise = draws("staircase", 0.5) - 0.5
    b, gamma = math.exp(-1), discrete.GAMMA
    peak = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    for k in range(4):
        inner = (np.abs(noise) >= k) & (np.abs(noise) < k + gamma)
        outer = (np.abs(noise) >= k + gamma) & (np.abs(noise) < k + 1)
        assert_frequency(inner.sum(), 2 * gamma * peak * b**k)
        assert_frequency(outer.sum(), 2 * (1 - gamma) * peak * b ** (k + 1))
    assert_frequency((noise < 0).sum(), 0.5)


def test_numbers():
    share = math.e / (math.e + 1)
    assert_frequency((draws("duchi", 1.0) > 0).sum(), share)
    assert_frequency((draws("duchi", 0.2) > 0).sum(), 0.5 + 0.2 * (share - 0.5))
    assert draws("duchi", 0.2, 400_000).mean() == pytest.approx(0.2, abs=5.5 * 2.2 / math.sqrt(400_000))
    half = math.exp(0.5)
    width = (half + 1) / (half - 1)
    for value in (-1.0, 0.3, 1.0):
        out = draws("piecewise", value)
        left = (width + 1) / 2 * value - (width - 1) / 2
        inside = (out >= left) & (out < left + width - 1)
        assert np.abs(out).max() <= width
        assert_frequency(inside.sum(), half / (half + 1))
        below = (1 - half / (half + 1)) * (left + width) / (width + 1)
        assert_frequency((out < left).sum(), below)
        assert abs(out.mean() - value) < 5.5 * out.std() / math.sqrt(N)  # the mechanism is unbiased


def test_hemisphere():
    for category, axis, sign in ((0, 0, 1), (7, 3, -1)):
        out = draws("hemisphere", category)
        assert np.linalg.norm(out, axis=1) == pytest.approx(1.0)
        assert_frequency((sign * out[:, axis] > 0).sum(), math.e / (math.e + 1))
        assert_frequency((out[:, 4] > 0).sum(), 0.5)
        # A coordinate of a uniform point of the sphere in five dimensions: its square is Beta(1/2, 2).
        for column in out.T:
            assert_noise(column**2, stats.beta(0.5, 2))


def test_noise_scaled_by_the_data():
    assert np.all(draws("median-local-sensitivity", np.zeros(3)) == 0.0)
    assert_noise(draws("median-local-sensitivity", np.array([0.2, 0.9, 0.4])) - 0.4, stats.laplace(scale=0.5))
    assert_noise(draws("mean-secret-count", np.array([0.2, 0.6])) - 0.4, stats.laplace(scale=0.5))
    assert_noise(draws("mean-secret-count", np.zeros(0)), stats.laplace(scale=1))


def test_the_curator_leaks_as_rarely_as_it_says():
    class Always(np.random.Generator):
        def random(self, size):
            return np.full(size, LEAK / 2)

    subject = specimens["curator"].subject
    leaked = subject(2.5, Always(np.random.PCG64(1)), 4)
    assert np.all(leaked == 1e6 + 2.5)


def test_floating_point_laplace_gives_the_answer_away():
    def fine(outputs):  # small and no multiple of 2^-53
        return (np.abs(outputs) < 0.5) & (np.mod(outputs * 2.0**53, 1.0) != 0.0)

    assert fine(draws("float-laplace", 0.0)).mean() > 0.01
    assert not fine(draws("float-laplace", 1.0)).any()
